// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/cut_texts.h"
#include "app/cli/model_arguments.h"
#include "app/cli/progress_line.h"
#include "app/cli/reranked_pairs.h"
#include "app/cli/worker_requests.h"
#include "base/gzip.h"
#include "base/read_files.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/documents/cache_file.h"
#include "engine/documents/document_cache_writer.h"
#include "engine/ranking/scoring_model.h"
#include "engine/store/fingerprint.h"
#include "engine/text/beir_folder.h"
#include "engine/text/pair_reader.h"
#include "engine/worker/worker_process.h"

namespace attnscope::cli {

namespace {

struct EncodeArguments {
  ModelArguments model;
  std::string documents, documents_format, dtype, out;
  BeirArguments beir;
  bool restart = false;
};

/// A tokenized document.
struct EncodedText {
  std::string id;
  std::vector<std::int32_t> tokens;
  std::int64_t line = 0;
};

/// Reads the documents of a file from its beginning.
class DocumentReader {
 public:
  [[nodiscard]] static Result<DocumentReader> open(const EncodeArguments& arguments,
                                                   const ScoringModel& model) {
    std::optional<PairFormat> format;
    if (!arguments.documents_format.empty()) {
      const auto parsed = parse_pair_format(arguments.documents_format);
      if (!parsed) return tl::unexpected(parsed.error());
      format = *parsed;
    }
    auto reader = PairReader::open(arguments.documents, format, PairParts::document);
    if (!reader) return tl::unexpected(reader.error());
    return DocumentReader(std::move(*reader), model);
  }

  /// The next document, or nothing at the end.
  [[nodiscard]] Result<std::optional<EncodedText>> next() {
    auto read = reader_.next();
    if (!read) return tl::unexpected(read.error());
    if (!*read) return std::optional<EncodedText>();
    TextPair& text = **read;
    auto tokens =
        model_->tokenizer->encode_document(text.document, model_->limits.most_document_tokens);
    if (!tokens) return fail("{}: {}", reader_.place(text.line), tokens.error().message);
    if (Status has_score = model_->check_document(tokens->document); !has_score)
      return fail("{}: {}", reader_.place(text.line), has_score.error().message);
    cut_.add_document(tokens->document_cut);
    EncodedText document{.id = std::move(text.document_id),
                         .tokens = std::move(tokens->document),
                         .line = text.line};
    fingerprint_.text(document.id);
    fingerprint_.integer(static_cast<std::int64_t>(document.tokens.size()));
    for (const std::int32_t token : document.tokens) fingerprint_.integer(token);
    return std::optional(std::move(document));
  }
  /// Skips that many documents, or all if there are fewer.
  [[nodiscard]] Status skip(std::int64_t documents) {
    for (std::int64_t i = 0; i < documents && interrupts() == 0; ++i) {
      const auto read = next();
      if (!read) return tl::unexpected(read.error());
      if (!*read) break;
    }
    return {};
  }
  /// Fingerprint of the ids and tokens of all documents read.
  [[nodiscard]] std::int64_t fingerprint() const { return fingerprint_.value(); }
  [[nodiscard]] std::string place(std::int64_t line) const { return reader_.place(line); }
  [[nodiscard]] std::string notes() const { return reader_.notes(); }
  [[nodiscard]] std::string cut_in_words() const { return cut_.in_words(model_->limits); }
  [[nodiscard]] std::optional<double> progress() const { return reader_.progress(); }

