#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What one forward call of a pattern costs at least, counted from its plan, and the table of it:
// pattern A, pattern B beside it with their ratio, the limit on this machine, and what each
// implementation would execute over the useful work.

#include <QString>
#include <optional>
#include <vector>

#include "app/gui/charts/mask_problem.h"
#include "app/gui/session/snapshot.h"
#include "app/gui/session/worker_questions.h"
#include "engine/report/sheet.h"

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

struct PatternLimit {
  double ms = 0;
  QString by;  // "arithmetic", "memory", "exponentials"
};
[[nodiscard]] PatternLimit limit_of(const PatternCounts& counts, const MachineCeilings& machine);

struct CountedPattern {
  QString title;
  std::optional<PatternCounts> counts;  // none: not known
  QList<ForeseenCost> implementations;
};

/// What is not known is a dash.
struct CostRow {
  QString title, meaning;
  struct Value {
    std::optional<double> number = {};  // what ratios are made of
    QString text = QStringLiteral("–");
    QString note = {};  // on this value alone
  } a, b, ratio;
};
[[nodiscard]] std::vector<CostRow> cost_rows(const CountedPattern& a,
                                             const std::optional<CountedPattern>& b,
                                             const std::optional<MachineCeilings>& machine);
/// The rows as a table to copy; `corner` stands above the titles.
[[nodiscard]] report::Sheet sheet_of(const std::vector<CostRow>& rows, const QString& corner,
                                     bool with_b);

/// "1.23 M", "640": a count in few digits.
[[nodiscard]] QString count_words(double count);
/// "1.24×", "2 860×"
[[nodiscard]] QString times_words(double ratio);

}  // namespace attnscope::gui
