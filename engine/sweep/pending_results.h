#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Results of a run that its database has not stored yet. While the database is locked by another
// program, full or not writable, results wait here in memory, measuring continues, and every later
// result tries the database again. Results that the database has not accepted by the end are
// written to a file.
//
//   PendingResults pending(store, run, announce, warn);
//   pending.add(heat);                                     // announced as soon as it is stored
//   if (Status stored = pending.store_all(); !stored) ...  // still waiting

#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "engine/store/store.h"

namespace attnscope {

class PendingResults {
 public:
  using Measured = std::variant<HeatResult, Ceilings>;
  /// The run must be in the store, which must outlive this object. `on_stored` is called for each
  /// result in the order of add(), `on_warning` when results begin to wait and when they no longer
  /// do.
  PendingResults(Store& store, RunId run, std::function<void(const Measured&)> on_stored,
                 std::function<void(const std::string&)> on_warning);

  void add(Measured result);
  /// Call it often. If the database was moved, deleted or replaced, the store continues in a copy
  /// of its contents next to its old path, before the file that is now at that path is opened.
  void follow_database();
  /// A message with the store's new path; empty while it is at its original path.
  [[nodiscard]] const std::string& moved() const { return moved_; }
  /// Ok when no results wait any more.
  [[nodiscard]] Status store_all();
  /// The run was removed from the database, or the database was removed: waiting results will never
  /// be accepted.
  [[nodiscard]] bool run_is_gone() const;
  /// Number of waiting results: "2 results".
  [[nodiscard]] std::string in_words() const;
  /// Writes the waiting results into a new .attn file next to the database or, if that is
  /// impossible, in the folder of the default database. Returns a message with the reason why the
  /// database accepted no more, and the command that imports the file, or what is lost.
  [[nodiscard]] std::string write_out(RunStatus status, const Error& why);

 private:
  [[nodiscard]] Status store_in(Store& store, const Measured& result) const;
  [[nodiscard]] Status write(const std::filesystem::path& file, RunStatus status) const;
  void leave_place();

  Store& store_;
  RunId run_;
  std::function<void(const Measured&)> on_stored_;
  std::function<void(const std::string&)> on_warning_;
  std::optional<RunInfo> info_;  // as stored in the database when the run began
  std::deque<Measured> waiting_;
  std::string moved_;
  bool reported_ = false, reported_no_copy_ = false;
};

}  // namespace attnscope
