// SPDX-License-Identifier: GPL-3.0-or-later
//
// evaluate: the effectiveness of rankings, and whether they are equivalent.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/text_arguments.h"
#include "base/gzip.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/effectiveness/measures.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/report/effectiveness.h"
#include "engine/report/sheet.h"
#include "engine/text/text_collection.h"

namespace attnscope::cli {

namespace {

struct EvaluateCommand {
  std::string qrels, baseline, measures = "nDCG@10,RR@10,AP,Judged@10", correction = "none",
                               format = "text";
  std::vector<std::string> runs;
  report::EffectivenessQuestion question;
  bool per_query = false, differences = false;
  effectiveness::ThirdColumn third_column = effectiveness::ThirdColumn::unknown;
  std::string queries, documents;  // texts of differing documents
};

/// File names without common parts: without folders if the names alone distinguish them.
std::vector<std::string> names_of(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const std::string& file : files) names.push_back(without_gzip_ending(file).stem().string());
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end() ? names : files;
}

/// Inserts the baseline first if it is not among the files; returns its index.
std::optional<std::size_t> place_baseline(const std::string& baseline,
                                          std::vector<std::string>& files) {
  if (baseline.empty()) return std::nullopt;
  const FileId id = file_id(baseline);
  const auto found = std::ranges::find_if(files, [&](const std::string& file) {
    return file == baseline || (id != FileId{} && file_id(file) == id);
  });
  if (found != files.end()) return static_cast<std::size_t>(found - files.begin());
  // A baseline may also be named as in the table, unless a file has that name.
  const std::vector<std::string> names = names_of(files);
  const auto named = std::ranges::find(names, baseline);
  if (id == FileId{} && named != names.end())
    return static_cast<std::size_t>(named - names.begin());
  files.insert(files.begin(), baseline);
  return 0;
}

Result<report::EffectivenessReport> evaluated(EvaluateCommand& arguments) {
  if (arguments.correction != "none" && arguments.correction != "bonferroni") {
    return fail("there is no correction '{}' for several runs; known: none, bonferroni",
                in_a_sentence(arguments.correction));
  }
  // The options' ranges accept NaN.
  if (std::isnan(arguments.question.margin) || std::isnan(arguments.question.alpha))
    return fail("--margin and --alpha must be numbers above 0");
  arguments.question.bonferroni = arguments.correction == "bonferroni";
  const auto measures = effectiveness::parse_measures(arguments.measures);
  if (!measures) return tl::unexpected(measures.error());
  for (std::size_t i = 0; i < arguments.runs.size(); ++i) {
    const FileId id = file_id(arguments.runs[i]);
    for (const std::string& other : std::span(arguments.runs).subspan(i + 1)) {
      if (other != arguments.runs[i] && (id == FileId{} || file_id(other) != id)) continue;
      return fail("the run '{}' is given twice, also as '{}'; give it once",
                  in_a_sentence(arguments.runs[i]), in_a_sentence(other));
    }
  }
  arguments.question.baseline = place_baseline(arguments.baseline, arguments.runs);
  if (arguments.differences && !arguments.question.baseline) {
    return fail("--differences compares with a baseline; give it with --baseline RUN");
  }
  if (arguments.question.baseline && arguments.runs.size() == 1) {
    return fail("the baseline is the only run; give another run to compare with it");
  }
  auto qrels = effectiveness::Qrels::read(arguments.qrels);
  if (!qrels) return tl::unexpected(qrels.error());
  if (Status known = effectiveness::check_grades(*measures, *qrels); !known)
    return tl::unexpected(known.error());
  const std::vector<std::string> names = names_of(arguments.runs);
  std::vector<report::EvaluatedRun> runs;
  runs.reserve(arguments.runs.size());
  for (std::size_t i = 0; i < arguments.runs.size(); ++i) {
    auto run = effectiveness::TrecRun::read(arguments.runs[i], arguments.third_column);
    if (!run) return tl::unexpected(run.error());
    if (!arguments.question.evaluation.complete &&
        std::ranges::none_of(run->queries, [&](const auto& query) {
          return qrels->queries.contains(query.first);
        })) {
      return fail("{}: none of its queries is judged in {}, so nothing can be evaluated",
                  arguments.runs[i], arguments.qrels);
    }
    runs.push_back({.name = names[i], .run = std::move(*run)});
  }
  report::EffectivenessReport report =
      report::evaluate_runs(std::move(runs), *qrels, *measures, arguments.question);
  report.notes.insert(report.notes.begin(), qrels->notes.begin(), qrels->notes.end());
  return report;
}

Result<std::optional<TextCollection>> open_texts_of(const std::string& file, PairParts parts) {
  if (file.empty()) return std::optional<TextCollection>();
  auto texts = open_texts(file, parts);
  if (!texts) return tl::unexpected(texts.error());
  return std::optional(std::move(*texts));
}

/// A text by its id; "" without a collection, or if the id is missing, which `missing` counts.
Result<std::string> text_of(std::optional<TextCollection>& texts, const std::string& id,
                            std::size_t& missing) {
  if (!texts) return std::string();
  auto text = texts->find(id);
  if (!text) return tl::unexpected(text.error());
  if (!*text) ++missing;
  return text->value_or("");
}

/// Adds the texts of both given collections to the differences.
Status add_texts(const EvaluateCommand& arguments,
                 std::vector<report::RankingDifference>& differences) {
  auto queries = open_texts_of(arguments.queries, PairParts::query);
  if (!queries) return tl::unexpected(queries.error());
  auto documents = open_texts_of(arguments.documents, PairParts::document);
  if (!documents) return tl::unexpected(documents.error());
  std::size_t missing = 0;
  for (report::RankingDifference& difference : differences) {
    auto query = text_of(*queries, difference.query, missing);
    if (!query) return tl::unexpected(query.error());
    difference.text = std::move(*query);
    for (report::MovedDocument& moved : difference.moved) {
      auto document = text_of(*documents, moved.id, missing);
      if (!document) return tl::unexpected(document.error());
      moved.text = std::move(*document);
    }
  }
  if (missing > 0) print_status("attnscope: note: {} ids have no text in these files", missing);
  return {};
}

void print_differences(Session& session, const EvaluateCommand& arguments,
                       const report::EffectivenessReport& report, report::TableFormat format) {
  auto differences = report::differences_of(report);
  if (Status added = add_texts(arguments, differences); !added) return session.fail(added.error());
  print_result(session, format == report::TableFormat::json
                            ? report::write_differences(differences)
                            : report::write_sheet(
                                  report::differences_sheet(report, differences, format), format));
}

void evaluate(Session& session, EvaluateCommand& arguments) {
  const auto format = report::parse_table_format(arguments.format);
  if (!format) return session.fail(format.error());
  const auto report = evaluated(arguments);
  if (!report) return session.fail(report.error());
  for (const std::string& sentence : report->notes) note(sentence);
  if (arguments.differences) return print_differences(session, arguments, *report, *format);
  const report::Sheet sheet = arguments.per_query ? report::per_query_sheet(*report, *format)
                                                  : report::effectiveness_sheet(*report, *format);
  print_result(session, report::write_sheet(sheet, *format));
}

}  // namespace

