// SPDX-License-Identifier: Apache-2.0
#include "engine/report/slice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/report/measured_run.h"

namespace attnscope::report {
namespace {

using namespace std::string_view_literals;

constexpr std::array along_length{"sequence_tokens"sv};

Row row_at(std::int64_t tokens, DType dtype, std::int64_t batch,
           std::optional<Window> window = {}) {
  Row row;
  row.cell.point.sequence_tokens = tokens;
  row.cell.point.dtype = dtype;
  row.cell.point.batch_max = batch;
  row.cell.cell.contender.pattern = window ? "sparse" : "full";
  row.cell.cell.contender.implementation = "segment";
  row.cell.cell.contender.window = window;
  return row;
}

/// float32 with batches of 1 and 16, float16 with batches of 16 and 100.
Table ragged() {
  Table table;
  for (const std::int64_t tokens : {64, 256}) {
    for (const auto& [dtype, batch] : {std::pair(DType::float32, 1),
                                       {DType::float32, 16},
                                       {DType::float16, 16},
                                       {DType::float16, 100}})
      table.rows.push_back(row_at(tokens, dtype, batch));
  }
  return table;
}

const SliceAxis& axis(const Slice& slice, std::string_view key) {
  const auto found = std::ranges::find(slice.axes, key, &SliceAxis::key);
  if (found == slice.axes.end()) throw std::runtime_error("no axis " + std::string(key));
  return *found;
}

std::string chosen(const Slice& slice, std::string_view key) {
  const SliceAxis& one = axis(slice, key);
  return one.values[one.chosen].value;
}

std::vector<std::string> not_together(const Slice& slice, std::string_view key) {
  std::vector<std::string> values;
  for (const SliceValue& value : axis(slice, key).values) {
    if (!value.together) values.push_back(value.value);
  }
  return values;
}

using Values = std::vector<std::string>;

TEST(Slice, HasOnlyUndrawnAxesWithSeveralValuesInAscendingOrder) {
  const Slice slice = find_slice(ragged(), along_length, {});
  ASSERT_EQ(slice.axes.size(), 2U);
  EXPECT_EQ(slice.axes[0].key, "batch_max");
  EXPECT_EQ(slice.axes[0].name, "Batch");
  EXPECT_EQ(slice.axes[1].key, "dtype");
  EXPECT_TRUE(find_slice({}, along_length, {}).axes.empty());
  Values values;
  for (const SliceValue& value : axis(slice, "batch_max").values) values.push_back(value.value);
  EXPECT_EQ(values, Values({"1", "16", "100"}));
  Values with_words{"inf", "16", "none", "4"};
  order_values(with_words);
  EXPECT_EQ(with_words, Values({"none", "4", "16", "inf"}));
}

TEST(Slice, UsesMeasuredWishesAndMarksValuesNotMeasuredWithThem) {
  const Slice slice =
      find_slice(ragged(), along_length, {.values = {{"dtype", "float32"}, {"batch_max", "16"}}});
  EXPECT_EQ(chosen(slice, "dtype"), "float32");
  EXPECT_EQ(chosen(slice, "batch_max"), "16");
  EXPECT_EQ(slice.moved, "");
  EXPECT_EQ(not_together(slice, "batch_max"), Values({"100"}));
  EXPECT_EQ(not_together(slice, "dtype"), Values());
  const Slice one =
      find_slice(ragged(), along_length, {.values = {{"dtype", "float16"}, {"batch_max", "100"}}});
  EXPECT_EQ(chosen(one, "dtype"), "float16");
  EXPECT_EQ(chosen(one, "batch_max"), "100");
  EXPECT_EQ(not_together(one, "dtype"), Values({"float32"}));
  // The run lacks these.
  const Slice other =
      find_slice(ragged(), along_length,
                 {.values = {{"dtype", "bfloat16"}, {"heads", "4"}}, .first = "dtype"});
  EXPECT_EQ(chosen(other, "dtype"), "float32");
  EXPECT_EQ(other.moved, "");
}

TEST(Slice, TheAxisChosenLast_MovesTheOthersToTheNearest) {
  const Slice slice =
      find_slice(ragged(), along_length,
                 {.values = {{"dtype", "float16"}, {"batch_max", "1"}}, .first = "dtype"});
  EXPECT_EQ(chosen(slice, "dtype"), "float16");
  EXPECT_EQ(chosen(slice, "batch_max"), "16");
  EXPECT_EQ(slice.moved,
            "Batch up to 1 was not measured with Dtype float16: showing Batch up to 16.");
}

TEST(Slice, TheNearestDiffersInTheFewestAxes) {
  Table table;
  for (const auto& [heads, batch] : {std::pair(4, 2), {2, 8}, {16, 1}, {8, 4}}) {
    table.rows.push_back(row_at(64, DType::float32, batch));
    table.rows.back().cell.point.heads = heads;
  }
  const Slice slice =
      find_slice(table, along_length, {.values = {{"heads", "2"}, {"batch_max", "1"}}});
  EXPECT_EQ(chosen(slice, "heads"), "2");
  EXPECT_EQ(chosen(slice, "batch_max"), "8");
}

TEST(Slice, LeavesRowsOfOneSettingUnlessAnAxisIsFree) {
  const Table table = ragged();
  for (const std::string dtype : {"float32", "float16"}) {
    for (const std::string batch : {"1", "16", "100"}) {
      const Slice slice =
          find_slice(table, along_length, {.values = {{"dtype", dtype}, {"batch_max", batch}}});
      std::vector<std::int64_t> lengths;
      for (const Row& row : table.rows) {
        if (is_in(slice, row)) lengths.push_back(row.cell.point.sequence_tokens);
      }
      EXPECT_EQ(lengths, (std::vector<std::int64_t>{64, 256})) << dtype << " " << batch;
    }
  }
  const Slice slice = find_slice(table, along_length, {});
  constexpr std::array free{"dtype"sv, "batch_max"sv};
  EXPECT_TRUE(
      std::ranges::all_of(table.rows, [&](const Row& row) { return is_in(slice, row, free); }));
}

TEST(Slice, Windows_AreTogetherUnlessOneIsChosen) {
  Table table;
  for (const std::int64_t tokens : {64, 256}) {
    table.rows.push_back(row_at(tokens, DType::float32, 1));
    for (const std::int64_t window : {4, 64})
      table.rows.push_back(row_at(tokens, DType::float32, 1, Window::of(window)));
  }
  const Slice all = find_slice(table, along_length, {});
  EXPECT_EQ(chosen(all, "window"), "");
  EXPECT_EQ(std::ranges::count_if(table.rows, [&](const Row& row) { return is_in(all, row); }), 6);
  const Slice one = find_slice(table, along_length, {.values = {{"window", "64"}}});
  EXPECT_EQ(chosen(one, "window"), "64");
  // Contenders without a window remain.
  EXPECT_EQ(std::ranges::count_if(table.rows, [&](const Row& row) { return is_in(one, row); }), 4);
  constexpr std::array along_windows{"window"sv};
  const Slice lengths = find_slice(table, along_windows, {});
  ASSERT_EQ(lengths.axes.size(), 1U);
  EXPECT_EQ(lengths.axes.front().key, "sequence_tokens");
}

TEST(Slice, ListsVaryingKeys) {
  EXPECT_EQ(varying_keys(ragged()), Values({"sequence_tokens", "batch_max", "dtype"}));
  EXPECT_EQ(varying_keys(test::MeasuredRun().table()),
            Values({"sequence_tokens", "window", "pattern", "implementation"}));
}

}  // namespace
}  // namespace attnscope::report
