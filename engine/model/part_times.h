#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a model's call spends its time, by the part of the model: what `attnscope profile` shows.
// Models mark their parts, which costs nothing while nobody asks.
//
//   PartTimes times;                       // of this thread's calls while it stands
//   model.score(batch);
//   times.seconds(ModelPart::attention);

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attnscope {

/// embeddings: ids to states. projections: queries, keys, values and what follows attention up to
/// its norm. attention: its plan and the product of it. feed_forward: the wide layers with their
/// norms. head: states to scores.
enum class ModelPart : std::uint8_t { embeddings, projections, attention, feed_forward, head };
inline constexpr std::array model_parts{ModelPart::embeddings, ModelPart::projections,
                                        ModelPart::attention, ModelPart::feed_forward,
                                        ModelPart::head};
[[nodiscard]] std::string_view name_of(ModelPart part);  // "feed-forward"

struct ModelWork;
/// Useful operations of a call in that part; 0 where they are not counted.
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

/// Runs while it stands; of two of them the inner one counts alone.
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
