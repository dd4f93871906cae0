#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Times of a model's call by part of the model, as `attnscope profile` shows them. Models mark
// their parts; without a PartTimes object the marks cost nothing.
//
//   PartTimes times;                       // collects this thread's calls during its lifetime
//   model.score(batch);
//   times.seconds(ModelPart::attention);

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attnscope {

/// embeddings: ids to states. projections: queries, keys, values, and the layer between attention
/// and its norm. attention: planning and the attention product. feed_forward: feed-forward layers
/// with their norms. head: states to scores.
enum class ModelPart : std::uint8_t { embeddings, projections, attention, feed_forward, head };
inline constexpr std::array model_parts{ModelPart::embeddings, ModelPart::projections,
                                        ModelPart::attention, ModelPart::feed_forward,
                                        ModelPart::head};
[[nodiscard]] std::string_view name_of(ModelPart part);  // "feed-forward"

struct ModelWork;
/// Useful operations of that part in a call; 0 if they are not counted.
[[nodiscard]] double useful_flop(const ModelWork& work, ModelPart part);

class PartTimes {
 public:
  PartTimes();
  PartTimes(const PartTimes&) = delete;
  PartTimes& operator=(const PartTimes&) = delete;
  ~PartTimes();

  [[nodiscard]] double seconds(ModelPart part) const {
    return seconds_[static_cast<std::size_t>(part)];
  }

 private:
  friend class PartClock;
  std::array<double, model_parts.size()> seconds_{};
  PartTimes* before_;
};

/// Measures its part during its lifetime; time in a nested clock counts for the inner one only.
class PartClock {
 public:
  explicit PartClock(ModelPart part);
  PartClock(const PartClock&) = delete;
  PartClock& operator=(const PartClock&) = delete;
  ~PartClock();

 private:
  using Time = std::chrono::steady_clock::time_point;
  void count_until(Time now);

  PartTimes* times_;
  PartClock* outer_ = nullptr;
  ModelPart part_;
  Time start_{};
};

}  // namespace attnscope
