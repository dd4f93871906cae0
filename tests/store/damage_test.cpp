// SPDX-License-Identifier: Apache-2.0
//
// Flipped bits anywhere in a file, and truncated files: no crash, and every changed value is
// reported as damaged.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "tests/store/failing_disk.h"
#include "tests/store/sample_runs.h"
#include "tests/store/sql.h"

namespace attnscope {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

/// Flips a random bit; returns the place of its byte.
std::size_t flip_a_bit(std::string& bytes, std::mt19937_64& random) {
  const std::size_t at = random() % bytes.size();
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
  return at;
}

/// A database with several runs, ceilings, cells with samples, a restart, tags and notes.
class Damage : public testing::Test {
 protected:
  Damage() {
    Store store = open_or_throw(folder_ / "sound.db");
    std::mt19937_64 random(31), ceilings(31);
    for (int number = 0; number < 3; ++number) {
      Sound sound{.info = {}, .cells = {}, .ceilings = {}, .restarts = 0};
      NewRun start = sample_run("run " + std::to_string(number));
      start.heats_planned = 5;
      const RunId run = begin_or_throw(store, start);
      need(store.add_ceilings(run, random_ceilings(ceilings)));
      for (int i = 0; i < 5; ++i) {
        HeatResult heat = random_heat(random, i, 3);
        int ordinal = 0;
        for (Cell& cell : heat.cells) {
          cell.contender.name = "cell " + std::to_string(100 * number + 3 * i + ordinal++);
        }
        need(store.add_heat(run, heat));
      }
      need(store.add_ceilings(run, random_ceilings(ceilings)));
      need(store.set_progress(run, {5, 7, "64 tokens", 1.5}));
      need(store.finish_run(run, number == 0 ? RunStatus::cancelled : RunStatus::done));
      need(store.describe_run(run, {.tag = "tag", .note = "a note"}));
      if (number == 0) need(store.resume_run(run, sample_run("run 0")));
      runs_.push_back(run);
    }
    for (const RunId& run : runs_) {
      Sound& sound = sound_[run.uuid];
      sound.info = *store.find_run(run.uuid);
      const auto cells = store.cells(run, true);
      for (const StoredCell& cell : *cells) {
        sound.cells[cell.cell.contender.name] = cell;
      }
      sound.ceilings = *store.ceilings(run);
      sound.restarts = store.restarts(run)->size();
    }
    need(store.export_runs(runs_, folder_ / "sound.attn"));
  }
  struct Sound {
    RunInfo info;
    std::map<std::string, StoredCell> cells;  // by their names
    std::vector<Ceilings> ceilings;
    std::size_t restarts = 0;
  };

  /// Number of cells that are read as sound but differ from those stored.
  static int undetected(const Sound& sound, const std::vector<StoredCell>& cells,
                        bool with_samples) {
    int count = 0;
    for (const StoredCell& cell : cells) {
      if (cell.damaged) continue;
      const auto original = sound.cells.find(cell.cell.contender.name);
      if (original == sound.cells.end()) {
        ++count;
        continue;
      }
      Cell expected = original->second.cell;
      if (!with_samples) expected.samples.clear();
      const bool flags = !with_samples || cell.outliers == original->second.outliers;
      // If samples are read, it is recomputed from those of the heat that are sound.
      const bool summary = with_samples || same(cell.summary, original->second.summary);
      const bool equal =
          same(cell.cell, expected) && cell.point == original->second.point && summary && flags;
      if (!equal) ++count;
    }
    return count;
  }

