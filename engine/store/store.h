#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The store: every run in one SQLite file. The only room that speaks SQL; schema.sql documents the
// tables. WAL, synchronous=FULL, one transaction per finished heat, so what was reported finished
// survives a kill. A Store belongs to one thread; open another for another thread.
//
//   Result<Store> store = Store::open(default_database(), Store::Mode::read_write);
//   Result<RunId> run = store->begin_run(new_run);
//   store->add_heat(*run, heat_result);
//   store->finish_run(*run, RunStatus::done);

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/heat/cell.h"
#include "engine/statistics/summary.h"
#include "kernels/base/result.h"

namespace attnscope {

/// A run's UUID, its identity across databases and machines.
struct RunId {
  std::string uuid;
  friend bool operator==(const RunId&, const RunId&) = default;
};

enum class RunStatus : std::uint8_t { running, done, cancelled, interrupted };
[[nodiscard]] std::string_view name_of(RunStatus status);

/// Everything about a run that is known when it starts. JSON texts are kept as given.
struct NewRun {
  std::string sweep_name;
  std::string sweep_text;
  std::string command_line;
  std::string provenance;  // JSON: device, driver, clocks, compiler, flags, versions, commit, ...
  std::string device;      // short words for lists: the processor's or GPU's name
  int heats_planned = 0;
  std::int64_t process_id = 0;            // the driver's
  std::uint64_t process_start_ticks = 0;  // tells it from a later process of the same number
};

struct RunInfo {
  RunId id;
  std::int64_t number =
      0;  // short local number, shown in lists and accepted wherever a run is named
  NewRun start;
  RunStatus status = RunStatus::running;  // `interrupted` when `running` but its process is gone
  std::string tag, note;
  std::int64_t started_unix_ms = 0, finished_unix_ms = 0;
  int heats_done = 0;
  int cells_failed = 0;              // wrong, crashed or timeout
  bool nothing_measured = false;     // there are cells, and none has a time
  bool damaged = false;              // the values it started with do not match their fingerprint
  std::string name;                  // a person's own; empty: the sweep's serves
  std::int64_t trashed_unix_ms = 0;  // since when it lies in the trash; 0: it does not
  std::filesystem::path file;        // the database or .attn it was read from
  // Of find_run alone: ceilings that do not match their fingerprints or cannot be, and are left
  // out, and cells that were stored with their heats and are not there.
  std::int64_t damaged_ceilings = 0, missing_cells = 0;
  // Likewise; what such a row says of itself is not to be believed.
  std::int64_t damaged_heats = 0, damaged_restarts = 0;
  bool damaged_state =
      false;  // likewise, of its status, name, tag, note, dates and restarts' number
};

/// Heats that a run was done with and that are not there any more.
[[nodiscard]] inline int missing_heats(const RunInfo& run) {
  const bool fewer = run.status == RunStatus::done && run.heats_done < run.start.heats_planned;
  return fewer ? run.start.heats_planned - run.heats_done : 0;
}

/// What a run is called: a person's own name for it, else its sweep's.
[[nodiscard]] const std::string& title_of(const RunInfo& run);
[[nodiscard]] inline bool is_in_trash(const RunInfo& run) {
  return run.trashed_unix_ms != 0;
}

/// A person's own words for a run; what is not given stays as it is.
struct RunWords {
  std::optional<std::string> name = {}, tag = {}, note = {};
};

/// A run's tag is any number of words: these, without repetition, split at spaces and commas.
[[nodiscard]] std::vector<std::string> tag_words(std::string_view tag);
/// The same as they are stored: "camera-ready laptop".
[[nodiscard]] std::string tag_of(const std::vector<std::string>& words);

/// Runs in the trash are there for nobody who does not ask for them.
enum class RunsOf : std::uint8_t { list, trash, both };

/// A later start of a run that had been interrupted or cancelled. Its build, and even its machine,
/// may be another one.
struct Restart {
  std::int64_t restarted_unix_ms = 0;
  std::string command_line;
  std::string provenance;  // JSON, as in NewRun, without the plan
  bool damaged = false;    // its fingerprint does not match its values
};

/// What the driver is doing now; for the window and other followers.
struct Progress {
  int heats_done = 0, heats_planned = 0;
  std::string current;  // "2048 tokens, sparse/segment/4"
  std::optional<double> seconds_left;
};

/// Outlier flags and summaries are stored with a heat. With samples, the summary is made anew of
/// those of the whole heat: what is shown is what they say.
struct StoredCell {
  std::int64_t cell_number = 0;
  HeatPoint point;
  Cell cell;
  statistics::Summary summary;
  // Its fingerprint does not match its values, or they cannot be, and `impossible` says why.
  bool damaged = false;
  std::string impossible = {};
  std::int64_t heat_number = 0;      // cells of one number were measured together
  std::vector<bool> outliers;        // one for each sample, when samples were asked for
  statistics::HeatBasis basis = {};  // of its heat, likewise
};

/// The cell's samples as statistics take them.
[[nodiscard]] std::vector<statistics::Observation> observations_of(const Cell& cell,
                                                                   const HeatPoint& point);
/// What is damaged of a cell that is: "its stored values do not match their fingerprint".
[[nodiscard]] std::string damage_in_words(const StoredCell& cell);

class Store {
 public:
  /// To write into a database that has to be there, `existing`; `read_write` creates it as needed.
  enum class Mode : std::uint8_t { read_only, existing, read_write };

