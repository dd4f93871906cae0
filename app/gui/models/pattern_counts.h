#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What one forward call of a pattern costs at least, counted from its plan.

#include <QString>
#include <optional>

#include "app/gui/charts/mask_problem.h"
#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

/// Over all heads, but for the pairs.
struct PatternCounts {
  double tokens = 0;
  double pairs = 0;    // of one head
  double density = 0;  // pairs over all pairs of tokens
  double flop = 0;
  double full_flop = 0;  // full attention's
  double exponentials = 0;
  double bytes = 0;  // float32
};

[[nodiscard]] Result<PatternCounts> count_pattern(const charts::MaskSource& source,
                                                  const LayoutItem& item, int heads, int head_dim);
/// Counting it takes no longer than a moment; else it is for another thread.
[[nodiscard]] bool is_quickly_counted(const charts::MaskSource& source, const LayoutItem& item);

struct PatternLimit {
  double ms = 0;
  QString by;  // "arithmetic", "memory", "exponentials"
};
[[nodiscard]] PatternLimit limit_of(const PatternCounts& counts, const MachineCeilings& machine);

/// "1.23 M", "640": a count in few digits.
[[nodiscard]] QString count_words(double count);
/// "1.24×", "2 860×"
[[nodiscard]] QString times_words(double ratio);

}  // namespace attnscope::gui
