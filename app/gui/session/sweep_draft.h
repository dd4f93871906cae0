#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The contents of the new-run form, and the sweep that results. A field is a line of text: one
// value, or a list of values, which makes the field an axis. What the form does not show (display
// names, the sweep's own patterns, ...) comes from the preset it was filled from.
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

/// A field of a sweep in the form.
struct SweepField {
  QString key;   // path of the field in a sweep: "heads", "batch.max"
  QString name;  // display name
  QString tip;
  QString fallback;          // the value if the field is empty
  QStringList choices = {};  // the possible values, if they can be listed
  bool first = false;        // not under "Advanced"
};

/// In the order of the form.
[[nodiscard]] const QList<SweepField>& sweep_fields();

/// Pattern and implementation of a contender.
using PatternAndImplementation = std::pair<QString, QString>;

struct SweepDraft {
  std::string base_text;  // the preset's JSON
  QString name;
  std::vector<PatternAndImplementation> contenders;
  std::map<QString, QString> fields;  // keyed by SweepField::key; includes empty fields
  friend bool operator==(const SweepDraft&, const SweepDraft&) = default;
};

struct CheckedDraft {
  /// By field, or "contenders"; problems of no field are under "".
  std::map<QString, QString> problems;
  std::string sweep_text;
  int heats = 0;
  int cells = 0;
  double longest_seconds = 0;
  [[nodiscard]] bool ok() const { return problems.empty(); }
  /// The first problem; empty: none.
  [[nodiscard]] QString problem() const { return ok() ? QString() : problems.begin()->second; }
};

[[nodiscard]] SweepDraft draft_of(const NamedSweep& preset);
/// An unchanged draft gives the preset's own text, byte for byte.
[[nodiscard]] CheckedDraft check(const SweepDraft& draft);
/// A sweep as typed text; errors are under "", with their line.
[[nodiscard]] CheckedDraft check_text(const std::string& sweep_text);

/// "40 s", "12 min", "3 h 20 min"; rounded up.
[[nodiscard]] QString duration_words(double seconds);

}  // namespace attnscope::gui