  /// Refuses a foreign file, one of another version (both are named) and an
  /// unwritable place, untouched. The default place's folders are made, others are not. An exported
  /// .attn file, and one that gzip has packed, is opened read-only in either mode.
  [[nodiscard]] static Result<Store> open(const std::filesystem::path& file, Mode mode);
  /// A new .attn file that takes what the run's own database does not take now: it begins with the
  /// run itself and no heats, and import_file brings what is added to it into that database. Never
  /// over another file.
  [[nodiscard]] static Result<Store> create_with(const std::filesystem::path& file,
                                                 const RunInfo& run);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// How long to wait for another process that is writing; 5 s unless set.
  void set_busy_timeout(std::chrono::milliseconds timeout);
  [[nodiscard]] const std::filesystem::path& file() const;
  /// A sentence to pass on to the person (the file is on a network file system), or empty.
  [[nodiscard]] const std::string& warning() const;

  [[nodiscard]] Result<RunId> begin_run(const NewRun& run);
  /// Sets a run that is not being measured running again, with the new process; the restart's
  /// command line and provenance are kept beside the first ones.
  [[nodiscard]] Status resume_run(const RunId& run, const NewRun& restart);
  [[nodiscard]] Status add_heat(const RunId& run, const HeatResult& heat);
  [[nodiscard]] Status add_ceilings(const RunId& run, const Ceilings& ceilings);
  /// Waits for nobody: what cannot be told now is told the next time.
  [[nodiscard]] Status set_progress(const RunId& run, const Progress& progress);
  [[nodiscard]] Status finish_run(const RunId& run, RunStatus status);
  /// For good: nothing brings it back.
  [[nodiscard]] Status remove_run(const RunId& run);
  [[nodiscard]] Status describe_run(const RunId& run, const RunWords& words);
  /// All of them or, when one is being measured or is not there, none.
  [[nodiscard]] Status put_in_trash(const std::vector<RunId>& runs);
  [[nodiscard]] Status take_from_trash(const std::vector<RunId>& runs);
  /// Removes for good what lies in the trash; how many runs that were.
  [[nodiscard]] Result<int> empty_trash();

