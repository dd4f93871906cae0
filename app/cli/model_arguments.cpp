// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/model_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/worker_requests.h"
#include "base/written_file.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/pattern/axes.h"
#include "engine/text/text_collection.h"

namespace attnscope::cli {

void add_checkpoint_option(CLI::App& command, std::filesystem::path& checkpoint) {
  add_option(
      command, "--checkpoint", checkpoint, "DIR|NAME",
      "Checkpoint: a folder in Hugging Face's layout, or a hub name ORG/NAME[@REVISION] that "
      "'hf download' has fetched")
      ->required();
}

void note_revision(const ScoringModel& model) {
  if (model.place.revision.empty()) return;
  note(fmt::format("{} is revision {} of the hub's cache", model.name, model.place.revision));
}

void add_model_arguments(CLI::App& command, ModelArguments& arguments, const char* dtype_option) {
  ModelQuestion& question = arguments.question;
  add_checkpoint_option(command, question.checkpoint);
  add_option(command, "--pattern", question.pattern, "PATTERN",
             "Attention pattern: built-in name or JSON file; default: the checkpoint's");
  add_option(
      command, "--window", question.window, "W",
      "Attention window: tokens attended to on each side, or inf; default: the checkpoint's");
  add_option(
      command, "--local-pattern", question.local_pattern, "PATTERN",
      "Attention pattern of the local layers (ModernBERT); default: --pattern applies to all "
      "layers");
  add_option(command, "--local-window", question.local_window, "W",
             "Attention window of the local layers: tokens on each side, or inf");
  add_option(command, "--implementation", question.implementation, "ID",
             "Attention implementation; default: segment, or the first that supports the pattern");
  add_option(command, dtype_option, question.dtype, "DTYPE",
             "Data type of the model: float32, float16 or bfloat16")
      ->capture_default_str();
  add_option(command, "--device", question.device, "DEVICE", "cpu or cuda")->capture_default_str();
  add_option(command, "--threads", arguments.threads, "N",
             "Number of CPU threads; default: 0, which uses all cores")
      ->check(CLI::Range(0, 4096));
  add_count(
      command, "--max-tokens", question.most_tokens,
      "Maximum number of tokens of a pair, with [CLS] and every [SEP]; longer pairs are truncated, "
      "the longer text first. For models that encode query and document separately: of each "
      "text, with its [CLS] and [SEP]. Default: the checkpoint's limit, or else its number of "
      "positions");
  add_count(command, "--max-query-tokens", question.most_query_tokens,
            "Maximum number of tokens of a query with its [SEP]; default: the checkpoint's");
  add_count(
      command, "--extend-positions", question.positions,
      "Interpolate the position embeddings to this number of positions; default: no interpolation");
  add_option(
      command, "--label", question.label, "LABEL",
      "Score of a model with several labels: 1 (logit of label 1), 1-0 (difference of two "
      "logits) or log-softmax-1 (log-probability of label 1); default: none, which is an error "
      "for such a model");
  add_worker_options(command, arguments.worker);
}

Result<ScoringModel> open_model(const ModelArguments& arguments) {
  auto model = ScoringModel::open(arguments.question);
  if (model) {
    for (const std::filesystem::path& file : model->files) note_read(file);
    note(model->note);
    note_revision(*model);
  }
  return model;
}

Result<ScoringModel> open_ranker(const ModelArguments& arguments) {
  auto model = open_model(arguments);
  if (model && !model->gives_scores) {
    const std::string& unread = model->sentence->unread_modules;
    return fail("'{}' is an encoder without a classification head, so it has no scores; {}",
                arguments.question.checkpoint.string(),
                !unread.empty() ? unread
                                : "use a checkpoint that was trained to rank, with the tensors "
                                  "classifier.weight and classifier.bias");
  }
  return model;
}

Result<std::optional<OpenedCache>> open_cache(const std::string& file,
                                              const ModelArguments& arguments,
                                              const ScoringModel& model) {
  if (file.empty()) return std::nullopt;
  auto opened = OpenedCache::open(file, arguments.question, model);
  if (!opened) return tl::unexpected(opened.error());
  note(opened->note);
  return std::move(*opened);
}

Result<WorkerProcess> start_worker(const ModelArguments& arguments,
                                   const std::atomic<int>* interrupted) {
  auto worker = start(arguments.worker, interrupted);
  if (!worker) return tl::unexpected(worker.error());
  if (!is_this_machine(worker->hello())) {
    return fail(
        "the worker is on another machine and cannot read the checkpoint's files; run this command "
        "there");
  }
  return std::move(*worker);
}

int threads_of(const ModelArguments& arguments, const WorkerProcess& worker) {
  return arguments.threads > 0 ? arguments.threads : worker_cores(worker.hello());
}

namespace {

/// Notes that bfloat16, which is chosen for speed, is slow on this processor.
void note_slow_products(const protocol::Hello& hello, Products precision) {
  const std::string set = text_field(hello.device, "instruction_set");
  if (precision != Products::bfloat16 || set == "avx512-bf16" || set == "amx") return;
  note(
      fmt::format("this processor has no bfloat16 multiplication (its instructions: {}), so "
                  "--precision bfloat16 is slower here than float32 and less exact; int8 is faster",
                  set.empty() ? "unknown" : set));
}

}  // namespace

Result<ModelWorker> start_model(const ModelArguments& arguments, protocol::ModelRequest request,
                                const std::atomic<int>* interrupted) {
  auto worker = start_worker(arguments, interrupted);
  if (!worker) return tl::unexpected(worker.error());
  note_slow_products(worker->hello(), request.precision);
  request.threads = threads_of(arguments, *worker);
  auto loaded = ask(*worker, request);
  if (!loaded) return tl::unexpected(loaded.error());
  return ModelWorker{std::move(*worker), std::move(loaded->implementation), request.threads};
}

Result<TurnHolder> wait_for_turn(const ModelArguments& arguments, std::string what, bool now) {
  const auto device = parse_device(arguments.question.device);
  if (!device) return tl::unexpected(device.error());
  return wait_for_turn(arguments.worker, {*device}, std::move(what), now);
}

void add_scoring_arguments(CLI::App& command, ModelArguments& model, ScoreOptions& options) {
  model.question.only_scores = true;
  CLI::Option* cls_only = command.add_flag_callback(
      "--cls-only-last-layer", [&model] { model.question.options.emplace("cls-only-last-layer"); },
      "Compute the last layer only for [CLS]; an error if the model needs its other tokens. "
      "Default: only for [CLS] where that does not change scores");
  command
      .add_flag_callback(
          "--whole-last-layer", [&model] { model.question.only_scores = false; },
          "Compute the last layer for all tokens, even where that does not change scores")
      ->excludes(cls_only);
  add_option(command, "--precision", model.question.precision, "DTYPE",
             "Precision of the products of linear layers: float32, bfloat16 or int8; everything "
             "else stays in float32")
      ->capture_default_str();
  add_count(command, "--batch-tokens", options.batches.tokens,
            "Maximum number of tokens in a batch")
      ->capture_default_str();
  add_count(command, "--batch-pairs", options.batches.pairs, "Maximum number of pairs in a batch")
      ->capture_default_str();
  add_count(command, "--read-ahead", options.read_ahead,
            "Number of pairs that are read ahead and then grouped into batches")
      ->capture_default_str();
}

void add_precision_arguments(CLI::App& command, PrecisionArguments& arguments) {
  command
      .add_option_function<std::int64_t>(
          "--precision-sample",
          [&arguments](std::int64_t pairs) {
            arguments.sample = pairs;
            arguments.is_sample_given = true;
          },
          "Number of pairs, from the beginning of the input, that are also scored in float32 to "
          "report what --precision changes; 0 disables it. Default: 256, or all pairs with --qrels")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000'000));
  add_option(command, "--qrels", arguments.qrels, "FILE",
             "Relevance judgements, optionally .gz: also report what --precision changes in "
             "nDCG@10, and whether both are equivalent within 0.02");
}

void raise_limits_for_cache(const CLI::App& command, ScoreOptions& options) {
  constexpr std::int64_t many = 16'384;
  if (command.get_option("--batch-pairs")->count() == 0) options.batches.pairs = many;
  if (command.get_option("--batch-tokens")->count() == 0)
    options.batches.tokens = std::numeric_limits<std::int64_t>::max() / 2;
  if (command.get_option("--read-ahead")->count() == 0) options.read_ahead = many;
}

Result<std::optional<PrecisionComparison>> PrecisionComparison::start(
    const ModelArguments& model, const ScoringModel& scored, const PrecisionArguments& requested,
    const OpenedCache* cache) {
  const std::string& precision = model.question.precision;
  if (precision == "float32") {
    if (requested.qrels.empty() && !requested.is_sample_given) return std::nullopt;
    return fail(
        "{} reports what a --precision other than float32 changes; add --precision, or evaluate "
        "the run with 'attnscope evaluate'",
        requested.qrels.empty() ? "--precision-sample" : "--qrels");
  }
  if (requested.sample == 0) return std::nullopt;
  std::optional<effectiveness::Qrels> qrels;
  if (!requested.qrels.empty()) {
    auto read = effectiveness::Qrels::read(requested.qrels);
    if (!read) return tl::unexpected(read.error());
    qrels = std::move(*read);
  }
  const std::int64_t sample = qrels && !requested.is_sample_given ? -1 : requested.sample;
  protocol::ModelRequest request = scored.request;
  request.precision = Products::float32;
  auto worker = start_model(model, std::move(request), &interrupts());
  if (!worker) return tl::unexpected(worker.error());
  if (cache != nullptr) {
    if (Status opened = cache->open_in(worker->process); !opened)
      return tl::unexpected(opened.error());
  }
  return PrecisionComparison{std::move(worker->process), sample, {precision, std::move(qrels)}};
}

Status run_with_progress(ScoreRun& run, PrecisionComparison* comparison) {
  CountLine progress;
  run.report_to(
      [&](std::int64_t pairs, std::optional<double> share) {
        progress.show(fmt::format("{} pairs", pairs), static_cast<double>(pairs), share);
      },
      [&] { progress.clear(); });
  if (comparison != nullptr) {
    run.compare_with(
        comparison->worker, comparison->sample,
        [&](const std::string& query, const std::string& document, float score, float exact) {
          comparison->cost.add(query, document, {.narrow = score, .exact = exact});
        });
  }
  const Status done = run.run();
  if (comparison != nullptr) {
    for (const std::string& sentence : comparison->cost.sentences())
      print_status("attnscope: {}", sentence);
  }
  note(run.ties_in_words());
  return done;
}

CLI::Option* add_pairs_option(CLI::App& command, std::string& file) {
  return add_option(
             command, "--pairs", file, "FILE",
             "Query-document pairs, in a file as for score: .tsv, .jsonl or .json, optionally .gz, "
             "or - for standard input")
      ->required();
}

Status read_pairs(const std::string& file,
                  const std::function<Result<bool>(const PairReader&, TextPair)>& take) {
  auto reader = PairReader::open(file, std::nullopt);
  if (!reader) return tl::unexpected(reader.error());
  while (true) {
    auto pair = reader->next();
    if (!pair) return tl::unexpected(pair.error());
    if (!*pair) break;
    const auto continues = take(*reader, std::move(**pair));
    if (!continues) return tl::unexpected(continues.error());
    if (!*continues) break;
  }
  note(reader->notes());
  return {};
}

Result<TextCollection> open_texts(const std::string& file, PairParts parts) {
  const auto progress = std::make_shared<CountLine>();
  auto texts = TextCollection::open(file, parts, [progress, file](double share) {
    progress->show(fmt::format("{:.0f} % of {} indexed", share * 100, file), share, share);
    if (share == 1) progress->clear();
    return interrupts() == 0;
  });
  progress->clear();
  if (texts) note(texts->notes());
  return texts;
}

Result<RerankedTexts> open_texts(const std::string& queries, const std::string& documents) {
  auto of_queries = open_texts(queries, PairParts::query);
  if (!of_queries) return tl::unexpected(of_queries.error());
  auto of_documents = open_texts(documents, PairParts::document);
  if (!of_documents) return tl::unexpected(of_documents.error());
  return RerankedTexts{std::move(*of_queries), std::move(*of_documents)};
}

void add_run_columns_option(CLI::App& command, effectiveness::ThirdColumn& third) {
  command
      .add_option_function<std::string>(
          "--run-columns",
          [&third](const std::string& name) {
            third = name == "rank" ? effectiveness::ThirdColumn::rank
                                   : effectiveness::ThirdColumn::score;
          },
          "Meaning of the third column of runs with three columns (QID, DOCID, ...): rank or "
          "score; required unless it is a rank that counts up from 1")
      ->type_name("NAME")
      ->check(CLI::IsMember({"rank", "score"}));
}

void add_beir_options(CLI::App& command, BeirArguments& arguments, const std::string& what,
                      bool with_split) {
  auto* const folder = add_option(command, "--beir", arguments.folder, "DIR", what);
  if (!with_split) return;
  add_option(command, "--split", arguments.split, "NAME",
             "Split of the BEIR folder, whose judgements are in qrels/NAME.tsv")
      ->capture_default_str()
      ->needs(folder);
}

Result<BeirFiles> open_beir(const BeirArguments& arguments, bool with_qrels) {
  const auto folder = BeirFolder::open(arguments.folder);
  if (!folder) return tl::unexpected(folder.error());
  BeirFiles files{folder->queries.string(), folder->corpus.string(), {}};
  if (!with_qrels) return files;
  const auto qrels = folder->qrels(arguments.split);
  if (!qrels) return tl::unexpected(qrels.error());
  files.qrels = qrels->string();
  return files;
}

Result<std::string> take_beir(const BeirArguments& arguments, std::string& queries,
                              std::string& documents, bool with_qrels) {
  if (!queries.empty() || !documents.empty())
    return fail("--beir already gives queries and documents; remove --queries and --documents");
  auto files = open_beir(arguments, with_qrels);
  if (!files) return tl::unexpected(files.error());
  queries = std::move(files->queries);
  documents = std::move(files->documents);
  return std::move(files->qrels);
}

}  // namespace attnscope::cli
