#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The tensors of an implementation's calls, in memory that shows every liberty a call takes with
// them, and the verdict on what it left: `attnscope check`, `attend` and the gate of a heat are
// made of this.
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

/// What a call does of direction forward-backward; of direction forward alone, `both` is forward.
enum class Pass : std::uint8_t { forward, backward, both };

/// Room before and behind the values of a tensor or a workspace, in a device's memory.
struct Room {
  std::shared_ptr<const void> block;  // holds all of it
  std::span<std::byte> before{}, values{}, behind{};
};
using TakeRoom = std::function<Room(std::int64_t bytes)>;

/// From LibTorch's allocator of that device.
[[nodiscard]] Room guarded_room(DeviceKind device, std::int64_t bytes);
/// Its values become NaN in every dtype.
void poison(DeviceKind device, const Room& room);

/// Memory around what a call may write, filled before the call and looked at after it.
class GuardZones {
 public:
  explicit GuardZones(DeviceKind device) : device_(device) {}
  /// Fills the nearest of the room, which outlives this. `name` is a literal.
  void watch(const char* name, const Room& room);
  /// The name of the first whose room was written to; nullptr when all is whole.
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
  bool lse = false;  // log-sum-exps also of direction forward, which needs none
  [[nodiscard]] bool goes_back() const { return direction == Direction::forward_backward; }
  /// q, k, v, o; with gradients grad_o, grad_q, grad_k, grad_v, too.
  [[nodiscard]] int tensors() const { return goes_back() ? 8 : 4; }
  /// Of one tensor; absent when all of them cannot be counted in 63 bits.
  [[nodiscard]] std::optional<std::int64_t> tensor_bytes() const;
  [[nodiscard]] std::int64_t lse_bytes() const;  // 0: there are none
};
[[nodiscard]] CallShape shape_of(const Problem& problem);

/// Without data where the shape has no gradients.
struct CallView {
  Tensor q{}, k{}, v{}, o{}, grad_o{}, grad_q{}, grad_k{}, grad_v{};
  std::span<float> lse{};  // [tokens, heads]
};

/// Powers of two, with signs, that inputs are multiplied by, for each head and channel: other
/// contents, the same work, and outputs that follow exactly from those of the plain inputs.
struct ChannelFactors {
  std::int64_t channels = 0;  // of a head
  std::vector<float> scores;  // [heads, channels]: of q, k and their gradients; 1 or -1
  std::vector<float> values;  // [heads, channels]: of v, the output and, inverse, of grad_o, grad_v

  /// All 1.
  [[nodiscard]] static ChannelFactors plain(const CallShape& shape);
  /// Drawn by 64 bits at a time. Values are doubled in direction forward of float32 alone, where
  /// halving restores every bit.
  [[nodiscard]] static ChannelFactors drawn(const CallShape& shape,
                                            const std::function<std::uint64_t()>& bits);
  /// The factors of a row of that head.
  [[nodiscard]] std::span<const float> of_head(const std::vector<float>& all,
                                               std::int32_t head) const;
};

/// Where the calls find the tensors, and where the host sees them: the same on the processor. What
/// a device of its own has is a copy of the host's, which is made once.
class CallTensors {
 public:
  CallTensors(const CallShape& shape, DeviceKind device);

  /// Takes the device's memory anew; what it had must be given back before. Values are undefined.
  void place(const TakeRoom& take);
  void give_back() { rooms_.clear(); }

  [[nodiscard]] const CallShape& shape() const { return shape_; }
  [[nodiscard]] DeviceKind device() const { return device_; }
  [[nodiscard]] bool is_apart() const { return device_ != DeviceKind::cpu; }
  [[nodiscard]] CallView on_device() const { return view(rooms_); }
  [[nodiscard]] CallView on_host() const { return view(is_apart() ? host_ : rooms_); }

  /// What stands in the host's q, k, v and grad_o becomes the device's.
  void send_inputs() const;
  /// What the calls wrote becomes visible on_host(); errors of the device surface here.
  void fetch_outputs() const;
  /// NaN in everything that the pass writes.
  void poison(Pass pass) const;
  /// A number that changes when a value does that the pass must leave alone.
  [[nodiscard]] std::uint64_t print_of_inputs(Pass pass) const;
  void watched_by(GuardZones& guards, Pass pass) const;
  /// On the processor: inputs that had been multiplied by `from` are multiplied by `to`.
  void change_inputs(const ChannelFactors& from, const ChannelFactors& to) const;
  /// Largest |o / factor - kept|, on the processor, where `kept` are an output's bytes; infinity
  /// when a value is not finite.
  [[nodiscard]] double distance_of_output(std::span<const std::byte> kept,
                                          const ChannelFactors& factors) const;
  /// The first of "output", "grad_q", "grad_k", "grad_v" that the pass writes and whose host's
  /// values are not all finite; nullptr when there is none.
  [[nodiscard]] const char* not_finite(Pass pass) const;

 private:
  [[nodiscard]] CallView view(const std::vector<Room>& rooms) const;
  [[nodiscard]] std::span<std::byte> bytes_of(const std::vector<Room>& rooms, int part) const;

  CallShape shape_;
  DeviceKind device_;
  std::vector<Room> rooms_;  // by part: the tensors as the view names them, then lse
  std::vector<Room> host_;   // of a device with memory of its own
};

/// One call, or its error. The log-sum-exps are given to whom writes them or goes back.
[[nodiscard]] Status call(PreparedAttention& prepared, const CallView& tensors,
                          std::span<std::byte> workspace, Pass pass);

/// Calls with poisoned outputs, between guard zones, and fetches what it left: what the call did
/// that it must not ("it wrote outside its workspace"), "" when nothing; or the call's error.
[[nodiscard]] Result<std::string> watched_call(const CallTensors& tensors, const Room& workspace,
                                               Pass pass, const std::function<Status()>& call);

struct Verdict {
  WorstError error;
  std::string wrong;  // a clause with its numbers, "its output holds ..."; "" when all is right
};

/// Rows `rows` of tensors as they were before a call.
[[nodiscard]] Reference reference_of(const Problem& problem, std::span<const RowId> rows,
                                     const CallTensors& tensors);

/// Judges what stands in the host's outputs; the log-sum-exps, too, if the call wrote them.
[[nodiscard]] Verdict judge(const Reference& reference, const CallTensors& tensors, Pass pass,
                            bool wrote_lse = false);

/// Looks at a few rows of the output, and of grad_q, which depend on no other row of grad_o: little
/// enough to be done after every sample, so that none is kept whose last call left something else.
class RowWatch {
 public:
  /// Of a reference that outlives it.
  RowWatch(DeviceKind device, const Reference& reference, std::size_t most_rows);

  /// NaN in the watched rows.
  void poison(const CallView& on_device) const;
  /// `factors` are those of the call's inputs; none: all 1.
  [[nodiscard]] Verdict judge(const CallView& on_device,
                              const ChannelFactors* factors = nullptr) const;
  /// The verdict on an output that differs so much from the one that was judged.
  [[nodiscard]] Verdict judge_distance(double distance, DType dtype) const;

 private:
  struct Row {
    RowId id;
    std::span<const double> expected;
  };
  struct Watched {
    const char* name;
    Tensor CallView::*tensor;
    double scale;  // of its errors
    double (*bound)(DType, const ScoreRounding&);
    double beside;  // the bound is allowed as well
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
