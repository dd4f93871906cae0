#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The store: all runs in one SQLite file. Only this folder uses SQL; schema.sql documents the
// tables. Each finished heat is one transaction that is on disk before it is reported, so that
// results reported as finished survive a kill and a power cut. Many processes can read and write
// one file; a commit waits until others have finished what they are reading. A Store belongs to one
// thread; open another for another thread.
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

#include "base/result.h"
#include "engine/heat/cell.h"
#include "engine/statistics/summary.h"

namespace attnscope {

/// A run's UUID, which identifies it across databases and machines.
struct RunId {
  std::string uuid;
  friend bool operator==(const RunId&, const RunId&) = default;
};

enum class RunStatus : std::uint8_t { running, done, cancelled, interrupted };
[[nodiscard]] std::string_view name_of(RunStatus status);

/// Data of a run that is known at its start. JSON texts are stored unchanged.
struct NewRun {
  std::string sweep_name;
  std::string sweep_text;
  std::string command_line;
  std::string provenance;  // JSON: device, driver, clocks, compiler, flags, versions, commit, ...
  std::string device;      // short text for lists: name of the processor or GPU
  int heats_planned = 0;
  std::int64_t process_id = 0;            // the driver's process
  std::uint64_t process_start_ticks = 0;  // distinguishes processes of the same number
};

struct RunInfo {
  RunId id;
  std::int64_t number =
      0;  // short local number, shown in lists and accepted wherever a run is named
  NewRun start;
  RunStatus status = RunStatus::running;  // `interrupted` when `running` without its process
  std::string tag, note;
  std::int64_t started_unix_ms = 0, finished_unix_ms = 0;
  int heats_done = 0;
  int heats_stored = 0;              // the number that was stored; not from run_list
  int cells_failed = 0;              // wrong, crashed or timeout
  bool nothing_measured = false;     // there are cells, but none has a time
  bool damaged = false;              // the start's values do not match their fingerprint
  std::string name;                  // given by the user; empty: the sweep's name is used
  std::int64_t trashed_unix_ms = 0;  // time of moving to the trash; 0: not in the trash
  std::filesystem::path file;        // the database or .attn it was read from
  // Only from find_run: ceilings that do not match their fingerprints or have impossible values,
  // which are left out, and stored cells that are missing.
  std::int64_t damaged_ceilings = 0, missing_cells = 0;
  // Only from find_run: heats that are missing or were added, as far as missing_heats does not
  // count them, and restarts whose values do not match their fingerprint.
  std::int64_t damaged_heats = 0, damaged_restarts = 0;
  // Only from find_run: status, name, tag, note, dates and the numbers of heats, restarts and
  // ceilings do not match their fingerprint.
  bool damaged_state = false;
};

/// Heats of a done run that are missing.
[[nodiscard]] inline int missing_heats(const RunInfo& run) {
  const bool fewer = run.status == RunStatus::done && run.heats_done < run.start.heats_planned;
  return fewer ? run.start.heats_planned - run.heats_done : 0;
}

/// The name of a run: that given by the user, otherwise the sweep's.
[[nodiscard]] const std::string& title_of(const RunInfo& run);
[[nodiscard]] inline bool is_in_trash(const RunInfo& run) {
  return run.trashed_unix_ms != 0;
}

/// The user's texts for a run; absent ones stay unchanged.
struct RunWords {
  std::optional<std::string> name = {}, tag = {}, note = {};
};

/// The distinct words of a run's tag, split at spaces and commas.
[[nodiscard]] std::vector<std::string> tag_words(std::string_view tag);
/// The words as stored: "camera-ready laptop".
[[nodiscard]] std::string tag_of(const std::vector<std::string>& words);

/// Queries exclude runs in the trash unless they select them.
enum class RunsOf : std::uint8_t { list, trash, both };

/// A later start of an interrupted or cancelled run. Its build and even its machine may differ.
struct Restart {
  std::int64_t restarted_unix_ms = 0;
  std::string command_line;
  std::string provenance;  // JSON, as in NewRun, without the plan
  bool damaged = false;    // its fingerprint does not match its values
};

/// Current activity of the driver, for the window and other followers.
struct Progress {
  int heats_done = 0, heats_planned = 0;
  std::string current;  // "2048 tokens, sparse/segment/4"
  std::optional<double> seconds_left;
};

/// Outlier flags and summaries are stored with a heat. If samples are loaded, the summary is
/// recomputed from those of the whole heat, so that it agrees with them.
struct StoredCell {
  std::int64_t cell_number = 0;
  HeatPoint point;
  Cell cell;
  statistics::Summary summary;
  // The values do not match their fingerprint, or are impossible; then `impossible` gives the
  // reason.
  bool damaged = false;
  std::string impossible = {};
  std::int64_t heat_number = 0;      // cells with the same number were measured together
  std::vector<bool> outliers;        // one per sample, if samples were requested
  statistics::HeatBasis basis = {};  // basis of its heat, if samples were requested
};

/// The cell's samples as input of statistics.
[[nodiscard]] std::vector<statistics::Observation> observations_of(const Cell& cell,
                                                                   const HeatPoint& point);
/// Damage of a damaged cell: "its stored values do not match their fingerprint".
[[nodiscard]] std::string damage_in_words(const StoredCell& cell);

class Store {
 public:
  /// `existing` writes to an existing database; `read_write` creates it if needed.
  enum class Mode : std::uint8_t { read_only, existing, read_write };

