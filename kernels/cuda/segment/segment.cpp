// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/segment.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/cuda/segment/arguments.h"
#include "kernels/cuda/walk_list.h"
#include "kernels/cuda/work/device_list.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {
namespace {

constexpr std::int64_t smallest_head_dim = 8;
constexpr std::int64_t largest_head_dim = 256;

PlainKernels plain_kernels_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return plain_kernels<DType::float32>();
    case DType::float16:
      return plain_kernels<DType::float16>();
    case DType::bfloat16:
      break;
  }
  return plain_kernels<DType::bfloat16>();
}

/// Of a type and head dimension that has walks.
WalkKernels walk_kernels_of(DType dtype, std::int64_t head_dim) {
  if (dtype == DType::float16) {
    return head_dim == 32 ? walk_kernels<DType::float16, 32>() : walk_kernels<DType::float16, 64>();
  }
  return head_dim == 32 ? walk_kernels<DType::bfloat16, 32>() : walk_kernels<DType::bfloat16, 64>();
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

bool has_backward(const WorkList& list) {
  return static_cast<std::size_t>(list.row_units) < list.units.size();
}

/// The sections of the workspace, in bytes. D stands at its beginning. Calls follow each other, so
/// that the walks of both directions may leave their partial rows at one place.
struct Workspace {
  std::int64_t walk_partials_at = 0;
  std::int64_t pitch = 0;  // floats of a partial row
  std::int64_t bytes = 0;

  explicit Workspace(const SegmentWork& work) {
    constexpr std::int64_t section = 256;
    const WorkList& list = work.work();
    const std::int64_t head_dim = work.head_dim();
    const bool backward = has_backward(list);
    const std::int64_t dots =
        backward ? static_cast<std::int64_t>(list.tokens) * list.heads * 4 : 0;
    walk_partials_at = bytes = round_up(dots, section);
    if (work.walks() == nullptr) return;
    // Forward o, maximum and sum; backward two gradients.
    pitch = round_up(backward ? std::max(2 * head_dim, head_dim + 2) : head_dim + 2, 4);
    const auto end_of = [&](const WalkList& walks) {
      return walk_partials_at + std::int64_t{walks.partial_rows} * list.heads * pitch * 4;
    };
    bytes = end_of(work.walks()->rows);
    for (const auto* of : {&work.walks()->backward_rows, &work.walks()->backward_keys})
      if (*of) bytes = std::max(bytes, end_of(**of));
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
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    short_strides_ = short_strides_ && std::abs(tensor.token_stride) <= most / size;
  }

  [[nodiscard]] const Status& status() const { return status_; }
  /// Whether all rows begin and end at multiples of 16 bytes.
  [[nodiscard]] bool in_pieces() const { return in_pieces_; }
  [[nodiscard]] ItemDivision items() const { return division_by(item_tokens_); }
  /// Whether walks can read these tensors.
  [[nodiscard]] bool can_be_walked(const WalkList& list) const {
    const auto is_one_run = [&](const WorkRun& run) {
      return item_tokens_ == 0 || run.count == 0 ||
             run.begin / item_tokens_ == (run.begin + run.count - 1) / item_tokens_;
    };
    return in_pieces_ && short_strides_ && std::ranges::all_of(list.neighbours, is_one_run);
  }

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
  bool short_strides_ = true;  // of tokens: below 2^31 bytes
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
  constexpr std::uintptr_t of_list = 256, of_workspace = 16;
  const auto check = [&](std::string_view name, const std::byte* data, std::int64_t bytes,
                         std::uintptr_t alignment) -> Status {
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
  if (Status s =
          check("work list", memory.list, static_cast<std::int64_t>(work.list().size()), of_list);
      !s) {
    return s;
  }
  return check("workspace", memory.workspace, work.workspace_bytes(), of_workspace);
}

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

/// Of the walks of one direction, whose list lies in device memory at `list_at`; without what
/// stands still and what passes by.
WalkArguments walk_arguments(const SegmentWork& work, const SegmentMemory& memory, float scale,
                             const Operands& operands, const WalkList& list,
                             const std::byte* list_at) {
  const Workspace places(work);
  return {.list = device_list(list, list_at),
          .items = operands.items(),
          .walks = static_cast<std::int32_t>(list.walks.size()),
          .merges = static_cast<std::int32_t>(list.merges.size()),
          .widest_merge = list.widest_merge,
          .heads = work.work().heads,
          .head_dim = static_cast<std::int32_t>(work.head_dim()),
          .scale = scale,
          .q = {},
          .k = {},
          .v = {},
          .o = {},
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
    places_.walks = append(list_bytes(walks_->rows));
    places_.backward_rows =
        walks_->backward_rows ? append(list_bytes(*walks_->backward_rows)) : places_.walks;
    if (walks_->backward_keys) places_.backward_keys = append(list_bytes(*walks_->backward_keys));
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
  Operands operands(work);
  operands.add("q", q);
  operands.add("k", k);
  operands.add("v", v);
  operands.add("o", o);
  if (!operands.status()) return operands.status();
  if (Status s = check_memory("segment_forward", work, memory); !s) return s;
  ForwardArguments arguments{.units = {},
                             .q = operands.on_device(q),
                             .k = operands.on_device(k),
                             .v = operands.on_device(v),
                             .o = operands.on_device(o),
                             .lse = lse};
  const auto queue_units = [&](const WorkList& list, std::int64_t list_at) {
    arguments.units =
        unit_arguments(work, scale, operands, list, memory.list + list_at, Standing::rows);
    return plain_kernels_of(work.dtype()).forward(arguments, stream);
  };
  const Walks* walks = work.walks();
  if (walks == nullptr || !operands.can_be_walked(walks->rows)) return queue_units(work.work(), 0);
  WalkArguments walk =
      walk_arguments(work, memory, scale, operands, walks->rows, memory.list + work.places().walks);
  walk.q = arguments.q;
  walk.k = arguments.k;
  walk.v = arguments.v;
  walk.o = arguments.o;
  walk.lse = lse;
  const WalkKernels kernels = walk_kernels_of(work.dtype(), work.head_dim());
  if (Status s = kernels.forward(walk, walks->rows.shape, stream); !s) return s;
  return queue_units(walks->rest, work.places().rest);
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
  BackwardArguments arguments{.units = {},
                              .q = operands.on_device(tensors.q),
                              .k = operands.on_device(tensors.k),
                              .v = operands.on_device(tensors.v),
                              .o = operands.on_device(tensors.o),
                              .grad_o = operands.on_device(tensors.grad_o),
                              .grad_q = operands.on_device(tensors.grad_q),
                              .grad_k = operands.on_device(tensors.grad_k),
                              .grad_v = operands.on_device(tensors.grad_v),
                              .lse = tensors.lse.data(),
                              .dots = reinterpret_cast<float*>(memory.workspace)};
  const Walks* walks = work.walks();
  if (walks != nullptr &&
      (!walks->backward_keys || !operands.can_be_walked(walks->rows_of_backward()) ||
       !operands.can_be_walked(*walks->backward_keys))) {
    walks = nullptr;
  }
  const auto queue_walks = [&](Standing what) {
    const bool is_rows = what == Standing::rows;
    const WalkList& of = is_rows ? walks->rows_of_backward() : *walks->backward_keys;
    BackwardWalkArguments walk{
        .walk = walk_arguments(
            work, memory, scale, operands, of,
            memory.list + (is_rows ? work.places().backward_rows : work.places().backward_keys)),
        .o = arguments.o,
        .grad_o = arguments.grad_o,
        .gradients = {is_rows ? arguments.grad_q : arguments.grad_k, arguments.grad_v},
        .lse = arguments.lse,
        .dots = arguments.dots};
    walk.walk.q = arguments.q;
    walk.walk.k = arguments.k;
    walk.walk.v = arguments.v;
    return walk_kernels_of(work.dtype(), work.head_dim()).backward(walk, what, of.shape, stream);
  };
  // Keys need what all rows leave.
  for (const Standing what : {Standing::rows, Standing::keys}) {
    if (walks != nullptr) {
      if (Status s = queue_walks(what); !s) return s;
    }
    arguments.units =
        unit_arguments(work, scale, operands, walks == nullptr ? list : walks->rest,
                       memory.list + (walks == nullptr ? 0 : work.places().rest), what);
    if (Status s = plain_kernels_of(work.dtype()).backward(arguments, what, stream); !s) return s;
  }
  return {};
}

}  // namespace attnscope::cuda
