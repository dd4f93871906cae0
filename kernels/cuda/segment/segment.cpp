// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/segment.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <string_view>
#include <utility>

#include "kernels/cuda/segment/arguments.h"
#include "kernels/cuda/work/device_list.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {
namespace {

constexpr std::int64_t smallest_head_dim = 8;
constexpr std::int64_t largest_head_dim = 256;
constexpr std::array<int, 5> classes{16, 32, 64, 128, 256};

std::size_t class_of(std::int64_t head_dim) {
  std::size_t number = 0;
  while (classes[number] < head_dim) ++number;
  return number;
}

template <DType type>
SegmentKernels kernels_of(std::int64_t head_dim) {
  constexpr std::array makers{segment_kernels<type, 16>, segment_kernels<type, 32>,
                              segment_kernels<type, 64>, segment_kernels<type, 128>,
                              segment_kernels<type, 256>};
  return makers[class_of(head_dim)]();
}

SegmentKernels kernels_of(DType dtype, std::int64_t head_dim) {
  switch (dtype) {
    case DType::float32:
      return kernels_of<DType::float32>(head_dim);
    case DType::float16:
      return kernels_of<DType::float16>(head_dim);
    case DType::bfloat16:
      break;
  }
  return kernels_of<DType::bfloat16>(head_dim);
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

bool has_backward(const WorkList& list) {
  return static_cast<std::size_t>(list.forward_units) < list.units.size();
}

/// The sections of the workspace, in bytes.
struct Workspace {
  std::int64_t counters = 0;  // at 0
  std::int64_t dots_at = 0;
  std::int64_t partials_at = 0;
  std::int64_t pitch = 0;  // floats of a partial row
  std::int64_t bytes = 0;

  Workspace(const WorkList& list, std::int64_t head_dim, DType dtype) {
    constexpr std::int64_t section = 256;
    const bool backward = has_backward(list);
    const int columns = classes[class_of(head_dim)];
    const std::int64_t column_parts =
        backward ? columns / gradient_columns(columns, size_of(dtype)) : 1;
    counters = static_cast<std::int64_t>(list.merges.size()) * column_parts * list.heads * 4;
    dots_at = round_up(counters, section);
    const std::int64_t dots =
        backward ? static_cast<std::int64_t>(list.tokens) * list.heads * 4 : 0;
    partials_at = dots_at + round_up(dots, section);
    // Forward o, maximum and sum; backward two gradients.
    pitch = round_up(backward ? std::max(2 * head_dim, head_dim + 2) : head_dim + 2, 4);
    bytes = partials_at + std::int64_t{list.partial_rows} * list.heads * pitch * 4;
  }
};

ItemDivision division_by(std::int64_t item_tokens) {
  if (item_tokens == 0) return {};
  const auto divisor = static_cast<std::uint32_t>(item_tokens);
  if (divisor == 1) return {.tokens = 1, .multiplier = 0, .shift = 0};
  const int power = 31 + std::bit_width(divisor - 1);
  const std::uint64_t multiplier = ((std::uint64_t{1} << power) + divisor - 1) / divisor;
  return {.tokens = divisor,
          .multiplier = static_cast<std::uint32_t>(multiplier),
          .shift = static_cast<std::uint32_t>(power - 32)};
}

/// The tensors of a call, one after the other: whether they are as the work list needs them, and
/// what their memory has in common.
class Operands {
 public:
  explicit Operands(const SegmentWork& work) : work_(work) {}

  template <typename Byte>
  void add(std::string_view name, const StridedTensor<Byte>& tensor) {
    if (status_) status_ = check(name, tensor);
    if (!status_) return;
    const std::int64_t size = size_of(tensor.dtype);
    const auto fits = [&](std::int64_t stride) { return stride * size % 16 == 0; };
    const bool has_items = is_split(tensor);
    in_pieces_ = in_pieces_ && reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0 &&
                 fits(tensor.head_dim) && fits(tensor.token_stride) && fits(tensor.head_stride) &&
                 (!has_items || fits(tensor.item_stride));
    if (has_items) item_tokens_ = tensor.item_tokens;
  }

  [[nodiscard]] const Status& status() const { return status_; }
  /// Whether all rows begin and end at multiples of 16 bytes.
  [[nodiscard]] bool in_pieces() const { return in_pieces_; }
  [[nodiscard]] ItemDivision items() const { return division_by(item_tokens_); }

  template <typename Byte>
  [[nodiscard]] DeviceTensor<Byte> on_device(const StridedTensor<Byte>& tensor) const {
    const std::int64_t size = size_of(tensor.dtype);
    return {
        .data = tensor.data,
        .token_stride = tensor.token_stride * size,
        .head_stride = tensor.head_stride * size,
        .item_stride =
            (is_split(tensor) ? tensor.item_stride : item_tokens_ * tensor.token_stride) * size};
  }

 private:
  /// Where all tokens lie in one item there is nothing to divide.
  template <typename Byte>
  [[nodiscard]] bool is_split(const StridedTensor<Byte>& tensor) const {
    return tensor.item_tokens > 0 && tensor.item_tokens < work_.work().tokens;
  }

  template <typename Byte>
  [[nodiscard]] Status check(std::string_view name, const StridedTensor<Byte>& tensor) const;

  const SegmentWork& work_;
  Status status_;
  bool in_pieces_ = true;
  std::int64_t item_tokens_ = 0;
};

template <typename Byte>
Status Operands::check(std::string_view name, const StridedTensor<Byte>& tensor) const {
  if (tensor.dtype != work_.dtype()) {
    return fail("{} is of another type than the work list was made for; give all of one type",
                name);
  }
  if (tensor.head_dim != work_.head_dim()) {
    return fail("{} has head dimension {}, the work list was made for {}; give tensors of it", name,
                tensor.head_dim, work_.head_dim());
  }
  if (tensor.data == nullptr && work_.work().tokens > 0) {
    return fail("{} has no data for its {} tokens; hand in its device memory", name,
                work_.work().tokens);
  }
  const std::int64_t size = size_of(tensor.dtype);
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % static_cast<std::uintptr_t>(size) != 0) {
    return fail("{} is not aligned to its numbers of {} bytes; hand in aligned memory", name, size);
  }
  if (is_split(tensor) && item_tokens_ != 0 && item_tokens_ != tensor.item_tokens) {
    return fail("{} has items of {} tokens, a tensor before it {}; give tensors split alike", name,
                tensor.item_tokens, item_tokens_);
  }
  return {};
}

Status check_memory(std::string_view operation, const SegmentWork& work,
                    const SegmentMemory& memory) {
  constexpr std::uintptr_t alignment = 256;
  const auto check = [&](std::string_view name, const std::byte* data,
                         std::int64_t bytes) -> Status {
    if (bytes == 0) return {};
    if (data == nullptr) {
      return fail("{} was given no {}; hand in {} bytes of device memory", operation, name, bytes);
    }
    if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) {
      return fail("The {} of {} is not aligned to {} bytes; hand in aligned device memory", name,
                  operation, alignment);
    }
    return {};
  };
  if (Status s = check("work list", memory.list, static_cast<std::int64_t>(work.list().size()));
      !s) {
    return s;
  }
  return check("workspace", memory.workspace, work.workspace_bytes());
}

