// SPDX-License-Identifier: Apache-2.0
#include "engine/proof/call.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "engine/attention/cuda_runtime.h"
#include "engine/attention/packed_tensor.h"
#include "kernels/plan/number_formats.h"

namespace attnscope {
namespace {

constexpr std::byte guard_value{0xA5};
constexpr std::byte nan_byte{0xFF};  // all bits set is NaN in every dtype
constexpr std::size_t guard_bytes =
    1024;  // before and after the values of a guarded room: two rows of 128 floats
constexpr std::size_t most_watched = 4096;
// Below this many bytes, starting threads costs more than it saves.
constexpr std::int64_t worth_threads = std::int64_t{1} << 20;
constexpr int lse_part = 8;

/// The tensors of a view in the order of their parts.
constexpr std::array<Tensor CallView::*, 8> members{
    &CallView::q,      &CallView::k,      &CallView::v,      &CallView::o,
    &CallView::grad_o, &CallView::grad_q, &CallView::grad_k, &CallView::grad_v};

/// An output of a call; all other tensors are its inputs.
struct Output {
  int part;
  const char* name;
  Pass pass;
};
constexpr std::array<Output, 5> outputs{{{3, "output", Pass::forward},
                                         {5, "grad_q", Pass::backward},
                                         {6, "grad_k", Pass::backward},
                                         {7, "grad_v", Pass::backward},
                                         {lse_part, "log-sum-exp", Pass::forward}}};

/// The entry of `outputs` if the pass writes the part.
const Output* written(int part, Pass pass) {
  const auto* const found = std::ranges::find(outputs, part, &Output::part);
  const bool writes = found != outputs.end() && (pass == Pass::both || pass == found->pass);
  return writes ? found : nullptr;
}

void fill(DeviceKind device, std::span<std::byte> bytes, std::byte value) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size == 0) return;
  if (device != DeviceKind::cpu) return cuda::fill(bytes.data(), size, value);
  const auto set = [&](std::int64_t begin, std::int64_t count) {
    std::memset(bytes.data() + begin, static_cast<int>(value), static_cast<std::size_t>(count));
  };
  if (size <= worth_threads) return set(0, size);
  constexpr std::int64_t piece = worth_threads / 4;
#pragma omp parallel for schedule(static)
  for (std::int64_t at = 0; at < size; at += piece) set(at, std::min(piece, size - at));
}

/// The bytes themselves on the processor, otherwise a copy in `fetched`.
std::span<const std::byte> on_host(DeviceKind device, std::span<const std::byte> bytes,
                                   std::vector<std::byte>& fetched) {
  if (device == DeviceKind::cpu) return bytes;
  fetched.resize(bytes.size());
  cuda::copy_to_host(fetched, bytes.data());
  return fetched;
}

/// The sum of 64-bit words (the last one padded with zeros), each times an odd number that depends
/// on its position: one changed word always changes it. It runs at memory speed, because all inputs
/// are checked after every contender's check.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  const auto words = static_cast<std::int64_t>(bytes.size() / word_bytes);
  std::uint64_t hash = 0;
#pragma omp parallel for reduction(+ : hash) schedule(static) if (words * 8 > worth_threads)
  for (std::int64_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + static_cast<std::size_t>(i) * word_bytes, word_bytes);
    hash += word * (2 * static_cast<std::uint64_t>(i) + 1);
  }
  std::uint64_t last = 0;
  const std::span<const std::byte> rest =
      bytes.subspan(static_cast<std::size_t>(words) * word_bytes);
  std::ranges::copy(rest, reinterpret_cast<std::byte*>(&last));
  return hash + last * (2 * static_cast<std::uint64_t>(words) + 1);
}

/// Only infinities and NaN have all bits of the exponent set.
template <typename Bits>
bool all_finite(std::span<const std::byte> bytes, Bits exponent) {
  const auto* const values = reinterpret_cast<const Bits*>(bytes.data());
  const auto count = static_cast<std::int64_t>(bytes.size() / sizeof(Bits));
  bool finite = true;
#pragma omp parallel for reduction(&& : finite) schedule(static) if (count > worth_threads)
  for (std::int64_t i = 0; i < count; ++i) finite = finite && (values[i] & exponent) != exponent;
  return finite;
}

bool all_finite(std::span<const std::byte> bytes, DType dtype) {
  if (dtype == DType::float32) return all_finite<std::uint32_t>(bytes, 0x7F800000U);
  return all_finite<std::uint16_t>(bytes, dtype == DType::float16 ? 0x7C00U : 0x7F80U);
}

