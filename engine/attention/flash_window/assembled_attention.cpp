// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/flash_window/assembled_attention.h"

#include <ATen/TensorIndexing.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "engine/attention/packed_tensor.h"
#include "engine/attention/sdpa/sdpa.h"
#include "engine/attention/torch_tensors.h"

namespace attnscope {
namespace {

/// The token group of a task's first row: tasks of one group share calls.
TokenGroup group_of(const Problem& problem, const Task& task) {
  if (task.item < 0) return TokenGroup::query;
  const std::int64_t first = task.queries.begin;
  const TokenRange cls = problem.layout.cls(task.item);
  if (first >= cls.begin && first < cls.end) return TokenGroup::cls;
  const TokenRange query = problem.layout.query(task.item);
  return first >= query.begin && first < query.end ? TokenGroup::query : TokenGroup::document;
}

Status is_one_call(const Problem& problem, const Task& task, const Segment& segment) {
  if (segment.keys.listed || segment.skip_begin != segment.skip_end) {
    return fail(
        "flash-window supports only contiguous keys, and pattern {} has global tokens scattered in "
        "the document",
        problem.pattern.name);
  }
  if (segment.kind == SegmentKind::block) {
    return fail("flash-window supports windows, not blocks, which pattern {} needs",
                problem.pattern.name);
  }
  if (segment.kind == SegmentKind::band &&
      (segment.offset != 0 || segment.keys.begin != task.queries.begin ||
       segment.keys.end != task.queries.end)) {
    return fail(
        "flash-window supports a window of a token range only over the same range, and pattern {} "
        "has "
        "a window over another range",
        problem.pattern.name);
  }
  return {};
}

Status is_one_group(const Problem& problem, const Task& task) {
  if (task.queries.listed) {
    return fail(
        "flash-window supports only contiguous rows, and pattern {} has global tokens scattered in "
        "the document",
        problem.pattern.name);
  }
  if (task.heads.begin != 0 || task.heads.end != problem.plan.heads) {
    return fail(
        "flash-window needs the same pairs in all heads, and pattern {} differs between heads",
        problem.pattern.name);
  }
  return {};
}

/// A whole run in one or two pieces: the first item's tokens directly follow a shared query's and
/// would otherwise form one run, in contrast to those of every other item.
std::vector<TokenRange> pieces_of(const Problem& problem, const Task& task, TokenRange keys) {
  const std::int64_t border = problem.layout.shared_query();
  if (task.item < 0 || keys.begin >= border || keys.end <= border) return {keys};
  return {{keys.begin, border}, {border, keys.end}};
}

/// The common properties of tasks that share calls.
using Signature = std::pair<TokenGroup, std::vector<std::int64_t>>;

}  // namespace

Result<std::vector<RowGroup>> parts_of(const Problem& problem) {
  std::vector<RowGroup> groups;
  std::map<Signature, std::size_t> known;
  for (const Task& task : problem.plan.tasks) {
    if (task.queries.size() == 0) continue;
    if (Status ok = is_one_group(problem, task); !ok) return tl::unexpected(ok.error());
    Signature signature{group_of(problem, task), {}};
    std::vector<TokenRange> keys;
    for (const Segment& segment : problem.plan.segments_of(task)) {
      if (segment.keys.size() == 0) continue;
      if (Status ok = is_one_call(problem, task, segment); !ok) return tl::unexpected(ok.error());
      const TokenRange range{segment.keys.begin, segment.keys.end};
      if (segment.kind == SegmentKind::band) {
        signature.second.push_back(segment.window);
        keys.push_back(range);
        continue;
      }
      for (const TokenRange& piece : pieces_of(problem, task, range)) {
        signature.second.push_back(AttentionPart::no_window);
        keys.push_back(piece);
      }
    }
    const auto [place, is_new] = known.emplace(signature, groups.size());
    if (is_new) {
      groups.emplace_back();
      for (const std::int64_t window : signature.second) {
        groups.back().parts.push_back({.keys = {}, .window = window});
      }
    }
    RowGroup& group = groups[place->second];
    group.queries.push_back({task.queries.begin, task.queries.end});
    for (std::size_t p = 0; p < keys.size(); ++p) group.parts[p].keys.push_back(keys[p]);
  }
  return groups;
}

namespace {

std::int64_t batch_stride(const ConstTensor& tensor, std::int64_t distance) {
  if (tensor.item_tokens == 0 || distance % tensor.item_tokens != 0) {
    return distance * tensor.token_stride;
  }
  return distance / tensor.item_tokens * tensor.item_stride;
}

at::Tensor strided(const ConstTensor& tensor, std::int64_t first, at::IntArrayRef sizes,
                   at::IntArrayRef strides, at::Device device) {
  // LibTorch has no const tensors; inputs are only read.
  auto* data =
      const_cast<std::byte*>(tensor.data) + tensor.offset(first, 0) * size_of(tensor.dtype);
  return at::for_blob(data, sizes)
      .strides(strides)
      .options(at::TensorOptions().dtype(scalar_type(tensor.dtype)).device(device))
      .target_device(device)  // otherwise LibTorch queries the driver for the memory's device
      .make_tensor();
}

}  // namespace

std::optional<EvenSequences> even_sequences(std::span<const TokenRange> sequences,
                                            std::int64_t item_tokens) {
  if (sequences.empty()) return std::nullopt;
  EvenSequences even{.first = sequences.front().begin,
                     .length = sequences.front().size(),
                     .distance = 0,
                     .count = static_cast<std::int64_t>(sequences.size())};
  if (even.count > 1) even.distance = sequences[1].begin - even.first;
  if (even.distance != 0 && even.distance < even.length) return std::nullopt;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const std::int64_t begin = even.first + static_cast<std::int64_t>(s) * even.distance;
    if (sequences[s] != TokenRange{begin, begin + even.length}) return std::nullopt;
  }
  if (item_tokens == 0 || even.distance % item_tokens == 0) return even;
  const bool in_one_item = even.first / item_tokens == sequences.back().begin / item_tokens;
  return in_one_item ? std::optional(even) : std::nullopt;
}

