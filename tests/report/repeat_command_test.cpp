// SPDX-License-Identifier: Apache-2.0
#include "engine/report/repeat_command.h"

#include <gtest/gtest.h>

#include "engine/report/provenance.h"
#include "engine/sweep/sweep.h"
#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using test::row_of;

TEST(RepeatCommand, NamesTheRunTheContenderAndWhatTellsItsHeatApart) {
  const test::MeasuredRun run;
  Table table = run.table();
  table.run.file = default_database();
  const auto command = repeat_command(table, row_of(table, "sparse/segment/4", 256), std::nullopt);
  EXPECT_EQ(command.text, "attnscope run --again " + table.run.id.uuid +
                              " --only contender=sparse/segment/4,sequence_tokens=256");
  EXPECT_EQ(command.beyond, "");
}

TEST(RepeatCommand, TheBaselineMayBeMeasuredBesideIt_ButNotTwice) {
  const test::MeasuredRun run;
  const Table table = run.table("full/dense");
  const auto with = [&](std::string_view contender) {
    return repeat_command(table, row_of(table, contender, 64), table.baseline).text;
  };
  EXPECT_NE(with("sparse/segment/4").find("contender=sparse/segment/4,contender=full/dense,"),
            std::string::npos);
  EXPECT_EQ(with("full/dense").find("contender=full/dense,contender"), std::string::npos);
}

TEST(RepeatCommand, ItsOnly_LeavesExactlyTheCell) {
  const test::MeasuredRun run;
  const Table table = run.table();
  const std::string text =
      repeat_command(table, row_of(table, "sparse/segment/64", 64), std::nullopt).text;
  const std::size_t begin = text.find("--only ") + 7;
  const auto filter = parse_only(text.substr(begin, text.find(' ', begin) - begin));
  ASSERT_TRUE(filter.has_value());
  const auto rows = make_table(run.store(), run.info(), std::nullopt, *filter);
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->rows.size(), 1U);
  EXPECT_EQ(rows->rows.front().cell.cell.contender.id(), "sparse/segment/64");
}

TEST(RepeatCommand, BatchIsCalledAsTheSweepCallsIt) {
  const test::MeasuredRun run;
  Table table = run.table();
  table.rows.front().cell.point.batch_max = 7;
  const auto command = repeat_command(table, table.rows.front(), std::nullopt);
  EXPECT_NE(command.text.find("batch=7"), std::string::npos);
}

TEST(RepeatCommand, ADatabaseOfItsOwn_IsNamedAndQuotedForAShell) {
  const test::MeasuredRun run;
  Table table = run.table();
  const Row& row = table.rows.front();
  table.run.file = "/home/a b/it's.db";
  EXPECT_TRUE(
      repeat_command(table, row, std::nullopt).text.ends_with(" --db '/home/a b/it'\\''s.db'"));
  EXPECT_NE(provenance_line(table.run).find("--db '/home/a b/it'\\''s.db'"), std::string::npos);
  table.run.file = "/x/run.attn";
  const std::string of_file = repeat_command(table, row, std::nullopt).text;
  EXPECT_NE(of_file.find("--again /x/run.attn:" + table.run.id.uuid), std::string::npos);
  EXPECT_EQ(of_file.find("--db"), std::string::npos);
}

TEST(RepeatCommand, WhatOnlyCannotSay_IsSaidInASentence) {
  const test::MeasuredRun run;
  Table table = run.table();
  Row& row = table.rows.front();
  row.cell.cell.contender.pattern = "/home/a,b/pattern.json";
  EXPECT_NE(repeat_command(table, row, std::nullopt).beyond, "");
  row = table.rows.back();
  row.cell.point.batch_memory_mb = 1;
  const auto command = repeat_command(table, row, std::nullopt);
  EXPECT_NE(command.beyond.find("batch's memory"), std::string::npos);
}

TEST(RepeatCommand, NamesTheWorkerWhereItIsOne) {
  RunInfo run;
  run.id.uuid = "u";
  run.file = default_database();
  const auto command = [&](const char* worker) {
    run.start.provenance = fmt::format(R"({{"worker_command": "{}"}})", worker);
    return command_on(run, "run --again");
  };
  EXPECT_EQ(command("/opt/a/attnscope-worker"),
            "attnscope run --again u --worker /opt/a/attnscope-worker");
  EXPECT_EQ(command("ssh gpu1 attnscope-worker"),
            "attnscope run --again u --worker 'ssh gpu1 attnscope-worker'");
  // A run may come from elsewhere.
  for (const char* other : {"rm -rf /", "ssh -oProxyCommand=evil attnscope-worker",
                            "ssh gpu1 rm; attnscope-worker", "sh -c attnscope-worker"})
    EXPECT_EQ(command(other), "attnscope run --again u --worker WORKER") << other;
}

}  // namespace
}  // namespace attnscope::report
