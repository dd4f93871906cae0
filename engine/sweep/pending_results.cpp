// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/pending_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "base/spawn.h"

namespace attnscope {
namespace {

/// Candidate folders for the file, best first: the full disk may not be the only one. None is a
/// shared folder.
std::vector<std::filesystem::path> folders_for(const std::filesystem::path& database) {
  const std::filesystem::path own = default_database().parent_path();
  std::error_code failed;  // then the folder is not writable either
  std::filesystem::create_directories(own, failed);
  return {std::filesystem::absolute(database).parent_path(), own};
}

/// "results.db.pending-1c0ffee5.attn", or the next free name.
std::filesystem::path free_name(const std::filesystem::path& folder,
                                const std::filesystem::path& database, std::string_view kind,
                                const RunId& run, std::string_view ending) {
  const std::string stem =
      fmt::format("{}.{}-{}", database.filename().string(), kind, run.uuid.substr(0, 8));
  std::filesystem::path file = folder / fmt::format("{}{}", stem, ending);
  std::error_code none;
  for (int again = 2; std::filesystem::exists(file, none); ++again)
    file = folder / fmt::format("{}-{}{}", stem, again, ending);
  return file;
}

/// The command that imports the file into the database, or that reads it if the database cannot be
/// opened.
std::string import_advice(const std::filesystem::path& file,
                          const std::filesystem::path& database) {
  const std::string name = shell_word(file.string());
  const auto there = Store::open(database, Store::Mode::read_only);
  if (there || there.error().kind == ErrorKind::locked) {
    return fmt::format("attnscope import {} --db {} adds what is missing", name,
                       shell_word(std::filesystem::absolute(database).string()));
  }
  return fmt::format(
      "attnscope list runs --db {} shows it, and attnscope import {} --db DATABASE adds it to "
      "another database",
      name, name);
}

}  // namespace

PendingResults::PendingResults(Store& store, RunId run,
                               std::function<void(const Measured&)> on_stored,
                               std::function<void(const std::string&)> on_warning)
    : store_(store),
      run_(std::move(run)),
      on_stored_(std::move(on_stored)),
      on_warning_(std::move(on_warning)) {
  if (auto info = store_.find_run(run_.uuid)) info_ = std::move(*info);
}

void PendingResults::add(Measured result) {
  waiting_.push_back(std::move(result));
  static_cast<void>(store_all());
}

Status PendingResults::store_in(Store& store, const Measured& result) const {
  if (const auto* heat = std::get_if<HeatResult>(&result)) return store.add_heat(run_, *heat);
  return store.add_ceilings(run_, std::get<Ceilings>(result));
}

void PendingResults::follow_database() {
  if (!reported_no_copy_) leave_place();
}

void PendingResults::leave_place() {
  if (store_.is_at_its_place()) return;
  const std::filesystem::path database = store_.file();
  const std::string what = fmt::format(
      "the database {} was moved, deleted or replaced while it was written", database.string());
  for (const std::filesystem::path& folder : folders_for(database)) {
    const std::filesystem::path file = free_name(folder, database, "saved", run_, ".db");
    if (!store_.continue_in(file)) continue;
    moved_ =
        fmt::format("{}; all of its contents and this run are in {}: attnscope list runs --db {}",
                    what, file.string(), shell_word(file.string()));
    return on_warning_(moved_);
  }
  if (!std::exchange(reported_no_copy_, true)) {
    on_warning_(what + ", and no copy of it could be written; results wait in memory");
    reported_ = true;
  }
}

Status PendingResults::store_all() {
  leave_place();
  while (!waiting_.empty()) {
    if (Status stored = store_in(store_, waiting_.front()); !stored) {
      if (!std::exchange(reported_, true)) {
        on_warning_(fmt::format("{}; results wait in memory until the database can be written",
                                stored.error().message));
      }
      return stored;
    }
    on_stored_(waiting_.front());
    waiting_.pop_front();
  }
  if (std::exchange(reported_, false))
    on_warning_("the database can be written again; the waiting results are stored");
  return {};
}

bool PendingResults::run_is_gone() const {
  if (reported_no_copy_) return true;
  const auto runs = store_.run_list(RunsOf::both);
  return runs && std::ranges::find(*runs, run_, &RunInfo::id) == runs->end();
}

std::string PendingResults::in_words() const {
  return waiting_.size() == 1 ? "1 result" : fmt::format("{} results", waiting_.size());
}

Status PendingResults::write(const std::filesystem::path& file, RunStatus status) const {
  if (!info_) return fail("the run could not be read at its start");
  auto store = Store::create_with(file, *info_);
  if (!store) return tl::unexpected(store.error());
  for (const Measured& result : waiting_) {
    if (Status stored = store_in(*store, result); !stored) return stored;
  }
  return store->finish_run(run_, status);
}

std::string PendingResults::write_out(RunStatus status, const Error& why) {
  const std::string reason = moved_.empty() ? why.message : moved_ + "; " + why.message;
  if (waiting_.empty()) return reason;
  const std::filesystem::path database = store_.file();
  for (const std::filesystem::path& folder : folders_for(database)) {
    const std::filesystem::path file = free_name(folder, database, "pending", run_, ".attn");
    if (write(file, status)) {
      return fmt::format("{}; {} that could not be stored in the database {} in {}: {}", reason,
                         in_words(), waiting_.size() == 1 ? "is" : "are", file.string(),
                         import_advice(file, database));
    }
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
  return fmt::format(
      "{}; {} could not be written to a file next to the database or in {} either and are lost; "
      "attnscope run --resume {}{} measures them again",
      reason, in_words(), folders_for(database).back().string(), run_.uuid.substr(0, 8),
      database_option(database));
}

}  // namespace attnscope