std::string differs(std::string_view tensor, double error, double bound, std::size_t rows) {
  return fmt::format(
      "the relative error of its {} against the float64 reference is {:.3g}, above {:.3g}, with {} "
      "compared rows",
      tensor, error, bound, rows);
}

std::span<std::byte> row_of(const Tensor& tensor, const RowId& id) {
  return {tensor.data + tensor.offset(id.token, id.head) * size_of(tensor.dtype),
          static_cast<std::size_t>(tensor.head_dim * size_of(tensor.dtype))};
}

/// Multiplies by powers of two; 16-bit values by 1 and -1, which only flip their signs.
void multiply_row(std::span<std::byte> row, DType dtype, std::span<const float> by) {
  if (dtype == DType::float32) {
    auto* const values = reinterpret_cast<float*>(row.data());
    for (std::size_t d = 0; d < by.size(); ++d) values[d] *= by[d];
    return;
  }
  auto* const values = reinterpret_cast<std::uint16_t*>(row.data());
  for (std::size_t d = 0; d < by.size(); ++d) {
    if (by[d] < 0) values[d] ^= std::uint16_t{0x8000};
  }
}

}  // namespace

Room guarded_room(DeviceKind device, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const std::size_t whole = size + 2 * guard_bytes;
  Room room;
  std::byte* data = nullptr;
  if (device == DeviceKind::cpu) {
    auto block = std::make_shared<c10::DataPtr>(c10::GetCPUAllocator()->allocate(whole));
    data = static_cast<std::byte*>(block->get());
    room.block = std::move(block);
  } else {
    auto block = std::make_shared<cuda::Block>(static_cast<std::int64_t>(whole));
    data = block->data();
    room.block = std::move(block);
  }
  room.before = {data, guard_bytes};
  room.values = {data + guard_bytes, size};
  room.after = {data + guard_bytes + size, guard_bytes};
  return room;
}

void poison(DeviceKind device, const Room& room) {
  fill(device, room.values, nan_byte);
}

void GuardZones::watch(const char* name, const Room& room) {
  for (const std::span<std::byte> zone :
       {room.before.last(std::min(room.before.size(), most_watched)),
        room.after.first(std::min(room.after.size(), most_watched))}) {
    fill(device_, zone, guard_value);
    if (!zone.empty()) zones_.push_back({name, zone});
  }
}

const char* GuardZones::broken() const {
  std::vector<std::byte> fetched;
  for (const Zone& zone : zones_) {
    const auto bytes = on_host(device_, zone.bytes, fetched);
    if (std::ranges::any_of(bytes, [](std::byte value) { return value != guard_value; }))
      return zone.name;
  }
  return nullptr;
}

std::optional<std::int64_t> CallShape::tensor_bytes() const {
  std::int64_t bytes = size_of(dtype);
  for (const std::int64_t factor : {layout.tokens(), heads, head_dim})
    if (__builtin_mul_overflow(bytes, factor, &bytes)) return std::nullopt;
  // Eight tensors, their guard memory and the log-sum-exps together.
  if (bytes > std::numeric_limits<std::int64_t>::max() / 16) return std::nullopt;
  return bytes;
}

std::int64_t CallShape::lse_bytes() const {
  if (!lse && !has_gradients()) return 0;
  return layout.tokens() * heads * static_cast<std::int64_t>(sizeof(float));
}

CallShape shape_of(const Problem& problem) {
  return {.layout = problem.layout,
          .heads = problem.plan.heads,
          .head_dim = problem.head_dim,
          .dtype = problem.dtype,
          .memory_order = problem.memory_order,
          .direction = problem.direction,
          .lse = true};
}

CallTensors::CallTensors(const CallShape& shape, DeviceKind device)
    : shape_(shape), device_(device) {}

void CallTensors::place(const AllocateRoom& take) {
  const auto bytes = shape_.tensor_bytes();
  if (!bytes) throw std::bad_alloc();
  const auto take_all = [&](std::vector<Room>& rooms, const AllocateRoom& from) {
    for (int part = 0; part < shape_.tensors(); ++part) rooms.push_back(from(*bytes));
    rooms.resize(lse_part);
    if (const std::int64_t lse = shape_.lse_bytes(); lse > 0) rooms.push_back(from(lse));
  };
  take_all(rooms_, take);
  if (!has_host_copy() || !host_.empty()) return;
  take_all(host_, [](std::int64_t of) { return guarded_room(DeviceKind::cpu, of); });
}

