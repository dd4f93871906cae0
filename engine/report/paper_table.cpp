// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "base/sentences.h"
#include "engine/heat/model_row.h"
#include "engine/report/number_text.h"
#include "engine/report/published.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"

namespace attnscope::report {
namespace {

/// The part of a table's footer about the paper.
std::string source_of(std::string_view id) {
  const std::vector<PublishedTable> tables = published_tables();
  const auto table = std::ranges::find(tables, id, &PublishedTable::id);
  return fmt::format("{}: {}. {}; {}", published_label, table->citation, table->title,
                     table->machine);
}

/// "Sparse cross-encoder, last layer [CLS] only"
std::string words_of_row(const std::string& text) {
  const auto row = parse_model_row(text);
  if (!row) return model_words(text);
  std::string words = model_words(row->name);
  for (const std::string& option : row->options) {
    // A model's row implies options; the requested ones are in the text.
    if (option == "cls-only-last-layer") {
      words += ", last layer [CLS] only";
    } else if (text.find("+" + option) != std::string::npos) {
      words += ", " + option;
    }
  }
  return words;
}

using Lines = std::vector<std::vector<std::string>>;

/// "Passages, 174 tokens, float16": the heading, then the values of the varying axes.
std::string with_values(const std::string& heading, const HeatPoint& point,
                        const std::vector<bool>& varying) {
  const std::string values = words_of(point, varying, true);
  return values.empty() ? heading : heading + ", " + values;
}

std::vector<const Row*> rows_with(const Table& table, bool (*is_listed)(const Row&)) {
  std::vector<const Row*> rows = all_rows(table.rows);
  std::erase_if(rows, [&](const Row* row) { return !is_listed(*row); });
  return rows;
}

/// Writes the lines above their sources: this run, and the paper with its remark.
std::string write_with_sources(Sheet sheet, const Lines& lines, const Table& table,
                               std::string_view paper, std::string_view remark,
                               TableFormat format) {
  const std::string ours = provenance_line(table), theirs = source_of(paper);
  sheet.frame = SheetFrame::captioned;
  sheet.below.push_back(fmt::format("Ours: {}.", ours));
  sheet.below.push_back(fmt::format("The paper's, {}{}.", theirs, remark));
  return write_grid(std::move(sheet), lines, fmt::format("{}; the paper's: {}", ours, theirs),
                    format);
}

// Table 3.

double time_us(const Row& row) {
  return row.cell.summary.median_ns / 1e3 / documents_of(row);
}

double memory_mb(const Row& row) {
  return static_cast<double>(peak_bytes(row.cell.cell.memory)) / 1e6 / documents_of(row);
}

/// "-43", as in the paper; a time difference that is not significant is marked.
std::string percent(double ratio, bool is_shown) {
  return fmt::format("{:+.0f}{}", 100 * (ratio - 1), is_shown ? "" : "°");
}

/// The rows of one point, which form one block of the table.
class Task {
 public:
  Task(const Table& table, std::vector<const Row*> rows, const std::vector<PublishedCost>& costs)
      : rows_(std::move(rows)), costs_(costs) {
    for (const Row* row : rows_) {
      const bool wanted = table.baseline ? row->cell.cell.contender.id() == *table.baseline
                                         : is_papers_baseline(*row);
      if (wanted && is_measured(*row) && baseline_ == nullptr) baseline_ = row;
    }
  }