  /// Reads everything from a store: what is read as sound must equal what was stored.
  void expect_nothing_false(const Store& store) {
    const Result<std::vector<RunInfo>> runs = store.runs();
    if (!runs) return;
    for (const RunInfo& run : *runs) {
      const auto sound = sound_.find(run.id.uuid);
      if (const auto whole = store.find_run(run.id.uuid);
          whole && !whole->damaged_state && sound != sound_.end()) {
        const auto state = [](const RunInfo& of) {
          return std::tie(of.tag, of.note, of.name, of.started_unix_ms, of.finished_unix_ms,
                          of.trashed_unix_ms);
        };
        EXPECT_EQ(state(*whole), state(sound->second.info));
        EXPECT_EQ(store.restarts(run.id)->size(), sound->second.restarts);
      }
      if (!run.damaged) {
        ASSERT_NE(sound, sound_.end());
        EXPECT_TRUE(same(run.start, sound->second.info.start));
        EXPECT_LE(run.heats_done, sound->second.info.heats_done);
      }
      for (const bool with_samples : {true, false}) {
        const auto cells = store.cells(run.id, with_samples);
        if (!cells) continue;
        ++read_;
        const Sound none{};
        EXPECT_EQ(undetected(sound == sound_.end() ? none : sound->second, *cells, with_samples),
                  0);
        for (const StoredCell& cell : *cells) found_ += cell.damaged ? 1 : 0;
      }
      const auto ceilings = store.ceilings(run.id);
      if (!ceilings || sound == sound_.end()) continue;
      for (const Ceilings& read : *ceilings) {
        EXPECT_TRUE(std::ranges::any_of(sound->second.ceilings,
                                        [&](const Ceilings& known) { return same(read, known); }));
      }
      static_cast<void>(store.finished_points(run.id));
      static_cast<void>(store.progress(run.id));
    }
  }

  /// A store that passes the full check has every cell of every run.
  void expect_all_there(const Store& store) {
    expect_nothing_false(store);
    for (const RunId& run : runs_) {
      ASSERT_TRUE(store.find_run(run.uuid));
      const auto cells = need(store.cells(run, true));
      EXPECT_GE(cells.size(), sound_[run.uuid].cells.size());
    }
  }

  /// Exports of a damaged file contain the stored values, with damaged cells marked.
  void expect_true_exports(const Store& store) {
    for (const RunId& run : runs_) {
      const auto file = folder_ / "rescued.attn";
      if (!store.export_runs({run}, file)) continue;
      ++rescued_;
      expect_nothing_false(open_or_throw(file, Store::Mode::read_only));
      std::filesystem::remove(file);
    }
  }

  /// The database after this SQL.
  [[nodiscard]] std::filesystem::path spoilt(const char* sql) const {
    const auto file = folder_ / "spoilt.db";
    std::filesystem::copy_file(folder_ / "sound.db", file,
                               std::filesystem::copy_options::overwrite_existing);
    run_sql(file, sql);
    return file;
  }

  /// Flips `count` single bits of the file, one after the other, and reads each result.
  void flip_bits(const std::filesystem::path& file, int count) {
    const std::string sound = bytes_of(file);
    const auto flipped = folder_ / ("flipped" + file.extension().string());
    std::mt19937_64 random(77);
    for (int flip = 0; flip < count; ++flip) {
      std::string bytes = sound;
      const std::size_t at = flip_a_bit(bytes, random);
      SCOPED_TRACE(fmt::format("flip {}: byte {} of {}", flip, at, file.filename().string()));
      write_bytes(flipped, bytes);
      const Result<Store> store = Store::open(flipped, Store::Mode::read_only);
      if (!store) {
        EXPECT_THAT(store.error().message, HasSubstr("flipped"));
        continue;
      }
      expect_nothing_false(*store);
      if (flip % 40 == 0) expect_true_exports(*store);
      if (flip % 20 == 0) static_cast<void>(store->check_integrity());
    }
  }