at::Tensor all_tokens(const ConstTensor& tensor, std::int64_t tokens, std::int64_t heads,
                      at::Device device) {
  const std::int64_t item = tensor.item_tokens == 0 ? tokens : tensor.item_tokens;
  const std::int64_t items = item == 0 ? 0 : tokens / item;
  const std::int64_t item_stride = tensor.item_tokens == 0 ? 0 : tensor.item_stride;
  return strided(tensor, 0, {items, item, heads, tensor.head_dim},
                 {item_stride, tensor.token_stride, tensor.head_stride, 1}, device);
}

TokenRows::TokenRows(std::vector<TokenRange> sequences, std::optional<EvenSequences> even,
                     std::int64_t item_tokens, std::int64_t heads)
    : sequences_(std::move(sequences)), even_(even), item_tokens_(item_tokens), heads_(heads) {
  for (const TokenRange& sequence : sequences_) {
    tokens_ += sequence.size();
    longest_ = std::max(longest_, sequence.size());
    end_ = std::max(end_, sequence.end);
  }
}

void TokenRows::prepare(at::Device device) {
  device_ = device;
  if (is_even() || indices_.defined()) return;
  at::Tensor borders = at::empty({static_cast<std::int64_t>(sequences_.size()) + 1}, at::kInt);
  at::Tensor indices = at::empty({tokens_}, at::kLong);
  auto* border = borders.data_ptr<std::int32_t>();
  auto* index = indices.data_ptr<std::int64_t>();
  std::int64_t place = 0;
  *border++ = 0;
  for (const TokenRange& sequence : sequences_) {
    for (std::int64_t token = sequence.begin; token < sequence.end; ++token) {
      index[place++] = token;
    }
    *border++ = static_cast<std::int32_t>(place);
  }
  borders_ = borders.to(device);
  indices_ = indices.to(device);
  if (item_tokens_ == 0) return;
  item_indices_ = indices.floor_divide(item_tokens_).to(device);
  places_ = indices.remainder(item_tokens_).to(device);
}

