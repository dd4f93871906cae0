#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where contenders overtake a baseline along the length or the window, in sentences.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/row.h"
#include "engine/report/views.h"
#include "engine/statistics/crossover.h"

namespace attnscope::report {

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
[[nodiscard]] std::string name_along(const Contender& contender, XAxis x);

/// Rows grouped by the setting of the axes except x, in the table's order.
[[nodiscard]] std::vector<std::vector<const Row*>> rows_by_setting(const Table& table, XAxis x);

/// Where a contender overtakes the baseline or falls behind it.
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
