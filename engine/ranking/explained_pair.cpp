// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/explained_pair.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/sentences.h"
#include "engine/text/subword_file.h"
#include "engine/text/subword_tokenizer.h"

namespace attnscope {
namespace {

std::string_view name_of(Pooling pooling) {
  constexpr std::array<std::string_view, 7> names{
      "[CLS]",
      "maximum of all tokens",
      "mean of all tokens",
      "sum of all tokens divided by the square root of their number",
      "position-weighted mean of all tokens",
      "last token",
      "sum of all tokens"};
  return names.at(static_cast<std::size_t>(pooling));
}

std::string in_words(const HeadStep& step, std::int64_t labels) {
  if (step.kind == HeadStep::Kind::normalize) return "normalize";
  if (step.kind == HeadStep::Kind::norm) return fmt::format("norm {}", step.in);
  constexpr std::array<std::string_view, 14> activations{
      "",           "tanh", "gelu", "relu",     "sigmoid",  "silu",      "mish",
      "leaky relu", "elu",  "selu", "softplus", "softsign", "hardswish", "relu6"};
  std::string words = fmt::format("linear {} to {}", step.in, step.out > 0 ? step.out : labels);
  if (const auto name = activations.at(static_cast<std::size_t>(step.activation)); !name.empty())
    words += fmt::format(" {}", name);
  if (step.residual) words += " with residual";
  return words;
}

std::string in_words(const LabelChoice& label) {
  switch (label.kind) {
    case LabelChoice::Kind::none:
      return "the only one";
    case LabelChoice::Kind::logit:
      return fmt::format("logit {}", label.label);
    case LabelChoice::Kind::difference:
      return fmt::format("logit {} minus logit {}", label.label, label.other);
    case LabelChoice::Kind::log_softmax:
      return fmt::format("log-probability of label {}", label.label);
  }
  return {};
}

/// "marker [Q], 32 tokens, expanded to 32 by tokens that others do not attend to".
std::string in_words(const MultiVectorTexts::Side& side, std::int64_t most) {
  std::string words = counted(static_cast<std::size_t>(most), "token") + " at most";
  if (!side.prompt.empty()) words = fmt::format("prompt '{}', {}", visible(side.prompt), words);
  if (!side.marker.empty()) words = fmt::format("marker '{}', {}", visible(side.marker), words);
  return words;
}

void explain_texts(const MultiVectorTokenizer& tokenizer, const ScoringModel& model,
                   std::vector<Explained>& lines) {
  const MultiVectorTexts& texts = tokenizer.texts();
  const MaxSimConfig& max_sim = *model.head.max_sim;
  const std::string source(name_of(texts.form));
  std::string query = in_words(texts.query, model.limits.most_query_tokens + 1);
  if (texts.expansion_length > 0) {
    query += fmt::format(", expanded to {} that {} attended to{}", texts.expansion_length,
                         max_sim.attends_to_expansion ? "are" : "are not",
                         max_sim.expansion_scores ? "" : " and have no vectors");
  }
  lines.push_back({"queries", query, source});
  lines.push_back({"documents", in_words(texts.document, model.limits.most_tokens), source});
  std::vector<std::string_view> skipped;
  for (const std::int32_t id : max_sim.skipped) skipped.push_back(tokenizer.token(id));
  if (!skipped.empty() && (max_sim.skips_documents || max_sim.skips_queries)) {
    lines.push_back({"skipped tokens",
                     fmt::format("{} (of {})", fmt::join(skipped, " "),
                                 max_sim.skips_queries && max_sim.skips_documents ? "both"
                                 : max_sim.skips_queries                          ? "queries"
                                                                                  : "documents"),
                     source});
  }
}

/// "full; 14 of 22 layers: sliding-window, window 64".
std::string attention_in_words(const ScoringModel& model) {
  const auto in_words = [](const AttentionPattern& pattern, const std::optional<Window>& window) {
    return window ? fmt::format("{}, window {}", pattern.name, window->text()) : pattern.name;
  };
  std::string words = in_words(model.pattern, model.window);
  if (model.options.contains(pair_is_one_text)) words += ", only [CLS] is global";
  if (!model.local) return words;
  const auto local = std::ranges::count(model.is_local, true);
  return fmt::format("{}; {} of {} layers: {}", words, local, model.is_local.size(),
                     in_words(model.local->pattern, model.local->window));
}

void explain_tokenizer(const SubwordTokenizer& tokenizer, const ScoringModel& model,
                       std::vector<Explained>& lines) {
  const SubwordParts& parts = tokenizer.parts();
  lines.push_back({"tokenizer", parts.class_name, parts.chosen_by});
  lines.push_back(
      {"vocabulary", counted(static_cast<std::size_t>(parts.model_pieces), "piece"), parts.source});
  if (model.head.max_sim) return;
  lines.push_back({"token types", parts.gives_types ? "given to the model" : "not given: all are 0",
                   parts.types_source});
  lines.push_back({"limit", counted(static_cast<std::size_t>(model.limits.most_tokens), "token"),
                   model.limit_source});
  if (model.limits.most_query_tokens > 0) {
    lines.push_back({"limit of queries",
                     counted(static_cast<std::size_t>(model.limits.most_query_tokens), "token"),
                     model.query_limit_source});
  }
  lines.push_back({"cut",
                   parts.truncates_left ? "first tokens are removed" : "last tokens are removed",
                   "truncation_side of tokenizer_config.json"});
  if (!parts.query_prefix.empty()) {
    lines.push_back({"prompt", fmt::format("'{}'", visible(parts.query_prefix)),
                     "default_prompt_name of config_sentence_transformers.json"});
  }
}

}  // namespace

std::vector<Explained> explain_model(const ScoringModel& model, const std::string& activation) {
  std::vector<Explained> lines;
  lines.push_back({"checkpoint", model.name, model.sentence->encoder.string()});
  lines.push_back({"model", model.architecture, "config.json"});
  if (const auto* tokenizer = dynamic_cast<const SubwordTokenizer*>(model.tokenizer.get()))
    explain_tokenizer(*tokenizer, model, lines);
  if (const auto* texts = dynamic_cast<const MultiVectorTokenizer*>(model.tokenizer.get())) {
    explain_tokenizer(texts->pieces(), model, lines);
    explain_texts(*texts, model, lines);
  }
  lines.push_back({"attention", attention_in_words(model), ""});
  std::vector<std::string> pooled;
  for (const Pooling pooling : model.head.pooling) pooled.emplace_back(name_of(pooling));
  const std::string_view head_source =
      model.sentence->modules.empty() ? "the model's class" : "modules.json";
  std::vector<std::string> steps;
  for (const HeadStep& step : model.head.steps) steps.push_back(in_words(step, model.head.labels));
  const std::string head = fmt::format("{}", fmt::join(steps, ", "));
  if (model.head.max_sim) {
    lines.push_back({"vectors", head.empty() ? "the last states" : head, ""});
    lines.push_back({"score",
                     model.head.max_sim->averages ? "mean of the largest products (MaxSim)"
                                                  : "sum of the largest products (MaxSim)",
                     ""});
  } else if (model.gives_scores && !model.head.steps.empty()) {
    lines.push_back(
        {"pooling", fmt::format("{}", fmt::join(pooled, ", ")), std::string(head_source)});
    lines.push_back({"head", head, std::string(head_source)});
    lines.push_back({"label",
                     fmt::format("{} of {}", in_words(model.head.label), model.head.labels),
                     model.head.stated_labels ? "config.json" : "the weights"});
  }
  lines.push_back({"activation", activation,
                   model.activation.empty()
                       ? ""
                       : fmt::format("predict() of sentence-transformers would apply {}",
                                     in_a_sentence(model.activation))});
  return lines;
}

std::vector<ExplainedToken> explain_tokens(const ScoringModel& model, const TokenPair& pair) {
  std::vector<ExplainedToken> tokens;
  const Tokenizer& tokenizer = *model.tokenizer;
  const std::int64_t padding = model.shape.first_position - 1;
  std::int64_t position = model.shape.first_position;
  const auto add = [&](std::int32_t id, std::int64_t type, std::string_view part) {
    const bool is_padding = padding >= 0 && id == padding;
    tokens.push_back({.id = id,
                      .text = tokenizer.token(id),
                      .type = type,
                      .position = is_padding ? padding : position++,
                      .part = part});
  };
  if (!model.reads_words) add(tokenizer.cls(), 0, "[CLS]");
  for (const std::int32_t id : pair.query) add(id, 0, "query");
  if (model.keeps_documents && !model.reads_words && model.document_type == 0) {
    position = model.shape.first_position;
    add(tokenizer.cls(), 0, "[CLS]");
  }
  for (const std::int32_t id : pair.document) add(id, model.document_type, "document");
  return tokens;
}

}  // namespace attnscope