  // Does not sync: these files need not survive a power cut.
  FailingDisk disk_;
  TemporaryFolder folder_;
  std::vector<RunId> runs_;
  std::map<std::string, Sound> sound_;  // by UUID
  int read_ = 0, found_ = 0, rescued_ = 0;
};

TEST_F(Damage, FlippedBits_AreDetected) {
  flip_bits(folder_ / "sound.db", 1000);
  // The flips must have covered readable files, detected damage and exports.
  EXPECT_GT(read_, 3000);
  EXPECT_GT(found_, 100);
  EXPECT_GT(rescued_, 20);
  read_ = found_ = 0;
  flip_bits(folder_ / "sound.attn", 400);
  EXPECT_GT(read_, 1000);
  EXPECT_GT(found_, 40);
}

TEST_F(Damage, ATruncatedFile_GivesOnlyStoredValues) {
  const std::string sound = bytes_of(folder_ / "sound.db");
  std::vector<std::size_t> lengths{1, 15, 16, 99, 100, 101, 511, 4095, sound.size() - 1};
  for (std::size_t page = 4096; page < sound.size(); page += 4096) {
    lengths.push_back(page);
    lengths.push_back(page + 1234);
  }
  for (const std::size_t length : lengths) {
    SCOPED_TRACE(fmt::format("{} of {} bytes", length, sound.size()));
    for (const char* name : {"short.db", "short.attn"}) {
      write_bytes(folder_ / name, sound.substr(0, length));
      const Result<Store> store = Store::open(folder_ / name, Store::Mode::read_only);
      if (!store) {
        EXPECT_THAT(store.error().message, HasSubstr(name));
        continue;
      }
      expect_nothing_false(*store);
      EXPECT_FALSE(store->check_integrity());
    }
  }
}

TEST_F(Damage, ADamagedDatabaseThatIsWritten_GivesOnlyStoredValues) {
  const std::string sound = bytes_of(folder_ / "sound.db");
  std::mt19937_64 random(5);
  int written = 0;
  for (int flip = 0; flip < 100; ++flip) {
    std::string bytes = sound;
    const std::size_t at = flip_a_bit(bytes, random);
    SCOPED_TRACE(fmt::format("byte {}", at));
    const TemporaryFolder place;
    write_bytes(place / "flipped.db", bytes);
    Result<Store> store = Store::open(place / "flipped.db", Store::Mode::read_write);
    if (!store) continue;
    HeatResult heat = random_heat(random, 9, 1);
    heat.cells[0].contender.name = "one more";
    if (store->resume_run(runs_[0], sample_run("run 0"))) ++written;
    const Status added = store->add_heat(runs_[1], heat);
    static_cast<void>(store->remove_run(runs_[2]));
    if (!added) continue;
    const auto cells = store->cells(runs_[1], true);
    if (!cells) continue;
    for (const StoredCell& cell : *cells) {
      if (cell.damaged || cell.cell.contender.name == "one more") continue;
      EXPECT_EQ(undetected(sound_[runs_[1].uuid], {cell}, true), 0);
    }
  }
  EXPECT_GT(written, 50);
}

TEST_F(Damage, ADamagedCell_FailsTheFullCheckWithARemedyAndStaysDamagedInAnImport) {
  EXPECT_TRUE(open_or_throw(folder_ / "sound.attn", Store::Mode::read_only).check_integrity());
  // The exported file with another name of a cell of the second run.
  std::string bytes = bytes_of(folder_ / "sound.attn");
  bytes.replace(bytes.find("cell 107"), 8, "cell 103");
  const auto file = folder_ / "changed.attn";
  write_bytes(file, bytes);
  EXPECT_THAT(error_in(open_or_throw(file, Store::Mode::read_only).check_integrity()),
              AllOf(HasSubstr("run 2 "), HasSubstr("export 1 3 -o")));
  Store other = open_or_throw(folder_ / "other.db");
  ASSERT_TRUE(other.import_file(file));
  const auto cells = other.cells(runs_[1], true);
  EXPECT_EQ(std::ranges::count(*cells, true, &StoredCell::damaged), 1);
}

TEST_F(Damage, AMissingHeatOfAFinishedRun_FailsTheFullCheck) {
  const Store store = open_or_throw(
      spoilt("PRAGMA foreign_keys = ON; DELETE FROM heats WHERE run_number = 2 AND heat_index = 3"),
      Store::Mode::read_only);
  EXPECT_EQ(missing_heats(*store.find_run(runs_[1].uuid)), 1);
  EXPECT_EQ(missing_heats(*store.find_run(runs_[2].uuid)), 0);
  EXPECT_THAT(error_in(store.check_integrity()), HasSubstr("run 2 "));
}

TEST_F(Damage, AChangedState_StaysDamagedInUpdatesAndExports) {
  Store store = open_or_throw(spoilt("UPDATE runs SET note = 'another note' WHERE number = 2"));
  ASSERT_TRUE(store.describe_run(runs_[1], {.tag = "other"}));
  EXPECT_TRUE(store.find_run(runs_[1].uuid)->damaged_state);
  EXPECT_FALSE(store.find_run(runs_[2].uuid)->damaged_state);
  ASSERT_TRUE(store.export_runs({runs_[1], runs_[2]}, folder_ / "both.attn"));
  const Store both = open_or_throw(folder_ / "both.attn", Store::Mode::read_only);
  EXPECT_TRUE(both.find_run(runs_[1].uuid)->damaged_state);
  EXPECT_FALSE(both.find_run(runs_[2].uuid)->damaged_state);
}

TEST_F(Damage, DamagedCeilingsAndMissingCells_AreCounted) {
  const auto run_after = [&](const char* sql) {
    return *open_or_throw(spoilt(sql), Store::Mode::read_only).find_run(runs_[1].uuid);
  };
  EXPECT_EQ(run_after("SELECT 1").damaged_ceilings, 0);
  EXPECT_EQ(run_after("UPDATE ceilings SET flop_per_second = 1e30").damaged_ceilings, 2);
  EXPECT_EQ(run_after("DELETE FROM copy_rates WHERE ordinal = 0").damaged_ceilings, 2);
  EXPECT_EQ(run_after("SELECT 1").missing_cells, 0);
  EXPECT_EQ(run_after("DELETE FROM cells WHERE ordinal = 0").missing_cells, 5);
}

TEST_F(Damage, ChangedHeats_DamageTheirCells) {
  for (const char* sql : {"UPDATE heats SET heat_index = heat_index + 1 WHERE heat_index = 1",
                          "UPDATE heats SET restart = 5 WHERE heat_index = 1",
                          // Two counts are changed without changing their sum.
                          "UPDATE heats SET cell_count = cell_count + 1 - 2 * (heat_index = 1) "
                          "WHERE heat_index IN (0, 1)"}) {
    const Store store = open_or_throw(spoilt(sql), Store::Mode::read_only);
    const auto cells = store.cells(runs_[0], false);
    EXPECT_GE(std::ranges::count(*cells, true, &StoredCell::damaged), 3) << sql;
    EXPECT_FALSE(store.check_integrity()) << sql;
  }
}

TEST_F(Damage, ChangedRestartsHeatsAndStates_FailTheFullCheck) {
  const auto damage_after = [&](const char* sql) {
    const Store store = open_or_throw(spoilt(sql), Store::Mode::read_only);
    const RunInfo run = *store.find_run(runs_[0].uuid);
    const std::int64_t damaged =
        run.damaged_heats + run.damaged_restarts + (run.damaged_state ? 1 : 0);
    EXPECT_EQ(store.check_integrity().has_value(), damaged == 0) << sql;
    return damaged;
  };
  EXPECT_EQ(damage_after("SELECT 1"), 0);
  EXPECT_EQ(
      damage_after("DELETE FROM copy_rates; DELETE FROM ceilings WHERE run_number = 1 AND id = "
                   "(SELECT max(id) FROM ceilings WHERE run_number = 1)"),
      1);
  EXPECT_GE(
      damage_after("CREATE TEMP TABLE twin AS SELECT * FROM heats WHERE run_number = 1 LIMIT 1; "
                   "UPDATE twin SET id = NULL; INSERT INTO heats SELECT * FROM twin"),
      1);
  for (const char* sql : {"UPDATE restarts SET restarted_unix_ms = 1",
                          "UPDATE restarts SET command_line = 'attnscope run mine'",
                          "UPDATE restarts SET provenance = '{}'"})
    EXPECT_EQ(damage_after(sql), 1) << sql;
  for (const char* sql :
       {"UPDATE runs SET status = 'done'", "UPDATE runs SET tag = 'best'",
        "UPDATE runs SET note = 'another note'", "UPDATE runs SET name = 'mine'",
        "UPDATE runs SET started_unix_ms = 1", "UPDATE runs SET finished_unix_ms = 1",
        "UPDATE runs SET trashed_unix_ms = 1", "DELETE FROM restarts"})
    EXPECT_EQ(damage_after(sql), 1) << sql;
  EXPECT_EQ(damage_after("PRAGMA foreign_keys = ON; DELETE FROM heats WHERE run_number = 1 AND "
                         "heat_index = 2"),
            1);
}

/// A forged run: every fingerprint matches, but values are impossible.
class Forged : public testing::Test {
 protected:
  /// A sound cell after `change`, as stored and read.
  template <typename Change>
  StoredCell stored_with(Change change, bool with_samples = true) {
    Store store = open_or_throw(folder_ / "forged.db");
    const RunId run = begin_or_throw(store, sample_run());
    HeatResult heat;
    heat.point.sequence_tokens = 64;
    Cell& cell = heat.cells.emplace_back();
    cell.batch = 1;
    cell.relative_error = 1e-7;
    cell.error_bound = 2e-6;
    for (int round = 0; round < 3; ++round)
      cell.samples.push_back({.round = round, .time_ns = 9e3});
    change(heat.point, cell);
    need(store.add_heat(run, heat));
    sound_ = store.check_integrity().has_value();
    return store.cells(run, with_samples)->front();
  }

