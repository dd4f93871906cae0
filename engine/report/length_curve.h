#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Contenders along the length, the window or the candidates: values between and beyond measured
// lengths, and where one contender overtakes another.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/figure.h"
#include "engine/report/row.h"
#include "engine/statistics/crossover.h"

namespace attnscope::report {

// One contender over the length: its measured cells, and values between two neighbouring measured
// lengths, interpolated linearly in the logarithms of length and value. There is no value beyond
// the longest length; lengths below the shortest count as the shortest.
//
// Only memory is extrapolated beyond the longest length, from its growth.
//
//   LengthCurve curve(rows);                 // one contender's, in any order
//   LengthCurve::Place at = curve.place(525);
//   if (at.has_value()) use(curve.time_ns(at));

/// Predictions stop at this multiple of the longest measured length.
inline constexpr double farthest_prediction = 16;

/// Memory of one item in bytes: the call's peak, and the tensors it reads and writes.
struct Need {
  double tokens = 0, peak = 0, tensors = 0;
  [[nodiscard]] double bytes() const { return peak + tensors; }
};
[[nodiscard]] Need need_of(const Row& row);

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

// Sentences state where contenders overtake a baseline along the length or the window.

/// Numeric positions of cells on x for interpolation: a length is at its tokens, candidates at
/// their number, a window at the number of keys that it covers, 2w + 1, so that w = 0 has a
/// logarithm.
class Places {
 public:
  /// The rows of one setting; they determine the position of infinite windows.
  Places(const std::vector<const Row*>& rows, XAxis x);

  [[nodiscard]] XAxis x() const { return x_; }
  /// Above 0. An infinite window covers its whole document, and more keys than any finite one.
  [[nodiscard]] double of(const Row& row) const;

  enum class Round : std::uint8_t { nearest, down, up };
  /// "256" for tokens, "64" or "inf" for a window; positions that were not measured are rounded.
  [[nodiscard]] std::string number(double place, Round round = Round::nearest) const;
  /// "256 tokens", "w = 64".
  [[nodiscard]] std::string words(double place) const;
  /// "96 to 192 tokens", "w = 4 to 64"; a single position if both are equal.
  [[nodiscard]] std::string words(double first, double last) const;
  /// "length", "window", "number of candidates".
  [[nodiscard]] std::string_view noun() const;
  [[nodiscard]] std::string unit() const;  // after a number: " tokens"

 private:
  XAxis x_;
  double infinite_ = 0;
};

/// The identity of a contender along x: its id, for x = window without the window.
[[nodiscard]] std::string contender_along(const Contender& contender, XAxis x);

/// Rows grouped by the setting of the axes except x, in the table's order.
[[nodiscard]] std::vector<std::vector<const Row*>> rows_by_setting(const Table& table, XAxis x);

/// The length at which a contender becomes faster or slower than the baseline.
struct CrossoverAnswer {
  std::string contender,
      name;              // id (along windows without the window) and display name
  std::string baseline;  // display name
  statistics::Crossovers found;
  std::string sentence;
};
/// For rows of one setting, which differ only in x and contender.
[[nodiscard]] std::vector<CrossoverAnswer> find_crossover_answers(
    const std::vector<const Row*>& rows, XAxis x, const std::string& baseline);

}  // namespace attnscope::report