std::int64_t TokenRows::list_bytes() const {
  if (is_even()) return 0;
  const std::int64_t lists = item_tokens_ == 0 ? 1 : 3;
  return lists * tokens_ * static_cast<std::int64_t>(sizeof(std::int64_t)) +
         static_cast<std::int64_t>((sequences_.size() + 1) * sizeof(std::int32_t));
}

at::Tensor TokenRows::view(const ConstTensor& tensor) const {
  return strided(
      tensor, even_->first, {even_->count, even_->length, heads_, tensor.head_dim},
      {batch_stride(tensor, even_->distance), tensor.token_stride, tensor.head_stride, 1}, device_);
}

at::Tensor TokenRows::whole(const ConstTensor& tensor) const {
  if (item_tokens_ == 0) {
    return strided(tensor, 0, {end_, heads_, tensor.head_dim},
                   {tensor.token_stride, tensor.head_stride, 1}, device_);
  }
  const std::int64_t items = (end_ + item_tokens_ - 1) / item_tokens_;
  return all_tokens(tensor, items * item_tokens_, heads_, device_);
}

at::Tensor TokenRows::read(const ConstTensor& tensor) const {
  if (is_even()) return view(tensor);
  if (item_tokens_ == 0) return whole(tensor).index_select(0, indices_);
  return whole(tensor).index({item_indices_, places_});
}

void TokenRows::write(const Tensor& tensor, const at::Tensor& values) const {
  const ConstTensor target = attnscope::as_const(tensor);
  if (is_even()) {
    view(target).copy_(values);
    return;
  }
  const at::Tensor rounded = values.to(scalar_type(tensor.dtype));
  if (item_tokens_ == 0) {
    whole(target).index_copy_(0, indices_, rounded);
  } else {
    whole(target).index_put_({item_indices_, places_}, rounded);
  }
}

void TokenRows::write_numbers(const at::Tensor& all, const at::Tensor& numbers) const {
  const at::Tensor values = numbers.transpose(-1, -2);  // heads last
  if (!is_even()) {
    all.index_copy_(0, indices_, values);
    return;
  }
  all.as_strided({even_->count, even_->length, heads_}, {even_->distance * heads_, heads_, 1},
                 even_->first * heads_)
      .copy_(values);
}

void TokenRows::add(const at::Tensor& sums, const at::Tensor& values) const {
  if (!is_even()) {
    sums.index_add_(0, indices_, values.to(at::kFloat));
    return;
  }
  const std::int64_t dim = sums.size(2);
  if (even_->distance == 0) {
    sums.narrow(0, even_->first, even_->length)
        .add_(values.sum({0}, /*keepdim=*/false, at::kFloat));
    return;
  }
  sums.as_strided({even_->count, even_->length, heads_, dim},
                  {even_->distance * heads_ * dim, heads_ * dim, dim, 1},
                  even_->first * heads_ * dim)
      .add_(values);
}

