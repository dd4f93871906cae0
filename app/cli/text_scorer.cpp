// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/text_scorer.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/model_arguments.h"
#include "app/cli/worker_requests.h"
#include "base/sentences.h"

namespace attnscope::cli {

void add_pairs_option(CLI::App& command, std::string& file) {
  command
      .add_option("--pairs", file,
                  "Query-document pairs as for score: .tsv, .jsonl or .json, optionally .gz, or - "
                  "for standard input")
      ->type_name("FILE")
      ->required();
}

Status read_pairs(const std::string& file, const std::function<bool(TextPair)>& take) {
  auto reader = PairReader::open(file, std::nullopt);
  if (!reader) return tl::unexpected(reader.error());
  bool goes_on = true;
  while (goes_on) {
    auto pair = reader->next();
    if (!pair) return tl::unexpected(pair.error());
    goes_on = *pair && take(std::move(**pair));
  }
  note(reader->notes());
  return {};
}

TextScorer::TextScorer(std::string file, const ScoringModel& model, WorkerProcess& worker,
                       const BatchLimits& limits,
                       std::function<void(const nlohmann::json&)> on_parts)
    : file_(std::move(file)),
      model_(model),
      worker_(worker),
      limits_(limits),
      on_parts_(std::move(on_parts)) {
  limits_.whole_queries = model.is_listwise;
}

Result<TokenPair> TextScorer::tokens_of(std::string_view query, std::string_view document,
                                        std::int64_t line) const {
  auto tokens = model_.tokenizer->encode(query, document, model_.limits);
  if (tokens) return tokens;
  return fail("{}, line {}: {}", in_a_sentence(file_, 400), line, tokens.error().message);
}

Status TextScorer::queue(std::span<const TokenPair> pairs, std::size_t most_waiting) {
  for (const ScoreBatch& batch : score_batches(pairs, limits_)) {
    nlohmann::json items = nlohmann::json::array();
    for (const std::size_t at : batch.pairs) items.push_back(pair_json(pairs[at]));
    const nlohmann::json request = {{"request", "score"},
                                    {"cls", model_.tokenizer->cls()},
                                    {"parts", on_parts_ != nullptr},
                                    {"one_query", batch.one_query},
                                    {"items", std::move(items)}};
    if (Status ready = wait_until(most_waiting - 1); !ready) return ready;
    if (Status sent = worker_.send(request); !sent) return sent;
    ++unanswered_;
  }
  return {};
}

Status TextScorer::wait_until(std::size_t most_unanswered) {
  for (; unanswered_ > most_unanswered; --unanswered_) {
    const auto answer = wait_for(worker_, "score", interrupts());
    if (!answer) return tl::unexpected(answer.error());
    if (!*answer) {
      worker_.kill();
      return fail("interrupted");
    }
    if (on_parts_) on_parts_((*answer)->at("parts"));
  }
  return {};
}

}  // namespace attnscope::cli
