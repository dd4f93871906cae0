#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the new-run form holds, and the sweep it becomes. A field is a line of text: one value, or a
// list of them, which then makes the field an axis. What the form does not show (display names,
// patterns of the sweep's own, ...) comes from the preset it started from.
//
//   SweepDraft draft = draft_of(preset);
//   draft.fields["sequence_tokens"] = "64:4096:*2";
//   CheckedDraft checked = check(draft);
//   if (checked.ok()) launcher.start(checked.sweep_text);

#include <QList>
#include <QString>
#include <QStringList>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/sweep/sweep.h"

namespace attnscope::gui {

/// A field of a sweep as the form has it.
struct SweepField {
  QString key;   // the way to the field in a sweep: "heads", "batch.max"
  QString name;  // for people
  QString tip;
  QString fallback;          // what holds where the field is empty
  QStringList choices = {};  // the values there are, where they can be named
  bool first = false;        // not behind "Advanced"
};

/// In the order of the form.
[[nodiscard]] const QList<SweepField>& sweep_fields();

/// Pattern and implementation of a contender.
using PatternAndImplementation = std::pair<QString, QString>;

struct SweepDraft {
  std::string base_text;  // the preset's JSON
  QString name;
  std::vector<PatternAndImplementation> contenders;
  std::map<QString, QString> fields;  // as sweep_fields() names them; empty ones too
  friend bool operator==(const SweepDraft&, const SweepDraft&) = default;
};

struct CheckedDraft {
  /// By field, or of "contenders"; what belongs to none is under "".
  std::map<QString, QString> problems;
  std::string sweep_text;
  int heats = 0;
  int cells = 0;
  double longest_seconds = 0;
  [[nodiscard]] bool ok() const { return problems.empty(); }
  /// The first of them; empty: none.
  [[nodiscard]] QString problem() const { return ok() ? QString() : problems.begin()->second; }
};

[[nodiscard]] SweepDraft draft_of(const NamedSweep& preset);
/// An unchanged draft becomes the preset's own text, byte for byte.
[[nodiscard]] CheckedDraft check(const SweepDraft& draft);
/// A sweep as it is typed; what is wrong is under "", with its line.
[[nodiscard]] CheckedDraft check_text(const std::string& sweep_text);

/// "40 s", "12 min", "3 h 20 min"; rounded up.
[[nodiscard]] QString duration_words(double seconds);

}  // namespace attnscope::gui
