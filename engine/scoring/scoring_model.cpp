// SPDX-License-Identifier: Apache-2.0
#include "engine/scoring/scoring_model.h"

#include <system_error>

#include "engine/checkpoint/checkpoint.h"
#include "engine/pattern/axes.h"

namespace attnscope {
namespace {

constexpr std::int64_t most_positions = 1 << 20;

struct Attention {
  AttentionPattern pattern;
  std::optional<Window> window;
};

/// The pattern asked for, or the checkpoint's own with its own window.
Result<Attention> attention_of(const ModelQuestion& question, const Checkpoint& checkpoint) {
  const bool own = question.pattern.empty() || question.pattern == checkpoint.pattern();
  auto pattern = find_pattern(own ? checkpoint.pattern() : question.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  std::optional<Window> window = own ? checkpoint.window() : std::nullopt;
  if (!question.window.empty()) {
    const auto parsed = parse_window(question.window);
    if (!parsed) return tl::unexpected(parsed.error());
    if (!pattern->has_window()) {
      return fail("pattern '{}' has no window, and {} was given", pattern->name, question.window);
    }
    window = *parsed;
  }
  if (pattern->has_window() && !window) {
    return fail("pattern '{}' has a window; give one (tokens, or inf)", pattern->name);
  }
  return Attention{std::move(*pattern), window};
}

/// Some group attends to everything and is attended by everything.
bool has_global_groups(const AttentionPattern& pattern) {
  return pattern.name == "longformer" || pattern.name == "qds";
}

Result<PairLimits> limits_of(const ModelQuestion& question, std::int64_t positions,
                             std::int64_t query_tokens) {
  PairLimits limits{.most_tokens = question.most_tokens > 0 ? question.most_tokens : positions,
                    .most_query_tokens =
                        question.most_query_tokens > 0 ? question.most_query_tokens : query_tokens};
  if (limits.most_tokens > positions) {
    return fail("pairs of {} tokens were asked for, and the model knows {} positions; extend them",
                limits.most_tokens, positions);
  }
  return limits;
}

/// The folder's own name, of "models/mini/" as of "models/mini".
std::string name_of_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  const auto path = std::filesystem::weakly_canonical(folder, failed);
  return (failed ? folder : path).filename().string();
}

}  // namespace

Result<ScoringModel> ScoringModel::open(const ModelQuestion& question) {
  for (const auto& known : {parse_dtype(question.dtype).map([](DType) {}),
                            parse_device(question.device).map([](DeviceKind) {})}) {
    if (!known) return tl::unexpected(known.error());
  }
  const Result<Checkpoint> checkpoint = Checkpoint::open(question.checkpoint);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  Result<WordPiece> pieces = WordPiece::open(question.checkpoint);
  if (!pieces) return tl::unexpected(pieces.error());
  ModelShape shape = checkpoint->shape();
  if (pieces->size() > shape.vocabulary) {
    return fail("{}: its tokenizer has {} pieces, and its model's vocabulary {}",
                question.checkpoint.string(), pieces->size(), shape.vocabulary);
  }
  if (question.positions > most_positions) {
    return fail("{} positions are more than {}", question.positions, most_positions);
  }
  shape.positions = std::max(shape.positions, question.positions);
  Result<Attention> attention = attention_of(question, *checkpoint);
  if (!attention) return tl::unexpected(attention.error());
  const auto limits = limits_of(question, shape.positions, checkpoint->most_query_tokens());
  if (!limits) return tl::unexpected(limits.error());
  const bool projections = checkpoint->tensors().layers.front().global.has_value();
  const bool global = projections && has_global_groups(attention->pattern);
  nlohmann::json request = {
      {"request", "model"},
      {"checkpoint", std::filesystem::absolute(question.checkpoint).string()},
      {"pattern_json", pattern_json(attention->pattern)},
      {"window", attention->window ? nlohmann::json(attention->window->text()) : nlohmann::json()},
      {"implementation", question.implementation},
      {"dtype", question.dtype},
      {"device", question.device},
      {"cls_only_last_layer", question.cls_only_last_layer},
      {"global_projections", global},
      {"headless", !checkpoint->tensors().classifier.has_value()},
      {"positions", shape.positions}};
  return ScoringModel{.name = name_of_folder(question.checkpoint),
                      .shape = shape,
                      .has_classifier = checkpoint->tensors().classifier.has_value(),
                      .global_projections = global,
                      .pieces = std::move(*pieces),
                      .pattern = std::move(attention->pattern),
                      .window = attention->window,
                      .limits = *limits,
                      .request = std::move(request)};
}

}  // namespace attnscope
