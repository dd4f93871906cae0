// SPDX-License-Identifier: Apache-2.0
#include "engine/report/effectiveness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "engine/effectiveness/measures.h"

namespace attnscope::report {
namespace {

using effectiveness::Measure;
using statistics::PairedTests;

constexpr std::string_view equivalence_mark = "\u2020";  // a dagger, as in the paper
constexpr std::string_view difference_mark = "*";

/// Four digits, as in trec_eval, for people; all digits for programs.
SheetCell value_cell(double value, TableFormat format) {
  return is_for_programs(format) ? SheetCell(Value(value))
                                 : SheetCell(fmt::format("{:.4f}", value));
}

SheetCell signed_cell(double value, TableFormat format) {
  return is_for_programs(format) ? SheetCell(Value(value))
                                 : SheetCell(fmt::format("{:+.4f}", value));
}

SheetCell p_cell(const std::optional<double>& p, TableFormat format) {
  constexpr double least_shown = 0.0001;
  if (!p) return is_for_programs(format) ? SheetCell(Value()) : SheetCell("none");
  if (is_for_programs(format)) return Value(*p);
  return *p < least_shown ? SheetCell("< 0.0001") : SheetCell(fmt::format("{:.4f}", *p));
}

/// A query that neither run has would be a pair of equal values, and many of them would make any
/// two runs equivalent.
bool has_either(const EvaluatedRun& a, const EvaluatedRun& b, const std::string& query) {
  return a.run.queries.contains(query) || b.run.queries.contains(query);
}

PairedTests paired(const EvaluatedRun& baseline, const EvaluatedRun& run, std::size_t measure,
                   const statistics::PairedQuestion& question) {
  std::vector<double> reference, system;
  for (const auto& [query, values] : baseline.evaluation.queries) {
    const auto other = run.evaluation.queries.find(query);
    if (other == run.evaluation.queries.end() || !has_either(baseline, run, query)) continue;
    reference.push_back(values[measure]);
    system.push_back(other->second[measure]);
  }
  return statistics::test_paired(reference, system, question);
}

bool is_baseline(const EffectivenessReport& report, std::size_t run) {
  return report.question.baseline == run;
}

bool differs(const PairedTests& tests, double alpha) {
  return tests.p_difference && *tests.p_difference < alpha;
}

/// Cells after the mean, for a run that is compared with the baseline.
void add_test_cells(const EffectivenessReport& report, const PairedTests& tests, TableFormat format,
                    std::vector<SheetCell>& cells) {
  const auto& interval = tests.interval90;
  if (tests.n == 0) {
    cells.emplace_back(is_for_programs(format) ? SheetCell(Value()) : SheetCell("none"));
  } else {
    cells.push_back(signed_cell(tests.difference, format));
  }
  if (is_for_programs(format)) {
    cells.emplace_back(interval ? Value(interval->low) : Value());
    cells.emplace_back(interval ? Value(interval->high) : Value());
  } else {
    cells.emplace_back(interval ? fmt::format("{:+.4f} to {:+.4f}", interval->low, interval->high)
                                : std::string("none"));
  }
  cells.push_back(p_cell(tests.p_equivalence, format));
  cells.push_back(p_cell(tests.p_difference, format));
  cells.emplace_back(verdict_in_words(tests, report.alpha));
  if (is_for_programs(format)) {
    cells.emplace_back(Value(tests.equivalent));
    cells.emplace_back(Value(tests.n));
    cells.emplace_back(Value(report.question.margin));
    cells.emplace_back(Value(report.alpha));
    cells.emplace_back(report.runs[*report.question.baseline].name);
  }
}

std::vector<SheetColumn> test_columns(TableFormat format) {
  if (!is_for_programs(format)) {
    return {{"difference", "Difference"},
            {"interval", "90 % interval", false},
            {"p_equivalence", "p (TOST)"},
            {"p_difference", "p (t-test)"},
            {"verdict", "Against the baseline", false}};
  }
  return {{"difference", ""},   {"low90", ""},   {"high90", ""},     {"p_equivalence", ""},
          {"p_difference", ""}, {"verdict", ""}, {"equivalent", ""}, {"pairs", ""},
          {"margin", ""},       {"alpha", ""},   {"baseline", ""}};
}

void add_definitions(const EffectivenessReport& report, Sheet& sheet) {
  for (const Measure& measure : report.measures)
    sheet.notes.push_back(fmt::format("{}: {}.", measure.name(), measure.definition()));
  sheet.notes.emplace_back(effectiveness::tie_rule);
  sheet.notes.push_back(
      report.question.evaluation.complete
          ? fmt::format(
                "Means over all {} judged queries; a query that a run lacks counts as 0 (-c).",
                report.judged_queries)
          : std::string("Means over the judged queries that a run has."));
}

std::string tests_in_words(const EffectivenessReport& report) {
  const EffectivenessQuestion& question = report.question;
  const std::string alpha =
      question.bonferroni
          ? fmt::format("{:.3g} ({} / {} by Bonferroni, over the runs other than the baseline)",
                        report.alpha, question.alpha, report.runs.size() - 1)
          : fmt::format("{} (not corrected for several runs)", question.alpha);
  return fmt::format(
      "Against {}, queries joined by id: {} is equivalent within ± {} (paired TOST, two one-sided "
      "t-tests, the greater p < {}); {} is different (paired t-test, two-sided, the same alpha).",
      report.runs[*question.baseline].name, equivalence_mark, question.margin, alpha,
      difference_mark);
}

std::string above(const EffectivenessReport& report, std::string_view what) {
  return fmt::format("{} of {} over {} judged queries", what,
                     report.runs.size() == 1 ? report.runs.front().name
                                             : fmt::format("{} runs", report.runs.size()),
                     report.judged_queries);
}

/// The table without tests has one column per measure, for people.
Sheet means_sheet(const EffectivenessReport& report, TableFormat format) {
  Sheet sheet{.frame = SheetFrame::floating,
              .above = {above(report, "Effectiveness")},
              .columns = {{"run", "Run", false}, {"queries", "Queries"}}};
  for (const Measure& measure : report.measures)
    sheet.columns.push_back({measure.name(), measure.name()});
  for (const EvaluatedRun& run : report.runs) {
    std::vector<SheetCell> cells{SheetCell(run.name),
                                 Value(static_cast<std::int64_t>(run.evaluation.queries.size()))};
    for (std::size_t at = 0; at < report.measures.size(); ++at)
      cells.push_back(value_cell(run.evaluation.mean(at), format));
    sheet.add(std::move(cells));
  }
  add_definitions(report, sheet);
  return sheet;
}

/// Notes different depths: the top documents of a deeper run are chosen from more candidates.
void note_depths(EffectivenessReport& report) {
  const auto depth_of = [](const EvaluatedRun& run) {
    std::size_t depth = 0;
    for (const auto& [query, documents] : run.run.queries)
      depth = std::max(depth, documents.size());
    return depth;
  };
  const EvaluatedRun& first = report.runs.front();
  const std::size_t expected = depth_of(first);
  for (const EvaluatedRun& run : report.runs) {
    const std::size_t depth = depth_of(run);
    if (depth == expected) continue;
    report.notes.push_back(fmt::format(
        "{} has up to {} documents per query, {} up to {}: differences may be due to their depths",
        run.name, depth, first.name, expected));
  }
}

/// A note on the tests if missing queries count as 0.
void note_left_out(const EvaluatedRun& baseline, EffectivenessReport& report) {
  for (const EvaluatedRun& run : report.runs) {
    const auto left_out = std::ranges::count_if(
        baseline.evaluation.queries,
        [&](const auto& query) { return !has_either(baseline, run, query.first); });
    if (left_out == 0 || &run == &baseline) continue;
    report.notes.push_back(
        fmt::format("{} of the {} judged queries are neither in {} nor in {}: they count as 0 in "
                    "the means, and are left out of differences and tests",
                    left_out, report.judged_queries, run.name, baseline.name));
  }
}

}  // namespace

std::string verdict_in_words(const PairedTests& tests, double alpha) {
  if (tests.without_test) {
    return tests.difference == 0 ? "the same for every query" : "shifted alike for every query";
  }
  if (!tests.p_equivalence) return "too few queries";
  if (tests.equivalent) return differs(tests, alpha) ? "equivalent, and different" : "equivalent";
  return differs(tests, alpha) ? (tests.difference > 0 ? "better" : "worse") : "not shown";
}

EffectivenessReport evaluate_runs(std::vector<EvaluatedRun> runs, const effectiveness::Qrels& qrels,
                                  const std::vector<Measure>& measures,
                                  const EffectivenessQuestion& question) {
  EffectivenessReport report{.question = question,
                             .measures = measures,
                             .runs = std::move(runs),
                             .judged_queries = qrels.queries.size(),
                             .alpha = question.alpha,
                             .notes = {}};
  const auto others = static_cast<double>(report.runs.size() - 1);
  if (question.bonferroni && others > 0) report.alpha /= others;
  for (EvaluatedRun& run : report.runs) {
    for (const std::string& note : run.run.notes) report.notes.push_back(note);
    for (std::string& sentence : effectiveness::mismatches(run.run, qrels))
      report.notes.push_back(std::move(sentence));
    run.evaluation = effectiveness::evaluate(run.run, qrels, measures, question.evaluation);
  }
  report.measures = report.runs.front().evaluation.measures;  // as changed by -J
  const auto same_queries = [&](const EvaluatedRun& run) {
    return std::ranges::equal(run.evaluation.queries, report.runs.front().evaluation.queries, {},
                              &std::pair<const std::string, std::vector<double>>::first,
                              &std::pair<const std::string, std::vector<double>>::first);
  };
  if (!std::ranges::all_of(report.runs, same_queries)) {
    report.notes.emplace_back(
        "the runs do not have the same judged queries, so their means are over different queries; "
        "-c counts a missing query as 0");
  }
  note_depths(report);
  if (!question.baseline) return report;
  const EvaluatedRun& baseline = report.runs[*question.baseline];
  note_left_out(baseline, report);
  for (EvaluatedRun& run : report.runs) {
    for (std::size_t measure = 0; measure < measures.size(); ++measure) {
      run.tests.push_back(
          paired(baseline, run, measure, {.margin = question.margin, .alpha = report.alpha}));
    }
  }
  return report;
}

Sheet effectiveness_sheet(const EffectivenessReport& report, TableFormat format) {
  const bool tested = report.question.baseline.has_value();
  if (!tested && !is_for_programs(format)) return means_sheet(report, format);
  Sheet sheet{.frame = SheetFrame::floating,
              .above = {above(report, "Effectiveness")},
              .columns = {{"run", "Run", false}, {"queries", "Queries"}, {"mean", "Mean"}},
              .block_column = SheetColumn{"measure", "Measure", false}};
  if (tested) {
    for (SheetColumn& column : test_columns(format)) sheet.columns.push_back(std::move(column));
  }
  if (is_for_programs(format)) {
    sheet.columns.push_back({"definition", ""});
    sheet.columns.push_back({"ties", ""});
  }
  for (std::size_t at = 0; at < report.measures.size(); ++at) {
    SheetBlock& block = sheet.blocks.emplace_back();
    block.title = report.measures[at].name();
    for (std::size_t i = 0; i < report.runs.size(); ++i) {
      const EvaluatedRun& run = report.runs[i];
      SheetCell mean = value_cell(run.evaluation.mean(at), format);
      mean.is_baseline = is_baseline(report, i);
      std::vector<SheetCell> cells{SheetCell(run.name),
                                   Value(static_cast<std::int64_t>(run.evaluation.queries.size()))};
      const bool is_compared = tested && !mean.is_baseline;
      if (is_compared && run.tests[at].equivalent && run.tests[at].p_equivalence)
        mean.marks += equivalence_mark;
      if (is_compared && differs(run.tests[at], report.alpha)) mean.marks += difference_mark;
      cells.push_back(std::move(mean));
      if (is_compared) add_test_cells(report, run.tests[at], format, cells);
      const std::size_t last = is_for_programs(format) ? 2 : 0;
      if (tested && !is_compared) {
        cells.resize(sheet.columns.size() - last,
                     is_for_programs(format) ? SheetCell(Value()) : SheetCell(""));
        if (!is_for_programs(format)) cells.back() = SheetCell("the baseline");
      }
      if (last > 0) {
        cells.emplace_back(report.measures[at].definition());
        cells.emplace_back(std::string(effectiveness::tie_rule));
      }
      block.rows.push_back(std::move(cells));
    }
  }
  add_definitions(report, sheet);
  if (tested) sheet.notes.push_back(tests_in_words(report));
  return sheet;
}

Sheet per_query_sheet(const EffectivenessReport& report, TableFormat format) {
  Sheet sheet{.frame = SheetFrame::floating,
              .above = {above(report, "Values by query")},
              .columns = {{"query", "Query", false}},
              .block_column = SheetColumn{"measure", "Measure", false}};
  std::map<std::string, int> queries;
  for (const EvaluatedRun& run : report.runs) {
    sheet.columns.push_back({run.name, run.name});
    for (const auto& [query, values] : run.evaluation.queries) queries.emplace(query, 0);
  }
  for (std::size_t at = 0; at < report.measures.size(); ++at) {
    SheetBlock& block = sheet.blocks.emplace_back();
    block.title = report.measures[at].name();
    const auto add_row = [&](const std::string& name, auto&& cell_of) {
      std::vector<SheetCell> cells{SheetCell(name)};
      for (const EvaluatedRun& run : report.runs) cells.push_back(cell_of(run));
      block.rows.push_back(std::move(cells));
    };
    for (const auto& [query, ignored] : queries) {
      add_row(query, [&, id = query](const EvaluatedRun& run) {
        const auto found = run.evaluation.queries.find(id);
        if (found == run.evaluation.queries.end()) return SheetCell(Value());
        return value_cell(found->second[at], format);
      });
    }
    add_row("all",
            [&](const EvaluatedRun& run) { return value_cell(run.evaluation.mean(at), format); });
  }
  add_definitions(report, sheet);
  return sheet;
}

// The following shows where rankings differ.

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
      RankingDifference& difference = of_run.emplace_back();
      difference.run = run.name;
      difference.query = query;
      difference.rbo = agreement.rbo;
      difference.tau = agreement.tau;
      difference.change = change_of(baseline, run, query);
      const std::size_t shown = std::min(moves_shown, agreement.moves.size());
      difference.moved.reserve(shown);
      for (std::size_t at = 0; at < shown; ++at) {
        const auto& move = agreement.moves[at];
        difference.moved.push_back({.id = move.id, .from = move.from, .to = move.to});
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
              .above = {fmt::format("Where rankings differ from {}'s, the least similar first",
                                    report.runs[*report.question.baseline].name)},
              .columns = {{"query", "Query", false},
                          {"rbo", "RBO"},
                          {"tau", "Tau"},
                          {"difference", fmt::format("{} change", measure.name())},
                          {"moved", "Moved most (rank in baseline > in run)", false}},
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
      "Tau: Kendall's tau over the documents that both rank.",
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
      RankingDifference& difference = all.emplace_back();
      difference.run = field["run"].text();
      difference.query = field["query"].text();
      difference.text = field.text_or("text", "");
      difference.rbo = field["rbo"].number();
      difference.tau = read_number(field["tau"]);
      difference.change = read_number(field["difference"]);
      const std::vector<JsonField> documents = field["moved"].elements();
      difference.moved.reserve(documents.size());
      for (const JsonField& moved : documents) difference.moved.push_back(read_moved(moved));
    }
    return all;
  });
}

}  // namespace attnscope::report
