#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where cells lie along x when something is carried from one to the next: a length at its tokens, a
// window at the keys that it covers, 2w + 1, so that w = 0 has a place in logarithms.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/figure.h"
#include "engine/report/table.h"

namespace attnscope::report {

class Places {
 public:
  /// The rows of one setting; they tell where infinite windows lie.
  Places(const std::vector<const Row*>& rows, XAxis x);

  [[nodiscard]] XAxis x() const { return x_; }
  /// Above 0. An infinite window covers its whole document, and more than any finite one.
  [[nodiscard]] double of(const Row& row) const;

  enum class Round : std::uint8_t { nearest, down, up };
  /// "256" tokens, "64" or "inf" for a window; places that were not measured are rounded.
  [[nodiscard]] std::string number(double place, Round round = Round::nearest) const;
  /// "256 tokens", "w = 64".
  [[nodiscard]] std::string words(double place) const;
  /// "96 to 192 tokens", "w = 4 to 64"; one place where both are the same.
  [[nodiscard]] std::string words(double first, double last) const;
  /// "length", "window".
  [[nodiscard]] std::string_view noun() const;

 private:
  XAxis x_;
  double infinite_ = 0;
};

/// The contender as it is one along x: its id, along windows without the window.
[[nodiscard]] std::string contender_along(const Contender& contender, XAxis x);
[[nodiscard]] std::string name_along(const Contender& contender, XAxis x);

}  // namespace attnscope::report