CallView CallTensors::view(const std::vector<Room>& rooms) const {
  CallView view;
  for (std::size_t part = 0; part < members.size(); ++part) {
    view.*members[part] = packed_tensor(shape_.layout, shape_.heads, shape_.head_dim, shape_.dtype,
                                        shape_.memory_order, rooms[part].values.data());
  }
  if (rooms.size() > lse_part) {
    const std::span<std::byte> lse = rooms[lse_part].values;
    view.lse = {reinterpret_cast<float*>(lse.data()), lse.size() / sizeof(float)};
  }
  return view;
}

void CallTensors::send_inputs() const {
  for (std::size_t part = 0; part < host_.size(); ++part) {
    if (written(static_cast<int>(part), Pass::both) != nullptr || host_[part].values.empty())
      continue;
    cuda::copy_to_device(rooms_[part].values.data(), host_[part].values);
  }
}

void CallTensors::fetch_outputs() const {
  for (std::size_t part = 0; part < host_.size(); ++part) {
    if (written(static_cast<int>(part), Pass::both) == nullptr || host_[part].values.empty())
      continue;
    cuda::copy_to_host(host_[part].values, rooms_[part].values.data());
  }
}

void CallTensors::poison(Pass pass) const {
  for (std::size_t part = 0; part < rooms_.size(); ++part) {
    if (written(static_cast<int>(part), pass) != nullptr) attnscope::poison(device_, rooms_[part]);
  }
}

std::uint64_t CallTensors::hash_of_inputs(Pass pass) const {
  constexpr std::size_t piece = std::size_t{16} << 20;
  std::vector<std::byte> fetched;
  std::uint64_t hash = 0;
  for (std::size_t part = 0; part < rooms_.size(); ++part) {
    if (written(static_cast<int>(part), pass) != nullptr) continue;
    const std::span<std::byte> whole = rooms_[part].values;
    for (std::size_t at = 0; at < whole.size(); at += piece) {
      const auto bytes = attnscope::on_host(
          device_, whole.subspan(at, std::min(piece, whole.size() - at)), fetched);
      hash = hash * 31 + hash_of(bytes);
    }
  }
  return hash;
}

void CallTensors::add_guards(GuardZones& guards, Pass pass) const {
  for (const Output& output : outputs) {
    const auto part = static_cast<std::size_t>(output.part);
    if (part < rooms_.size() && written(output.part, pass) != nullptr)
      guards.watch(output.name, rooms_[part]);
  }
}

ChannelFactors ChannelFactors::plain(const CallShape& shape) {
  const std::vector<float> ones(static_cast<std::size_t>(shape.heads * shape.head_dim), 1.0F);
  return {.channels = shape.head_dim, .scores = ones, .values = ones};
}

ChannelFactors ChannelFactors::drawn(const CallShape& shape,
                                     const std::function<std::uint64_t()>& bits) {
  ChannelFactors factors = plain(shape);
  const bool doubles = shape.dtype == DType::float32 && !shape.has_gradients();
  constexpr std::size_t channels_a_draw = 16;  // of four bits each
  std::uint64_t drawn = 0;
  for (std::size_t i = 0; i < factors.scores.size(); ++i, drawn >>= 4U) {
    if (i % channels_a_draw == 0) drawn = bits();
    factors.scores[i] = (drawn & 1U) != 0 ? -1.0F : 1.0F;
    factors.values[i] =
        ((drawn & 2U) != 0 ? -1.0F : 1.0F) * (doubles && (drawn & 4U) != 0 ? 2.0F : 1.0F);
  }
  return factors;
}

std::span<const float> ChannelFactors::of_head(const std::vector<float>& all,
                                               std::int32_t head) const {
  return std::span(all).subspan(static_cast<std::size_t>(head * channels),
                                static_cast<std::size_t>(channels));
}

void CallTensors::change_inputs(const ChannelFactors& from, const ChannelFactors& to) const {
  const CallView view = on_device();
  const auto multiply = [&](const Tensor& tensor, std::vector<float> ChannelFactors::*factors) {
    std::vector<float> ratios;
    for (std::size_t i = 0; i < (to.*factors).size(); ++i)
      ratios.push_back((to.*factors)[i] / (from.*factors)[i]);
    for (std::int64_t token = 0; token < shape_.layout.tokens(); ++token) {
      for (std::int32_t head = 0; head < shape_.heads; ++head) {
        multiply_row(row_of(tensor, {token, head}), shape_.dtype, to.of_head(ratios, head));
      }
    }
  };
  multiply(view.q, &ChannelFactors::scores);
  multiply(view.k, &ChannelFactors::scores);
  multiply(view.v, &ChannelFactors::values);
  if (shape_.has_gradients())
    multiply(view.grad_o, &ChannelFactors::values);  // 1 and -1 are their own inverses
}

