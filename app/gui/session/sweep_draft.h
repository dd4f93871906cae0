#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the new-run form holds, and the sweep it becomes. Fields the form does not show (heads,
// batch, stop rule, ...) come from the preset it started from.
//
//   SweepDraft draft = draft_of(preset);
//   draft.lengths = "64:4096:*2";
//   CheckedDraft checked = check(draft);
//   if (checked.ok()) launcher.start(checked.sweep_text);

#include <QString>
#include <string>
#include <utility>
#include <vector>

#include "engine/sweep/sweep.h"

namespace attnscope::gui {

/// Pattern and implementation of a contender.
using PatternAndImplementation = std::pair<QString, QString>;

struct SweepDraft {
  std::string base_text;  // the preset's JSON
  QString name;
  std::vector<PatternAndImplementation> contenders;
  QString windows;    // "4, 64, inf"
  QString lengths;    // "64:2048:*2"
  QString documents;  // of an item: "1" or "1, 4"
  QString direction;  // "forward", "forward-backward" or both: "forward, forward-backward"
  QString device;     // "cpu" or "cuda"
  friend bool operator==(const SweepDraft&, const SweepDraft&) = default;
};

struct CheckedDraft {
  // One sentence beside each field; empty where nothing is wrong.
  QString contenders_problem, windows_problem, lengths_problem, documents_problem, other_problem;
  std::string sweep_text;
  int heats = 0;
  int cells = 0;
  double longest_seconds = 0;
  [[nodiscard]] bool ok() const {
    return contenders_problem.isEmpty() && windows_problem.isEmpty() && lengths_problem.isEmpty() &&
           documents_problem.isEmpty() && other_problem.isEmpty();
  }
};

[[nodiscard]] SweepDraft draft_of(const NamedSweep& preset);
/// An unchanged draft becomes the preset's own text, byte for byte.
[[nodiscard]] CheckedDraft check(const SweepDraft& draft);

/// "40 s", "12 min", "3 h 20 min"; rounded up.
[[nodiscard]] QString duration_words(double seconds);

}  // namespace attnscope::gui