namespace {

/// Work in the tiles of LibTorch's flash kernels.
ExecutedWork assembled_work(const Problem& problem, std::span<const RowGroup> groups) {
  const bool backward = problem.direction == Direction::forward_backward;
  const FlashTile forward_tile = flash_forward_tile(problem.head_dim);
  const FlashTile backward_tile = flash_backward_tile(problem.head_dim);
  const auto heads = static_cast<double>(problem.plan.heads);
  const auto element = static_cast<double>(size_of(problem.dtype));
  double flop = 0;
  double values = 0;  // of head_dim elements, read or written in the problem's dtype
  double sums = 0;    // the same in float32
  for (const RowGroup& group : groups) {
    double rows = 0;
    for (const TokenRange& sequence : group.queries) rows += static_cast<double>(sequence.size());
    const auto parts = static_cast<double>(group.parts.size());
    for (const AttentionPart& part : group.parts) {
      double keys = 0;
      for (std::size_t s = 0; s < part.keys.size(); ++s) {
        const FlashPairs pairs{
            .rows = group.queries[s].size(), .keys = part.keys[s].size(), .window = part.window};
        flop += 2 * 2 * pairs_in_tiles(pairs, forward_tile) * static_cast<double>(forward_tile.dim);
        if (backward) {
          flop +=
              2 * 5 * pairs_in_tiles(pairs, backward_tile) * static_cast<double>(backward_tile.dim);
        }
        keys += static_cast<double>(part.keys[s].size());
      }
      // q, k and v are read, o is written; then q, k, v, o and grad_o are read, three gradients
      // written, and the sums of keys' and values' gradients read and written.
      values += 2 * rows + 2 * keys;
      if (backward) values += 4 * rows + 4 * keys;
      if (backward) sums += 2 * 2 * keys;
    }
    // Results are merged in float32, one pass per part, and written to the output.
    values += parts * rows + rows;
    if (parts > 1) sums += (2 * parts - 1) * rows + rows;
    if (backward) values += rows + (parts > 1 ? parts * rows : rows);
  }
  return {.flop = heads * flop,
          .bytes = heads * static_cast<double>(problem.head_dim) *
                   (element * values + static_cast<double>(sizeof(float)) * sums)};
}

/// Bytes of float32 sums that the flash backward allocates for sequences with these rows
/// (mha_varlen_bwd in aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp: 128 extra
/// rows per sequence).
std::int64_t flash_backward_scratch(std::span<const TokenRange> sequences, std::int64_t heads,
                                    std::int64_t head_dim) {
  constexpr std::int64_t more_rows = 128;
  std::int64_t rows = 0;
  for (const TokenRange& sequence : sequences) rows += sequence.size() + more_rows;
  const std::int64_t multiple = head_dim <= 128 ? 32 : 64;
  const std::int64_t dim = (head_dim + multiple - 1) / multiple * multiple;
  return rows * heads * (dim + 1) * static_cast<std::int64_t>(sizeof(float));
}

/// A factor for each row and head, [..., heads, rows], in the shape of values [..., rows, heads,
/// dim].
at::Tensor alongside_values(const at::Tensor& factors) {
  return factors.transpose(-1, -2).unsqueeze(-1);
}

PartResult merge(std::vector<PartResult> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  at::Tensor lse = parts[0].lse;
  for (std::size_t p = 1; p < parts.size(); ++p) lse = at::logaddexp(lse, parts[p].lse);
  const auto weight = [&](const PartResult& part) {
    return alongside_values(at::exp(at::sub(part.lse, lse)));
  };
  at::Tensor o = at::mul(parts[0].o, weight(parts[0]));  // float32 for any dtype of the parts
  for (std::size_t p = 1; p < parts.size(); ++p) o.addcmul_(parts[p].o, weight(parts[p]));
  return {.o = std::move(o), .lse = std::move(lse)};
}

/// The rows of a group and the keys of its parts, bound to the layout.
struct BoundGroup {
  TokenRows rows;
  std::vector<TokenRows> keys;
  std::vector<std::int64_t> windows;
};

/// Data kept from a forward call for its backward.
struct KeptGroup {
  std::vector<PartOperands> operands;  // of each part
  at::Tensor lse;                      // of the whole rows, in the kernel's layout
};

BoundGroup bind(RowGroup group, std::int64_t item_tokens, std::int64_t heads) {
  auto even_rows = even_sequences(group.queries, item_tokens);
  std::vector<std::optional<EvenSequences>> even_keys;
  bool all_even = even_rows.has_value() && (even_rows->distance > 0 || even_rows->count == 1);
  for (const AttentionPart& part : group.parts) {
    even_keys.push_back(even_sequences(part.keys, item_tokens));
    all_even = all_even && even_keys.back().has_value();
  }
  if (!all_even) {
    even_rows.reset();
    for (auto& even : even_keys) even.reset();
  }
  BoundGroup bound{.rows = TokenRows(std::move(group.queries), even_rows, item_tokens, heads),
                   .keys = {},
                   .windows = {}};
  for (std::size_t p = 0; p < group.parts.size(); ++p) {
    bound.keys.emplace_back(std::move(group.parts[p].keys), even_keys[p], item_tokens, heads);
    bound.windows.push_back(group.parts[p].window);
  }
  return bound;
}

class PreparedAssembled final : public PreparedAttention {
 public:
  PreparedAssembled(const Problem& problem, std::vector<RowGroup> groups, const PartKernel& kernel)
      : problem_(problem), heads_(problem.plan.heads), kernel_(kernel) {
    const Tensor like = packed_tensor(problem.layout, heads_, problem.head_dim, problem.dtype,
                                      problem.memory_order, nullptr);
    work_ = assembled_work(problem, groups);
    for (RowGroup& group : groups) {
      groups_.push_back(bind(std::move(group), like.item_tokens, heads_));
    }
  }

