// SPDX-License-Identifier: Apache-2.0
#include "engine/report/beside_table3.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/heat/model_row.h"
#include "engine/report/axes_in_words.h"
#include "engine/report/grid.h"
#include "engine/report/number_text.h"
#include "engine/report/published.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

double time_us(const Row& row) {
  return row.cell.summary.median_ns / 1e3 / documents_of(row);
}

double memory_mb(const Row& row) {
  return static_cast<double>(peak_bytes(row.cell.cell.memory)) / 1e6 / documents_of(row);
}

/// "-43", as the paper has it; a difference of the time that is not shown is marked.
std::string percent(double ratio, bool is_shown) {
  return fmt::format("{:+.0f}{}", 100 * (ratio - 1), is_shown ? "" : "°");
}

/// The rows of one point, which are one block of the table.
class Block {
 public:
  Block(const Table& table, std::vector<const Row*> rows, const std::vector<PublishedCost>& costs)
      : rows_(std::move(rows)), costs_(costs) {
    for (const Row* row : rows_) {
      const bool wanted = table.baseline ? row->cell.cell.contender.id() == *table.baseline
                                         : is_papers_baseline(*row);
      if (wanted && is_measured(*row) && baseline_ == nullptr) baseline_ = row;
    }
  }

  /// In the paper's order, the paper's rows first; else in the run's.
  [[nodiscard]] std::vector<std::vector<std::string>> lines(const std::string& heading) const {
    std::vector<std::vector<std::string>> lines;
    for (const PublishedCost& cost : costs_) {
      for (const Row* row : rows_)
        if (is_of(cost, *row)) lines.push_back(line(heading, *row, &cost));
    }
    for (const Row* row : rows_) {
      const bool published =
          std::ranges::any_of(costs_, [&](const PublishedCost& cost) { return is_of(cost, *row); });
      if (!published) lines.push_back(line(heading, *row, nullptr));
    }
    return lines;
  }

 private:
  [[nodiscard]] static bool is_of(const PublishedCost& cost, const Row& row) {
    const Contender& contender = row.cell.cell.contender;
    return cost.row == contender.model && cost.window == contender.window &&
           cost.sequence_tokens == row.cell.point.sequence_tokens;
  }
  [[nodiscard]] bool is_papers_baseline(const Row& row) const {
    return std::ranges::any_of(
        costs_, [&](const PublishedCost& cost) { return cost.is_baseline && is_of(cost, row); });
  }

  [[nodiscard]] std::vector<std::string> ours(const Row& row) const {
    if (!is_measured(row)) return {outcome_of(row).status, "", "", ""};
    std::vector<std::string> texts{three_digits(time_us(row)), "", three_digits(memory_mb(row)),
                                   ""};
    if (baseline_ == nullptr || &row == baseline_) return texts;
    if (const auto ratio = ratio_between(row, *baseline_)) {
      texts[1] = percent(ratio->ratio, ratio->verdict != statistics::Verdict::no_difference_shown);
    }
    if (memory_mb(*baseline_) > 0) texts[3] = percent(memory_mb(row) / memory_mb(*baseline_), true);
    return texts;
  }

  [[nodiscard]] std::vector<std::string> line(const std::string& heading, const Row& row,
                                              const PublishedCost* cost) const {
    const Contender& contender = row.cell.cell.contender;
    const auto model = parse_model_row(contender.model);
    std::string name = published_model(model ? model->name : contender.model);
    if (model && model->options.contains("cls-only-last-layer")) name += ", last layer [CLS] only";
    std::vector<std::string> texts{heading, name, contender.window ? contender.window->text() : "–",
                                   contender.implementation,
                                   fmt::format("{}", row.cell.cell.batch)};
    for (std::string& text : ours(row)) texts.push_back(std::move(text));
    if (cost == nullptr) {
      texts.insert(texts.end(), 4, "");
    } else {
      texts.push_back(fmt::format("{}", cost->time_us_per_document));
      texts.push_back(cost->relative_time);
      texts.push_back(fmt::format("{}", cost->memory_mb_per_document));
      texts.push_back(cost->relative_memory);
    }
    return texts;
  }

  std::vector<const Row*> rows_;
  const std::vector<PublishedCost>& costs_;
  const Row* baseline_ = nullptr;
};

std::string heading_of(const HeatPoint& point, const std::string& task, std::vector<bool> varying) {
  varying[length_axis] = false;
  const std::string more = words_of(point, varying, true);
  return fmt::format("{}s, {} tokens{}{}", task == "passage" ? "Passage" : "Document",
                     point.sequence_tokens, more.empty() ? "" : ", ", more);
}

Grid empty_grid() {
  return {.heading = "Whole models in the form of ECIR 2024, Table 3; per document",
          .columns = {{"task", "Task", false},
                      {"model", "Model", false},
                      {"window", "w"},
                      {"implementation", "Attention", false},
                      {"batch", "Batch"},
                      {"time_us_per_document", "µs"},
                      {"relative_time_percent", "%"},
                      {"memory_mb_per_document", "MB"},
                      {"relative_memory_percent", "%"},
                      {"paper_time_us_per_document", "paper: µs"},
                      {"paper_relative_time_percent", "%"},
                      {"paper_memory_mb_per_document", "MB"},
                      {"paper_relative_memory_percent", "%"}},
          .rows = {},
          .notes = {},
          .source = {},
          .in_blocks = true};
}

}  // namespace

Result<std::string> write_beside_table3(const Table& table, TableFormat format) {
  const std::vector<PublishedCost> costs = published_costs();
  Grid grid = empty_grid();
  std::vector<Row> models;
  for (const Row& row : table.rows)
    if (row.cell.point.operation == Operation::model) models.push_back(row);
  const std::vector<bool> varying = varying_axes(models);
  for (auto row = models.begin(); row != models.end();) {
    // A heat's rows stand together.
    const HeatPoint& point = row->cell.point;
    std::vector<const Row*> rows;
    for (; row != models.end() && row->cell.point == point; ++row) rows.push_back(&*row);
    const auto of_this_length =
        std::ranges::find(costs, point.sequence_tokens, &PublishedCost::sequence_tokens);
    if (of_this_length == costs.end()) continue;
    const Block block(table, std::move(rows), costs);
    for (auto& line : block.lines(heading_of(point, of_this_length->task, varying)))
      grid.rows.push_back(std::move(line));
  }
  if (grid.rows.empty()) {
    return fail(
        "--beside: run {} has no whole models of 174 or 4096 tokens, which Table 3 has; attnscope "
        "run paper-table3 measures them",
        table.run.number);
  }
  grid.source = fmt::format("{}; beside it, {}: {}, Table 3; one NVIDIA A100 40 GB",
                            provenance_line(table.run), published_label, published_costs_source());
  grid.notes = {
      fmt::format("Percentages are against the line of the task without any{}; ° no difference "
                  "shown.",
                  table.baseline ? fmt::format(" ({})", *table.baseline) : ""),
      fmt::format("Ours: {}.", provenance_line(table.run)),
      fmt::format("The paper's, {}: {}, Table 3; one NVIDIA A100 40 GB, batches of up to "
                  "100.",
                  published_label, published_costs_source())};
  return write_grid(grid, format);
}

}  // namespace attnscope::report
