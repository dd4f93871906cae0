// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/measured_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fingerprint.h"
#include "base/json.h"
#include "base/line_file.h"
#include "engine/effectiveness/trec_files.h"

namespace attnscope::effectiveness {
namespace {

using nlohmann::json;

/// The checksum of the file's lines.
Result<std::string> sum_of(const std::filesystem::path& file) {
  auto lines = LineFile::open(file);
  if (!lines) return tl::unexpected(lines.error());
  RunningSum sum;
  while (true) {
    const auto line = lines->next();
    if (!line) return tl::unexpected(line.error());
    if (!*line) return fmt::format("{:016x}", sum.value());
    sum.add((*line)->text);
  }
}

std::string whole_path(const std::filesystem::path& file) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(file, failed);
  return (failed ? file : whole).lexically_normal().string();
}

Result<MeasuredRuns::Run> evaluated(const RunsToEvaluate::Run& wanted, const Qrels& qrels,
                                    const RunsQuestion& question,
                                    const std::vector<std::string>& queries,
                                    std::vector<std::string>& notes) {
  const auto run = TrecRun::read(wanted.file);
  if (!run) return tl::unexpected(run.error());
  auto sum = sum_of(wanted.file);
  if (!sum) return tl::unexpected(sum.error());
  const Evaluation evaluation = effectiveness::evaluate(*run, qrels, {question.measure}, {});
  const auto is_judged = [&](const auto& query) { return qrels.queries.contains(query.first); };
  if (std::ranges::none_of(run->queries, is_judged)) {
    return fail("{}: none of its queries is judged in {}; are both of the same collection?",
                wanted.file.string(), qrels.file.string());
  }
  std::ranges::copy(run->notes, std::back_inserter(notes));
  std::ranges::move(mismatches(*run, qrels), std::back_inserter(notes));
  MeasuredRuns::Run result{.file = whole_path(wanted.file),
                           .sum = std::move(*sum),
                           .contenders = wanted.contenders,
                           .values = {}};
  result.values.reserve(queries.size());
  for (const std::string& query : queries) {
    const auto found = evaluation.queries.find(query);
    result.values.push_back(found == evaluation.queries.end()
                                ? std::numeric_limits<double>::quiet_NaN()
                                : found->second.front());
  }
  return result;
}

MeasuredRuns::Run read_run(const JsonField& field, std::size_t queries) {
  MeasuredRuns::Run run{
      .file = field["file"].text(), .sum = field["sum"].text(), .contenders = {}, .values = {}};
  for (const JsonField& contender : field["contenders"].elements())
    run.contenders.push_back(contender.text());
  for (const JsonField& value : field["values"].elements()) {
    run.values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                         : value.number());
  }
  if (run.values.size() != queries)
    field.wrong(fmt::format("has {} values for {} queries", run.values.size(), queries));
  return run;
}

/// A query missing in a run counts as 0 if another run has it; queries missing in all runs are
/// ignored, since they would make all runs equivalent.
void complete(MeasuredRuns& measured) {
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < measured.queries.size(); ++i) {
    const bool is_there = std::ranges::any_of(
        measured.runs, [i](const MeasuredRuns::Run& run) { return !std::isnan(run.values[i]); });
    if (!is_there) ++left_out;
    for (MeasuredRuns::Run& run : measured.runs)
      if (is_there && std::isnan(run.values[i])) run.values[i] = 0;
  }
  if (left_out > 0) {
    measured.notes.push_back(
        fmt::format("{} of {} judged queries are in none of the runs and are ignored", left_out,
                    measured.queries.size()));
  }
}

}  // namespace

const MeasuredRuns::Run* MeasuredRuns::find(std::string_view contender) const {
  for (const Run& run : runs)
    if (std::ranges::find(run.contenders, contender) != run.contenders.end()) return &run;
  return nullptr;
}

Result<MeasuredRuns> evaluate(const RunsToEvaluate& wanted) {
  auto qrels = Qrels::read(wanted.qrels);
  if (!qrels) return tl::unexpected(qrels.error());
  if (Status known = check_grades({wanted.question.measure}, *qrels); !known)
    return tl::unexpected(known.error());
  auto sum = sum_of(wanted.qrels);
  if (!sum) return tl::unexpected(sum.error());
  MeasuredRuns measured{.question = wanted.question,
                        .folder = whole_path(wanted.folder.empty() ? "." : wanted.folder),
                        .qrels = whole_path(wanted.qrels),
                        .qrels_sum = std::move(*sum)};
  measured.queries.reserve(qrels->queries.size());
  for (const auto& [query, judgements] : qrels->queries) measured.queries.push_back(query);
  measured.notes = qrels->notes;
  for (const RunsToEvaluate::Run& run : wanted.runs) {
    auto values = evaluated(run, *qrels, wanted.question, measured.queries, measured.notes);
    if (!values) return tl::unexpected(values.error());
    measured.runs.push_back(std::move(*values));
  }
  if (wanted.question.complete) complete(measured);
  return measured;
}

json to_json(const MeasuredRuns& runs) {
  json list = json::array();
  for (const MeasuredRuns::Run& run : runs.runs) {
    json values = json::array();
    for (const double value : run.values)
      values.push_back(std::isnan(value) ? json() : json(value));
    list.push_back({{"file", run.file},
                    {"sum", run.sum},
                    {"contenders", run.contenders},
                    {"values", std::move(values)}});
  }
  return {{"measure", runs.question.measure.name()},
          {"baseline", runs.question.baseline},
          {"margin", runs.question.margin},
          {"alpha", runs.question.alpha},
          {"complete", runs.question.complete},
          {"folder", runs.folder},
          {"qrels", {{"file", runs.qrels}, {"sum", runs.qrels_sum}}},
          {"queries", runs.queries},
          {"runs", std::move(list)}};
}

Result<MeasuredRuns> read_measured_runs(const json& stored) {
  return read_json(stored, "the stored runs", [](const JsonField& root) {
    const JsonField measure = root["measure"];
    const JsonField qrels = root["qrels"];
    MeasuredRuns runs{.question = {.measure = measure.take(parse_measure(measure.text())),
                                   .baseline = root["baseline"].text(),
                                   .margin = root["margin"].number(),
                                   .alpha = root["alpha"].number(),
                                   .complete = root["complete"].truth()},
                      .folder = root["folder"].text(),
                      .qrels = qrels["file"].text(),
                      .qrels_sum = qrels["sum"].text()};
    for (const JsonField& query : root["queries"].elements()) runs.queries.push_back(query.text());
    for (const JsonField& run : root["runs"].elements())
      runs.runs.push_back(read_run(run, runs.queries.size()));
    return runs;
  });
}

}  // namespace attnscope::effectiveness
