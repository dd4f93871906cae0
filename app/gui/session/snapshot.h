#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Data that the store thread passes to the window: immutable values, shared by pointer, so that
// pages never access the store and no lock is needed. Also the functions that read them: a run's
// cells, one slice of them as a figure for every view, the same slice as a pivot table, and the
// heats of a live run.

#include <QMetaType>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/heat/cell.h"
#include "engine/report/advice.h"
#include "engine/report/compare.h"
#include "engine/report/figure.h"
#include "engine/report/pivot.h"
#include "engine/report/slice.h"
#include "engine/report/table.h"
#include "engine/report/text_statistics.h"
#include "engine/store/store.h"

namespace attnscope::gui {

/// One line of the run list.
struct RunEntry {
  RunInfo info;
  std::optional<Progress> progress;  // of a live run
  bool is_stored = true;             // false: some user text waits until a lock is released
};

/// Live runs first, then newest first.
struct RunListSnapshot {
  std::vector<RunEntry> runs;
  std::vector<RunEntry> trash = {};
};

/// A run shipped with the program, read from its file without being imported.
struct PublishedRun {
  QString file;
  RunEntry entry;
};

/// One view of the run: a figure, or panels if facets were requested, or a sentence that explains
/// why there is neither.
struct FigureSnapshot {
  std::optional<report::Figure> figure;
  std::optional<report::Facets> facets;
  QString problem;
};

/// The part of a run that a page requests.
struct RunRequest {
  QString uuid = {};
  QString baseline = {};     // contender id; empty: none
  bool any_baseline = true;  // if the run lacks the baseline, use its first contender
  report::XAxis x = report::XAxis::length;
  report::SliceWish slice = {};    // values that the charts hold fixed
  std::string facet = {};          // key of the panels; empty: one chart
  report::PivotChoice pivot = {};  // the pivot table
  friend bool operator==(const RunRequest&, const RunRequest&) = default;
};

struct RunSnapshot {
  RunRequest request;
  report::Table table;     // every cell of the run, with its samples
  QStringList contenders;  // ids, in order of appearance: the baseline picker's choices
  QString fixed;           // the axes with one value throughout the run, in words
  report::Slice slice;     // the other axes that no chart draws, and their selected values
  std::vector<std::string> facet_keys;              // possible keys of panels
  std::vector<std::string> pivot_keys;              // possible keys of the table's rows and columns
  bool of_models = false;                           // re-rankers, not only attention
  std::map<report::YAxis, FigureSnapshot> figures;  // every view
  report::Pivot pivot;
  QString pivot_problem;
  QString verdict;  // one sentence on the charts' data; empty: no times, or several settings
  QString against_baseline;  // the verdict on the baseline
  QStringList answers;       // on the charts' data: crossovers, and what does not fit
  int damaged_cells = 0;
  std::filesystem::path database;  // that the run was read from
  QString problem;                 // why the run could not be read
  bool locked = false;             // whether another process holds the database
};

/// Peak rates of this machine, from the newest run that measured them.
struct MachineCeilings {
  Ceilings rates;
  QString from;  // "run 3, kernels, on AMD EPYC 7763"
};

using RunListPointer = std::shared_ptr<const RunListSnapshot>;
/// A comparison of two runs, or why they cannot be compared.
struct ComparisonSnapshot {
  QString uuid_a, uuid_b;
  report::Comparison comparison;
  QString problem;
};

using ComparisonPointer = std::shared_ptr<const ComparisonSnapshot>;
using PublishedPointer = std::shared_ptr<const std::vector<PublishedRun>>;
using RunPointer = std::shared_ptr<const RunSnapshot>;

/// Makes the user's texts safe to show.
[[nodiscard]] RunInfo shown(RunInfo run);

/// The run's name, its number and the exported part, "quick-12-time", without characters that cause
/// problems in shells and file systems.
[[nodiscard]] QString file_stem(const RunInfo& run, const QString& suffix);

/// `before`: the previous snapshot. If it holds the same cells of an ended run with the same
/// baseline, they are reused, so that another slice needs no reading.
[[nodiscard]] RunPointer read_run(const Store& store, const RunRequest& request,
                                  const RunPointer& before = nullptr);

[[nodiscard]] Result<RunListPointer> read_run_list(const Store& store);

/// A question whose lengths may still be in their file.
struct RequestedQuestion {
  report::Question question = {};
  QString lengths_file = {};  // empty: the question contains them
  friend bool operator==(const RequestedQuestion&, const RequestedQuestion&) = default;
};

struct AnswerSnapshot {
  std::vector<report::Advice> settings;  // one, unless an axis is shown as panels
  QString lengths_problem;               // the file of lengths could not be read
  QString problem;                       // why there are no settings
};
using AnswerPointer = std::shared_ptr<const AnswerSnapshot>;

[[nodiscard]] AnswerPointer find_answer(const RunSnapshot& run, const RequestedQuestion& requested);

/// A finished heat has the worst state of its cells; cells that an implementation does not support
/// count only if nothing else was measured.
enum class HeatState : std::uint8_t {
  waiting,
  running,
  paused,
  done,
  too_large,
  wrong,
  crashed,
  timeout,
  skipped
};
inline constexpr int heat_states = 9;

struct HeatEntry {
  HeatState state = HeatState::waiting;
  QString point = {};    // what distinguishes it from the others: "512 tokens"
  QString outcome = {};  // "3 ok, 1 oom"; empty until it is done
  friend bool operator==(const HeatEntry&, const HeatEntry&) = default;
};

/// The heats of a live run: which are done and their outcome, which is being measured, which wait.
struct HeatsSnapshot {
  QString uuid;
  std::vector<HeatEntry> heats;   // in measurement order
  std::vector<std::string> keys;  // identities of the points; empty if no plan is stored
  int heats_done = -1;
};

using HeatsPointer = std::shared_ptr<const HeatsSnapshot>;

/// `before`: the previous snapshot, whose plan and finished heats are not read again; it is
/// returned itself if nothing is new. Null if the store cannot be read at the moment.
[[nodiscard]] HeatsPointer read_heats(const Store& store, const RunEntry& live,
                                      const HeatsPointer& before);

}  // namespace attnscope::gui

Q_DECLARE_METATYPE(attnscope::gui::MachineCeilings)
Q_DECLARE_METATYPE(attnscope::gui::RunRequest)
Q_DECLARE_METATYPE(attnscope::gui::RunListPointer)
Q_DECLARE_METATYPE(attnscope::gui::ComparisonPointer)
Q_DECLARE_METATYPE(attnscope::gui::PublishedPointer)
Q_DECLARE_METATYPE(attnscope::gui::RunPointer)
Q_DECLARE_METATYPE(attnscope::gui::HeatsPointer)