 private:
  DocumentReader(PairReader reader, const ScoringModel& model)
      : reader_(std::move(reader)), model_(&model) {}
  PairReader reader_;
  const ScoringModel* model_;
  store::Fingerprint fingerprint_;
  CutTexts cut_;
};

/// Properties of all documents, collected before the first is encoded: they give the size of the
/// cache and identify its documents.
struct CountedDocuments {
  std::map<std::int64_t, std::int64_t> of_length;  // tokens -> documents
  std::int64_t documents = 0, tokens = 0, id_bytes = 0;
  std::int64_t fingerprint = 0;  // of all ids and tokens
};

/// An error with the lines of two documents that have the same id and this hash, if there are any.
Status name_twins(DocumentReader& reader, std::size_t hash) {
  std::map<std::string, std::int64_t> lines;
  while (true) {
    auto text = reader.next();
    if (!text) return tl::unexpected(text.error());
    if (!*text) return {};
    if (std::hash<std::string_view>{}((*text)->id) != hash) continue;
    const auto [first, is_new] = lines.emplace((*text)->id, (*text)->line);
    if (is_new) continue;
    return fail("{}: the id '{}' is that of line {}, too; each document needs one of its own",
                reader.place((*text)->line), in_a_sentence((*text)->id), first->second);
  }
}

/// Checks by their hashes that all ids are different.
Status check_ids(std::vector<std::size_t> hashes, const EncodeArguments& arguments,
                 const ScoringModel& model) {
  std::ranges::sort(hashes);
  for (auto twin = std::ranges::adjacent_find(hashes); twin != hashes.end();
       twin = std::adjacent_find(twin + 1, hashes.end())) {
    auto again = DocumentReader::open(arguments, model);
    if (!again) return tl::unexpected(again.error());
    if (Status named = name_twins(*again, *twin); !named) return named;
  }
  return {};
}

/// Nothing if interrupted.
Result<std::optional<CountedDocuments>> count_documents(const EncodeArguments& arguments,
                                                        const ScoringModel& model, bool visible) {
  constexpr std::int64_t between_shows = 4096;
  auto reader = DocumentReader::open(arguments, model);
  if (!reader) return tl::unexpected(reader.error());
  CountedDocuments counted;
  std::vector<std::size_t> hashes;
  CountLine line(visible);
  while (true) {
    if (interrupts() > 0) return std::optional<CountedDocuments>();
    const auto text = reader->next();
    if (!text) return tl::unexpected(text.error());
    if (!*text) break;
    const auto length = static_cast<std::int64_t>((*text)->tokens.size());
    ++counted.documents;
    ++counted.of_length[length];
    counted.tokens += length;
    counted.id_bytes += static_cast<std::int64_t>((*text)->id.size());
    hashes.push_back(std::hash<std::string_view>{}((*text)->id));
    if (counted.documents % between_shows == 0) {
      line.show(fmt::format("{} documents counted", counted.documents),
                static_cast<double>(counted.documents), reader->progress());
    }
  }
  line.clear();
  note(reader->notes());
  note(reader->cut_in_words());
  if (Status different = check_ids(std::move(hashes), arguments, model); !different)
    return tl::unexpected(different.error());
  counted.fingerprint = reader->fingerprint();
  return std::optional(std::move(counted));
}

/// The existing contents of the cache.
struct Begun {
  std::int64_t encoded = 0, fingerprint = 0;
  bool is_finished = false;
};

/// Has the worker encode the documents that are not in the cache yet, in batches; memory does not
/// grow with the number of documents.
class EncodeRun {
 public:
  EncodeRun(const ScoringModel& model, WorkerProcess& worker, DocumentReader& reader,
            std::int64_t documents, const Begun& begun, bool visible)
      : model_(model),
        worker_(worker),
        reader_(reader),
        documents_(documents),
        begun_(begun),
        encoded_(begun.encoded),
        progress_(visible) {}

  /// Runs until the last document, an error or an interrupt.
  [[nodiscard]] Status run() {
    if (Status passed = reader_.skip(encoded_); !passed) return passed;
    if (encoded_ > 0 && interrupts() == 0 && reader_.fingerprint() != begun_.fingerprint) {
      return fail(
          "the {} documents that are encoded are others than those of the file by now; begin anew "
          "with --restart",
          encoded_);
    }
    auto batch = read_batch();
    while (batch && !batch->texts.empty() && interrupts() == 0) {
      const auto start = std::chrono::steady_clock::now();
      if (Status sent = worker_.send(request_of(*batch)); !sent) return sent;
      batch = read_batch();  // while the worker encodes
      const auto answer = wait_for(worker_, "documents-added", interrupts());
      if (!answer) return tl::unexpected(answer.error());
      if (!*answer) break;
      adapt(std::chrono::steady_clock::now() - start);
      encoded_ = (*answer)->value("encoded", encoded_);
      progress_.show(fmt::format("{} of {} documents", encoded_, documents_),
                     static_cast<double>(encoded_ - begun_.encoded),
                     static_cast<double>(encoded_ - begun_.encoded) /
                         static_cast<double>(documents_ - begun_.encoded));
    }
    progress_.clear();
    return batch ? Status() : tl::unexpected(batch.error());
  }
  [[nodiscard]] std::int64_t encoded() const { return encoded_; }

 private:
  struct Batch {
    std::vector<EncodedText> texts;
    std::int64_t fingerprint = 0;  // of all documents up to the last of the batch
  };

  /// Adapts the batch size so that a batch takes one to three seconds: an interrupt loses one
  /// batch.
  void adapt(std::chrono::duration<double> of_a_batch) {
    constexpr std::int64_t fewest = 1024, most = 16'384;
    constexpr double short_seconds = 1, long_seconds = 3;
    if (of_a_batch.count() < short_seconds) batch_tokens_ = std::min(2 * batch_tokens_, most);
    if (of_a_batch.count() > long_seconds) batch_tokens_ = std::max(batch_tokens_ / 2, fewest);
  }

