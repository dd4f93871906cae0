// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/model_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "app/cli/command_line.h"
#include "app/cli/worker_requests.h"
#include "base/read_files.h"

namespace attnscope::cli {

void add_checkpoint_option(CLI::App& command, std::filesystem::path& checkpoint) {
  command
      .add_option("--checkpoint", checkpoint,
                  "Folder in Hugging Face's layout, or hub name ORG/NAME[@REVISION] that 'hf "
                  "download' has fetched")
      ->type_name("DIR|NAME")
      ->required();
}

void note_place(const ScoringModel& model) {
  if (model.place.revision.empty()) return;
  note(fmt::format("{} is revision {} of the hub's cache", model.name, model.place.revision));
}

void add_model_arguments(CLI::App& command, ModelArguments& arguments,
                         const std::string& dtype_option) {
  ModelQuestion& question = arguments.question;
  add_checkpoint_option(command, question.checkpoint);
  command
      .add_option("--pattern", question.pattern,
                  "Attention pattern: name or JSON file; default: the checkpoint's")
      ->type_name("P");
  command
      .add_option("--window", question.window, "Window: tokens attended to on each side, or inf")
      ->type_name("W");
  command
      .add_option(
          "--local-pattern", question.local_pattern,
          "Pattern of the local layers (ModernBERT); default: --pattern applies to all layers")
      ->type_name("P");
  command
      .add_option("--local-window", question.local_window,
                  "Window of the local layers: tokens on each side, or inf")
      ->type_name("W");
  command
      .add_option(
          "--implementation", question.implementation,
          "Attention implementation; default: segment, or the first that supports the pattern")
      ->type_name("ID");
  command
      .add_option(dtype_option, question.dtype,
                  "Data type of the model: float32, float16 or bfloat16")
      ->type_name("D");
  command.add_option("--device", question.device, "cpu or cuda")->type_name("DEVICE");
  command.add_option("--threads", arguments.threads, "Number of threads; 0 uses all cores")
      ->type_name("N")
      ->check(CLI::Range(0, 4096));
  command
      .add_option("--max-tokens", question.most_tokens,
                  "Maximum number of tokens of a pair, or of each text for models that encode them "
                  "separately; the longer text is truncated first. Default: the checkpoint's "
                  "limit, otherwise the model's positions")
      ->type_name("N")
      ->check(above_zero);
  command
      .add_option("--max-query-tokens", question.most_query_tokens,
                  "Maximum number of tokens of a query, including its [SEP]; default: as the "
                  "checkpoint was trained")
      ->type_name("N")
      ->check(above_zero);
  command
      .add_option("--extend-positions", question.positions,
                  "Number of positions to interpolate the position embeddings to")
      ->type_name("N")
      ->check(above_zero);
  command
      .add_option("--label", question.label,
                  "Score of a model with several labels: 1 (that logit), 1-0 (difference of two "
                  "logits) or log-softmax-1 (log-probability)")
      ->type_name("LABEL");
  add_worker_options(command, arguments.worker);
}

Result<ScoringModel> open_model(const ModelArguments& arguments) {
  auto model = ScoringModel::open(arguments.question);
  if (model) {
    for (const std::filesystem::path& file : model->files) note_read(file);
    note(model->note);
    note_place(*model);
  }
  return model;
}

Result<ScoringModel> open_ranker(const ModelArguments& arguments) {
  auto model = open_model(arguments);
  if (model && !model->gives_scores) {
    const std::string& unread = model->sentence->unread_modules;
    return fail("'{}' is an encoder without a classification head, so it gives no scores; {}",
                arguments.question.checkpoint.string(),
                !unread.empty()
                    ? unread
                    : "take one that was trained to rank, with the tensors classifier.weight "
                      "and classifier.bias");
  }
  return model;
}

Result<WorkerProcess> start_worker(const ModelArguments& arguments,
                                   const std::atomic<int>* interrupted) {
  auto worker = start(arguments.worker, interrupted);
  if (!worker) return tl::unexpected(worker.error());
  if (!is_this_machine(worker->hello())) {
    return fail(
        "the worker is on another machine, where the checkpoint's files cannot be seen; run this "
        "command there");
  }
  return std::move(*worker);
}

namespace {

/// Notes that bfloat16, which is chosen for speed, is slow on this processor.
void say_of_slow_products(const protocol::Hello& hello, Products precision) {
  const std::string set = text_field(hello.device, "instruction_set");
  if (precision != Products::bfloat16 || set == "avx512-bf16" || set == "amx") return;
  say("attnscope: note: this processor multiplies no bfloat16 (its instructions: {}), so that "
      "--precision bfloat16 takes longer here than float32 and has its rounding all the same; "
      "int8 is faster",
      set.empty() ? "unknown" : set);
}

}  // namespace

Result<ModelWorker> start_model(const ModelArguments& arguments, protocol::ModelRequest request,
                                const std::atomic<int>* interrupted) {
  auto worker = start_worker(arguments, interrupted);
  if (!worker) return tl::unexpected(worker.error());
  say_of_slow_products(worker->hello(), request.precision);
  request.threads = arguments.threads > 0 ? arguments.threads : worker_cores(worker->hello());
  auto loaded = ask(*worker, request);
  if (!loaded) return tl::unexpected(loaded.error());
  return ModelWorker{std::move(*worker), std::move(loaded->implementation)};
}

}  // namespace attnscope::cli
