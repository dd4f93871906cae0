#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Keeps what a run has measured, whatever happens to its database: when that is locked by another
// program for too long, full or not writable, heats go into a file aside - beside the database, or
// in the folder for temporary files - and measuring goes on. Every later heat tries the database
// again and, when it takes it, brings in what lies aside.
//
//   HeatKeeper keeper(store, run, [](const std::string& warning) { ... });
//   if (Status kept = keeper.keep(heat); !kept) ...  // nothing took it

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/store/store.h"

namespace attnscope {

class HeatKeeper {
 public:
  using Warn = std::function<void(const std::string&)>;
  /// The run must be in the store. `store` is only borrowed.
  HeatKeeper(Store& store, RunId run, Warn warn);

  /// Stored when it returns without an error: in the database, or aside with a warning that names
  /// the file and the command that brings it in.
  [[nodiscard]] Status keep(const HeatResult& heat);
  [[nodiscard]] Status keep(const Ceilings& ceilings);
  /// Ends the run. An error when the database took that no more; where heats lie aside, it says
  /// where and how to bring them in.
  [[nodiscard]] Status finish(RunStatus status);

 private:
  struct Aside {
    std::filesystem::path file;
    Store store;
  };
  template <typename Add>
  Status keep_by(Add&& add);
  template <typename Add>
  Status keep_aside(Add&& add, const Error& why);
  [[nodiscard]] Result<Aside> make_aside(const std::filesystem::path& folder) const;
  /// Whether nothing lies aside any more.
  [[nodiscard]] bool bring_in();
  /// The commands that do it.
  [[nodiscard]] std::string way_in() const;

  Store& store_;
  RunId run_;
  Warn warn_;
  std::optional<RunInfo> info_;  // as the database knew it when it last could be read
  std::vector<Aside> asides_;    // the last one takes more
};

/// Brings in what an earlier driver of the run left aside beside the database, and removes the
/// files. How many heats these were.
[[nodiscard]] Result<int> take_in_left_aside(Store& store, const RunId& run);

}  // namespace attnscope
