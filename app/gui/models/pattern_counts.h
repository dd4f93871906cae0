#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The minimum cost of one forward call of a pattern, counted from its plan, and its table: pattern
// A, optionally pattern B with the ratio to A, the limit on this machine, and the work of each
// implementation relative to the useful work. Also the sweep that measures patterns on an item.

#include <QString>
#include <QStringList>
#include <optional>
#include <string>
#include <vector>

#include "app/drawing/mask_problem.h"
#include "app/gui/session/snapshot.h"
#include "app/gui/session/worker_questions.h"
#include "engine/report/sheet.h"

namespace attnscope::gui {

/// Totals over all heads, except for the pairs.
struct PatternCounts {
  double tokens = 0;
  double pairs = 0;    // per head
  double density = 0;  // pairs over all pairs of tokens
  double flop = 0;
  double full_flop = 0;  // of full attention
  double exponentials = 0;
  double bytes = 0;  // float32
};

[[nodiscard]] Result<PatternCounts> count_pattern(const charts::MaskSource& source,
                                                  const LayoutItem& item, int heads, int head_dim);

struct PatternLimit {
  double ms = 0;
  QString by;  // "arithmetic", "memory", "exponentials"
};
[[nodiscard]] PatternLimit limit_of(const PatternCounts& counts, const MachineCeilings& machine);

struct CountedPattern {
  QString title;
  std::optional<PatternCounts> counts;  // none: not known
  QList<EstimatedCost> implementations;
};

/// Unknown values are shown as a dash.
struct CostRow {
  QString title, meaning;
  struct Value {
    std::optional<double> number = {};  // for ratios
    QString text = QStringLiteral("–");
    QString note = {};  // on this value only
  } a, b, ratio;
};
[[nodiscard]] std::vector<CostRow> cost_rows(const CountedPattern& a,
                                             const std::optional<CountedPattern>& b,
                                             const std::optional<MachineCeilings>& machine);
/// The rows as a table to copy; `corner` is the heading of the title column.
[[nodiscard]] report::Sheet sheet_of(const std::vector<CostRow>& rows, const QString& corner,
                                     bool with_b);

/// "1.23 M", "640": a count in few digits.
[[nodiscard]] QString count_text(double count);
/// "1.24×", "2 860×"
[[nodiscard]] QString times_text(double ratio);

struct SweepRequest {
  std::string name;
  std::vector<charts::MaskSource> sources;
  LayoutItem item;
  int heads = 12, head_dim = 32;
  QStringList implementations;  // those that support the patterns
  bool other_lengths = true;    // also measure lengths around the item's
};

/// An error names what a sweep cannot contain, and the alternative.
[[nodiscard]] Result<QString> sweep_of(const SweepRequest& request);

}  // namespace attnscope::gui