  /// Newest first.
  [[nodiscard]] Result<std::vector<RunInfo>> runs(RunsOf which = RunsOf::list) const;
  /// The same for lists of thousands: without the long texts of a start (the sweep's, the command
  /// line, the provenance), and so without looking whether a run is damaged.
  [[nodiscard]] Result<std::vector<RunInfo>> run_list(RunsOf which = RunsOf::list) const;
  /// "last", a short number, a UUID or an unambiguous start of one (at least 4 characters), or the
  /// own name of one run. A run in the trash is found too, but never as "last".
  [[nodiscard]] Result<RunInfo> find_run(std::string_view text) const;
  [[nodiscard]] Result<std::vector<StoredCell>> cells(const RunId& run, bool with_samples) const;
  /// Damaged and impossible ones are left out; RunInfo::damaged_ceilings counts them.
  [[nodiscard]] Result<std::vector<Ceilings>> ceilings(const RunId& run) const;
  /// Oldest first.
  [[nodiscard]] Result<std::vector<Restart>> restarts(const RunId& run) const;
  /// By which start of the run each heat was measured, by the heat's number: 0 is the first, N the
  /// N-th of restarts(); nothing where that is not known. Starts may be of several machines.
  [[nodiscard]] Result<std::map<std::int64_t, std::optional<std::size_t>>> starts_of_heats(
      const RunId& run) const;
  /// Nothing where it is damaged.
  [[nodiscard]] Result<std::optional<Progress>> progress(const RunId& run) const;
  /// point_key() of every finished heat; --resume leaves these out.
  [[nodiscard]] Result<std::vector<std::string>> finished_points(const RunId& run) const;
  /// Grows whenever any process commits; cheap, for followers.
  [[nodiscard]] Result<std::int64_t> data_version() const;

  /// Writes the runs into a new .attn file (refuses to overwrite), packed where its name ends in
  /// ".gz"; in it none lies in the trash.
  [[nodiscard]] Status export_runs(const std::vector<RunId>& runs,
                                   const std::filesystem::path& file) const;
  struct Imported {
    int added = 0, already_there = 0;  // runs
    int heats_added = 0;               // to runs that were there
    int taken_from_trash = 0;          // of those that were there
    std::vector<RunId> runs = {};      // all of them, the oldest first
  };
  /// Adds the runs that are missing, and to those that are there the heats and ceilings they lack;
  /// what is there is never replaced. One that lies in this store's trash is taken out of it; what
  /// lies in the other's stays there.
  [[nodiscard]] Result<Imported> import_file(const std::filesystem::path& file);
  /// Whether the file that was opened still has its name and is not empty, and the log that it was
  /// opened with is still beside it: they may have been moved, deleted or replaced. Such a store
  /// can be read, and refuses what is to be written.
  [[nodiscard]] bool is_at_its_place() const;
  /// All that this store sees goes into a new database, also when its own file has no name any
  /// more, and the store goes on there. What is at the old place has nothing to fear from it any
  /// more.
  [[nodiscard]] Status go_on_in(const std::filesystem::path& file);
  /// SQLite's own check and every fingerprint; slow on large files. The error names the damaged
  /// runs and the way out. Ends early, with an error that says so, once `stop` is true.
  /// `damaged`, if given, gets the runs that are.
  [[nodiscard]] Status check_integrity(const std::atomic<bool>* stop = nullptr,
                                       std::vector<RunId>* damaged = nullptr) const;

 private:
  struct Implementation;
  explicit Store(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

/// $XDG_DATA_HOME/attnscope/attnscope.db or ~/.local/share/attnscope/attnscope.db.
[[nodiscard]] std::filesystem::path default_database();

/// " --db FILE" as a command takes it; empty for the default one.
[[nodiscard]] std::string database_option(const std::filesystem::path& file);
/// "attnscope COMMAND RUN OPTIONS": the run by its UUID, with the database that has it unless that
/// is the default one, or with the file. "run --again" measures it once more.
[[nodiscard]] std::string command_on(const RunInfo& run, std::string_view command,
                                     const std::string& options = {});

/// Of the SQLite that is linked in, for provenance: "3.40.1".
[[nodiscard]] std::string sqlite_version();

/// Whether the process that wrote a run is still alive.
[[nodiscard]] bool is_alive(std::int64_t process_id, std::uint64_t process_start_ticks);
[[nodiscard]] std::uint64_t own_process_start_ticks();

}  // namespace attnscope