  /// In the paper's order, the paper's rows first; other rows in the run's order.
  [[nodiscard]] Lines lines(const std::string& heading) const {
    Lines lines;
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
    std::vector<std::string> texts{
        heading, words_of_row(contender.model), contender.window ? contender.window->text() : "–",
        contender.implementation, fmt::format("{}", row.cell.cell.batch)};
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

Result<std::string> side_by_side_table3(const Table& table, TableFormat format) {
  const std::vector<PublishedCost>& costs = published_costs();
  const std::vector<const Row*> models =
      rows_with(table, [](const Row& row) { return row.cell.point.operation == Operation::model; });
  std::vector<bool> varying = varying_axes(models);
  varying[length_axis] = false;
  Lines lines;
  for (auto& rows : grouped(models, [](const Row& row) { return point_key(row.cell.point); })) {
    const HeatPoint& point = rows.front()->cell.point;
    const auto of_this_length =
        std::ranges::find(costs, point.sequence_tokens, &PublishedCost::sequence_tokens);
    if (of_this_length == costs.end()) continue;
    const std::string heading =
        fmt::format("{}s, {} tokens", of_this_length->task == "passage" ? "Passage" : "Document",
                    point.sequence_tokens);
    const Task task(table, std::move(rows), costs);
    std::ranges::move(task.lines(with_values(heading, point, varying)), std::back_inserter(lines));
  }
  if (lines.empty()) {
    return fail(
        "--published: run {} has no whole models of 174 or 4096 tokens, which Table 3 has; "
        "attnscope "
        "run paper-table3 measures them",
        table.run.number);
  }
  return write_with_sources(
      {.above = {"Whole models in the form of ECIR 2024, Table 3; per document"},
       .columns = {{"model", "Model", false},
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
       .block_column = SheetColumn{"task", "Task", false},
       .below = {fmt::format("Percentages are relative to the task's line without a "
                             "percentage{}; ° no difference shown.",
                             table.baseline ? fmt::format(" ({})", *table.baseline) : "")}},
      lines, table, "ecir24-table3", ", batches of up to 100", format);
}

// Table 6.

/// A contender's cells of one setting: scoring, and encoding the scored documents.
struct Stages {
  const Row* online = nullptr;
  const Row* offline = nullptr;
};

HeatPoint without_stage(HeatPoint point) {
  point.stage = Stage::whole;
  point.candidates = 0;
  return point;
}

double ms_per_candidate(const Row& row) {
  return row.cell.summary.median_ns / 1e6 / candidates_of(row);
}

bool is_wanted(const Table& table, const Contender& contender) {
  return table.baseline ? contender.id() == *table.baseline : contender.model == "cross-bert";
}

/// The reference of the speed-ups: the baseline measured with the same number of candidates, else
/// with the most, because a model that encodes every pair takes the same time for each candidate.
const Row* baseline_alongside(const Table& table, const Row& row) {
  const Row* best = nullptr;
  for (const Row& other : table.rows) {
    if (other.cell.point.stage != Stage::online || !is_measured(other) ||
        !is_wanted(table, other.cell.cell.contender) ||
        without_stage(other.cell.point) != without_stage(row.cell.point))
      continue;
    if (other.cell.point == row.cell.point) return &other;
    if (best == nullptr || candidates_of(other) > candidates_of(*best)) best = &other;
  }
  return best;
}

std::vector<std::string> line_of(const Table& table, const std::string& heading,
                                 const Stages& stages, const PublishedQuery* paper) {
  const Row& row = *stages.online;
  const Contender& contender = row.cell.cell.contender;
  std::vector<std::string> texts{heading, words_of_row(contender.model), contender.implementation};
  if (is_measured(row)) {
    const Row* baseline = baseline_alongside(table, row);
    const auto& kept = row.cell.cell.memory.cache_bytes;
    texts.push_back(three_digits(row.cell.summary.median_ns / 1e6));
    texts.push_back(three_digits(p95_ns(row.cell) / 1e6));
    texts.push_back(baseline == nullptr || baseline->cell.cell_number == row.cell.cell_number
                        ? ""
                        : three_digits(ms_per_candidate(*baseline) / ms_per_candidate(row)) +
                              (baseline->cell.point == row.cell.point ? "" : "°"));
    texts.push_back(kept ? three_digits(static_cast<double>(*kept) / 1e6) : "");
  } else {
    texts.insert(texts.end(), {outcome_of(row).status, "", "", ""});
  }
  const bool was_encoded = stages.offline != nullptr && is_measured(*stages.offline);
  texts.push_back(was_encoded ? three_digits(stages.offline->cell.summary.median_ns / 1e6 /
                                             documents_of(*stages.offline))
                              : "");
  texts.push_back(paper == nullptr ? "" : paper->time_ms);
  texts.push_back(paper == nullptr ? "" : paper->cache_gb);
  return texts;
}

const Row* encoding_of(const Table& table, const Row& row) {
  const auto found = std::ranges::find_if(table.rows, [&](const Row& other) {
    return other.cell.point.stage == Stage::offline &&
           other.cell.cell.contender.id() == row.cell.cell.contender.id() &&
           without_stage(other.cell.point) == without_stage(row.cell.point);
  });
  return found == table.rows.end() ? nullptr : &*found;
}

/// The paper's order first; one context occurs twice there.
Lines lines_of(const Table& table, const std::vector<const Row*>& rows,
               const std::string& heading) {
  constexpr double candidates_there = 1000;
  Lines lines;
  std::set<const Row*> written;
  for (const PublishedQuery& paper : published_queries()) {
    for (const Row* row : rows) {
      if (row->cell.cell.contender.model != paper.row || !written.insert(row).second) continue;
      lines.push_back(line_of(table, heading, {row, encoding_of(table, *row)},
                              candidates_of(*row) == candidates_there ? &paper : nullptr));
    }
  }
  for (const Row* row : rows) {
    if (written.insert(row).second)
      lines.push_back(line_of(table, heading, {row, encoding_of(table, *row)}, nullptr));
  }
  return lines;
}

Result<std::string> side_by_side_table6(const Table& table, TableFormat format) {
  const std::vector<const Row*> online =
      rows_with(table, [](const Row& row) { return row.cell.point.stage == Stage::online; });
  std::vector<bool> varying = varying_axes(online);
  varying[candidates_axis] = false;
  Lines lines;
  for (const auto& rows :
       grouped(online, [](const Row& row) { return point_key(row.cell.point); })) {
    const std::string heading = fmt::format("{:.0f} candidates", candidates_of(*rows.front()));
    std::ranges::move(
        lines_of(table, rows, with_values(heading, rows.front()->cell.point, varying)),
        std::back_inserter(lines));
  }
  if (lines.empty()) {
    return fail(
        "--published: run {} has no re-rankers in stage online, whose times Table 6 has; attnscope "
        "run paper-mixencoder measures them",
        table.run.number);
  }
  return write_with_sources(
      {.above = {"Re-rankers in the form of MixEncoder, Table 6; a query at a time"},
       .columns = {{"model", "Model", false},
                   {"implementation", "Attention", false},
                   {"time_ms", "ms"},
                   {"p95_ms", "p95"},
                   {"speed_up", "speed-up"},
                   {"kept_mb", "kept (MB)"},
                   {"offline_ms_per_document", "offline (ms)"},
                   {"paper_time_ms", "paper: ms"},
                   {"paper_cache_gb", "GB"}},
       .block_column = SheetColumn{"candidates", "Candidates", false},
       .below = {fmt::format(
           "Speed-ups are per candidate, relative to {}; °: it was measured with fewer candidates. "
           "Offline is the time to encode a document before any query. The paper has only 1,000 "
           "candidates, and its GB are for 100 queries with 1,000 candidates each.",
           table.baseline.value_or("Cross-BERT"))}},
      lines, table, "mixencoder-table6", "", format);
}

// TKL's Table 1.

HeatPoint of_any_size(HeatPoint point) {
  for (const std::size_t axis : axes_of_size)
    heat_axes.at(axis).set(point, heat_axes.at(axis).default_value());
  return point;
}

/// "lognormal 804/3267", "alike"
std::string drawn_from(const LengthDistribution& lengths) {
  const std::string text = text_of(lengths);
  return text.substr(0, text.find(" up to "));
}

std::vector<std::string> rate_line(const std::string& heading, const Row& row, TableFormat format) {
  const Cell& cell = row.cell.cell;
  const statistics::Summary& time = row.cell.summary;
  const std::string marks = is_for_programs(format) ? std::string() : marks_of(row);
  const auto per_ms = [&](double time_ns) {
    return three_digits(1e6 * documents_of(row) / time_ns);
  };
  const auto sizes = group_sizes(row.cell.point);
  std::vector<std::string> texts{heading,
                                 words_of_row(cell.contender.model),
                                 sizes ? fmt::format("{}", sizes->document - 1) : "",
                                 drawn_from(row.cell.point.document_lengths),
                                 cell.contender.implementation,
                                 fmt::format("{}", cell.batch)};
  if (is_measured(row)) {
    texts.insert(texts.end(),
                 {per_ms(time.median_ns) + marks, per_ms(time.high_ns), per_ms(time.low_ns)});
  } else {
    texts.insert(texts.end(), {outcome_of(row).status, "", ""});
  }
  const auto paper = published_rate(row);
  texts.push_back(paper ? fmt::format("{}", paper->documents_per_ms) : "");
  texts.push_back(paper ? fmt::format("{:.3f}", paper->trec_ndcg10) : "");
  texts.push_back(paper ? fmt::format("{:.3f}", paper->dev_ndcg10) : "");
  return texts;
}

/// Whether a whole model scores documents in the row. A stage that scores previously encoded
/// documents is only meaningful for a model that keeps them.
bool scores_documents(const Row& row) {
  const HeatPoint& point = row.cell.point;
  if (point.operation != Operation::model || point.stage == Stage::offline ||
      point.stage == Stage::load || is_of_training(point.stage))
    return false;
  const std::string& model = row.cell.cell.contender.model;
  return point.stage != Stage::online ||
         family_of_row(model.substr(0, model.find('+'))).keeps() != Kept::nothing;
}

/// The paper's rows in its order, then the others.
std::vector<const Row*> in_papers_order(const std::vector<const Row*>& rows) {
  std::vector<const Row*> ordered;
  for (const PublishedRate& rate : published_rates()) {
    for (const Row* row : rows) {
      const auto own = published_rate(*row);
      if (own && own->row == rate.row && own->most_words == rate.most_words) ordered.push_back(row);
    }
  }
  std::ranges::copy_if(rows, std::back_inserter(ordered),
                       [](const Row* row) { return !published_rate(*row); });
  return ordered;
}

Result<std::string> side_by_side_tkl_table1(const Table& table, TableFormat format) {
  const std::vector<const Row*> scoring = rows_with(table, scores_documents);
  if (scoring.empty()) {
    return fail(
        "--published: run {} has no whole models that score documents, as Table 1 has; attnscope "
        "run "
        "paper-tkl measures them",
        table.run.number);
  }
  std::vector<bool> varying = varying_axes(scoring);
  for (const std::size_t axis : axes_of_size) varying[axis] = false;
  varying[stage_axis] = false;
  Lines lines;
  for (const auto& rows :
       grouped(scoring, [](const Row& row) { return point_key(of_any_size(row.cell.point)); })) {
    const HeatPoint& point = rows.front()->cell.point;
    const std::string heading =
        with_values(point.stage == Stage::online ? "Documents encoded before the query"
                                                 : "Documents encoded with the query",
                    point, varying);
    for (const Row* row : in_papers_order(rows)) lines.push_back(rate_line(heading, *row, format));
  }
  const bool are_drawn = std::ranges::any_of(
      scoring, [](const Row* row) { return row->cell.point.document_lengths.is_drawn(); });
  const bool any_marks =
      std::ranges::any_of(scoring, [](const Row* row) { return !marks_of(*row).empty(); });
  return write_with_sources(
      {.above = {"Re-rankers in the form of TKL, Table 1; documents scored in a millisecond"},
       .columns = {{"model", "Model", false},
                   {"most_words", "words"},
                   {"document_lengths", "Lengths", false},
                   {"implementation", "Computed by", false},
                   {"batch", "Batch"},
                   {"documents_per_ms", "docs/ms"},
                   {"documents_per_ms_low", "from"},
                   {"documents_per_ms_high", "to"},
                   {"paper_documents_per_ms", "paper: docs/ms"},
                   {"paper_trec2019_ndcg10", "TREC nDCG@10"},
                   {"paper_dev_ndcg10", "Dev nDCG@10"}},
       .block_column = SheetColumn{"setting", "Setting", false},
       .below = {fmt::format(
           "Words are those of the longest document{}; from and to are the 95 % "
           "interval of the median{}. The paper encodes documents with the query, "
           "and its times include the host's work.",
           are_drawn ? " (drawn lengths are cut there)" : "",
           any_marks ? "; ! disturbed, ~ drifting" : "")}},
      lines, table, "tkl-table1", "", format);
}

struct Alongside {
  std::string_view id;
  Result<std::string> (*write)(const Table&, TableFormat);
};
constexpr std::array<Alongside, 3> tables_alongside{{
    {"ecir24-table3", side_by_side_table3},
    {"mixencoder-table6", side_by_side_table6},
    {"tkl-table1", side_by_side_tkl_table1},
}};

}  // namespace

Result<std::string> write_paper_table(const Table& table, std::string_view published,
                                      TableFormat format) {
  const auto found = std::ranges::find(tables_alongside, published, &Alongside::id);
  if (found != tables_alongside.end()) return found->write(table, format);
  std::array<std::string_view, tables_alongside.size()> ids;
  std::ranges::transform(tables_alongside, ids.begin(), &Alongside::id);
  return fail("--published: there is no published table '{}' to compare models with; {}",
              in_a_sentence(published), suggest(in_a_sentence(published), ids));
}

}  // namespace attnscope::report