UnitArguments unit_arguments(const SegmentWork& work, const SegmentMemory& memory, float scale,
                             const Operands& operands) {
  const WorkList& list = work.work();
  const Workspace places(list, work.head_dim(), work.dtype());
  return {.list = device_list(list, memory.list),
          .items = operands.items(),
          .first_unit = 0,
          .heads = list.heads,
          .heads_per_unit = list.heads_per_unit,
          .main_warps = list.main_warps,
          .head_dim = static_cast<std::int32_t>(work.head_dim()),
          .vector = operands.in_pieces(),
          .scale = scale,
          .counters = reinterpret_cast<unsigned*>(memory.workspace),
          .partials = reinterpret_cast<float*>(memory.workspace + places.partials_at),
          .partial_rows = list.partial_rows,
          .partial_pitch = static_cast<std::int32_t>(places.pitch)};
}

int warps_of(const WorkList& list) {
  return list.main_warps + list.extra_warps;
}

}  // namespace

SegmentWork::SegmentWork(std::shared_ptr<const WorkList> list, std::int64_t head_dim, DType dtype)
    : work_(std::move(list)),
      bytes_(std::make_shared<const std::vector<std::byte>>(list_bytes(*work_))),
      head_dim_(head_dim),
      dtype_(dtype) {}