  TemporaryFolder folder_;
  bool sound_ = false;  // the result of check_integrity
};

TEST_F(Forged, PossibleValues_AreAccepted) {
  EXPECT_FALSE(stored_with([](HeatPoint&, Cell&) {}).damaged);
  EXPECT_TRUE(sound_);
}

TEST_F(Forged, ImpossibleSamples_AreDamagedWithAReason) {
  using Change = void (*)(HeatPoint&, Cell&);
  const std::pair<Change, const char*> forgeries[] = {
      {[](HeatPoint&, Cell& c) { c.samples[1].time_ns = -5; }, "a time of -5 ns"},
      {[](HeatPoint&, Cell& c) { c.samples[1].time_ns = 0; }, "a time of 0 ns"},
      {[](HeatPoint&, Cell& c) { c.samples[1].time_ns = std::nan(""); }, "a time of nan ns"},
      {[](HeatPoint&, Cell& c) { c.samples[1].time_ns = 1e300; }, "a time of 1e+300 ns"},
      {[](HeatPoint&, Cell& c) { c.samples[1].iterations = 0; }, "a sample of 0 calls"},
      {[](HeatPoint&, Cell& c) { c.samples[1].iterations = -3; }, "a sample of -3 calls"},
      {[](HeatPoint&, Cell& c) { c.samples[1].round = 0; }, "round 0 of placement 0 twice"},
      {[](HeatPoint&, Cell& c) { c.samples[1].placement = -1; }, "placement -1"},
      {[](HeatPoint&, Cell& c) { c.samples[1].clock_mhz = -1; },
       "impossible conditions of a sample"},
      {[](HeatPoint&, Cell& c) { c.samples[1].foreign_load = -1; },
       "impossible conditions of a sample"},
      {[](HeatPoint&, Cell& c) { c.work.useful_flop = 1e12; }, "which is impossibly fast"},
      {[](HeatPoint&, Cell& c) { c.status = CellStatus::oom; }, "3 samples of a cell that is oom"},
      {[](HeatPoint&, Cell& c) { c.relative_error = 0.5; }, "above the bound of 2e-06"},
      {[](HeatPoint&, Cell& c) { c.relative_error = -1; }, "an error of -1"},
      {[](HeatPoint&, Cell& c) { c.error_bound = 1e9; }, "a bound of 1e+09"},
  };
  for (const auto& [forgery, words] : forgeries) {
    const StoredCell cell = stored_with(forgery);
    EXPECT_TRUE(cell.damaged) << words;
    EXPECT_FALSE(sound_) << words;
    EXPECT_THAT(damage_in_words(cell), AllOf(HasSubstr("are impossible"), HasSubstr(words)));
  }
}

TEST_F(Forged, ImpossibleCells_AreDamagedEvenWithoutSamples) {
  using Change = void (*)(HeatPoint&, Cell&);
  const std::pair<Change, const char*> forgeries[] = {
      {[](HeatPoint&, Cell& c) { c.batch = 0; }, "a batch of 0"},
      {[](HeatPoint&, Cell& c) { c.batch = std::int64_t{1} << 62; }, "a batch of 46"},
      {[](HeatPoint&, Cell& c) { c.memory.requested_bytes = -1; }, "an impossible memory size"},
      {[](HeatPoint&, Cell& c) { c.query_tokens = -1; }, "-1 query and"},
      {[](HeatPoint&, Cell& c) { c.document_tokens = 65; }, "65 document tokens of 64"},
      {[](HeatPoint&, Cell& c) { c.work.executed_flop = -1; }, "a work of -1"},
      {[](HeatPoint&, Cell& c) { c.work.useful_flop = std::nan(""); }, "a work of nan"},
      {[](HeatPoint& p, Cell&) { p.sequence_tokens = -64; }, "sequence_tokens of -64"},
      {[](HeatPoint& p, Cell&) { p.heads = std::int64_t{1} << 40; }, "heads of 1099511627776"},
  };
  for (const auto& [forgery, words] : forgeries) {
    for (const bool with_samples : {true, false})
      EXPECT_THAT(stored_with(forgery, with_samples).impossible, HasSubstr(words));
  }
}

TEST_F(Forged, ImpossibleRates_AreLeftOutAndCounted) {
  Store store = open_or_throw(folder_ / "forged.db");
  const RunId run = begin_or_throw(store, sample_run());
  Ceilings ceilings;
  for (const double rate : {-1e11, 1e11}) {
    ceilings.flop_per_second = rate;
    need(store.add_ceilings(run, ceilings));
  }
  EXPECT_EQ(store.ceilings(run)->size(), 1U);
  EXPECT_EQ(store.find_run(run.uuid)->damaged_ceilings, 1);
}

/// Interrupts a change of the database at its n-th operation: the change is partly in the file, and
/// its journal remains. False if there are fewer operations.
bool stop_in_a_change(const std::filesystem::path& file, const RunId& run, int n) {
  FailingDisk disk;
  Store store = open_or_throw(file);
  disk.fail_at(n, FailingDisk::Kind::io_error, FailingDisk::Lasting::for_good);
  std::mt19937_64 random(9);
  static_cast<void>(store.add_heat(run, random_heat(random, 9, 3)));
  return disk.has_failed();
}

TEST_F(Damage, FlippedBitsOfALeftoverJournal_AreDetected) {
  std::mt19937_64 random(17);
  int journals = 0, opened = 0, reported = 0;
  for (int n = 1;; ++n) {
    const TemporaryFolder place;
    const auto file = place / "left.db", journal = place / "left.db-journal";
    std::filesystem::copy_file(folder_ / "sound.db", file);
    if (!stop_in_a_change(file, runs_[1], n)) break;
    if (!std::filesystem::exists(journal) || std::filesystem::file_size(journal) == 0) continue;
    ++journals;
    const std::string left = bytes_of(file), sound_journal = bytes_of(journal);
    for (int flip = 0; flip < 40; ++flip) {
      std::string bytes = sound_journal;
      const std::size_t at = flip > 0 ? flip_a_bit(bytes, random) : 0;
      SCOPED_TRACE(fmt::format("operation {}, byte {} of the journal", n, at));
      write_bytes(file, left);
      write_bytes(journal, bytes);
      const Result<Store> store = Store::open(file, Store::Mode::read_only);
      if (!store) continue;
      ++opened;
      if (!store->check_integrity()) {
        ++reported;
      } else {
        expect_all_there(*store);
      }
      EXPECT_TRUE(flip > 0 || store->check_integrity());
    }
  }
  EXPECT_GT(journals, 5);
  EXPECT_GT(opened, 100);
  EXPECT_GT(reported, 5);
}

}  // namespace
}  // namespace attnscope
