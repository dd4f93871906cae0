// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "app/cli/text_arguments.h"
#include "base/gzip.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/documents/cache_file.h"
#include "engine/documents/document_cache_writer.h"
#include "engine/ranking/encode_run.h"
#include "engine/ranking/scoring_model.h"
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

}  // namespace attnscope::cli
