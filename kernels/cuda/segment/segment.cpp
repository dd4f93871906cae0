// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/segment.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/cuda/segment/arguments.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {
namespace {

/// The kernels for a type and head dimension that have walks.
WalkKernels walk_kernels_of(DType dtype, std::int64_t head_dim) {
  if (dtype == DType::float16) {
    return head_dim == 32 ? walk_kernels<DType::float16, 32>() : walk_kernels<DType::float16, 64>();
  }
  return head_dim == 32 ? walk_kernels<DType::bfloat16, 32>() : walk_kernels<DType::bfloat16, 64>();
}

Status checked(std::string_view operation, const Operands& operands, const SegmentWork& work,
               const SegmentMemory& memory) {
  if (!operands.status()) return operands.status();
  return check_memory(operation, memory.list, work.list().size(), memory.workspace,
                      work.workspace_bytes());
}

/// Whether walks support these tensors. `layout` is the last one for which the list was examined.
bool can_be_walked(const Operands& operands, const WalkList& list,
                   std::atomic<std::int64_t>& layout) {
  if (!operands.in_pieces() || !operands.short_strides()) return false;
  const auto item_tokens = static_cast<std::int32_t>(operands.items().tokens);
  if (item_tokens == 0) return true;
  const std::int64_t known = layout;
  if (known / 2 == item_tokens) return known % 2 != 0;
  const bool fits = std::ranges::all_of(list.neighbours, [&](const WorkRun& run) {
    return run.count == 0 || run.begin / item_tokens == (run.begin + run.count - 1) / item_tokens;
  });
  layout = 2 * std::int64_t{item_tokens} + (fits ? 1 : 0);
  return fits;
}

bool has_backward(const WorkList& list) {
  return static_cast<std::size_t>(list.row_units) < list.units.size();
}

/// Floats of a walk's partial row: forward o, maximum and sum; backward two gradients.
std::int64_t partial_pitch(const SegmentWork& work) {
  const std::int64_t forward = work.head_dim() + 2;
  const std::int64_t floats =
      has_backward(work.work()) ? std::max(2 * work.head_dim(), forward) : forward;
  return (floats + 3) / 4 * 4;
}

/// Offset of partial rows in the workspace, after RowNumbers. Calls are ordered, so the walks of
/// both directions use the same memory.
std::int64_t partials_at(const WorkList& list) {
  return has_backward(list) ? section_after(std::int64_t{list.tokens} * list.heads *
                                            std::int64_t{sizeof(RowNumbers)})
                            : 0;
}

/// The common arguments of a call's launches.
struct Call {
  const SegmentWork& work;
  const SegmentMemory& memory;
  const Operands& operands;
  float scale;

  /// Arguments for the walks of one direction; `list_at` is the offset of their list.
  [[nodiscard]] WalkArguments of_walks(const WalkList& list, std::int64_t list_at) const {
    constexpr float log2_e = 1.4426950408889634f, least_factor = 1e-30f;
    return {.list = device_list(list, memory.list + list_at),
            .items = operands.items(),
            .walks = static_cast<std::int32_t>(list.walks.size()),
            .merges = static_cast<std::int32_t>(list.merges.size()),
            .widest_merge = list.widest_merge,
            .heads = work.work().heads,
            .head_dim = static_cast<std::int32_t>(work.head_dim()),
            .by_head = list.by_head,
            .scale = scale,
            .factor = std::max(std::abs(scale * log2_e), least_factor),
            .signs = scale < 0.0f ? 0x80008000u : 0u,
            .partials = reinterpret_cast<float*>(memory.workspace + partials_at(work.work())),
            .partial_rows = list.partial_rows,
            .partial_pitch = static_cast<std::int32_t>(partial_pitch(work))};
  }

  /// Arguments for the units of one direction: all, or with walks only the remaining ones.
  [[nodiscard]] UnitArguments of_units(const Walks* walks, Standing what) const {
    const WorkList& list = walks == nullptr ? work.work() : walks->rest;
    const auto units = static_cast<std::int32_t>(list.units.size());
    const bool is_rows = what == Standing::rows;
    return {.list = device_list(list, memory.list + (walks == nullptr ? 0 : work.places().rest)),
            .items = operands.items(),
            .first_unit = is_rows ? 0 : list.row_units,
            .units = is_rows ? list.row_units : units - list.row_units,
            .heads = list.heads,
            .heads_per_unit = list.heads_per_unit,
            .head_dim = static_cast<std::int32_t>(work.head_dim()),
            .vector = operands.in_pieces(),
            .scale = scale};
  }
};

}  // namespace