  [[nodiscard]] Result<Batch> read_batch() {
    constexpr std::size_t most_documents = 4096;
    Batch batch;
    std::int64_t tokens = 0;
    while (tokens < batch_tokens_ && batch.texts.size() < most_documents && interrupts() == 0) {
      auto text = reader_.next();
      if (!text) return tl::unexpected(text.error());
      if (!*text) break;
      tokens += static_cast<std::int64_t>((*text)->tokens.size());
      batch.texts.push_back(std::move(**text));
    }
    batch.fingerprint = reader_.fingerprint();
    return batch;
  }

  [[nodiscard]] nlohmann::json request_of(const Batch& batch) const {
    nlohmann::json documents = nlohmann::json::array(), ids = nlohmann::json::array();
    for (const EncodedText& text : batch.texts) {
      documents.push_back(text.tokens);
      ids.push_back(text.id);
    }
    return {{"request", "add-documents"},
            {"cls", model_.tokenizer->cls()},
            {"documents", std::move(documents)},
            {"ids", std::move(ids)},
            {"fingerprint", batch.fingerprint}};
  }

  const ScoringModel& model_;
  WorkerProcess& worker_;
  DocumentReader& reader_;
  std::int64_t documents_;
  Begun begun_;
  std::int64_t encoded_;
  std::int64_t batch_tokens_ = 2048;
  CountLine progress_;
};

/// Performs all checks that precede the start of a worker.
Result<ScoringModel> prepare_encoding(EncodeArguments& arguments) {
  if (arguments.documents.empty() && !arguments.beir.is_given())
    return fail("--documents is required, or --beir");
  if (!arguments.documents.empty() && arguments.beir.is_given())
    return fail("--beir has the documents; leave --documents out");
  if (arguments.beir.is_given()) {
    const auto folder = BeirFolder::open(arguments.beir.folder);
    if (!folder) return tl::unexpected(folder.error());
    arguments.documents = folder->corpus.string();
  }
  struct stat info {};
  if (arguments.documents == "-" || (::stat(arguments.documents.c_str(), &info) == 0 &&
                                     !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))) {
    return fail("{}: is no file; documents are read twice, so write them into one",
                arguments.documents == "-" ? "standard input" : arguments.documents);
  }
  auto model = open_model(arguments.model);
  if (!model) return tl::unexpected(model.error());
  if (!model->keeps_documents) {
    return fail(
        "'{}' reads query and document together, so nothing can be encoded before; 'score' takes "
        "it with --pairs",
        arguments.model.checkpoint);
  }
  const auto computed = parse_dtype(arguments.model.question.dtype);
  if (!computed) return tl::unexpected(computed.error());
  if (has_gzip_name(arguments.out)) {
    return fail(
        "{}: a cache is mapped from its file and cannot be packed; give it a name without .gz",
        in_a_sentence(arguments.out, 400));
  }
  if (arguments.dtype.empty()) arguments.dtype = name_of(format_of(*computed));
  const auto kept = parse_vector_format(arguments.dtype);
  if (!kept) return fail("--dtype {}", kept.error().message);
  if (Status may = may_be_kept_in(*kept, *computed); !may) return tl::unexpected(may.error());
  if (Status may = may_be_written(arguments.out); !may) return tl::unexpected(may.error());
  if (Status free = CacheClaim::is_free(arguments.out); !free) return tl::unexpected(free.error());
  const std::filesystem::path part = arguments.out + ".part";
  if (is_read(part) || (::lstat(part.c_str(), &info) == 0 && S_ISREG(info.st_mode))) {
    if (Status may = may_be_written(part); !may) return tl::unexpected(may.error());
  }
  return model;
}

Result<Begun> begin_cache(WorkerProcess& worker, const EncodeArguments& arguments,
                          const ScoringModel& model, const CountedDocuments& counted) {
  nlohmann::json lengths = nlohmann::json::array();
  for (const auto& [length, documents] : counted.of_length) lengths.push_back({length, documents});
  Begun begun;
  const Status done =
      ask(worker,
          {{"request", "begin-cache"},
           {"out", std::filesystem::absolute(arguments.out).string()},
           {"format", arguments.dtype},
           {"documents", counted.documents},
           {"lengths", std::move(lengths)},
           {"id_bytes", counted.id_bytes},
           {"file", std::filesystem::path(arguments.documents).filename().string()},
           {"most_tokens", model.limits.most_tokens},
           {"fingerprint", counted.fingerprint},
           {"tokenizer", static_cast<std::int64_t>(model.tokenizer->fingerprint())},
           {"restart", arguments.restart}},
          [&](const nlohmann::json& event) {
            begun = {event.value("encoded", std::int64_t{0}),
                     event.value("fingerprint", std::int64_t{0}), event.value("finished", false)};
            return event.value("event", "") == "cache-begun";
          });
  if (!done) return tl::unexpected(done.error());
  return begun;
}

/// "5000 documents, 380123 tokens, 15360960 bytes in 12 s; ...".
std::string summary(const EncodeArguments& arguments, const CountedDocuments& counted,
                    const nlohmann::json& finished, double seconds) {
  std::string text =
      fmt::format("{}: {}, {} tokens, {} bytes, {:.1f} s", arguments.out,
                  attnscope::counted(static_cast<std::size_t>(counted.documents), "document"),
                  counted.tokens, finished.value("bytes", std::int64_t{0}), seconds);
  if (finished.contains("largest_relative_error")) {
    text += fmt::format("; relative error of its vectors in {}: {:.2g} at most, {:.2g} on average",
                        arguments.dtype, finished.value("largest_relative_error", 0.0),
                        finished.value("mean_relative_error", 0.0));
  }
  return text + "\n";
}

/// The command that continues an interrupted run.
std::string going_on(const EncodeArguments& arguments) {
  if (!arguments.restart) return "the same command";
  std::error_code unknown;
  const bool is_there = std::filesystem::exists(arguments.out, unknown);
  return fmt::format("the same command without --restart{}",
                     is_there ? fmt::format(", once {} is moved away,", arguments.out) : "");
}

void encode(Session& session, EncodeArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const bool visible = isatty(STDERR_FILENO) == 1;
  const auto refuse = [&](const Error& error) { session.fail(error); };
  const auto model = prepare_encoding(arguments);
  if (!model) return refuse(model.error());
  catch_interrupts();
  if (const auto readable = DocumentReader::open(arguments, *model); !readable)
    return refuse(readable.error());
  auto worker = start_model(arguments.model, model->request, &interrupts());
  if (!worker) return refuse(worker.error());
  const auto counted = count_documents(arguments, *model, visible);
  if (!counted) return refuse(counted.error());
  if (!*counted) {
    return session.fail(exit_cancelled,
                        "interrupted while the documents were counted; nothing of them is lost");
  }
  const std::int64_t documents = (*counted)->documents;
  if (const Status free = CacheClaim::is_free(arguments.out); !free) return refuse(free.error());
  const auto begun = begin_cache(worker->process, arguments, *model, **counted);
  if (!begun) return refuse(begun.error());
  const auto claim = CacheClaim::take(arguments.out);
  if (!claim) return refuse(claim.error());
  if (begun->is_finished) {
    say("attnscope: note: {} holds these documents already; --restart encodes them again",
        arguments.out);
  } else if (begun->encoded > 0) {
    say("attnscope: note: {} of {} documents are encoded already", begun->encoded, documents);
  }
  auto reader = DocumentReader::open(arguments, *model);
  if (!reader) return refuse(reader.error());
  EncodeRun run(*model, worker->process, *reader, documents, *begun, visible);
  if (!begun->is_finished) {
    const Status done = run.run();
    if (!done) return refuse(done.error());
  }
  if (interrupts() > 0) {
    worker->process.kill();
    return session.fail(exit_cancelled,
                        fmt::format("interrupted; {} of {} documents are encoded, and {} goes on "
                                    "with the others",
                                    run.encoded(), documents, going_on(arguments)));
  }
  nlohmann::json finished;
  const Status done =
      ask(worker->process, {{"request", "finish-cache"}}, [&](const nlohmann::json& event) {
        finished = event;
        return event.value("event", "") == "cache-finished";
      });
  if (!done) return refuse(done.error());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  print_result(session, summary(arguments, **counted, finished, elapsed.count()));
}

}  // namespace

