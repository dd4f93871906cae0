// SPDX-License-Identifier: Apache-2.0
//
// The full check: SQLite's own, which does not verify values, followed by every fingerprint.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/sentences.h"
#include "engine/store/implementation.h"

namespace attnscope {
namespace {

using store::Database;

/// Number of damaged or missing cells, heats, restarts and ceilings of one run, plus the run
/// itself.
Result<std::int64_t> damage_of(const Store& store, const RunInfo& run) {
  const Result<std::vector<StoredCell>> cells = store.cells(run.id, true);
  if (!cells) return tl::unexpected(cells.error());
  std::int64_t damaged = run.damaged_ceilings + run.missing_cells + run.damaged_heats +
                         run.damaged_restarts + (run.damaged ? 1 : 0) +
                         (run.damaged_state ? 1 : 0) + missing_heats(run);
  for (const StoredCell& cell : *cells) damaged += cell.damaged ? 1 : 0;
  return damaged;
}

/// "run 3", "runs 3, 4 and 7", "runs 3, 4, 5 and 12 more".
std::string runs_in_words(const std::vector<std::int64_t>& numbers) {
  constexpr std::size_t most = 6;
  std::string text = numbers.size() == 1 ? "run " : "runs ";
  for (std::size_t i = 0; i < numbers.size() && i < most; ++i) {
    const bool last = i + 1 == numbers.size();
    text += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", numbers[i]);
  }
  if (numbers.size() > most) text += fmt::format(" and {} more", numbers.size() - most);
  return text;
}

/// How to save the undamaged runs.
std::string way_out(const std::vector<std::int64_t>& sound, const std::filesystem::path& file) {
  const std::string database = database_option(file);
  if (sound.empty()) {
    return fmt::format("attnscope export RUN{} -o FILE.attn saves what can still be read",
                       database);
  }
  constexpr std::size_t most = 12;
  std::string runs;
  for (std::size_t i = 0; i < sound.size() && i < most; ++i) runs += fmt::format("{} ", sound[i]);
  if (sound.size() > most) runs = "RUN... ";
  return fmt::format(
      "attnscope export {}-o FILE.attn{} saves {}, and attnscope import FILE.attn --db NEW.db "
      "takes that into a new database",
      runs, database, sound.size() > most ? "the others" : runs_in_words(sound));
}

}  // namespace

Status Store::check_integrity(const std::atomic<bool>* stop,
                              std::vector<RunId>* damaged_runs) const {
  const Implementation& own = *implementation_;
  const std::string name = own.file.string();
  const auto stopped = [&] { return stop != nullptr && stop->load(std::memory_order_relaxed); };
  struct Handler {
    const Database& database;
    ~Handler() { store::stop_when(database, nullptr); }
  } const handler{own.database};
  store::stop_when(own.database, stop);

  const Status checked = store::guarded(own.file, [&]() -> Status {
    std::string of_the_file = store::first_text(own.database, "PRAGMA integrity_check(1)");
    if (of_the_file == store::sound_words) of_the_file.clear();
    if (of_the_file.empty() &&
        store::Statement(own.database, "PRAGMA foreign_key_check").executeStep()) {
      of_the_file = "rows without their run or heat";
    }
    const Result<std::vector<RunInfo>> all = run_list(RunsOf::both);
    if (!all) return tl::unexpected(all.error());
    std::vector<std::int64_t> damaged, sound;
    for (auto listed = all->rbegin(); listed != all->rend(); ++listed) {
      if (stopped()) break;
      const Result<RunInfo> run = find_run(listed->id.uuid);
      const Result<std::int64_t> damage = run ? damage_of(*this, *run) : Result<std::int64_t>(1);
      const bool is_sound = damage && *damage == 0;
      (is_sound ? sound : damaged).push_back(listed->number);
      if (!is_sound && !stopped() && damaged_runs != nullptr) damaged_runs->push_back(listed->id);
    }
    if (!damaged.empty()) {
      return fail("{} in the database {} {} damaged, and what is damaged is shown as such; {}",
                  runs_in_words(damaged), name, damaged.size() == 1 ? "is" : "are",
                  way_out(sound, own.file));
    }
    if (!of_the_file.empty()) {
      constexpr std::size_t longest = 200;
      return fail("the database {} is damaged ({}); {}", name, in_a_sentence(of_the_file, longest),
                  way_out(sound, own.file));
    }
    return {};
  });
  if (stopped()) return fail("the check of {} was ended before its end; start it again", name);
  return checked;
}

}  // namespace attnscope
