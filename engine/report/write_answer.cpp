// SPDX-License-Identifier: Apache-2.0
//
// Answers as text, as Sheets and as JSON.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/report/advice.h"
#include "engine/report/answer.h"
#include "engine/report/effectiveness.h"
#include "engine/report/number_text.h"
#include "engine/report/row.h"

namespace attnscope::report {
namespace {

using nlohmann::json;
using statistics::Ratio;
using statistics::Verdict;

/// "1.95x" if it is shown to be slower, else the verdict.
std::string of_fastest(const Ratio& ratio) {
  const bool is_number = ratio.verdict == Verdict::slower && is_known(ratio);
  return is_number ? format_times(ratio.ratio) : std::string(verdict_in_words(ratio));
}

bool is_baseline(const Row& row, const Answer& answer) {
  const Contender& contender = row.cell.cell.contender;
  return answer.baseline && (contender.id() == *answer.baseline ||
                             contender_along(contender, answer.x) == *answer.baseline);
}

/// Why the contender has no time: "implausible" with its reason, or the outcome of its cell.
Outcome outcome_of(const Ranked& ranked) {
  if (!ranked.implausible.empty()) return {"implausible", ranked.implausible};
  return report::outcome_of(ranked.row);
}

/// `first`: the label of the first contender, "fastest" if its lead is shown; empty for the others.
std::vector<SheetCell> line_of(const Ranked& ranked, std::string_view first, const Answer& answer) {
  const Row& row = ranked.row;
  std::vector<SheetCell> line{row.cell.cell.contender.name};
  if (is_measured(row)) {
    line.emplace_back(format_time(ns_per_document(row)));
    line.emplace_back(!first.empty()      ? std::string(first)
                      : ranked.to_fastest ? of_fastest(*ranked.to_fastest)
                                          : "");
    line.emplace_back(format_bytes(bytes_per_document(row)));
  } else {
    line.insert(line.end(), {outcome_of(ranked).status, "", ""});
  }
  if (!answer.baseline) return line;
  SheetCell& last = line.emplace_back("");
  if (is_measured(row) && is_baseline(row, answer)) {
    last = "baseline";
  } else if (is_measured(row) && row.ratio) {
    last = against_baseline(row);
  }
  return line;
}

Sheet sheet_of_rankings(const Answer& answer) {
  Sheet sheet{.columns = {{"", "", false}, {"", "time/doc"}, {"", "of fastest"}, {"", "mem/doc"}},
              .labels = 1};
  if (answer.baseline) sheet.columns.push_back({"", "against the baseline", false});
  for (const Ranking& ranking : answer.rankings) {
    SheetBlock& block = sheet.blocks.emplace_back();
    block.title = sentence_of(ranking);
    const std::optional<Leader>& leader = ranking.leaders.of_all;
    const std::string_view best = leader && leader->is_clear() ? "fastest" : "lowest";
    for (const Ranked& ranked : ranking.contenders) {
      const bool is_first = &ranked == &ranking.contenders.front();
      block.rows.push_back(line_of(ranked, is_first ? best : "", answer));
    }
  }
  return sheet;
}

constexpr std::string_view missing = "–";

bool is_carried(const Advised& advised) {
  return advised.time_ns && (advised.is_interpolated || advised.counted_as);
}

std::string speed_of(const Advised& advised) {
  if (advised.is_baseline) return "baseline";
  if (!advised.to_baseline) return std::string(missing);
  if (!is_known(*advised.to_baseline)) return difference_in_words(*advised.to_baseline);
  switch (advised.to_baseline->verdict) {
    case Verdict::faster:
      return times_in_words(1 / advised.to_baseline->ratio) + " as fast";
    case Verdict::slower:
      return times_in_words(advised.to_baseline->ratio) + " the time";
    case Verdict::no_difference_shown:
      break;
  }
  return std::string(verdict_in_words(*advised.to_baseline));
}

std::string remark_on(const Advised& advised) {
  if (advised.standing == Standing::within_limits) return "";
  return fmt::format("{}: {}", name_of(advised.standing), advised.reason);
}

/// The value with its dagger; published values are marked as such if others were measured.
std::string effectiveness_of(const Advised& advised, bool any_measured) {
  if (advised.measured) {
    return fmt::format("{:.4f}{}", advised.measured->mean,
                       advised.measured->tests && advised.measured->is_equivalent() ? "†" : "");
  }
  if (!advised.published) return std::string(missing);
  return fmt::format("{:.3f}{}", advised.published->ndcg10, any_measured ? " (publ.)" : "");
}

/// A ratio with the ends of its interval and its verdict.
void add_ratio(std::vector<SheetCell>& cells, const std::optional<Ratio>& ratio) {
  for (double Ratio::*part : {&Ratio::ratio, &Ratio::low, &Ratio::high})
    cells.emplace_back(ratio ? nine_digits((*ratio).*part) : Value());
  cells.emplace_back(ratio ? Value(std::string(verdict_in_words(*ratio))) : Value());
}

/// The measured or published value, and the test against the baseline.
void add_effectiveness(std::vector<SheetCell>& cells, const Advised& advised) {
  if (advised.measured) {
    const MeasuredEffectiveness& own = *advised.measured;
    cells.insert(cells.end(),
                 {nine_digits(own.mean), Value(std::string("measured")), Value(own.measure)});
    const auto& tests = own.tests;
    const auto interval = tests ? tests->interval90 : std::nullopt;
    cells.insert(cells.end(), {tests ? nine_digits(tests->difference) : Value(),
                               interval ? nine_digits(interval->low) : Value(),
                               interval ? nine_digits(interval->high) : Value(),
                               tests ? nine_digits(tests->p_equivalence) : Value(),
                               tests ? Value(tests->equivalent) : Value()});
    return;
  }
  const auto& published = advised.published;
  cells.insert(cells.end(),
               {published ? nine_digits(published->ndcg10) : Value(),
                published ? Value(std::string("published")) : Value(),
                published ? Value(std::string("nDCG@10")) : Value(), Value(), Value(), Value(),
                Value(), published ? Value(published->is_equivalent) : Value()});
}

std::vector<SheetColumn> columns_of(std::initializer_list<const char*> keys) {
  std::vector<SheetColumn> columns;
  for (const char* key : keys) columns.push_back({key, ""});
  return columns;
}

/// The notes about the columns, below the table.
std::vector<std::string> notes_below(const Advice& advice) {
  std::vector<std::string> notes = advice.notes;
  const auto published = std::ranges::find_if(
      advice.contenders, [](const Advised& advised) { return advised.published.has_value(); });
  if (published != advice.contenders.end()) {
    notes.push_back(fmt::format("nDCG@10 over {}: {} ({}).", published->published->task,
                                published_label, published->published->source));
  }
  const auto measured = std::ranges::find_if(
      advice.contenders, [](const Advised& advised) { return advised.measured.has_value(); });
  if (measured != advice.contenders.end()) {
    const MeasuredEffectiveness& own = *measured->measured;
    notes.push_back(fmt::format("{} {} by {}{}.", own.measure, measured_label, own.qrels,
                                own.baseline.empty()
                                    ? std::string()
                                    : fmt::format("; † equivalent to {} within {} (paired TOST, "
                                                  "p < {})",
                                                  own.baseline, own.margin, own.alpha)));
  }
  if (std::ranges::any_of(advice.contenders, is_carried))
    notes.emplace_back("≈: interpolated between measured lengths.");
  return notes;
}

Sheet sheet_of_contenders(const Advice& advice) {
  const auto measured = std::ranges::find_if(
      advice.contenders, [](const Advised& advised) { return advised.measured.has_value(); });
  const bool any_measured = measured != advice.contenders.end();
  const std::int64_t count = advice.question.candidates;
  Sheet sheet{.above = {advice.heading},
              .columns = {{"", "Contender", false},
                          {"", fmt::format("{} document{}", count, count == 1 ? "" : "s")},
                          {"",
                           advice.baseline ? fmt::format("Against {}", advice.baseline_words)
                                           : "Against the baseline",
                           false},
                          {"", "Memory"},
                          {"", any_measured ? measured->measured->measure : "nDCG@10"},
                          {"", "Remark", false}},
              .notes = notes_below(advice)};
  for (const Advised& advised : advice.contenders) {
    sheet.add({advised.name,
               advised.time_ns
                   ? (is_carried(advised) ? "≈ " : "") + format_time(advised.time_ns->value)
                   : std::string(missing),
               speed_of(advised),
               advised.peak_bytes ? format_bytes(*advised.peak_bytes) : std::string(missing),
               effectiveness_of(advised, any_measured), remark_on(advised)});
  }
  return sheet;
}

// All settings in one sheet, each with its own blocks.

std::string before(const std::string& setting) {
  return setting.empty() ? "" : setting + ": ";
}

Sheet sheet_for_people(std::span<const Answer> answers) {
  Sheet sheet{.block_column = SheetColumn{"", "At", false}};
  if (!answers.empty()) sheet.above = {answers.front().shared};
  for (const Answer& answer : answers) {
    Sheet own = sheet_of_rankings(answer);
    const std::string setting = before(answer.setting);
    if (sheet.columns.empty()) sheet.columns = std::move(own.columns);
    for (std::size_t i = 0; i < own.blocks.size(); ++i)
      own.blocks[i].title = setting + answer.rankings[i].place;
    std::ranges::move(own.blocks, std::back_inserter(sheet.blocks));
    for (const std::string& sentence : headline_of(answer).sentences())
      sheet.notes.push_back(setting + sentence);
    for (const CrossoverAnswer& crossover : answer.crossovers)
      add_once(sheet.notes, setting + crossover.sentence);
    for (const FitAnswer& fit : answer.fits) add_once(sheet.notes, setting + fit.sentence);
    for (const std::string& note : answer.notes) add_once(sheet.notes, setting + note);
  }
  return sheet;
}

Sheet sheet_for_people(std::span<const Advice> all) {
  Sheet sheet;
  if (all.size() > 1) sheet.block_column = SheetColumn{"", "At", false};
  for (const Advice& advice : all) {
    Sheet own = sheet_of_contenders(advice);
    if (sheet.columns.empty()) sheet.columns = std::move(own.columns);
    for (const std::string& line : own.above) sheet.above.push_back(before(advice.setting) + line);
    for (SheetBlock& block : own.blocks) block.title = advice.setting;
    std::ranges::move(own.blocks, std::back_inserter(sheet.blocks));
    for (std::string& note : own.notes) add_once(sheet.notes, std::move(note));
  }
  return sheet;
}

Sheet sheet_for_programs(std::span<const Answer> answers) {
  Sheet sheet{.columns = columns_of({"place", "contender", "name", "status", "ms_per_document",
                                     "of_fastest", "peak_bytes_per_document", "ratio", "ratio_low",
                                     "ratio_high", "verdict", "disturbed", "run"})};
  if (answers.size() > 1) sheet.block_column = SheetColumn{"setting", ""};
  for (const Answer& answer : answers) {
    SheetBlock& block = sheet.blocks.emplace_back(SheetBlock{.title = answer.setting, .rows = {}});
    for (const Ranking& ranking : answer.rankings) {
      for (const Ranked& ranked : ranking.contenders) {
        const bool measured = is_measured(ranked.row);
        const Contender& contender = ranked.row.cell.cell.contender;
        std::vector<SheetCell> cells{
            ranking.place,
            contender.id(),
            contender.name,
            measured ? "ok" : outcome_of(ranked).status,
            measured ? nine_digits(ns_per_document(ranked.row) / 1e6) : Value(),
            ranked.to_fastest ? nine_digits(ranked.to_fastest->ratio) : Value(),
            measured ? nine_digits(bytes_per_document(ranked.row)) : Value()};
        add_ratio(cells, ranked.row.ratio);
        Value disturbed;
        if (measured) disturbed = is_disturbed(ranked.row);
        cells.emplace_back(std::move(disturbed));
        cells.emplace_back(answer.run.id.uuid);
        block.rows.push_back(std::move(cells));
      }
    }
  }
  return sheet;
}

Sheet sheet_for_programs(std::span<const Advice> all) {
  Sheet sheet{.columns = columns_of({"contender",
                                     "name",
                                     "standing",
                                     "reason",
                                     "ms",
                                     "low_ms",
                                     "high_ms",
                                     "ratio",
                                     "ratio_low",
                                     "ratio_high",
                                     "verdict",
                                     "peak_bytes",
                                     "is_interpolated",
                                     "ndcg10_published",
                                     "effectiveness",
                                     "effectiveness_from",
                                     "measure",
                                     "difference",
                                     "low90",
                                     "high90",
                                     "p_equivalence",
                                     "equivalent",
                                     "notes",
                                     "run"})};
  if (all.size() > 1) sheet.block_column = SheetColumn{"setting", ""};
  for (const Advice& advice : all) {
    SheetBlock& block = sheet.blocks.emplace_back(SheetBlock{.title = advice.setting, .rows = {}});
    for (const Advised& advised : advice.contenders) {
      std::vector<SheetCell> cells{advised.contender, advised.name,
                                   std::string(name_of(advised.standing)), advised.reason};
      for (double Estimate::*part : {&Estimate::value, &Estimate::low, &Estimate::high})
        cells.emplace_back(advised.time_ns ? nine_digits(*advised.time_ns.*part / 1e6) : Value());
      add_ratio(cells, advised.to_baseline);
      cells.insert(cells.end(),
                   {nine_digits(advised.peak_bytes), Value(is_carried(advised)),
                    advised.published ? nine_digits(advised.published->ndcg10) : Value()});
      add_effectiveness(cells, advised);
      cells.insert(cells.end(),
                   {fmt::format("{}", fmt::join(advice.notes, " ")), advice.run.id.uuid});
      block.rows.push_back(std::move(cells));
    }
  }
  return sheet;
}

json number(double value) {
  return std::isfinite(value) ? json(value) : json();
}

template <typename T>
json json_of(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json json_of(const std::optional<Ratio>& ratio) {
  if (!ratio) return nullptr;
  return {{"ratio", number(ratio->ratio)},
          {"low", number(ratio->low)},
          {"high", number(ratio->high)},
          {"paired", ratio->paired},
          {"verdict", verdict_in_words(*ratio)}};
}

json json_of(const Ranked& ranked) {
  const Row& row = ranked.row;
  const Contender& contender = row.cell.cell.contender;
  const bool measured = is_measured(row);
  const Outcome outcome = outcome_of(ranked);
  return {{"contender", contender.id()},
          {"name", contender.name},
          {"sequence_tokens", row.cell.point.sequence_tokens},
          {"window", contender.window ? json(contender.window->text()) : json()},
          {"status", measured ? "ok" : outcome.status},
          {"reason", measured ? "" : outcome.reason},
          {"ms_per_document", measured ? number(ns_per_document(row) / 1e6) : json()},
          {"peak_bytes_per_document", measured ? number(bytes_per_document(row)) : json()},
          {"to_fastest", json_of(ranked.to_fastest)},
          {"to_baseline", json_of(row.ratio)}};
}

/// Windows are given as w, which may be fractional if interpolated; null if infinite.
json place(double at, XAxis x) {
  return number(x == XAxis::window ? (at - 1) / 2 : at);
}

json json_of(const CrossoverAnswer& answer, XAxis x) {
  json stretches = json::array(), crossings = json::array();
  for (const statistics::Stretch& stretch : answer.found.stretches) {
    stretches.push_back(
        {{"verdict", stretch.too_few ? interval_too_wide : name_of(stretch.verdict)},
         {"first", place(stretch.first, x)},
         {"last", place(stretch.last, x)}});
  }
  for (const statistics::Crossing& crossing : answer.found.crossings) {
    crossings.push_back({{"overtakes", crossing.a_overtakes},
                         {"at", crossing.at ? place(*crossing.at, x) : json()},
                         {"low", place(crossing.low, x)},
                         {"high", place(crossing.high, x)},
                         {"after", place(crossing.after, x)},
                         {"before", place(crossing.before, x)}});
  }
  return {{"contender", answer.contender},
          {"name", answer.name},
          {"sentence", answer.sentence},
          {"stretches", stretches},
          {"crossings", crossings}};
}

json json_of(const FitAnswer& fit) {
  return {{"contender", fit.contender},
          {"name", fit.name},
          {"longest_tokens", json_of(fit.longest)},
          {"next_tokens", json_of(fit.next)},
          {"next_status", fit.next ? json(name_of(fit.next_status)) : json()},
          {"next_reason", fit.next ? json(fit.next_reason) : json()},
          {"peak_bytes_per_document", json_of(fit.bytes_per_document)},
          {"predicted_longest_tokens", json_of(fit.predicted)},
          {"predicted_is_least", fit.predicted_is_least},
          {"sentence", fit.sentence}};
}

json json_of(const Answer& answer) {
  json rankings = json::array(), crossovers = json::array(), fits = json::array();
  for (const Ranking& ranking : answer.rankings) {
    json contenders = json::array();
    for (const Ranked& ranked : ranking.contenders) contenders.push_back(json_of(ranked));
    const auto id_of = [&ranking](const std::optional<Leader>& leader) {
      return leader && leader->is_clear()
                 ? json(ranking.contenders[leader->contender].row.cell.cell.contender.id())
                 : json();
    };
    rankings.push_back({{"place", ranking.place},
                        {"fastest", id_of(ranking.leaders.of_all)},
                        {"fastest_equivalent", id_of(ranking.leaders.of_equivalent)},
                        {"contenders", contenders}});
  }
  for (const CrossoverAnswer& crossover : answer.crossovers)
    crossovers.push_back(json_of(crossover, answer.x));
  for (const FitAnswer& fit : answer.fits) fits.push_back(json_of(fit));
  return {{"setting", answer.setting}, {"headline", headline_of(answer).sentences()},
          {"notes", answer.notes},     {"rankings", rankings},
          {"crossovers", crossovers},  {"longest_that_fits", fits}};
}

json milliseconds(const std::optional<Estimate>& time) {
  if (!time) return nullptr;
  return {{"value", number(time->value / 1e6)},
          {"low", number(time->low / 1e6)},
          {"high", number(time->high / 1e6)}};
}

std::string_view name_of_source(LongestDocument::From from) {
  switch (from) {
    case LongestDocument::From::measured:
      return "measured";
    case LongestDocument::From::between:
      return "interpolated";
    case LongestDocument::From::predicted:
      break;
  }
  return "predicted";
}

json json_of(const std::optional<LongestDocument>& longest) {
  if (!longest) return nullptr;
  return {{"document_tokens", longest->document_tokens},
          {"from", name_of_source(longest->from)},
          {"at_least", longest->at_least}};
}

json json_of(const std::vector<statistics::Crossing>& crossings) {
  json list = json::array();
  for (const statistics::Crossing& crossing : crossings) {
    list.push_back({{"overtakes", crossing.a_overtakes},
                    {"at", crossing.at ? number(*crossing.at) : json()},
                    {"low", number(crossing.low)},
                    {"high", number(crossing.high)}});
  }
  return list;
}

json published_json(const Advised& advised) {
  if (!advised.published) return nullptr;
  return {{"ndcg10", advised.published->ndcg10}, {"below_full", json_of(advised.published_loss)},
          {"task", advised.published->task},     {"source", advised.published->source},
          {"note", advised.published->note},     {"label", published_label}};
}

json measured_json(const Advised& advised) {
  if (!advised.measured) return nullptr;
  const MeasuredEffectiveness& own = *advised.measured;
  json measured = {{"measure", own.measure}, {"mean", own.mean},   {"queries", own.queries},
                   {"run", own.run},         {"qrels", own.qrels}, {"baseline", own.baseline},
                   {"margin", own.margin},   {"alpha", own.alpha}, {"label", measured_label}};
  if (const auto& tests = own.tests) {
    measured["difference"] = tests->difference;
    measured["low90"] = tests->interval90 ? json(tests->interval90->low) : json();
    measured["high90"] = tests->interval90 ? json(tests->interval90->high) : json();
    measured["p_equivalence"] = json_of(tests->p_equivalence);
    measured["p_difference"] = json_of(tests->p_difference);
    measured["equivalent"] = tests->equivalent;
    measured["verdict"] = verdict_in_words(*tests, own.alpha);
    measured["pairs"] = tests->n;
  }
  return measured;
}

json json_of(const Advised& advised) {
  return {{"contender", advised.contender},
          {"name", advised.name},
          {"pattern", advised.pattern},
          {"window", advised.window ? json(advised.window->text()) : json()},
          {"standing", name_of(advised.standing)},
          {"reason", advised.reason},
          {"ms", milliseconds(advised.time_ns)},
          {"to_baseline", json_of(advised.to_baseline)},
          {"peak_bytes", json_of(advised.peak_bytes)},
          {"bytes_with_tensors", json_of(advised.need_bytes)},
          {"memory_is_predicted", advised.memory_is_predicted},
          {"documents_at_once", json_of(advised.at_once)},
          {"longest_document", json_of(advised.longest)},
          {"times_longer", json_of(advised.times_longer)},
          {"crossings", json_of(advised.crossovers.crossings)},
          {"is_interpolated", advised.is_interpolated},
          {"between", advised.lower > 0 ? json({advised.lower, advised.upper}) : json()},
          {"is_rough", advised.is_rough},
          {"shorter_count_as", json_of(advised.counted_as)},
          {"measured", measured_json(advised)},
          {"published", published_json(advised)},
          {"sentence", advised.sentence},
          {"remarks", advised.remarks}};
}

json json_of(const DocumentLengths& documents) {
  return {{"count", documents.count()},      {"shortest", documents.shortest()},
          {"longest", documents.longest()},  {"mean", documents.mean()},
          {"p50", documents.percentile(50)}, {"p95", documents.percentile(95)}};
}

json json_of(const Advice& advice) {
  json contenders = json::array();
  for (const Advised& advised : advice.contenders) contenders.push_back(json_of(advised));
  const Question& question = advice.question;
  const Advised* const equivalent = fastest_equivalent(advice);
  return {
      {"run", advice.run.id.uuid},
      {"fastest_equivalent", equivalent != nullptr ? json(equivalent->contender) : json()},
      {"setting", advice.setting},
      {"baseline", json_of(advice.baseline)},
      {"query_tokens", json_of(question.query_tokens)},
      {question.of_sequences ? "sequence_tokens" : "document_tokens", json_of(question.documents)},
      {"candidates", question.candidates},
      {"memory_limit_bytes", json_of(question.memory_bytes)},
      {"latency_limit_ms", question.latency_ns ? json(*question.latency_ns / 1e6) : json()},
      {"heading", advice.heading},
      {"notes", advice.notes},
      {"contenders", contenders},
      {"lengths_to_measure", advice.to_measure},
      {"provenance", provenance_line(advice.run)}};
}

json whole_json(const RunInfo& run, std::span<const Answer> answers) {
  json settings = json::array();
  for (const Answer& answer : answers) settings.push_back(json_of(answer));
  const Answer none;
  const Answer& first = answers.empty() ? none : answers.front();
  return {{"run", run.id.uuid},     {"x", name_of(first.x)}, {"baseline", json_of(first.baseline)},
          {"shared", first.shared}, {"settings", settings},  {"provenance", provenance_line(run)}};
}

json whole_json(const RunInfo& /*run*/, std::span<const Advice> all) {
  json settings = json::array();
  for (const Advice& advice : all) settings.push_back(json_of(advice));
  return settings;
}

std::string sentences(const Answer& answer) {
  std::string text;
  if (!answer.setting.empty()) text += wrapped("== " + answer.setting, "   ");
  for (const std::string& sentence : headline_of(answer).sentences())
    text += wrapped(sentence, "  ");
  for (const std::string& note : answer.notes) text += wrapped(note, "  ");
  // With a single place, the ranking states the same.
  const bool has_several = answer.rankings.size() > 1;
  if (has_several && !answer.crossovers.empty()) {
    text += fmt::format("\nAlong the {}:\n", name_of(answer.x));
    for (const CrossoverAnswer& crossover : answer.crossovers)
      text += wrapped("  " + crossover.sentence, "      ");
  }
  std::string fits;
  for (const FitAnswer& fit : answer.fits) {
    if (has_several || fit.next) fits += wrapped("  " + fit.sentence, "      ");
  }
  if (!fits.empty()) text += "\nLongest length that fits:\n" + fits;
  return text + "\n" + write_sheet(sheet_of_rankings(answer), TableFormat::text);
}

std::string as_text(const RunInfo& run, std::span<const Answer> answers) {
  const std::string provenance = wrapped(provenance_line(run), "  ");
  if (answers.empty()) return provenance + "No heat of this run is finished yet.\n";
  std::string text = answers.front().shared;
  if (answers.front().baseline) text += fmt::format("; baseline: {}", *answers.front().baseline);
  text = wrapped(text, "  ");
  for (const Answer& answer : answers) {
    if (!answer.setting.empty()) text += "\n";
    text += sentences(answer);
  }
  return fmt::format("{}\n{}", text, provenance);
}

std::string sentences(const Advice& advice) {
  std::string text;
  if (!advice.setting.empty()) text += wrapped("== " + advice.setting, "   ");
  text += wrapped(advice.heading, "  ");
  for (const std::string& note : advice.notes) text += wrapped(note, "  ");
  text += "\n";
  std::size_t place = 0;
  for (const Advised& advised : advice.contenders) {
    const bool has_place = advised.standing == Standing::within_limits;
    if (has_place) ++place;
    text += wrapped(
        fmt::format("{:>3} {}", has_place ? fmt::format("{}.", place) : "-", advised.sentence),
        "      ");
    for (const std::string& remark : advised.remarks)
      text += wrapped("      " + remark, "        ");
  }
  return text;
}

std::string as_text(const RunInfo& run, std::span<const Advice> all) {
  std::string text;
  for (const Advice& advice : all) text.append(text.empty() ? "" : "\n").append(sentences(advice));
  return fmt::format("{}\n{}", text, wrapped(provenance_line(run), "  "));
}

template <typename Settings>
std::string write(const RunInfo& run, Settings settings, TableFormat format) {
  if (format == TableFormat::text) return as_text(run, settings);
  if (format == TableFormat::json) {
    return whole_json(run, settings).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  }
  if (format == TableFormat::csv) return write_sheet(sheet_for_programs(settings), format);
  Sheet sheet = sheet_for_people(settings);
  sheet.below = {provenance_line(run)};
  return write_sheet(sheet, format);
}

}  // namespace

std::string write_answers(const RunInfo& run, std::span<const Answer> answers, TableFormat format) {
  return write(run, answers, format);
}

std::string write_advice(const RunInfo& run, std::span<const Advice> all, TableFormat format) {
  return all.empty() ? write_answers(run, {}, format) : write(run, all, format);
}

}  // namespace attnscope::report
