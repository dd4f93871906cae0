#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// One contender over the length: its measured cells, and values between two neighbouring measured
// lengths, interpolated linearly in the logarithms of length and value. There is no value beyond
// the longest length; lengths below the shortest count as the shortest.
//
// Only memory is extrapolated beyond the longest length, from its growth.
//
//   LengthCurve curve(rows);                 // one contender's, in any order
//   LengthCurve::Place at = curve.place(525);
//   if (at.has_value()) use(curve.time_ns(at));

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/report/row.h"

namespace attnscope::report {

/// Predictions stop at this multiple of the longest measured length.
inline constexpr double farthest_prediction = 16;

/// Memory of one item in bytes: the call's peak, and the tensors it reads and writes.
struct Need {
  double tokens = 0, peak = 0, tensors = 0;
  [[nodiscard]] double bytes() const { return peak + tensors; }
};
[[nodiscard]] Need need_of(const Row& row);

/// Beyond `longest`, the peak grows with the power of the length given by the two longest cells (at
/// most quadratically, which is the most attention needs), and the tensors grow linearly.
[[nodiscard]] Need need_at(double tokens, const Need& before, const Need& longest);
/// The longest length whose need stays within `available`, between `longest` and
/// farthest_prediction times its tokens.
[[nodiscard]] double longest_within(double available, const Need& before, const Need& longest);

/// Rounded down to two significant digits, the accuracy of a prediction.
[[nodiscard]] std::int64_t two_digits(double value);

/// Free memory of the run's device at its start; it is not stored for GPUs.
[[nodiscard]] std::optional<double> free_bytes_at_start(const RunInfo& run, DeviceKind device);

/// A value with its 95% interval.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// The position of a row on a length curve.
[[nodiscard]] double tokens_of(const Row* row);

/// Rows grouped by contender, in their original order.
[[nodiscard]] std::vector<std::vector<const Row*>> by_contender(
    const std::vector<const Row*>& rows);

class LengthCurve {
 public:
  /// Rows of one contender and one setting.
  explicit LengthCurve(std::vector<const Row*> rows);

  enum class Reach : std::uint8_t {
    measured,
    between,  // between two neighbouring measured lengths
    shorter,  // than the shortest measured length: counts as that
    longer,   // than the longest measured length
    broken,   // next to a length without a time, although shorter and longer lengths may have one
    nowhere,  // no length has a time
  };
  struct Place {
    Reach reach = Reach::nowhere;
    const Row *before = nullptr,
              *after = nullptr;  // equal if the length was measured
    double part = 0;             // fraction of the way from before to after
    [[nodiscard]] bool has_value() const { return reach < Reach::longer; }
    /// The two lengths are so far apart that linear interpolation is inaccurate.
    [[nodiscard]] bool is_rough() const;
  };
  [[nodiscard]] Place place(double tokens) const;

  // Precondition: the place has a value.
  [[nodiscard]] static Estimate time_ns(const Place& place);  // per document
  /// Against the baseline; empty if a neighbouring cell has no ratio.
  [[nodiscard]] static std::optional<statistics::Ratio> ratio(const Place& place);
  [[nodiscard]] static Need need(double tokens,
                                 const Place& place);  // of one item

  /// Extrapolated beyond the longest measured length; empty if only one length was measured or the
  /// place is too far away.
  [[nodiscard]] std::optional<Need> predicted_need(double tokens) const;

  [[nodiscard]] const Row* shortest() const;
  [[nodiscard]] const Row* longest() const;
  /// The second longest.
  [[nodiscard]] const Row* before_longest() const;
  /// The shortest length above the longest measured one, if it was tried.
  [[nodiscard]] const Row* next() const;
  /// All rows, with or without a time, ascending.
  [[nodiscard]] const std::vector<const Row*>& rows() const { return rows_; }

 private:
  std::vector<const Row*> rows_;
  std::vector<const Row*> measured_;
};

/// The verdict for an interval.
[[nodiscard]] statistics::Verdict verdict_of(double low, double high);

}  // namespace attnscope::report
