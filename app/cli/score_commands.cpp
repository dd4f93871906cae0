// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/worker_requests.h"
#include "base/gzip.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/documents/document_cache.h"
#include "engine/documents/document_cache_writer.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/encode_run.h"
#include "engine/ranking/explained_pair.h"
#include "engine/ranking/score_lines.h"
#include "engine/ranking/score_run.h"
#include "engine/ranking/scored_pairs.h"
#include "engine/ranking/scoring_model.h"
#include "engine/text/pair_reader.h"
#include "engine/worker/ask.h"

namespace attnscope::cli {

namespace {

struct EncodeArguments {
  ModelArguments model;
  DocumentFile documents;
  BeirArguments beir;
  CacheToWrite cache;
};

/// Performs all checks that precede the start of a worker.
Result<ScoringModel> prepare_encoding(EncodeArguments& arguments) {
  std::string& documents = arguments.documents.name;
  const std::string& out = arguments.cache.out;
  if (documents.empty() && !arguments.beir.is_given())
    return fail("--documents or --beir is required");
  if (!documents.empty() && arguments.beir.is_given())
    return fail("--beir already gives the documents; remove --documents");
  if (arguments.beir.is_given()) {
    auto files = open_beir(arguments.beir, /*with_qrels=*/false);
    if (!files) return tl::unexpected(files.error());
    documents = std::move(files->documents);
  }
  struct stat info {};
  if (documents == "-" ||
      (::stat(documents.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))) {
    return fail("{}: is not a regular file; documents are read twice, so write them to a file",
                documents == "-" ? "standard input" : documents);
  }
  auto model = open_model(arguments.model);
  if (!model) return tl::unexpected(model.error());
  if (!model->keeps_documents) {
    return fail(
        "'{}' reads query and document together, so documents cannot be encoded in advance; use "
        "'score --pairs' with it",
        arguments.model.question.checkpoint.string());
  }
  const auto computed = parse_dtype(arguments.model.question.dtype);
  if (!computed) return tl::unexpected(computed.error());
  if (has_gzip_name(out)) {
    return fail("{}: a cache is memory-mapped and cannot be compressed; give it a name without .gz",
                in_a_sentence(out, 400));
  }
  if (arguments.cache.format.empty()) arguments.cache.format = name_of(format_of(*computed));
  const auto kept = parse_vector_format(arguments.cache.format);
  if (!kept) return fail("--dtype {}", kept.error().message);
  if (Status may = may_be_kept_in(*kept, *computed); !may) return tl::unexpected(may.error());
  if (Status may = may_be_written(out); !may) return tl::unexpected(may.error());
  if (Status free = CacheClaim::is_free(out); !free) return tl::unexpected(free.error());
  const std::filesystem::path part = out + ".part";
  if (is_read(part) || (::lstat(part.c_str(), &info) == 0 && S_ISREG(info.st_mode))) {
    if (Status may = may_be_written(part); !may) return tl::unexpected(may.error());
  }
  return model;
}

/// "5000 documents, 380123 tokens, 15360960 bytes in 12 s; ...".
std::string summary(const EncodeArguments& arguments, const CountedDocuments& counted,
                    const protocol::CacheFinished& finished, double seconds) {
  std::string text =
      fmt::format("{}: {}, {} tokens, {} bytes, {:.1f} s", arguments.cache.out,
                  attnscope::counted(static_cast<std::size_t>(counted.documents), "document"),
                  counted.tokens, finished.bytes, seconds);
  if (finished.largest_relative_error) {
    text += fmt::format("; relative error of the vectors in {}: {:.2g} at most, {:.2g} on average",
                        arguments.cache.format, *finished.largest_relative_error,
                        finished.mean_relative_error.value_or(0));
  }
  return text + "\n";
}

/// The command that continues an interrupted run.
std::string going_on(const EncodeArguments& arguments) {
  if (!arguments.cache.restart) return "the same command";
  std::error_code unknown;
  const bool is_there = std::filesystem::exists(arguments.cache.out, unknown);
  return fmt::format("the same command without --restart{}",
                     is_there ? fmt::format(", once {} is moved away,", arguments.cache.out) : "");
}

void encode(Session& session, EncodeArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const auto model = prepare_encoding(arguments);
  if (!model) return session.fail(model.error());
  catch_interrupts();
  if (const auto readable = DocumentReader::open(arguments.documents, *model); !readable)
    return session.fail(readable.error());
  auto worker = start_model(arguments.model, model->request, &interrupts());
  if (!worker) return session.fail(worker.error());
  CountLine counting;
  auto counted = count_documents(arguments.documents, *model, interrupts(),
                                 [&](std::int64_t documents, std::optional<double> share) {
                                   counting.show(fmt::format("{} documents counted", documents),
                                                 static_cast<double>(documents), share);
                                 });
  counting.clear();
  if (!counted) return session.fail(counted.error());
  if (!*counted) {
    return session.fail(exit_cancelled,
                        "interrupted while the documents were counted; nothing was encoded yet");
  }
  note((*counted)->notes);
  note((*counted)->cut_in_words);
  if (const Status different =
          check_ids(std::move((*counted)->id_hashes), arguments.documents, *model);
      !different) {
    return session.fail(different.error());
  }
  const std::int64_t documents = (*counted)->documents;
  if (const Status free = CacheClaim::is_free(arguments.cache.out); !free)
    return session.fail(free.error());
  const auto begun =
      begin_cache(worker->process, arguments.cache, arguments.documents, *model, **counted);
  if (!begun) return session.fail(begun.error());
  const auto claim = CacheClaim::take(arguments.cache.out);
  if (!claim) return session.fail(claim.error());
  if (begun->finished) {
    print_status(
        "attnscope: note: {} already contains these documents; --restart encodes them again",
        arguments.cache.out);
  } else if (begun->encoded > 0) {
    print_status("attnscope: note: {} of {} documents are already encoded", begun->encoded,
                 documents);
  }
  auto reader = DocumentReader::open(arguments.documents, *model);
  if (!reader) return session.fail(reader.error());
  CountLine progress;
  EncodeRun run(*model, worker->process, *reader, *begun, interrupts(), [&](std::int64_t encoded) {
    const auto now = static_cast<double>(encoded - begun->encoded);
    progress.show(fmt::format("{} of {} documents", encoded, documents), now,
                  now / static_cast<double>(documents - begun->encoded));
  });
  if (!begun->finished) {
    const Status done = run.run();
    progress.clear();
    if (!done) return session.fail(done.error());
  }
  if (interrupts() > 0) {
    worker->process.kill();
    return session.fail(
        exit_cancelled,
        fmt::format("interrupted; {} of {} documents are encoded, and {} continues with the others",
                    run.encoded(), documents, going_on(arguments)));
  }
  const auto finished = ask(worker->process, protocol::FinishCacheRequest());
  if (!finished) return session.fail(finished.error());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  print_result(session, summary(arguments, **counted, *finished, elapsed.count()));
}

}  // namespace

void add_encode_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<EncodeArguments>();
  CLI::App* command = app.add_subcommand(
      "encode", "Encode documents into a cache that score --cache and rerank --cache read");
  add_model_arguments(*command, arguments->model, "--compute-dtype");
  command->remove_option(command->get_option("--max-query-tokens"));  // the command has no queries
  add_option(*command, "--documents", arguments->documents.name, "FILE",
             "Documents to encode: .tsv (DOCID, TEXT), .jsonl or .json, optionally .gz");
  add_beir_options(*command, arguments->beir,
                   "BEIR folder whose corpus.jsonl is encoded, instead of --documents",
                   /*with_split=*/false);
  add_option(*command, "--documents-format", arguments->documents.format, "FORMAT",
             "Format of --documents: tsv, tsv-names (the first line names the columns), tsv-texts "
             "(the first line is a document), jsonl or json; default: by file name or first line");
  add_option(*command, "--dtype", arguments->cache.format, "D",
             "Data type of the cached vectors: float32, float16 or int8; default: the model's");
  add_option(*command, "-o,--output", arguments->cache.out, "FILE",
             "Cache file to write; it is named FILE.part until it is complete")
      ->required();
  command->add_flag("--restart", arguments->cache.restart,
                    "Start over, and replace an earlier encoding instead of continuing it");
  command->callback([&session, arguments] { encode(session, *arguments); });
}

