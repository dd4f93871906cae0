#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tensors of an implementation's calls, in memory that detects invalid accesses, and the
// verdict on the results of a call. `attnscope check`, `attend` and the check of a heat use it.
//
//   CallTensors tensors(shape, problem.device);
//   tensors.place([&](std::int64_t bytes) { return guarded_room(problem.device, bytes); });
//   pack(values, tokens, heads, tensors.on_host().q);      // and k and v
//   tensors.send_inputs();
//   Result<std::string> wrong = watched_call(tensors, workspace, Pass::forward, [&] {
//     return call(*prepared, tensors.on_device(), workspace.values, Pass::forward);
//   });
//   if (wrong && wrong->empty()) wrong = judge(reference, tensors, Pass::forward).wrong;

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/attention/implementation.h"
#include "engine/proof/reference.h"

namespace attnscope {

/// The passes of one call for direction forward-backward; for direction forward, `both` is forward.
enum class Pass : std::uint8_t { forward, backward, both };

/// Guard memory before and after the values of a tensor or a workspace, in a device's memory.
struct Room {
  std::shared_ptr<const void> block;  // owns all of it
  std::span<std::byte> before{}, values{}, after{};
};
using AllocateRoom = std::function<Room(std::int64_t bytes)>;

/// Allocates with LibTorch's allocator of that device.
[[nodiscard]] Room guarded_room(DeviceKind device, std::int64_t bytes);
/// Fills the values with bytes that are NaN in every dtype.
void poison(DeviceKind device, const Room& room);

/// Memory around the buffers a call may write, filled before the call and checked after it.
class GuardZones {
 public:
  explicit GuardZones(DeviceKind device) : device_(device) {}
  /// Fills the nearest part of the guard memory, which must outlive this. `name` is a literal.
  void watch(const char* name, const Room& room);
  /// The name of the first room whose guard memory was overwritten; nullptr if none was.
  [[nodiscard]] const char* broken() const;

 private:
  struct Zone {
    const char* name;
    std::span<std::byte> bytes;
  };
  DeviceKind device_;
  std::vector<Zone> zones_;
};

struct CallShape {
  const SequenceLayout& layout;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  DType dtype = DType::float32;
  MemoryOrder memory_order = MemoryOrder::head_major;
  Direction direction = Direction::forward;
  bool lse = false;  // log-sum-exps also for direction forward, which does not need them
  [[nodiscard]] bool has_gradients() const { return direction == Direction::forward_backward; }
  /// q, k, v, o; with gradients also grad_o, grad_q, grad_k, grad_v.
  [[nodiscard]] int tensors() const { return has_gradients() ? 8 : 4; }
  /// Size of one tensor; absent if the size of all of them does not fit 63 bits.
  [[nodiscard]] std::optional<std::int64_t> tensor_bytes() const;
  [[nodiscard]] std::int64_t lse_bytes() const;  // 0: there are no log-sum-exps
};
[[nodiscard]] CallShape shape_of(const Problem& problem);

/// Tensors without data if the shape has no gradients.
struct CallView {
  Tensor q{}, k{}, v{}, o{}, grad_o{}, grad_q{}, grad_k{}, grad_v{};
  std::span<float> lse{};  // [tokens, heads]
};

/// Powers of two, with signs, by which inputs are multiplied, for each head and channel: different
/// contents for the same work, and the outputs follow exactly from those of the plain inputs.
struct ChannelFactors {
  std::int64_t channels = 0;  // per head
  std::vector<float> scores;  // [heads, channels]: for q, k and their gradients; 1 or -1
  std::vector<float> values;  // [heads, channels]: for v, the output and, inverse, for grad_o,
                              // grad_v

  /// All factors are 1.
  [[nodiscard]] static ChannelFactors plain(const CallShape& shape);
  /// Draws factors from random words of 64 bits. Values are doubled only in direction forward with
  /// float32, where halving restores every bit.
  [[nodiscard]] static ChannelFactors drawn(const CallShape& shape,
                                            const std::function<std::uint64_t()>& bits);
  /// The factors for the rows of that head.
  [[nodiscard]] std::span<const float> of_head(const std::vector<float>& all,
                                               std::int32_t head) const;
};

/// The tensors as the calls see them and as the host sees them: the same memory on the processor.
/// On a device with its own memory they are a copy of the host's, made once.
class CallTensors {
 public:
  CallTensors(const CallShape& shape, DeviceKind device);

  /// Allocates the device's memory again; the previous memory must be released before. Values are
  /// undefined.
  void place(const AllocateRoom& take);
  void release() { rooms_.clear(); }

