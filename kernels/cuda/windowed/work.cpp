// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/cuda/windowed.h"
#include "kernels/cuda/windowed/lists.h"

namespace attnscope::cuda {
namespace windowed {
namespace {

template <typename T>
std::int64_t append(std::vector<std::byte>& bytes, const std::vector<T>& section) {
  static_assert(std::is_trivially_copyable_v<T>);
  constexpr std::size_t alignment = 256;
  const std::size_t begin = (bytes.size() + alignment - 1) / alignment * alignment;
  bytes.resize(begin + section.size() * sizeof(T));
  if (!section.empty()) {
    std::memcpy(bytes.data() + begin, section.data(), section.size() * sizeof(T));
  }
  return static_cast<std::int64_t>(begin);
}

template <typename T>
const T* at(const std::byte* base, std::int64_t offset) {
  return reinterpret_cast<const T*>(base + offset);
}

}  // namespace

void seal(Lists& lists) {
  Sections& at = lists.sections;
  at.rules = append(lists.bytes, lists.rules);
  at.skip_words = append(lists.bytes, lists.skip_words);
  at.indices = append(lists.bytes, lists.indices);
  at.spans = append(lists.bytes, lists.spans);
  at.row_units = append(lists.bytes, lists.row_units);
  at.row_merges = append(lists.bytes, lists.row_merges);
  at.parts = append(lists.bytes, lists.parts);
  at.key_units = append(lists.bytes, lists.key_units);
  at.key_merges = append(lists.bytes, lists.key_merges);
}

DeviceLists on_device(const Lists& lists, const std::byte* base) {
  const Sections& from = lists.sections;
  return {.rules = at<Rule>(base, from.rules),
          .skip_words = at<std::uint32_t>(base, from.skip_words),
          .indices = at<std::int32_t>(base, from.indices),
          .spans = at<Span>(base, from.spans),
          .row_units = at<RowUnit>(base, from.row_units),
          .parts = at<KeyPart>(base, from.parts),
          .key_units = at<KeyUnit>(base, from.key_units)};
}

const Merge* row_merges_on_device(const Lists& lists, const std::byte* base) {
  return at<Merge>(base, lists.sections.row_merges);
}

const Merge* key_merges_on_device(const Lists& lists, const std::byte* base) {
  return at<Merge>(base, lists.sections.key_merges);
}

namespace {

Status check_head_dim(std::int64_t head_dim) {
  if (head_dim < 8 || head_dim > 256) {
    return fail("Windowed attention on CUDA takes head dimensions 8 to 256, not {}", head_dim);
  }
  return {};
}

Result<WindowedWork> cut(const AttentionPlan& plan, const std::vector<TokenRange>& written,
                         std::int64_t head_dim, DType dtype, Passes passes) {
  if (Status s = windowed_supports(plan, head_dim); !s) return tl::unexpected(s.error());
  auto lists = std::make_shared<Lists>();
  lists->head_dim = head_dim;
  lists->dtype = dtype;
  lists->passes = passes;
  lists->heads_per_unit = heads_per_unit(plan);
  if (Status s = make_rules(plan, *lists); !s) return tl::unexpected(s.error());
  if (Status s = cut_rows(plan, *lists); !s) return tl::unexpected(s.error());
  if (passes == Passes::forward_backward) {
    if (Status s = cut_keys(plan, written, *lists); !s) return tl::unexpected(s.error());
  }
  seal(*lists);
  return WindowedWork(std::move(lists));
}

}  // namespace
}  // namespace windowed

WindowedWork::WindowedWork(std::shared_ptr<const windowed::Lists> lists)
    : lists_(std::move(lists)) {}

std::span<const std::byte> WindowedWork::list() const {
  return lists_->bytes;
}

std::int64_t WindowedWork::workspace_bytes() const {
  return lists_->partial_rows * lists_->heads_per_unit * lists_->head_dim *
         static_cast<std::int64_t>(sizeof(float));
}

std::int64_t WindowedWork::score_elements() const {
  return lists_->score_elements;
}

Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (Status s = windowed::check_head_dim(head_dim); !s) return s;
  return has_windowed_layout(plan, /*most=*/std::int64_t{1} << 40);
}

std::int64_t windowed_backward_elements(const AttentionPlan& plan) {
  return windowed_score_elements(plan);
}

Result<WindowedWork> band_work(const BandProblem& problem, DType dtype, Passes passes) {
  if (problem.window < 0) {
    return fail("The band has window {}; a window is at least 0", problem.window);
  }
  if (problem.heads < 1 || problem.heads > std::numeric_limits<std::int32_t>::max()) {
    return fail("The band has {} heads; give at least 1", problem.heads);
  }
  // A band is a plan whose sequences see nothing but themselves.
  AttentionPlan plan;
  plan.heads = static_cast<std::int32_t>(problem.heads);
  std::vector<TokenRange> written;
  for (const TokenRange& sequence : problem.sequences) {
    if (sequence.empty()) continue;
    plan.tasks.push_back({.queries = {sequence.begin, sequence.end},
                          .heads = {0, plan.heads},
                          .first_segment = static_cast<std::int64_t>(plan.segments.size()),
                          .segment_count = 1});
    plan.segments.push_back({.keys = {sequence.begin, sequence.end},
                             .kind = SegmentKind::band,
                             .window = problem.window});
    plan.tokens = sequence.end;
    written.push_back(sequence);
  }
  return windowed::cut(plan, written, problem.head_dim, dtype, passes);
}

Result<WindowedWork> windowed_work(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                                   Passes passes) {
  return windowed::cut(plan, {{0, plan.tokens}}, head_dim, dtype, passes);
}

}  // namespace attnscope::cuda