namespace {

struct ScoreCommandArguments {
  ModelArguments model;
  std::string pairs, queries, cache, pairs_format, format = "tsv", tag, out;
  BeirArguments beir;
  ScoreOptions options;
  PrecisionArguments precision;
  std::int64_t top = 0;  // documents written per query; 0: all
  bool explain = false;
  std::string activation = "none";
};

/// All inputs, checked before a worker is started.
struct Prepared {
  ScoringModel model;
  std::optional<OpenedCache> cache;
  PairReader lines;
  std::optional<effectiveness::Qrels> qrels;  // of a data set, which restricts the queries
  ScoreFormat format;
  std::optional<WrittenFile> out;  // absent: standard output
};

/// The input file, the parts of a pair that its lines have, and a data set's judgements.
struct ScoredFile {
  std::string name;
  PairParts parts = PairParts::both;
  std::string qrels{};
};

Result<ScoredFile> file_of(const ScoreCommandArguments& arguments) {
  if (arguments.beir.is_given()) {
    if (!arguments.pairs.empty() || !arguments.queries.empty())
      return fail("--beir already gives the queries; remove --pairs and --queries");
    if (arguments.cache.empty()) {
      return fail(
          "--beir has no pairs; add --cache to score its queries against all documents, or use "
          "'attnscope rerank' for the documents of a first stage");
    }
    auto files = open_beir(arguments.beir);
    if (!files) return tl::unexpected(files.error());
    return ScoredFile{std::move(files->queries), PairParts::query, std::move(files->qrels)};
  }
  if (arguments.pairs.empty() && arguments.queries.empty()) {
    return fail("--pairs is required, or --cache with --queries to score all its documents");
  }
  if (!arguments.pairs.empty() && !arguments.queries.empty()) {
    return fail("--pairs and --queries exclude each other; remove one of them");
  }
  if (!arguments.queries.empty()) {
    if (arguments.cache.empty()) {
      return fail("--queries needs documents; add --cache, or use --pairs");
    }
    return ScoredFile{arguments.queries, PairParts::query};
  }
  return ScoredFile{arguments.pairs,
                    arguments.cache.empty() ? PairParts::both : PairParts::named_document};
}

Result<Prepared> prepare(const ScoreCommandArguments& arguments) {
  const auto format = parse_score_format(arguments.format);
  if (!format) return tl::unexpected(format.error());
  std::optional<PairFormat> pairs_format;
  if (!arguments.pairs_format.empty()) {
    const auto parsed = parse_pair_format(arguments.pairs_format);
    if (!parsed) return tl::unexpected(parsed.error());
    pairs_format = *parsed;
  }
  const auto file = file_of(arguments);
  if (!file) return tl::unexpected(file.error());
  auto lines = PairReader::open(file->name, pairs_format, file->parts);
  if (!lines) return tl::unexpected(lines.error());
  std::optional<effectiveness::Qrels> qrels;
  if (!file->qrels.empty()) {
    auto read = effectiveness::Qrels::read(file->qrels);
    if (!read) return tl::unexpected(read.error());
    qrels = std::move(*read);
  }
  auto model = open_ranker(arguments.model);
  if (!model) return tl::unexpected(model.error());
  if (*format == ScoreFormat::trec) {
    if (Status may = may_be_tag(arguments.tag); !may) return tl::unexpected(may.error());
  }
  auto cache = open_cache(arguments.cache, arguments.model, *model);
  if (!cache) return tl::unexpected(cache.error());
  Prepared prepared{std::move(*model), std::move(*cache), std::move(*lines),
                    std::move(qrels),  *format,           std::nullopt};
  if (!arguments.out.empty() && arguments.out != "-") {
    auto out = WrittenFile::of_output(arguments.out);
    if (!out) return tl::unexpected(out.error());
    prepared.out.emplace(std::move(*out));
  }
  return prepared;
}

/// The sources of everything that determines the first pair's score.
Result<std::string> explained(Prepared& prepared, const std::string& activation) {
  const auto pair = prepared.lines.next();
  if (!pair) return tl::unexpected(pair.error());
  if (!*pair) return fail("--explain: there is no pair to explain");
  const ScoringModel& model = prepared.model;
  const auto tokens = model.tokenizer->encode((*pair)->query, (*pair)->document, model.limits);
  if (!tokens) {
    return fail("{}: {}", prepared.lines.place((*pair)->line), tokens.error().message);
  }
  const std::vector<Explained> lines = explain_model(model, activation);
  const std::vector<ExplainedToken> explained = explain_tokens(model, *tokens);
  if (prepared.format == ScoreFormat::jsonl) {
    nlohmann::json facts = nlohmann::json::array(), ids, types, positions, texts;
    for (const Explained& line : lines)
      facts.push_back({{"what", line.what}, {"value", line.value}, {"source", line.source}});
    for (const ExplainedToken& token : explained) {
      ids.push_back(token.id);
      types.push_back(token.type);
      positions.push_back(token.position);
      texts.push_back(std::string(token.text));
    }
    return nlohmann::json({{"read", facts},
                           {"tokens", texts},
                           {"ids", ids},
                           {"types", types},
                           {"positions", positions}})
               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
           "\n";
  }
  std::string text;
  const auto to = std::back_inserter(text);
  for (const Explained& line : lines) {
    fmt::format_to(to, "{:<18}{}{}\n", line.what, line.value,
                   line.source.empty() ? "" : fmt::format("  ({})", line.source));
  }
  fmt::format_to(to, "\n{:>5}  {:>8}  {:>4}  {:>8}  {:<8}  token\n", "place", "id", "type",
                 "position", "part");
  std::size_t place = 0;
  for (const ExplainedToken& token : explained) {
    fmt::format_to(to, "{:>5}  {:>8}  {:>4}  {:>8}  {:<8}  {}\n", place++, token.id, token.type,
                   token.position, token.part, visible(token.text));
  }
  return text;
}

void score(Session& session, const ScoreCommandArguments& arguments) {
  auto prepared = prepare(arguments);
  if (!prepared) return session.fail(prepared.error());
  if (arguments.explain) {
    if (!arguments.out.empty()) {
      return session.fail(exit_wrong_use,
                          "--explain prints to standard output; remove -o, or redirect the output");
    }
    const auto text = explained(*prepared, arguments.activation);
    if (!text) return session.fail(text.error());
    return print_result(session, *text);
  }
  catch_interrupts();
  auto worker = start_model(arguments.model, prepared->model.request, &interrupts());
  if (!worker) return session.fail(worker.error());
  if (prepared->cache) {
    const Status opened = prepared->cache->open_in(worker->process);
    if (!opened) return session.fail(opened.error());
  }
  const auto sigmoid = applies_sigmoid(prepared->model, arguments.activation);
  if (!sigmoid) return session.fail(sigmoid.error());
  const std::string tag = run_tag(arguments.tag, prepared->model);
  const ScoringModel& model = prepared->model;
  ScoredPairs pairs =
      prepared->cache ? ScoredPairs(model, std::move(prepared->lines), prepared->cache->documents,
                                    arguments.cache, arguments.pairs.empty())
                      : ScoredPairs(model, std::move(prepared->lines));
  if (prepared->qrels) pairs.keep_judged(*prepared->qrels);
  const bool is_of_all = prepared->cache && arguments.pairs.empty();
  ScoreLines lines(
      prepared->format, tag,
      {.top = arguments.top, .applies_sigmoid = *sigmoid, .documents_differ = is_of_all});
  for (std::int64_t i = 0; is_of_all && i < prepared->cache->documents.documents(); ++i) {
    const Status may = lines.check_document_id(prepared->cache->documents.id(i));
    if (!may) {
      return session.fail(exit_wrong_use,
                          fmt::format("{}: {}", arguments.cache, may.error().message));
    }
  }
  const auto print_scores = [](const std::string& text) -> Status {
    // Data that an earlier write lost is also missing.
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
        std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
      return {};
    }
    return fail("the scores could not be written ({}); free disk space, or give a file with -o",
                system_reason(errno));
  };
  ScoreRun run(model, worker->process, pairs, prepared->cache.has_value(), std::move(lines),
               {.file = prepared->out ? &*prepared->out : nullptr, .stream = print_scores},
               interrupts(), arguments.options);
  auto comparison = PrecisionComparison::start(arguments.model, model, arguments.precision,
                                               prepared->cache ? &*prepared->cache : nullptr);
  if (!comparison) return session.fail(comparison.error());
  run.count_ties_of(arguments.model.question);
  const bool stays = prepared->out && prepared->out->replaces();  // unless all pairs are scored
  const Status done = run_with_progress(run, *comparison ? &**comparison : nullptr);
  note(pairs.cut_in_words());
  note(pairs.notes());
  if (!done) {
    const Error why = prepared->cache ? prepared->cache->explained(done.error()) : done.error();
    return session.fail(
        exit_wrong_use,
        stays ? fmt::format("{} ({} is unchanged)", why.message, arguments.out)
              : fmt::format("{} ({} scores before it are written)", why.message, run.written()));
  }
  if (run.was_interrupted()) {
    session.fail(
        exit_cancelled,
        stays ? fmt::format("interrupted; {} is unchanged", arguments.out)
              : fmt::format("interrupted; the scores of {} pairs are written", run.written()));
  }
}

}  // namespace