  [[nodiscard]] const CallShape& shape() const { return shape_; }
  [[nodiscard]] DeviceKind device() const { return device_; }
  [[nodiscard]] bool has_host_copy() const { return device_ != DeviceKind::cpu; }
  [[nodiscard]] CallView on_device() const { return view(rooms_); }
  [[nodiscard]] CallView on_host() const { return view(has_host_copy() ? host_ : rooms_); }

  /// Copies q, k, v and grad_o from the host to the device.
  void send_inputs() const;
  /// Copies the outputs of the calls to on_host(); returns pending errors of the device.
  void fetch_outputs() const;
  /// Fills everything that the pass writes with NaN.
  void poison(Pass pass) const;
  /// A hash of the values that the pass must not change.
  [[nodiscard]] std::uint64_t hash_of_inputs(Pass pass) const;
  void add_guards(GuardZones& guards, Pass pass) const;
  /// On the processor: multiplies inputs that were multiplied by `from` by `to` instead.
  void change_inputs(const ChannelFactors& from, const ChannelFactors& to) const;
  /// Largest |o / factor - kept|, on the processor, where `kept` are an output's bytes; infinity if
  /// a value is not finite.
  [[nodiscard]] double distance_of_output(std::span<const std::byte> kept,
                                          const ChannelFactors& factors) const;
  /// The first of "output", "grad_q", "grad_k", "grad_v" that the pass writes and whose host values
  /// are not all finite; nullptr if there is none.
  [[nodiscard]] const char* not_finite(Pass pass) const;

 private:
  [[nodiscard]] CallView view(const std::vector<Room>& rooms) const;
  [[nodiscard]] std::span<std::byte> bytes_of(const std::vector<Room>& rooms, int part) const;

  CallShape shape_;
  DeviceKind device_;
  std::vector<Room> rooms_;  // by part: the tensors in the order of the view, then lse
  std::vector<Room> host_;   // for a device with its own memory
};

/// One call, or its error. Log-sum-exps are passed to implementations that write them and to the
/// backward pass.
[[nodiscard]] Status call(PreparedAttention& prepared, const CallView& tensors,
                          std::span<std::byte> workspace, Pass pass);

/// Calls with poisoned outputs between guard zones and fetches the results. Returns a description
/// of an invalid access ("it wrote outside its workspace"), "" if there was none, or the call's
/// error.
[[nodiscard]] Result<std::string> watched_call(const CallTensors& tensors, const Room& workspace,
                                               Pass pass, const std::function<Status()>& call);

struct Verdict {
  WorstError error;
  std::string wrong;  // a clause with its numbers, "its output holds ..."; "" if all is correct
};

/// Reference for `rows` of the tensors as they were before a call.
[[nodiscard]] Reference reference_of(const Problem& problem, std::span<const RowId> rows,
                                     const CallTensors& tensors);

/// Judges the host's outputs, and the log-sum-exps if the call wrote them.
[[nodiscard]] Verdict judge(const Reference& reference, const CallTensors& tensors, Pass pass,
                            bool wrote_lse = false);

/// Checks a few rows of the output, and of grad_q, which depend on no other row of grad_o. The
/// check is cheap enough to run after every sample, so that a sample is kept only if the output of
/// its last call is correct.
class RowWatch {
 public:
  /// `reference` must outlive this.
  RowWatch(DeviceKind device, const Reference& reference, std::size_t most_rows);

  /// Fills the watched rows with NaN.
  void poison(const CallView& on_device) const;
  /// `factors` are those of the call's inputs; without them all are 1.
  [[nodiscard]] Verdict judge(const CallView& on_device,
                              const ChannelFactors* factors = nullptr) const;
  /// The verdict on an output that differs by `distance` from the output that was judged.
  [[nodiscard]] Verdict judge_distance(double distance, DType dtype) const;

 private:
  struct Row {
    RowId id;
    std::span<const double> expected;
  };
  struct Watched {
    const char* name;
    Tensor CallView::*tensor;
    double scale;  // of the tensor's errors
    double (*bound)(DType, const ScoreRounding&);
    double alongside;  // added to the bound
    std::vector<float> ChannelFactors::*factors;
    std::vector<Row> rows;
  };
  [[nodiscard]] double error_of(const Watched& watched, const Tensor& tensor,
                                const ChannelFactors* factors) const;

  DeviceKind device_;
  ScoreRounding scores_;
  std::vector<Watched> watched_;
};

}  // namespace attnscope