  std::int64_t workspace_bytes() const override { return 0; }
  bool writes_lse() const override { return true; }
  ExecutedWork executed() const override { return work_; }

  /// Gathered operands, all of them kept for a backward; the parts' results and their float32
  /// merge; gradients of a part in addition to the sums of all.
  std::int64_t allocated_bytes() const override {
    const std::int64_t row = heads_ * problem_.head_dim;
    const std::int64_t in_dtype = row * size_of(problem_.dtype);
    const std::int64_t in_float = row * float_bytes;
    const std::int64_t number = heads_ * float_bytes;
    std::int64_t kept = 0;
    std::int64_t worst = 0;
    for (const BoundGroup& group : groups_) {
      const auto parts = static_cast<std::int64_t>(group.keys.size());
      const std::int64_t rows = group.rows.tokens();
      std::int64_t gathered = group.rows.is_even() ? 0 : rows;
      std::int64_t keys = 0;
      kept += group.rows.list_bytes();
      for (const TokenRows& of_part : group.keys) {
        kept += of_part.list_bytes();
        keys = std::max(keys, of_part.tokens());
        if (!of_part.is_even()) gathered += 2 * of_part.tokens();
      }
      std::int64_t merging = rows * parts * (in_dtype + number);
      if (parts != 1) merging += rows * (2 * in_float + in_dtype + 3 * number);
      if (with_gradients()) {
        kept += gathered * in_dtype + rows * number;
        worst = std::max(
            {worst, merging,
             (3 * rows + 2 * keys) * in_dtype + (rows + keys) * in_float +
                 flash_backward_scratch(group.rows.sequences(), heads_, problem_.head_dim)});
      } else {
        worst = std::max(worst, gathered * in_dtype + merging);
      }
    }
    return kept + worst + (with_gradients() ? 2 * problem_.plan.tokens * in_float : 0);
  }

  Status forward(const ForwardCall& call) override {
    start();
    const c10::InferenceMode no_graph;
    kept_.clear();
    std::vector<KeptGroup> kept;
    for (const BoundGroup& group : groups_) {
      KeptGroup operands{.operands = operands_of(group, call), .lse = {}};
      const PartResult whole = attend(group, operands.operands);
      group.rows.write(call.o, whole.o);
      if (!call.lse.empty()) group.rows.write_numbers(numbers(call.lse), whole.lse);
      if (!with_gradients()) continue;
      operands.lse = whole.lse;
      kept.push_back(std::move(operands));
    }
    kept_ = std::move(kept);
    return {};
  }

  Status backward(const BackwardCall& call) override {
    if (kept_.size() != groups_.size()) return fail("backward needs a forward call before it");
    start();
    const c10::InferenceMode no_graph;
    const std::vector<KeptGroup> kept = std::exchange(kept_, {});
    const GradientTensors& t = call.tensors;
    const std::int64_t tokens = problem_.plan.tokens;
    const auto options = at::TensorOptions().dtype(at::kFloat).device(device());
    const at::Tensor sums_k = at::zeros({tokens, heads_, problem_.head_dim}, options);
    const at::Tensor sums_v = at::zeros({tokens, heads_, problem_.head_dim}, options);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const BoundGroup& group = groups_[g];
      const at::Tensor grad_o = group.rows.read(t.grad_o);
      const PartResult whole{.o = group.rows.read(t.o), .lse = kept[g].lse};
      at::Tensor grad_q;
      for (std::size_t p = 0; p < group.keys.size(); ++p) {
        const PartGradients part = kernel_.backward(kept[g].operands[p], grad_o, whole);
        grad_q = p == 0   ? part.q
                 : p == 1 ? grad_q.to(at::kFloat).add_(part.q)
                          : grad_q.add_(part.q);
        group.keys[p].add(sums_k, part.k);
        group.keys[p].add(sums_v, part.v);
      }
      group.rows.write(t.grad_q, grad_q.defined() ? grad_q : at::zeros(whole.o.sizes(), options));
    }
    write_all(t.grad_k, sums_k);
    write_all(t.grad_v, sums_v);
    return {};
  }