SegmentWork::SegmentWork(std::shared_ptr<const WorkList> list, std::int64_t head_dim, DType dtype,
                         std::shared_ptr<const Walks> walks)
    : work_(std::move(list)), walks_(std::move(walks)), head_dim_(head_dim), dtype_(dtype) {
  std::vector<std::byte> bytes = list_bytes(*work_);
  const auto append = [&](const std::vector<std::byte>& section) {
    const auto begin = static_cast<std::int64_t>(bytes.size());
    bytes.insert(bytes.end(), section.begin(), section.end());
    return begin;
  };
  if (walks_ != nullptr) {
    places_.rest = append(list_bytes(walks_->rest));
    places_.rows = append(list_bytes(walks_->rows));
    if (walks_->keys) places_.keys = append(list_bytes(*walks_->keys));
  }
  bytes_ = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

std::span<const std::byte> SegmentWork::list() const {
  return *bytes_;
}

std::int64_t SegmentWork::workspace_bytes() const {
  std::int64_t rows = walks_ == nullptr ? 0 : walks_->rows.partial_rows;
  if (walks_ != nullptr && walks_->keys)
    rows = std::max<std::int64_t>(rows, walks_->keys->partial_rows);
  return partials_at(*work_) + rows * work_->heads * partial_pitch(*this) * 4;
}

Status segment_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (head_dim < 8 || head_dim > 256) {
    return fail("Segment attention on CUDA supports head dimensions 8 to 256, not {}", head_dim);
  }
  for (const Segment& segment : plan.segments) {
    if (segment.kind == SegmentKind::block && segment.window < 1) {
      return fail("The plan has blocks of {} tokens; a block has at least 1", segment.window);
    }
    if (segment.kind == SegmentKind::band && segment.window < 0) {
      return fail("The plan has a band of half-width {}; it must be at least 0", segment.window);
    }
  }
  return {};
}

Result<SegmentWork> segment_work(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                                 Passes passes, const WalkCut& cut) {
  if (Status s = segment_supports(plan, head_dim); !s) return tl::unexpected(std::move(s.error()));
  Result<WorkList> list = cut_into_units(plan, passes);
  if (!list) return tl::unexpected(std::move(list.error()));
  std::optional<Walks> walks = cut_into_walks(plan, head_dim, dtype, passes, cut);
  return SegmentWork(std::make_shared<const WorkList>(std::move(*list)), head_dim, dtype,
                     walks ? std::make_shared<const Walks>(*std::move(walks)) : nullptr);
}

Status segment_forward(const SegmentWork& work, const SegmentMemory& memory, const ConstTensor& q,
                       const ConstTensor& k, const ConstTensor& v, float scale, const Tensor& o,
                       float* lse, Stream stream) {
  const Operands operands(work.dtype(), work.head_dim(), work.work().tokens,
                          {{"q", q}, {"k", k}, {"v", v}, {"o", as_const(o)}});
  if (Status s = checked("segment_forward", operands, work, memory); !s) return s;
  const ForwardTensors tensors{.q = operands.on_device(q),
                               .k = operands.on_device(k),
                               .v = operands.on_device(v),
                               .o = operands.on_device(o),
                               .lse = lse};
  const Walks* walks = work.walks();
  if (walks != nullptr && !can_be_walked(operands, walks->rows, work.layouts().rows))
    walks = nullptr;
  const Call call{work, memory, operands, scale};
  if (walks != nullptr) {
    const WalkKernels kernels = walk_kernels_of(work.dtype(), work.head_dim());
    if (Status s = kernels.forward({call.of_walks(walks->rows, work.places().rows), tensors},
                                   walks->rows.shape, stream);
        !s)
      return s;
  }
  return plain_forward(work.dtype(), {call.of_units(walks, Standing::rows), tensors}, stream);
}

Status segment_backward(const SegmentWork& work, const SegmentMemory& memory,
                        const GradientTensors& tensors, float scale, Stream stream) {
  const WorkList& list = work.work();
  const std::int64_t tokens = list.tokens;
  if (tokens > 0 && !has_backward(list)) {
    return made_for_forward_only("segment_backward");
  }
  const Operands operands(work.dtype(), work.head_dim(), tokens, named(tensors));
  if (Status s = checked("segment_backward", operands, work, memory); !s) return s;
  const std::int64_t rows = tokens * list.heads;
  if (static_cast<std::int64_t>(tensors.lse.size()) != rows) {
    return fail(
        "lse has {} floats, the plan {} rows (tokens * heads); pass those that "
        "segment_forward wrote",
        tensors.lse.size(), rows);
  }
  const BackwardTensors on_device{.q = operands.on_device(tensors.q),
                                  .k = operands.on_device(tensors.k),
                                  .v = operands.on_device(tensors.v),
                                  .o = operands.on_device(tensors.o),
                                  .grad_o = operands.on_device(tensors.grad_o),
                                  .grad_q = operands.on_device(tensors.grad_q),
                                  .grad_k = operands.on_device(tensors.grad_k),
                                  .grad_v = operands.on_device(tensors.grad_v),
                                  .lse = tensors.lse.data(),
                                  .numbers = reinterpret_cast<RowNumbers*>(memory.workspace),
                                  .tokens = tokens};
  const Walks* walks = work.walks();
  if (walks != nullptr &&
      (!walks->keys || !can_be_walked(operands, walks->rows, work.layouts().rows) ||
       !can_be_walked(operands, *walks->keys, work.layouts().keys))) {
    walks = nullptr;
  }
  const Call call{work, memory, operands, scale};
  // Keys need results of all rows.
  for (const Standing what : {Standing::rows, Standing::keys}) {
    if (walks != nullptr) {
      const bool is_rows = what == Standing::rows;
      const WalkArguments of_walks = call.of_walks(
          is_rows ? walks->rows : *walks->keys, is_rows ? work.places().rows : work.places().keys);
      const WalkKernels kernels = walk_kernels_of(work.dtype(), work.head_dim());
      if (Status s = kernels.backward({of_walks, on_device}, what, stream); !s) return s;
    }
    if (Status s =
            plain_backward(work.dtype(), {call.of_units(walks, what), on_device}, what, stream);
        !s) {
      return s;
    }
  }
  return {};
}

}  // namespace attnscope::cuda
