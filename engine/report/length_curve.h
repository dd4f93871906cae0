#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One contender along the length: what was measured of it, and what lies
// between two neighbouring measured lengths, straight in logarithms of length
// and value. Beyond the longest there is nothing; what is shorter than the
// shortest counts as the shortest.
//
// Memory alone goes on beyond it, as it grew.
//
//   LengthCurve curve(rows);                 // one contender's, in any order
//   LengthCurve::Place at = curve.place(525);
//   if (at.has_value()) use(curve.time_ns(at));

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::report {

/// Beyond this many times the longest measured length a prediction is not a
/// number any more.
inline constexpr double farthest_prediction = 16;

/// One item's bytes: the call's peak, and the tensors it reads and writes.
struct Need {
  double tokens = 0, peak = 0, tensors = 0;
  [[nodiscard]] double bytes() const { return peak + tensors; }
};
[[nodiscard]] Need need_of(const Row& row);

/// Beyond `longest`, the peak follows the power of the length that the two
/// longest cells show (no more than a square: attention needs no more), the
/// tensors the length itself.
[[nodiscard]] Need need_at(double tokens, const Need& before, const Need& longest);
/// The longest length whose need stays within `available`, from `longest`
/// itself up to farthest_prediction times its tokens.
[[nodiscard]] double longest_within(double available, const Need& before, const Need& longest);

/// Rounded down to two digits: more would promise what a prediction cannot
/// hold.
[[nodiscard]] std::int64_t two_digits(double value);

/// What the run's device had free when it began; of a GPU nothing is stored.
[[nodiscard]] std::optional<double> free_bytes_at_start(const RunInfo& run, DeviceKind device);

/// A value with its 95% interval.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// A row's place on a curve over lengths.
[[nodiscard]] double tokens_of(const Row* row);

class LengthCurve {
 public:
  /// Rows of one contender and one setting.
  explicit LengthCurve(std::vector<const Row*> rows);

  enum class Reach : std::uint8_t {
    measured,
    between,  // two neighbouring measured lengths
    shorter,  // than the shortest measured: counts as that
    longer,   // than the longest measured
    broken,   // beside a length at which it has no time, shorter ones and longer
              // ones may have
    nowhere,  // it has no time at all
  };
  struct Place {
    Reach reach = Reach::nowhere;
    const Row *before = nullptr,
              *after = nullptr;  // the same where it was measured
    double part = 0;             // of the way from before to after
    [[nodiscard]] bool has_value() const { return reach < Reach::longer; }
    /// The two are so far apart that a straight line between them is a guess.
    [[nodiscard]] bool is_rough() const;
  };
  [[nodiscard]] Place place(double tokens) const;

  // Of places that have a value.
  [[nodiscard]] static Estimate time_ns(const Place& place);  // per document
  /// Against the baseline; nothing where a side of it was not set against it.
  [[nodiscard]] static std::optional<statistics::Ratio> ratio(const Place& place);
  [[nodiscard]] static Need need(double tokens,
                                 const Place& place);  // of one item

  /// Beyond the longest measured length as its growth has it; nothing where one
  /// length was measured alone or the place is too far away.
  [[nodiscard]] std::optional<Need> predicted_need(double tokens) const;

  [[nodiscard]] const Row* shortest() const;
  [[nodiscard]] const Row* longest() const;
  /// The longest but one.
  [[nodiscard]] const Row* before_longest() const;
  /// The shortest length beyond the longest measured, where it was tried.
  [[nodiscard]] const Row* next() const;
  /// The rows without a time too, ascending.
  [[nodiscard]] const std::vector<const Row*>& rows() const { return rows_; }

 private:
  std::vector<const Row*> rows_;
  std::vector<const Row*> measured_;
};

/// The verdict that an interval allows.
[[nodiscard]] statistics::Verdict verdict_of(double low, double high);

}  // namespace attnscope::report
