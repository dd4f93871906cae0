// SPDX-License-Identifier: Apache-2.0
#include "engine/report/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "engine/effectiveness/rank_agreement.h"

namespace attnscope::report {
namespace {

using nlohmann::json;

constexpr std::size_t moves_shown = 5;

std::optional<double> change_of(const EvaluatedRun& baseline, const EvaluatedRun& run,
                                const std::string& query) {
  const auto here = run.evaluation.queries.find(query);
  const auto there = baseline.evaluation.queries.find(query);
  if (here == run.evaluation.queries.end() || there == baseline.evaluation.queries.end())
    return std::nullopt;
  return here->second.front() - there->second.front();
}

json json_of(const std::optional<double>& value) {
  return value ? json(*value) : json();
}

std::optional<double> read_number(const JsonField& field) {
  return field.is_null() ? std::nullopt : std::optional(field.number());
}

MovedDocument read_moved(const JsonField& field) {
  constexpr std::int64_t most_rank = 1'000'000'000;
  return {.id = field["document"].text(),
          .from = field["from"].whole(0, most_rank),
          .to = field["to"].whole(0, most_rank),
          .text = field.text_or("text", "")};
}

}  // namespace

std::string ranks_in_words(const MovedDocument& moved) {
  const auto rank = [](std::int64_t number) {
    return number > 0 ? fmt::format("{}", number) : std::string("none");
  };
  return fmt::format("{}>{}", rank(moved.from), rank(moved.to));
}

std::vector<RankingDifference> differences_of(const EffectivenessReport& report) {
  const EvaluatedRun& baseline = report.runs[*report.question.baseline];
  std::vector<RankingDifference> all;
  for (const EvaluatedRun& run : report.runs) {
    if (&run == &baseline) continue;
    std::vector<RankingDifference> of_run;
    for (const auto& [query, documents] : run.run.queries) {
      const auto other = baseline.run.queries.find(query);
      if (other == baseline.run.queries.end()) continue;
      const auto agreement = effectiveness::compare_rankings(other->second, documents);
      RankingDifference& one = of_run.emplace_back();
      one.run = run.name;
      one.query = query;
      one.rbo = agreement.rbo;
      one.tau = agreement.tau;
      one.change = change_of(baseline, run, query);
      const std::size_t shown = std::min(moves_shown, agreement.moves.size());
      one.moved.reserve(shown);
      for (std::size_t at = 0; at < shown; ++at) {
        const auto& move = agreement.moves[at];
        one.moved.push_back({.id = move.id, .from = move.from, .to = move.to});
      }
    }
    std::ranges::stable_sort(of_run, {}, &RankingDifference::rbo);
    std::ranges::move(of_run, std::back_inserter(all));
  }
  return all;
}

Sheet differences_sheet(const EffectivenessReport& report,
                        const std::vector<RankingDifference>& differences, TableFormat format) {
  const auto cell = [format](const std::optional<double>& value, bool is_signed) -> SheetCell {
    if (!value || is_for_programs(format)) return value ? Value(*value) : Value();
    return is_signed ? fmt::format("{:+.4f}", *value) : fmt::format("{:.4f}", *value);
  };
  const effectiveness::Measure& measure = report.measures.front();
  Sheet sheet{.frame = SheetFrame::floating,
              .above = {fmt::format("Where rankings differ from {}'s, the least alike first",
                                    report.runs[*report.question.baseline].name)},
              .columns = {{"query", "Query", false},
                          {"rbo", "RBO"},
                          {"tau", "Tau"},
                          {"difference", fmt::format("{} change", measure.name())},
                          {"moved", "Moved most (rank there > here)", false}},
              .block_column = SheetColumn{"run", "Run", false}};
  for (const RankingDifference& difference : differences) {
    if (sheet.blocks.empty() || sheet.blocks.back().title != difference.run)
      sheet.blocks.push_back({.title = difference.run, .rows = {}});
    std::string moved;
    for (const MovedDocument& document : difference.moved) {
      moved +=
          fmt::format("{}{} {}", moved.empty() ? "" : ", ", document.id, ranks_in_words(document));
    }
    sheet.add({SheetCell(difference.query), cell(difference.rbo, false),
               cell(difference.tau, false), cell(difference.change, true), SheetCell(moved)});
  }
  sheet.notes = {
      fmt::format("RBO: rank-biased overlap, p = {}, extrapolated (Webber et al. 2010, eq. 32).",
                  effectiveness::rbo_persistence),
      "Tau: Kendall's, of the documents that both rank.",
      "Moved most: by the difference of discounts 1 / log2(rank + 1).",
      fmt::format("{}: {}.", measure.name(), measure.definition()),
      std::string(effectiveness::tie_rule)};
  return sheet;
}

std::string write_differences(const std::vector<RankingDifference>& differences) {
  json all = json::array();
  for (const RankingDifference& difference : differences) {
    json moved = json::array();
    for (const MovedDocument& document : difference.moved) {
      json& written = moved.emplace_back(
          json{{"document", document.id}, {"from", document.from}, {"to", document.to}});
      if (!document.text.empty()) written["text"] = document.text;
    }
    json& written = all.emplace_back(json{{"run", difference.run},
                                          {"query", difference.query},
                                          {"rbo", difference.rbo},
                                          {"tau", json_of(difference.tau)},
                                          {"difference", json_of(difference.change)},
                                          {"moved", std::move(moved)}});
    if (!difference.text.empty()) written["text"] = difference.text;
  }
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<std::vector<RankingDifference>> parse_differences(std::string_view text,
                                                         std::string_view source) {
  return read_json(text, source, [](const JsonField& root) {
    std::vector<RankingDifference> all;
    const std::vector<JsonField> fields = root.elements();
    all.reserve(fields.size());
    for (const JsonField& field : fields) {
      RankingDifference& one = all.emplace_back();
      one.run = field["run"].text();
      one.query = field["query"].text();
      one.text = field.text_or("text", "");
      one.rbo = field["rbo"].number();
      one.tau = read_number(field["tau"]);
      one.change = read_number(field["difference"]);
      const std::vector<JsonField> documents = field["moved"].elements();
      one.moved.reserve(documents.size());
      for (const JsonField& moved : documents) one.moved.push_back(read_moved(moved));
    }
    return all;
  });
}

}  // namespace attnscope::report