double CallTensors::distance_of_output(std::span<const std::byte> kept,
                                       const ChannelFactors& factors) const {
  const Tensor output = on_device().o;
  double largest = 0;
  for (std::int64_t token = 0; token < shape_.layout.tokens(); ++token) {
    for (std::int32_t head = 0; head < shape_.heads; ++head) {
      const std::int64_t row = output.offset(token, head);
      const std::span<const float> by = factors.of_head(factors.values, head);
      for (std::size_t d = 0; d < by.size(); ++d) {
        const std::int64_t place = row + static_cast<std::int64_t>(d);
        const double value = read_value(output.data, output.dtype, place) / by[d];
        const double apart = std::abs(value - read_value(kept.data(), output.dtype, place));
        if (!(apart <= largest)) largest = apart;  // also if it is NaN
      }
      if (!std::isfinite(largest)) return std::numeric_limits<double>::infinity();
    }
  }
  return largest;
}

const char* CallTensors::not_finite(Pass pass) const {
  for (const Output& output : outputs) {
    if (output.part == lse_part || written(output.part, pass) == nullptr) continue;
    const Room& room = (has_host_copy() ? host_ : rooms_)[static_cast<std::size_t>(output.part)];
    if (!all_finite(room.values, shape_.dtype)) return output.name;
  }
  return nullptr;
}

Status call(PreparedAttention& prepared, const CallView& tensors, std::span<std::byte> workspace,
            Pass pass) {
  const bool has_gradients = tensors.grad_o.data != nullptr;
  if (pass != Pass::backward) {
    const bool wants_lse = has_gradients || prepared.writes_lse();
    Status done = prepared.forward({.q = as_const(tensors.q),
                                    .k = as_const(tensors.k),
                                    .v = as_const(tensors.v),
                                    .o = tensors.o,
                                    .lse = wants_lse ? tensors.lse : std::span<float>(),
                                    .workspace = workspace});
    if (!done) return done;
  }
  if (pass == Pass::forward || !has_gradients) return {};
  return prepared.backward({.tensors = {.q = as_const(tensors.q),
                                        .k = as_const(tensors.k),
                                        .v = as_const(tensors.v),
                                        .o = as_const(tensors.o),
                                        .lse = tensors.lse,
                                        .grad_o = as_const(tensors.grad_o),
                                        .grad_q = tensors.grad_q,
                                        .grad_k = tensors.grad_k,
                                        .grad_v = tensors.grad_v},
                            .workspace = workspace});
}

Result<std::string> watched_call(const CallTensors& tensors, const Room& workspace, Pass pass,
                                 const std::function<Status()>& call) {
  tensors.poison(pass);
  GuardZones guards(tensors.device());
  tensors.add_guards(guards, pass);
  guards.watch("workspace", workspace);
  const std::uint64_t inputs = tensors.hash_of_inputs(pass);
  if (const Status done = call(); !done) return tl::unexpected(done.error());
  tensors.fetch_outputs();
  if (const char* name = guards.broken()) return fmt::format("it wrote outside its {}", name);
  return std::string(tensors.hash_of_inputs(pass) == inputs ? "" : "it changed its inputs");
}

Reference reference_of(const Problem& problem, std::span<const RowId> rows,
                       const CallTensors& tensors) {
  const CallView host = tensors.on_host();
  const ConstTensor q = as_const(host.q);
  const ConstTensor k = as_const(host.k);
  const ConstTensor v = as_const(host.v);
  Reference reference{.rows = compute_reference(problem, rows, q, k, v), .gradients = {}};
  if (problem.direction == Direction::forward_backward) {
    reference.gradients =
        compute_reference_gradients(problem, rows, q, k, v, as_const(host.grad_o));
  }
  return reference;
}