void add_evaluate_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<EvaluateCommand>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Evaluate TREC runs, and test whether they are equivalent to a baseline");
  add_option(*command, "runs", arguments->runs, "RUN",
             "TREC runs to evaluate (QID Q0 DOCID RANK SCORE TAG), optionally .gz")
      ->required();
  add_option(
      *command, "--qrels", arguments->qrels, "FILE",
      "Relevance judgements (QID 0 DOCID RELEVANCE, or BEIR's three columns), optionally .gz")
      ->required();
  add_run_columns_option(*command, arguments->third_column);
  add_option(*command, "--baseline", arguments->baseline, "RUN",
             "Run that the others are tested against: its file, or its name in the table");
  add_option(*command, "--measures", arguments->measures, "NAME,...",
             "Measures to compute, named as in ir-measures (nDCG, nDCG(dcg='exp-log2'), RR, AP, P, "
             "R, Rprec, Success, ERR, Bpref, SetP, SetR, SetF, SetAP, Judged, with @k and (rel=2)) "
             "or in trec_eval (ndcg_cut_10, map, recip_rank, P_5, recall_100)")
      ->capture_default_str();
  add_option(*command, "--margin", arguments->question.margin, "D",
             "Largest difference between two means that counts as equivalent")
      ->capture_default_str()
      ->check(CLI::Range(1e-9, 1.0));
  add_option(*command, "--alpha", arguments->question.alpha, "A", "Significance level of each test")
      ->capture_default_str()
      ->check(CLI::Range(1e-12, 0.5));
  add_option(*command, "--correction", arguments->correction, "NAME",
             "Correction of --alpha for several runs: none or bonferroni")
      ->capture_default_str();
  command->add_flag("-c,--complete", arguments->question.evaluation.complete,
                    "Count judged queries that are missing in a run as 0 (trec_eval -c)");
  command->add_flag("-J,--judged-only", arguments->question.evaluation.judged_only,
                    "Remove unjudged documents before ranking (trec_eval -J)");
  auto* per_query = command->add_flag("--per-query", arguments->per_query,
                                      "Print the values of every query instead of means and tests");
  auto* differences = command
                          ->add_flag("--differences", arguments->differences,
                                     "Print how the ranking of each query differs from the "
                                     "baseline's, instead of means and tests")
                          ->excludes(per_query);
  add_option(*command, "--queries", arguments->queries, "FILE",
             "Query texts, in a file as for rerank; --differences --format json includes them")
      ->needs(differences);
  add_option(*command, "--documents", arguments->documents, "FILE",
             "Document texts, in a file as for rerank; --differences --format json includes those "
             "of moved documents")
      ->needs(differences);
  add_format_option(*command, arguments->format);
  command->callback([&session, arguments] { evaluate(session, *arguments); });
}

}  // namespace attnscope::cli
