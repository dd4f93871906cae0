// SPDX-License-Identifier: Apache-2.0
#include "engine/report/run_history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <vector>

#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// Runs of one sweep: the fused kernel takes `segment_ms` at 256 tokens, or has no time if empty.
class SweepOverCommits {
 public:
  void add(const std::string& commit, std::optional<double> segment_ms,
           const std::string& device = "Some CPU", bool is_modified = false) {
    NewRun start = sample_run("nightly");
    start.device = device;
    start.provenance =
        fmt::format(R"({{"build":{{"commit":"{}","dirty":{}}}}})", commit, is_modified);
    const RunId id = begin_or_throw(store_, start);
    HeatResult heat = MeasuredRun::heat_at(256);
    Cell& segment = heat.cells[1];
    if (segment_ms) {
      segment = timed_cell("sparse", "segment", Window::of(4), segment.contender.name, *segment_ms);
    } else {
      segment.samples.clear();
      segment.status = CellStatus::timeout;
      segment.reason = "it took too long";
    }
    if (!store_.add_heat(id, heat)) throw std::runtime_error("heat not stored");
    tables_.push_back(
        make_table(store_, store_.find_run(id.uuid).value(), std::nullopt, {}).value());
  }
  [[nodiscard]] std::vector<RunHistory> histories() const {
    std::vector<StoredTable> all;
    for (const Table& table : tables_) all.push_back({.store = &store_, .table = &table});
    return make_histories(all).value();
  }
  /// The history of the cell that differs between the runs.
  [[nodiscard]] static const HistoryCell& segment_of(const RunHistory& history) {
    return history.cells.at(1);
  }

 private:
  TemporaryFolder folder_;
  Store store_ = open_or_throw(folder_ / "runs.db");
  std::deque<Table> tables_;
};

TEST(RunHistory, OfEqualRuns_HasNoChange) {
  SweepOverCommits runs;
  for (const char* commit : {"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc"})
    runs.add(commit, 4);
  const auto histories = runs.histories();
  ASSERT_EQ(histories.size(), 1U);
  EXPECT_EQ(histories[0].cells.size(), 3U) << "all but the one that never had a time";
  EXPECT_THAT(changes_sheet(histories[0]).blocks, IsEmpty());
  EXPECT_THAT(history_in_words(histories[0]),
              AllOf(HasSubstr("3 runs of nightly on Some CPU"), HasSubstr("commit aaaaaaaaaa"),
                    HasSubstr("no change is shown in 3 cells")));
}

TEST(RunHistory, DatesEveryChangeByItsCommit) {
  SweepOverCommits runs;
  runs.add("aaaaaaaaaaaaaaaa", 4);
  runs.add("bbbbbbbbbbbbbbbb", 4);
  runs.add("cccccccccccccccc", 8);
  runs.add("dddddddddddddddd", 8);
  const RunHistory history = runs.histories().at(0);
  const std::vector<HistoryChange>& slower = SweepOverCommits::segment_of(history).changes;
  ASSERT_EQ(slower.size(), 1U);
  EXPECT_EQ(slower[0].from, 1U);
  EXPECT_EQ(slower[0].to, 2U);
  EXPECT_EQ(slower[0].ratio.verdict, statistics::Verdict::slower);
  EXPECT_NEAR(slower[0].ratio.ratio, 2, 1e-9);
  const Sheet sheet = changes_sheet(history);
  ASSERT_EQ(sheet.blocks.size(), 1U);
  ASSERT_EQ(sheet.blocks[0].rows.size(), 1U);
  EXPECT_EQ(text_of(sheet.blocks[0].rows[0][0].value), "Sparse, fused, w = 4");
  EXPECT_EQ(text_of(sheet.blocks[0].rows[0][4].value), "+100 %");
  EXPECT_THAT(sheet.blocks[0].title,
              HasSubstr("The cause is a commit after bbbbbbbbbb, cccccccccc at the latest."));
  EXPECT_THAT(history_in_words(history),
              HasSubstr("1 of 3 cells changed, 0 times to faster and 1 time to slower."));
  runs.add("eeeeeeeeeeeeeeee", 4);
  const std::vector<HistoryChange> both =
      SweepOverCommits::segment_of(runs.histories().at(0)).changes;
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[1].ratio.verdict, statistics::Verdict::faster);
  EXPECT_EQ(both[1].from, 3U);
}

TEST(RunHistory, DatesAChangeAcrossARunWithoutATime) {
  SweepOverCommits runs;
  runs.add("aaaaaaaaaaaaaaaa", 8);
  runs.add("bbbbbbbbbbbbbbbb", std::nullopt);
  runs.add("cccccccccccccccc", 4);
  const RunHistory history = runs.histories().at(0);
  EXPECT_EQ(text_of(history_sheet(history).blocks.at(0).rows.at(1).at(2).value), "timeout");
  const Sheet changes = changes_sheet(history);
  ASSERT_EQ(changes.blocks.size(), 1U);
  EXPECT_THAT(changes.blocks[0].title,
              AllOf(HasSubstr("no change is shown for the 1 run in between"),
                    HasSubstr("The cause is a commit after aaaaaaaaaa, cccccccccc at the latest")));
}

TEST(RunHistory, DoesNotBlameTheCommitForAChangeWithinIt) {
  SweepOverCommits runs;
  runs.add("aaaaaaaaaaaaaaaa", 8);
  runs.add("aaaaaaaaaaaaaaaa", 4);
  EXPECT_THAT(changes_sheet(runs.histories().at(0)).blocks.at(0).title,
              HasSubstr("Both were built from the same commit: the cause is outside the program."));
  SweepOverCommits modified;
  modified.add("aaaaaaaaaaaaaaaa", 8, "Some CPU", true);
  modified.add("aaaaaaaaaaaaaaaa", 4, "Some CPU", true);
  EXPECT_THAT(changes_sheet(modified.histories().at(0)).blocks.at(0).title,
              HasSubstr("modified sources of one commit"));
}

TEST(RunHistory, NeverMixesMachines) {
  SweepOverCommits runs;
  runs.add("aaaaaaaaaaaaaaaa", 4);
  runs.add("bbbbbbbbbbbbbbbb", 8, "Another CPU");
  EXPECT_THAT(runs.histories(), IsEmpty());
}

}  // namespace
}  // namespace attnscope::report