Verdict judge(const Reference& reference, const CallTensors& tensors, Pass pass, bool wrote_lse) {
  const CallView host = tensors.on_host();
  const DType dtype = host.o.dtype;
  Verdict verdict;
  if (pass != Pass::backward) {
    verdict.error.update(
        relative_error(reference.rows, host.o),
        error_bound(dtype, reference.rows.scores) + reference.rows.rounding_of_sums, "output");
  }
  if (pass != Pass::forward && reference.gradients) {
    const GradientErrors errors =
        gradient_errors(*reference.gradients, host.grad_q, host.grad_k, host.grad_v);
    verdict.error.update(errors.largest(), gradient_error_bound(dtype, reference.rows.scores),
                         errors.worst());
  }
  if (const char* name = tensors.not_finite(pass)) {
    verdict.wrong =
        fmt::format("its {} has values that are not finite, or rows that were never written", name);
  } else if (!verdict.error.is_allowed()) {
    verdict.wrong = differs(verdict.error.tensor, verdict.error.error, verdict.error.bound,
                            reference.rows.rows.size());
  } else if (wrote_lse && pass != Pass::backward) {
    const double error = log_sum_exp_error(reference.rows, host.lse, tensors.shape().heads);
    if (!(error <= error_bound(dtype)))
      verdict.wrong = differs("log-sum-exp", error, error_bound(dtype), reference.rows.rows.size());
  }
  return verdict;
}

RowWatch::RowWatch(DeviceKind device, const Reference& reference, std::size_t most_rows)
    : device_(device), scores_(reference.rows.scores) {
  const ReferenceRows& all = reference.rows;
  const auto dim = static_cast<std::size_t>(all.head_dim);
  const std::size_t count = std::min(all.rows.size(), most_rows);
  Watched output{"output",
                 &CallView::o,
                 all.scale_of_error,
                 &error_bound,
                 all.rounding_of_sums,
                 &ChannelFactors::values,
                 {}};
  Watched gradient{"grad_q", &CallView::grad_q,       1, &gradient_error_bound,
                   0,        &ChannelFactors::scores, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t r = i * all.rows.size() / count;
    const RowId id = all.rows[r];
    output.rows.push_back({id, std::span(all.output).subspan(r * dim, dim)});
    if (!reference.gradients) continue;
    const HeadGradients& head = reference.gradients->heads[static_cast<std::size_t>(id.head)];
    const std::int64_t place = head.query_place[static_cast<std::size_t>(id.token)];
    if (place < 0) continue;
    gradient.rows.push_back(
        {id, std::span(head.grad_q).subspan(static_cast<std::size_t>(place) * dim, dim)});
  }
  watched_.push_back(std::move(output));
  if (!reference.gradients) return;
  gradient.scale = reference.gradients->scale_of_grad_q;
  watched_.push_back(std::move(gradient));
}

void RowWatch::poison(const CallView& on_device) const {
  for (const Watched& watched : watched_) {
    for (const Row& row : watched.rows)
      fill(device_, row_of(on_device.*watched.tensor, row.id), nan_byte);
  }
}

double RowWatch::error_of(const Watched& watched, const Tensor& tensor,
                          const ChannelFactors* factors) const {
  std::vector<std::byte> fetched;
  double largest = 0;
  for (const Row& row : watched.rows) {
    const auto values = on_host(device_, row_of(tensor, row.id), fetched);
    const std::span<const float> by = factors != nullptr
                                          ? factors->of_head(factors->*watched.factors, row.id.head)
                                          : std::span<const float>();
    for (std::size_t i = 0; i < row.expected.size(); ++i) {
      const double value = read_value(values.data(), tensor.dtype, static_cast<std::int64_t>(i)) /
                           (by.empty() ? 1.0F : by[i]);
      if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
      largest = std::max(largest, std::abs(value - row.expected[i]));
    }
  }
  return largest / watched.scale;
}

Verdict RowWatch::judge(const CallView& on_device, const ChannelFactors* factors) const {
  Verdict verdict;
  for (const Watched& watched : watched_) {
    const Tensor& tensor = on_device.*watched.tensor;
    verdict.error.update(error_of(watched, tensor, factors),
                         watched.bound(tensor.dtype, scores_) + watched.alongside, watched.name);
  }
  if (!verdict.error.is_allowed()) {
    verdict.wrong = differs(verdict.error.tensor, verdict.error.error, verdict.error.bound,
                            watched_.front().rows.size());
  }
  return verdict;
}

Verdict RowWatch::judge_distance(double distance, DType dtype) const {
  const Watched& output = watched_.front();
  const double error = distance / output.scale;
  // Two correct outputs each differ from the reference by at most the bound.
  const double bound = 2 * (output.bound(dtype, scores_) + output.alongside);
  Verdict verdict;
  verdict.error.update(error, bound, output.name);
  if (!verdict.error.is_allowed()) {
    verdict.wrong = fmt::format(
        "a row of its output differs from that of the call that was checked: the relative error is "
        "{:.3g}, above {:.3g}",
        error, bound);
  }
  return verdict;
}

}  // namespace attnscope