  /// Refuses a foreign file, a file of an unknown version (the error states both) and an unwritable
  /// path, without changing them. A file of the version before this one is converted: in place when
  /// it is opened for writing, otherwise in memory. Creates folders only for the default path. An
  /// exported .attn file, also one compressed with gzip, is opened read-only in either mode.
  [[nodiscard]] static Result<Store> open(const std::filesystem::path& file, Mode mode);
  /// Creates a new .attn file for results that the run's own database does not accept: it begins
  /// with the run without heats, and import_file merges what is added to it into that database.
  /// Never overwrites a file.
  [[nodiscard]] static Result<Store> create_with(const std::filesystem::path& file,
                                                 const RunInfo& run);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// How long to wait for another writing process; 5 s by default.
  void set_busy_timeout(std::chrono::milliseconds timeout);
  [[nodiscard]] const std::filesystem::path& file() const;
  /// A message for the user (the file is on a network file system), or empty.
  [[nodiscard]] const std::string& warning() const;

  [[nodiscard]] Result<RunId> begin_run(const NewRun& run);
  /// Sets a run that is not being measured to running, with the new process; the restart's command
  /// line and provenance are stored in addition to the first ones.
  [[nodiscard]] Status resume_run(const RunId& run, const NewRun& restart);
  [[nodiscard]] Status add_heat(const RunId& run, const HeatResult& heat);
  [[nodiscard]] Status add_ceilings(const RunId& run, const Ceilings& ceilings);
  /// Waits for a locked database at most 250 ms: the next call stores newer progress.
  [[nodiscard]] Status set_progress(const RunId& run, const Progress& progress);
  [[nodiscard]] Status finish_run(const RunId& run, RunStatus status);
  /// Removes a run permanently.
  [[nodiscard]] Status remove_run(const RunId& run);
  [[nodiscard]] Status describe_run(const RunId& run, const RunWords& words);
  /// Moves all of them or, when one is being measured or missing, none.
  [[nodiscard]] Status put_in_trash(const std::vector<RunId>& runs);
  [[nodiscard]] Status take_from_trash(const std::vector<RunId>& runs);
  /// Permanently removes the runs in the trash and returns their number.
  [[nodiscard]] Result<int> empty_trash();