void add_encode_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<EncodeArguments>();
  CLI::App* command = app.add_subcommand(
      "encode", "Encode documents into a cache for score --cache and rerank --cache");
  add_model_arguments(*command, arguments->model, "--compute-dtype");
  command->remove_option(command->get_option("--max-query-tokens"));  // the command has no queries
  command
      ->add_option("--documents", arguments->documents,
                   "Documents: .tsv (DOCID, TEXT), .jsonl or .json, optionally .gz")
      ->type_name("FILE");
  add_beir_options(*command, arguments->beir,
                   "BEIR folder whose corpus.jsonl is encoded, instead of --documents",
                   /*with_split=*/false);
  command
      ->add_option("--documents-format", arguments->documents_format,
                   "tsv, jsonl or json; default: by file name or first line. tsv-names: the first "
                   "line has column names; tsv-texts: it has texts")
      ->type_name("FORMAT");
  command
      ->add_option(
          "--dtype", arguments->dtype,
          "Data type of the cached vectors: float32, float16 or int8; default: the model's")
      ->type_name("D");
  command
      ->add_option("-o,--output", arguments->out,
                   "Cache file to write; FILE.part until it is complete")
      ->type_name("FILE")
      ->required();
  command->add_flag("--restart", arguments->restart,
                    "Start over instead of continuing an earlier encoding");
  command->callback([&session, arguments] { encode(session, *arguments); });
}

}  // namespace attnscope::cli
