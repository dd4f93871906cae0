// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/segment.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "kernels/cuda/segment/arguments.h"
#include "kernels/cuda/walk_list.h"
#include "kernels/cuda/work/device_list.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {
namespace {

constexpr std::int64_t smallest_head_dim = 8;
constexpr std::int64_t largest_head_dim = 256;

/// Of a type and head dimension that has walks.
WalkKernels walk_kernels_of(DType dtype, std::int64_t head_dim) {
  if (dtype == DType::float16) {
    return head_dim == 32 ? walk_kernels<DType::float16, 32>() : walk_kernels<DType::float16, 64>();
  }
  return head_dim == 32 ? walk_kernels<DType::bfloat16, 32>() : walk_kernels<DType::bfloat16, 64>();
}

PlainKernels plain_kernels_of(DType dtype) {
  return with_type(dtype, [](auto type) { return plain_kernels<type()>(); });
}

Operands operands_of(const SegmentWork& work) {
  return {work.dtype(), work.head_dim(), work.work().tokens};
}

/// Whether walks can read these tensors.
bool can_be_walked(const Operands& operands, const WalkList& list) {
  const auto item_tokens = static_cast<std::int32_t>(operands.items().tokens);
  const auto is_one_run = [&](const WorkRun& run) {
    return item_tokens == 0 || run.count == 0 ||
           run.begin / item_tokens == (run.begin + run.count - 1) / item_tokens;
  };
  return operands.in_pieces() && operands.short_strides() &&
         std::ranges::all_of(list.neighbours, is_one_run);
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

bool has_backward(const WorkList& list) {
  return static_cast<std::size_t>(list.row_units) < list.units.size();
}

/// The sections of the workspace, in bytes. RowNumbers stand at its beginning. Calls follow each
/// other, so that the walks of both directions may leave their partial rows at one place.
struct Workspace {
  std::int64_t walk_partials_at = 0;
  std::int64_t pitch = 0;  // floats of a partial row
  std::int64_t bytes = 0;

  explicit Workspace(const SegmentWork& work) {
    constexpr std::int64_t section = 256;
    const WorkList& list = work.work();
    const std::int64_t head_dim = work.head_dim();
    const bool backward = has_backward(list);
    const std::int64_t numbers =
        backward ? std::int64_t{list.tokens} * list.heads * std::int64_t{sizeof(RowNumbers)} : 0;
    walk_partials_at = bytes = round_up(numbers, section);
    if (work.walks() == nullptr) return;
    // Forward o, maximum and sum; backward two gradients.
    pitch = round_up(backward ? std::max(2 * head_dim, head_dim + 2) : head_dim + 2, 4);
    const auto end_of = [&](const WalkList& walks) {
      return walk_partials_at + std::int64_t{walks.partial_rows} * list.heads * pitch * 4;
    };
    bytes = end_of(work.walks()->rows);
    if (work.walks()->keys) bytes = std::max(bytes, end_of(*work.walks()->keys));
  }
};

/// Of one of the call's work lists, which lies in device memory at `list_at`.
UnitArguments unit_arguments(const SegmentWork& work, float scale, const Operands& operands,
                             const WorkList& list, const std::byte* list_at, Standing what) {
  const bool is_rows = what == Standing::rows;
  return {.list = device_list(list, list_at),
          .items = operands.items(),
          .first_unit = is_rows ? 0 : list.row_units,
          .units = is_rows ? list.row_units
                           : static_cast<std::int32_t>(list.units.size()) - list.row_units,
          .heads = list.heads,
          .heads_per_unit = list.heads_per_unit,
          .head_dim = static_cast<std::int32_t>(work.head_dim()),
          .vector = operands.in_pieces(),
          .scale = scale};
}

/// Of the walks of one direction, whose list lies in device memory at `list_at`.
WalkArguments walk_arguments(const SegmentWork& work, const SegmentMemory& memory, float scale,
                             const Operands& operands, const WalkList& list,
                             const std::byte* list_at) {
  constexpr float log2_e = 1.4426950408889634f, least_factor = 1e-30f;
  const Workspace places(work);
  return {.list = device_list(list, list_at),
          .items = operands.items(),
          .walks = static_cast<std::int32_t>(list.walks.size()),
          .merges = static_cast<std::int32_t>(list.merges.size()),
          .widest_merge = list.widest_merge,
          .heads = work.work().heads,
          .head_dim = static_cast<std::int32_t>(work.head_dim()),
          .broad = list.shape.broad,
          .scale = scale,
          .factor = std::max(std::abs(scale * log2_e), least_factor),
          .signs = scale < 0.0f ? 0x80008000u : 0u,
          .partials = reinterpret_cast<float*>(memory.workspace + places.walk_partials_at),
          .partial_rows = list.partial_rows,
          .partial_pitch = static_cast<std::int32_t>(places.pitch)};
}

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
  return Workspace(*this).bytes;
}

Status segment_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (head_dim < smallest_head_dim || head_dim > largest_head_dim) {
    return fail("Segment attention on CUDA takes head dimensions {} to {}, not {}",
                smallest_head_dim, largest_head_dim, head_dim);
  }
  for (const Segment& segment : plan.segments) {
    if (segment.kind == SegmentKind::block && segment.window < 1) {
      return fail("The plan has blocks of {} tokens; a block holds at least 1", segment.window);
    }
    if (segment.kind == SegmentKind::band && segment.window < 0) {
      return fail("The plan has a band of half-width {}; it must be at least 0", segment.window);
    }
  }
  return {};
}

