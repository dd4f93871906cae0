// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/heat_keeper.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>
#include <utility>
#include <vector>

namespace attnscope {
namespace {

/// "results.db" and run 1c0ffee5-...: "results.db.aside-1c0ffee5", which one or more files begin
/// with.
std::string stem_of(const std::filesystem::path& database, const RunId& run) {
  return fmt::format("{}.aside-{}", database.filename().string(), run.uuid.substr(0, 8));
}

std::filesystem::path folder_of(const std::filesystem::path& database) {
  return std::filesystem::absolute(database).parent_path();
}

/// Where a file aside may lie, best first.
std::vector<std::filesystem::path> folders_aside(const Store& store) {
  std::error_code none;
  std::vector folders{folder_of(store.file()), std::filesystem::temp_directory_path(none)};
  if (folders[0] == folders[1]) folders.pop_back();
  return folders;
}

/// The folder for temporary files is everybody's.
bool is_own(const std::filesystem::path& file) {
  struct stat information {};
  return lstat(file.c_str(), &information) == 0 && S_ISREG(information.st_mode) &&
         information.st_uid == geteuid();
}

void discard(const std::filesystem::path& file) {
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
}

/// For a shell: in quotes when there is anything odd in it.
std::string typed(const std::filesystem::path& file) {
  const std::string text = file.string();
  const bool plain = text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789/._-+,:@") == std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "'";
}

}  // namespace

HeatKeeper::HeatKeeper(Store& store, RunId run, Warn warn)
    : store_(store), run_(std::move(run)), warn_(std::move(warn)) {
  if (auto info = store_.find_run(run_.uuid)) info_ = std::move(*info);
}

Status HeatKeeper::keep(const HeatResult& heat) {
  return keep_by([&](Store& store) { return store.add_heat(run_, heat); });
}

Status HeatKeeper::keep(const Ceilings& ceilings) {
  return keep_by([&](Store& store) { return store.add_ceilings(run_, ceilings); });
}

template <typename Add>
Status HeatKeeper::keep_by(Add&& add) {
  Status stored = add(store_);
  if (!stored) return keep_aside(add, stored.error());
  static_cast<void>(bring_in());
  return stored;
}

template <typename Add>
Status HeatKeeper::keep_aside(Add&& add, const Error& why) {
  if (!asides_.empty() && add(asides_.back().store)) return {};
  for (const std::filesystem::path& folder : folders_aside(store_)) {
    Result<Aside> made = make_aside(folder);
    if (!made) continue;
    if (!add(made->store)) {
      discard(made->file);
      continue;
    }
    asides_.push_back(std::move(*made));
    warn_(
        fmt::format("{}; meanwhile what is measured is kept aside in {}; if it is still there "
                    "when the run has ended, {} brings it in",
                    why.message, asides_.back().file.string(), way_in()));
    return {};
  }
  if (asides_.empty()) return tl::unexpected(why);
  return fail("{}; nor could it be kept aside; what lies aside is safe: {} brings it in",
              why.message, way_in());
}

Result<HeatKeeper::Aside> HeatKeeper::make_aside(const std::filesystem::path& folder) const {
  if (!info_) return fail("the database could not be read");
  const std::string stem = stem_of(store_.file(), run_);
  std::filesystem::path file = folder / (stem + ".attn");
  std::error_code none;
  for (int again = 2; std::filesystem::exists(file, none); ++again) {
    file = folder / fmt::format("{}-{}.attn", stem, again);
  }
  Result<Store> store = Store::create_aside(file, *info_);
  if (!store) return tl::unexpected(store.error());
  return Aside{file, std::move(*store)};
}

bool HeatKeeper::bring_in() {
  while (!asides_.empty()) {
    const std::filesystem::path file = asides_.back().file;
    if (!store_.import_file(file)) return false;
    asides_.pop_back();
    discard(file);
    warn_(
        fmt::format("the database takes results again; those in {} are in it now", file.string()));
  }
  return true;
}

std::string HeatKeeper::way_in() const {
  std::string commands;
  for (const Aside& aside : asides_) {
    commands += fmt::format("{}attnscope import {} --db {}", commands.empty() ? "" : " && ",
                            typed(aside.file), typed(store_.file()));
  }
  return commands;
}

Status HeatKeeper::finish(RunStatus status) {
  const bool is_whole = bring_in();
  Status finished = store_.finish_run(run_, status);
  if (is_whole) return finished;
  static_cast<void>(asides_.back().store.finish_run(run_, status));
  return fail("{} did not take every result; the others are safe: {} brings them in",
              store_.file().string(), way_in());
}

Result<int> take_in_left_aside(Store& store, const RunId& run) {
  const std::string stem = stem_of(store.file(), run);
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const std::filesystem::path& folder : folders_aside(store)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
      const std::string name = entry.path().filename().string();
      const bool fits = name.starts_with(stem) && name.ends_with(".attn");
      if (fits && is_own(entry.path())) files.push_back(entry.path());
    }
  }
  int heats = 0;
  for (const std::filesystem::path& file : files) {
    const auto imported = store.import_file(file);
    if (!imported) return tl::unexpected(imported.error());
    heats += imported->heats_added;
    discard(file);
  }
  return heats;
}

}  // namespace attnscope
