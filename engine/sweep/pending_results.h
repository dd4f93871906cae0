#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a run has measured until its database has it. While that is locked by another program, full
// or not writable, results wait here in memory, measuring goes on, and every later result tries the
// database again. What it does not take to the end goes into one file.
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
  /// The run must be in the store, which is only borrowed. `on_stored` is told of each result in
  /// the order in which they were added, `on_warning` that results wait, and that they no longer
  /// do.
  PendingResults(Store& store, RunId run, std::function<void(const Measured&)> on_stored,
                 std::function<void(const std::string&)> on_warning);

  void add(Measured result);
  /// To be called often. Somebody may move, delete or replace the database: then the store goes on
  /// in a copy of all that it held, beside its old place, before anybody opens what is there now.
  void follow_database();
  /// Where the store has gone on, in words; empty while it is where it was opened.
  [[nodiscard]] const std::string& moved() const { return moved_; }
  /// Ok when nothing waits any more.
  [[nodiscard]] Status store_all();
  /// Somebody has taken the run out of the database, or that away: it will never take what waits.
  [[nodiscard]] bool run_is_gone() const;
  /// "2 results", of those that wait.
  [[nodiscard]] std::string in_words() const;
  /// Writes what waits into a new .attn file beside the database, or where that cannot be, in the
  /// folder of the default database. Says why the database took no more, and which command brings
  /// the file in, or what is lost.
  [[nodiscard]] std::string write_out(RunStatus status, const Error& why);

 private:
  [[nodiscard]] Status store_in(Store& store, const Measured& result) const;
  [[nodiscard]] Status write(const std::filesystem::path& file, RunStatus status) const;
  void leave_place();

  Store& store_;
  RunId run_;
  std::function<void(const Measured&)> on_stored_;
  std::function<void(const std::string&)> on_warning_;
  std::optional<RunInfo> info_;  // as the database knew it when the run began
  std::deque<Measured> waiting_;
  std::string moved_;
  bool told_ = false, told_of_no_copy_ = false;
};

}  // namespace attnscope
