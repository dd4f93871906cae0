#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the store thread hands to the window: immutable values, shared by pointer, so that no page
// ever touches the store and no lock is needed. And how they are read: a run's cells, one slice of
// them drawn in every view, and the same slice set out along two keys.

#include <QMetaType>
#include <QString>
#include <QStringList>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/heat/cell.h"
#include "engine/report/answer.h"
#include "engine/report/compare.h"
#include "engine/report/figure.h"
#include "engine/report/pivot.h"
#include "engine/report/question.h"
#include "engine/report/slice.h"
#include "engine/report/table.h"
#include "engine/store/store.h"

namespace attnscope::gui {

/// One line of the run list.
struct RunEntry {
  RunInfo info;
  std::optional<Progress> progress;  // of a live run
  bool is_stored = true;             // false: some of a person's words wait for a lock's end
};

/// Live runs first, then newest first.
struct RunListSnapshot {
  std::vector<RunEntry> runs;
  std::vector<RunEntry> trash = {};
};

/// A run that ships with the program, read from its file without being imported.
struct PublishedRun {
  QString file;
  RunEntry entry;
};

/// One view of the run: a figure, or panels where facets were asked for, or the sentence that says
/// why there is neither.
struct FigureSnapshot {
  std::optional<report::Figure> figure;
  std::optional<report::Facets> facets;
  QString problem;
};

/// Which part of which run a page wants to see.
struct RunRequest {
  QString uuid = {};
  QString baseline = {};     // contender id; empty: none
  bool any_baseline = true;  // where the run does not have that one, its first contender will do
  report::XAxis x = report::XAxis::length;
  report::SliceWish slice = {};    // what the charts hold fixed
  std::string facet = {};          // the key that makes panels; empty: one chart
  report::PivotChoice pivot = {};  // the table along two keys
  friend bool operator==(const RunRequest&, const RunRequest&) = default;
};

struct RunSnapshot {
  RunRequest request;
  report::Table table;     // every cell of the run, with its samples
  QStringList contenders;  // ids, in order of appearance: the baseline picker's choices
  QString fixed;           // words of the axes that have one value throughout the run
  report::Slice slice;     // the others that no chart draws, and what is chosen of them
  std::vector<std::string> facet_keys;              // what panels can be made of
  std::vector<std::string> pivot_keys;              // what the table's rows and columns can be
  bool of_models = false;                           // of re-rankers, not of attention alone
  std::map<report::YAxis, FigureSnapshot> figures;  // every view
  report::Pivot pivot;
  QString pivot_problem;
  QString verdict;  // of what the charts show, in a sentence; empty: no times, or several settings
  QString against_baseline;  // what it says of the baseline
  QStringList answers;       // of what the charts show: crossovers, and what does not fit
  int damaged_cells = 0;
  std::filesystem::path database;  // that the run was read from
  QString problem;                 // the run could not be read
  bool locked = false;             // and it was because another process holds the database
};

/// What this machine can reach, as the newest run that measured it says.
struct MachineCeilings {
  Ceilings rates;
  QString from;  // "run 3, kernels, on AMD EPYC 7763"
};

using RunListPointer = std::shared_ptr<const RunListSnapshot>;
/// Two runs set side by side, or why they cannot be.
struct ComparisonSnapshot {
  QString uuid_a, uuid_b;
  report::Comparison comparison;
  QString problem;
};

using ComparisonPointer = std::shared_ptr<const ComparisonSnapshot>;
using PublishedPointer = std::shared_ptr<const std::vector<PublishedRun>>;
using RunPointer = std::shared_ptr<const RunSnapshot>;

/// With a person's words as they can be shown.
[[nodiscard]] RunInfo shown(RunInfo run);

/// `before` is what was read last: where it holds the same cells of an ended run against the same
/// baseline, they are taken from it, so that another slice costs no reading.
[[nodiscard]] RunPointer read_run(const Store& store, const RunRequest& request,
                                  const RunPointer& before = nullptr);

[[nodiscard]] Result<RunListPointer> read_run_list(const Store& store);

/// What is asked, but for lengths that are still in their file.
struct AskedQuestion {
  report::Question question = {};
  QString lengths_file = {};  // empty: the question has them
  friend bool operator==(const AskedQuestion&, const AskedQuestion&) = default;
};

struct AnswerSnapshot {
  std::vector<report::Answer> settings;  // one, unless panels stand for an axis
  QString lengths_problem;               // the file of lengths could not be read
  QString problem;                       // why there are no settings
};
using AnswerPointer = std::shared_ptr<const AnswerSnapshot>;

[[nodiscard]] AnswerPointer find_answer(const RunSnapshot& run, const AskedQuestion& asked);

}  // namespace attnscope::gui

Q_DECLARE_METATYPE(attnscope::gui::MachineCeilings)
Q_DECLARE_METATYPE(attnscope::gui::RunRequest)
Q_DECLARE_METATYPE(attnscope::gui::RunListPointer)
Q_DECLARE_METATYPE(attnscope::gui::ComparisonPointer)
Q_DECLARE_METATYPE(attnscope::gui::PublishedPointer)
Q_DECLARE_METATYPE(attnscope::gui::RunPointer)
