// SPDX-License-Identifier: Apache-2.0
//
// Single flipped bits anywhere in a file: never a crash, never a changed value that passes as
// sound.

#include <gtest/gtest.h>

#include <map>

#include "tests/store/sample_runs.h"

namespace attnscope {
namespace {

using namespace test;

class Damage : public testing::Test {
 protected:
  Damage() {
    Store store = open_or_throw(folder_ / "results.db");
    run_ = begin_or_throw(store, sample_run());
    std::mt19937_64 random(31);
    for (int i = 0; i < 12; ++i) {
      HeatResult heat = random_heat(random, i, 3);
      int ordinal = 0;
      for (Cell& cell : heat.cells) {
        cell.contender.name = "cell " + std::to_string(3 * i + ordinal++);
      }
      if (!store.add_heat(run_, heat)) throw std::runtime_error("not stored");
    }
    if (!store.export_runs({run_}, folder_ / "sound.attn")) throw std::runtime_error("no export");
    bytes_ = bytes_of(folder_ / "sound.attn");
    const auto cells = store.cells(run_, true);
    for (const StoredCell& cell : *cells) sound_[cell.cell.contender.name] = cell;
  }

  /// Values of cells that claim to be sound and are not as they were stored.
  int undetected(const std::vector<StoredCell>& cells, bool with_samples) {
    int count = 0;
    for (const StoredCell& cell : cells) {
      if (cell.damaged) continue;
      const auto original = sound_.find(cell.cell.contender.name);
      if (original == sound_.end()) {
        ++count;
        continue;
      }
      Cell expected = original->second.cell;
      if (!with_samples) expected.samples.clear();
      const bool flags = !with_samples || cell.outliers == original->second.outliers;
      const bool equal = same(cell.cell, expected) && cell.point == original->second.point &&
                         same(cell.summary, original->second.summary) && flags;
      if (!equal) ++count;
    }
    return count;
  }

  TemporaryFolder folder_;
  RunId run_;
  std::string bytes_;
  std::map<std::string, StoredCell> sound_;
};

TEST_F(Damage, AFlippedBit_NeverCrashesAndNeverPassesAsSound) {
  std::mt19937_64 random(77);
  int read = 0, found = 0;
  for (int flip = 0; flip < 400; ++flip) {
    std::string bytes = bytes_;
    const std::size_t at = random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    const auto file = folder_ / "flipped.attn";
    write_bytes(file, bytes);
    const Result<Store> store = Store::open(file, Store::Mode::read_only);
    if (!store) continue;
    const Result<std::vector<RunInfo>> runs = store->runs();
    if (!runs) continue;
    for (const RunInfo& run : *runs) {
      if (!run.damaged) {
        EXPECT_EQ(run.id, run_) << "byte " << at;
        EXPECT_TRUE(same(run.start, sample_run())) << "byte " << at;
      }
      for (const bool with_samples : {true, false}) {
        const auto cells = store->cells(run.id, with_samples);
        if (!cells) continue;
        ++read;
        EXPECT_EQ(undetected(*cells, with_samples), 0) << "byte " << at;
        for (const StoredCell& cell : *cells) found += cell.damaged ? 1 : 0;
      }
    }
    static_cast<void>(store->check_integrity());
  }
  // The test itself must have met both: files that still read, and damage in them.
  EXPECT_GT(read, 100);
  EXPECT_GT(found, 20);
}

TEST_F(Damage, ADamagedFile_FailsTheFullCheckAndASoundOnePasses) {
  EXPECT_TRUE(open_or_throw(folder_ / "sound.attn", Store::Mode::read_only).check_integrity());
  const std::size_t at = bytes_.find("cell 20");
  ASSERT_NE(at, std::string::npos);
  std::string bytes = bytes_;
  bytes[at + 5] = '3';
  write_bytes(folder_ / "changed.attn", bytes);
  const Store store = open_or_throw(folder_ / "changed.attn", Store::Mode::read_only);
  const Status checked = store.check_integrity();
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("run 1"), std::string::npos) << checked.error().message;
}

TEST_F(Damage, ADamagedCell_StaysDamagedWhenItsRunTravels) {
  const std::size_t at = bytes_.find("cell 20");
  ASSERT_NE(at, std::string::npos);
  bytes_[at + 5] = '3';
  write_bytes(folder_ / "changed.attn", bytes_);
  Store other = open_or_throw(folder_ / "other.db");
  ASSERT_TRUE(other.import_file(folder_ / "changed.attn"));
  int damaged = 0;
  const auto cells = other.cells(run_, true);
  for (const StoredCell& cell : *cells) damaged += cell.damaged ? 1 : 0;
  EXPECT_EQ(damaged, 1);
}

}  // namespace
}  // namespace attnscope