  /// Newest first.
  [[nodiscard]] Result<std::vector<RunInfo>> runs(RunsOf which = RunsOf::list) const;
  /// The same for lists of thousands: without the long texts of a start (the sweep, the command
  /// line, the provenance), and therefore without detecting damage.
  [[nodiscard]] Result<std::vector<RunInfo>> run_list(RunsOf which = RunsOf::list) const;
  /// "last", a short number, a UUID or an unambiguous prefix of one (at least 4 characters), or the
  /// user's name of exactly one run. Runs in the trash are also found, but never by "last".
  [[nodiscard]] Result<RunInfo> find_run(std::string_view text) const;
  [[nodiscard]] Result<std::vector<StoredCell>> cells(const RunId& run, bool with_samples) const;
  /// Damaged and impossible ceilings are left out; RunInfo::damaged_ceilings counts them.
  [[nodiscard]] Result<std::vector<Ceilings>> ceilings(const RunId& run) const;
  /// Oldest first.
  [[nodiscard]] Result<std::vector<Restart>> restarts(const RunId& run) const;
  /// The start of the run that measured each heat, by the heat's number: 0 is the first start, N
  /// the N-th of restarts(); nothing if unknown. Starts may be from several machines.
  [[nodiscard]] Result<std::map<std::int64_t, std::optional<std::size_t>>> starts_of_heats(
      const RunId& run) const;
  /// Nothing if it is damaged.
  [[nodiscard]] Result<std::optional<Progress>> progress(const RunId& run) const;
  /// point_key() of every finished heat; --resume skips these.
  [[nodiscard]] Result<std::vector<std::string>> finished_points(const RunId& run) const;
  /// Increases whenever any process commits; a cheap query for followers.
  [[nodiscard]] Result<std::int64_t> data_version() const;

  /// Writes the runs to a new .attn file (refuses to overwrite), compressed if its name ends in
  /// ".gz"; none of its runs is in the trash.
  [[nodiscard]] Status export_runs(const std::vector<RunId>& runs,
                                   const std::filesystem::path& file) const;
  struct Imported {
    int added = 0, already_there = 0;  // runs
    int heats_added = 0;               // added to existing runs
    int taken_from_trash = 0;          // existing runs
    std::vector<RunId> runs = {};      // all runs of the file, the oldest first
  };
  /// Adds missing runs, and missing heats and ceilings to existing runs; existing data is never
  /// replaced. A run in this store's trash is taken out of it; a run in the other store's trash is
  /// not imported.
  [[nodiscard]] Result<Imported> import_file(const std::filesystem::path& file);
  /// Whether the opened file still has its name and is not empty: it may have been moved, deleted
  /// or replaced. Such a store can be read but refuses to write.
  [[nodiscard]] bool is_at_its_place() const;
  /// Copies everything that this store sees to a new database, even if its own file has no name any
  /// more, and continues there. The file at the old path is then no longer affected by this store.
  [[nodiscard]] Status continue_in(const std::filesystem::path& file);
  /// Runs SQLite's own check and verifies every fingerprint; slow on large files. The error names
  /// the damaged runs and how to save the others. Stops with an error once `stop` is true.
  /// `damaged`, if given, receives the damaged runs.
  [[nodiscard]] Status check_integrity(const std::atomic<bool>* stop = nullptr,
                                       std::vector<RunId>* damaged = nullptr) const;

 private:
  struct Implementation;
  explicit Store(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

/// $XDG_DATA_HOME/attnscope/attnscope.db or ~/.local/share/attnscope/attnscope.db.
[[nodiscard]] std::filesystem::path default_database();

/// " --db FILE" as a command-line option; empty for the default database.
[[nodiscard]] std::string database_option(const std::filesystem::path& file);
/// "attnscope COMMAND RUN OPTIONS": the run by its UUID, with its database unless that is the
/// default one, or with the file. "run --again" repeats the run.
[[nodiscard]] std::string command_on(const RunInfo& run, std::string_view command,
                                     const std::string& options = {});

/// Version of the linked SQLite, for provenance: "3.40.1".
[[nodiscard]] std::string sqlite_version();

/// Whether the process that wrote a run is still alive.
[[nodiscard]] bool is_alive(std::int64_t process_id, std::uint64_t process_start_ticks);
[[nodiscard]] std::uint64_t own_process_start_ticks();

}  // namespace attnscope