void add_score_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ScoreCommandArguments>();
  CLI::App* command = app.add_subcommand("score", "Score query-document pairs with a checkpoint");
  add_model_arguments(*command, arguments->model);
  add_option(
      *command, "--pairs", arguments->pairs, "FILE",
      "Query-document pairs: .tsv, .jsonl or .json, optionally .gz, or - for standard input");
  add_option(
      *command, "--cache", arguments->cache, "FILE",
      "Document cache written by 'encode'; --pairs then has the columns QID, DOCID, QUERY. Changes "
      "the defaults of --batch-pairs and --read-ahead to 16384, and of --batch-tokens to no limit");
  add_option(*command, "--queries", arguments->queries, "FILE",
             "Queries to score against every document of --cache, instead of --pairs: .tsv (QID, "
             "QUERY), .jsonl or .json, optionally .gz");
  add_beir_options(*command, arguments->beir,
                   "BEIR folder whose judged queries are scored, instead of --queries");
  add_option(
      *command, "--pairs-format", arguments->pairs_format, "FORMAT",
      "Format of --pairs and --queries: tsv, tsv-names (the first line names the columns), "
      "tsv-texts (the first line is text), jsonl or json; default: by file name or first line");
  add_option(*command, "--format", arguments->format, "FORMAT", "Output format: tsv, trec or jsonl")
      ->capture_default_str();
  add_count(*command, "--top", arguments->top,
            "Write only the N best documents of each query, in descending order of score; default: "
            "all");
  command->add_flag("--explain", arguments->explain,
                    "Print how the first pair is read, without scoring it: tokenizer, length "
                    "limit, prompt, head and label, each with its source file, and every token "
                    "with id, type and position; --format jsonl prints JSON");
  add_option(*command, "--activation", arguments->activation, "A",
             "Activation applied to scores: none, sigmoid, or checkpoint (as in predict() of "
             "sentence-transformers)")
      ->capture_default_str();
  add_option(
      *command, "--tag", arguments->tag, "TEXT",
      "Tag of the TREC run, its last column; default: the checkpoint's name, then the pattern, "
      "window and precision that are not its own, such as DIR-full-int8");
  add_scoring_arguments(*command, arguments->model, arguments->options);
  add_precision_arguments(*command, arguments->precision);
  add_option(*command, "-o,--output", arguments->out, "FILE",
             "File to write; - is standard output; compressed if its name ends in .gz; default: "
             "standard output");
  command->callback([&session, arguments, command] {
    if (!arguments->cache.empty()) raise_limits_for_cache(*command, arguments->options);
    score(session, *arguments);
  });
}

}  // namespace attnscope::cli