Result<SegmentWork> segment_work(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                                 Passes passes) {
  if (Status s = segment_supports(plan, head_dim); !s) return tl::unexpected(std::move(s.error()));
  Result<WorkList> list = cut_into_units(plan, passes);
  if (!list) return tl::unexpected(std::move(list.error()));
  std::optional<Walks> walks = cut_into_walks(plan, head_dim, dtype, passes);
  return SegmentWork(std::make_shared<const WorkList>(std::move(*list)), head_dim, dtype,
                     walks ? std::make_shared<const Walks>(*std::move(walks)) : nullptr);
}

Status segment_forward(const SegmentWork& work, const SegmentMemory& memory, const ConstTensor& q,
                       const ConstTensor& k, const ConstTensor& v, float scale, const Tensor& o,
                       float* lse, Stream stream) {
  Operands operands = operands_of(work);
  operands.add("q", q);
  operands.add("k", k);
  operands.add("v", v);
  operands.add("o", o);
  if (!operands.status()) return operands.status();
  if (Status s = check_memory("segment_forward", memory.list, work.list().size(), memory.workspace,
                              work.workspace_bytes());
      !s)
    return s;
  const ForwardTensors tensors{.q = operands.on_device(q),
                               .k = operands.on_device(k),
                               .v = operands.on_device(v),
                               .o = operands.on_device(o),
                               .lse = lse};
  const Walks* walks = work.walks();
  if (walks != nullptr && !can_be_walked(operands, walks->rows)) walks = nullptr;
  if (walks != nullptr) {
    const WalkArguments of_walks = walk_arguments(work, memory, scale, operands, walks->rows,
                                                  memory.list + work.places().rows);
    const WalkKernels kernels = walk_kernels_of(work.dtype(), work.head_dim());
    if (Status s = kernels.forward({of_walks, tensors}, walks->rows.shape, stream); !s) return s;
  }
  const UnitArguments units =
      unit_arguments(work, scale, operands, walks == nullptr ? work.work() : walks->rest,
                     memory.list + (walks == nullptr ? 0 : work.places().rest), Standing::rows);
  return plain_kernels_of(work.dtype()).forward({units, tensors}, stream);
}

Status segment_backward(const SegmentWork& work, const SegmentMemory& memory,
                        const GradientTensors& tensors, float scale, Stream stream) {
  const WorkList& list = work.work();
  const std::int64_t tokens = list.tokens;
  if (tokens > 0 && !has_backward(list)) {
    return made_for_forward_alone("segment_backward");
  }
  Operands operands = operands_of(work);
  operands.add("q", tensors.q);
  operands.add("k", tensors.k);
  operands.add("v", tensors.v);
  operands.add("o", tensors.o);
  operands.add("grad_o", tensors.grad_o);
  operands.add("grad_q", tensors.grad_q);
  operands.add("grad_k", tensors.grad_k);
  operands.add("grad_v", tensors.grad_v);
  if (!operands.status()) return operands.status();
  const std::int64_t rows = tokens * list.heads;
  if (static_cast<std::int64_t>(tensors.lse.size()) != rows) {
    return fail(
        "lse has {} floats, the plan {} rows (tokens * heads); give those that "
        "segment_forward wrote",
        tensors.lse.size(), rows);
  }
  if (Status s = check_memory("segment_backward", memory.list, work.list().size(), memory.workspace,
                              work.workspace_bytes());
      !s)
    return s;
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
  if (walks != nullptr && (!walks->keys || !can_be_walked(operands, walks->rows) ||
                           !can_be_walked(operands, *walks->keys))) {
    walks = nullptr;
  }
  // Keys need what all rows leave.
  for (const Standing what : {Standing::rows, Standing::keys}) {
    if (walks != nullptr) {
      const bool is_rows = what == Standing::rows;
      const WalkArguments of_walks =
          walk_arguments(work, memory, scale, operands, is_rows ? walks->rows : *walks->keys,
                         memory.list + (is_rows ? work.places().rows : work.places().keys));
      const WalkKernels kernels = walk_kernels_of(work.dtype(), work.head_dim());
      if (Status s = kernels.backward({of_walks, on_device}, what, stream); !s) return s;
    }
    const UnitArguments units =
        unit_arguments(work, scale, operands, walks == nullptr ? list : walks->rest,
                       memory.list + (walks == nullptr ? 0 : work.places().rest), what);
    if (Status s = plain_kernels_of(work.dtype()).backward({units, on_device}, what, stream); !s)
      return s;
  }
  return {};
}

}  // namespace attnscope::cuda