std::span<const std::byte> SegmentWork::list() const {
  return *bytes_;
}

std::int64_t SegmentWork::workspace_bytes() const {
  return Workspace(*work_, head_dim_, dtype_).bytes;
}

std::int64_t SegmentWork::counter_bytes() const {
  return Workspace(*work_, head_dim_, dtype_).counters;
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
  Result<WorkList> list = cut_into_units(plan, head_dim, passes);
  if (!list) return tl::unexpected(std::move(list.error()));
  assert(warps_of(*list) <= most_warps(classes[class_of(head_dim)]));
  return SegmentWork(std::make_shared<const WorkList>(std::move(*list)), head_dim, dtype);
}

Status segment_forward(const SegmentWork& work, const SegmentMemory& memory, const ConstTensor& q,
                       const ConstTensor& k, const ConstTensor& v, float scale, const Tensor& o,
                       float* lse, Stream stream) {
  Operands operands(work);
  operands.add("q", q);
  operands.add("k", k);
  operands.add("v", v);
  operands.add("o", o);
  if (!operands.status()) return operands.status();
  if (Status s = check_memory("segment_forward", work, memory); !s) return s;
  const WorkList& list = work.work();
  const ForwardArguments arguments{.units = unit_arguments(work, memory, scale, operands),
                                   .q = operands.on_device(q),
                                   .k = operands.on_device(k),
                                   .v = operands.on_device(v),
                                   .o = operands.on_device(o),
                                   .lse = lse};
  return kernels_of(work.dtype(), work.head_dim())
      .forward(arguments, list.forward_units, warps_of(list), stream);
}

Status segment_backward(const SegmentWork& work, const SegmentMemory& memory,
                        const GradientTensors& tensors, float scale, Stream stream) {
  const WorkList& list = work.work();
  const std::int64_t tokens = list.tokens;
  if (tokens > 0 && !has_backward(list)) {
    return fail(
        "The work list was made for the forward pass alone; make it with "
        "Passes::forward_backward");
  }
  Operands operands(work);
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
  if (Status s = check_memory("segment_backward", work, memory); !s) return s;
  const SegmentKernels kernels = kernels_of(work.dtype(), work.head_dim());
  float* dots = reinterpret_cast<float*>(memory.workspace +
                                         Workspace(list, work.head_dim(), work.dtype()).dots_at);
  Status queued = kernels.row_dots({.a = operands.on_device(tensors.o),
                                    .b = operands.on_device(tensors.grad_o),
                                    .items = operands.items(),
                                    .dots = dots,
                                    .rows = rows,
                                    .heads = list.heads,
                                    .head_dim = static_cast<std::int32_t>(work.head_dim()),
                                    .vector = operands.in_pieces()},
                                   stream);
  if (!queued) return queued;
  BackwardArguments arguments{.units = unit_arguments(work, memory, scale, operands),
                              .q = operands.on_device(tensors.q),
                              .k = operands.on_device(tensors.k),
                              .v = operands.on_device(tensors.v),
                              .grad_o = operands.on_device(tensors.grad_o),
                              .grad_q = operands.on_device(tensors.grad_q),
                              .grad_k = operands.on_device(tensors.grad_k),
                              .grad_v = operands.on_device(tensors.grad_v),
                              .lse = tensors.lse.data(),
                              .dots = dots};
  arguments.units.first_unit = list.forward_units;
  return kernels.backward(arguments,
                          static_cast<std::int64_t>(list.units.size()) - list.forward_units,
                          warps_of(list), stream);
}

}  // namespace attnscope::cuda