 private:
  static constexpr auto float_bytes = static_cast<std::int64_t>(sizeof(float));

  [[nodiscard]] bool with_gradients() const {
    return problem_.direction == Direction::forward_backward;
  }
  [[nodiscard]] at::Device device() const { return torch_device(problem_.device); }

  /// Makes the lists for the layout in the first call.
  void start() {
    if (problem_.device == DeviceKind::cpu) use_torch_threads(problem_.threads);
    for (BoundGroup& group : groups_) {
      group.rows.prepare(device());
      for (TokenRows& keys : group.keys) keys.prepare(device());
    }
  }

  [[nodiscard]] std::vector<PartOperands> operands_of(const BoundGroup& group,
                                                      const ForwardCall& call) const {
    std::vector<PartOperands> parts;
    if (group.keys.empty()) return parts;
    const at::Tensor q = group.rows.read(call.q);
    for (std::size_t p = 0; p < group.keys.size(); ++p) {
      const TokenRows& keys = group.keys[p];
      // A window wider than every sequence has the effect of the widest sequence.
      const std::int64_t window = std::min(group.windows[p], keys.longest());
      parts.push_back({.q = q,
                       .k = keys.read(call.k),
                       .v = keys.read(call.v),
                       .row_borders = group.rows.borders(),
                       .key_borders = keys.borders(),
                       .longest_rows = group.rows.longest(),
                       .longest_keys = keys.longest(),
                       .window = window,
                       .scale = static_cast<double>(problem_.scale)});
    }
    return parts;
  }

  [[nodiscard]] PartResult attend(const BoundGroup& group,
                                  const std::vector<PartOperands>& parts) const {
    if (parts.empty()) return nothing(group);
    std::vector<PartResult> results;
    results.reserve(parts.size());
    for (const PartOperands& part : parts) results.push_back(kernel_.forward(part));
    return merge(std::move(results));
  }

  /// Result for rows without keys.
  [[nodiscard]] PartResult nothing(const BoundGroup& group) const {
    const auto options = at::TensorOptions().dtype(at::kFloat).device(device());
    const std::int64_t dim = problem_.head_dim;
    if (!group.rows.is_even()) {
      return {.o = at::zeros({group.rows.tokens(), heads_, dim}, options),
              .lse = at::full({heads_, group.rows.tokens()}, minus_infinity, options)};
    }
    const auto batch = static_cast<std::int64_t>(group.rows.sequences().size());
    return {.o = at::zeros({batch, group.rows.longest(), heads_, dim}, options),
            .lse = at::full({batch, heads_, group.rows.longest()}, minus_infinity, options)};
  }

  [[nodiscard]] at::Tensor numbers(std::span<float> lse) const {
    return at::for_blob(lse.data(), {problem_.plan.tokens, heads_})
        .options(at::TensorOptions().dtype(at::kFloat).device(device()))
        .target_device(device())
        .make_tensor();
  }

  void write_all(const Tensor& target, const at::Tensor& sums) const {
    const at::Tensor all =
        all_tokens(attnscope::as_const(target), problem_.plan.tokens, heads_, device());
    all.copy_(sums.view(all.sizes()));
  }

  Problem problem_;
  std::int64_t heads_;
  const PartKernel& kernel_;
  ExecutedWork work_;
  std::vector<BoundGroup> groups_;
  std::vector<KeptGroup> kept_;  // from a forward call to its backward
};

}  // namespace

std::unique_ptr<PreparedAttention> prepare_assembled(const Problem& problem,
                                                     std::vector<RowGroup> groups,
                                                     const PartKernel& kernel) {
  return std::make_unique<PreparedAssembled>(problem, std::move(groups), kernel);
}

}  // namespace attnscope
