// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/model_contenders.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/measure/random.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"

namespace attnscope::measure {
namespace {

constexpr std::int64_t least_positions = 512;  // the size of BERT's table
constexpr std::int64_t short_sequence = 1024;
constexpr std::int32_t separator = 102;     // BERT's [SEP]
constexpr std::uint64_t first_word = 1000;  // lower ids are special or unused tokens
constexpr double infinity = std::numeric_limits<double>::infinity();

/// NaN is the worst error.
double worse(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? infinity : std::max(a, b);
}

template <typename Values>
double largest_of(const Values& values) {
  double largest = 0;
  for (const auto value : values) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

/// The scale of a document's errors: the largest absolute value of the state, or that of the score
/// where the state is zero.
double scale_of(double largest_state, double score) {
  return largest_state > 0 ? largest_state : std::abs(score);
}

/// An exact value of zero has no error.
double relative(double error, double scale) {
  return error == 0 ? 0 : error / scale;
}

double error_of(const ReferenceOutput& reference, float score, std::span<const float> state) {
  // States of one query's documents have the same width.
  if (state.size() < reference.state.size()) return infinity;
  double error = std::abs(static_cast<double>(score) - reference.score);
  for (std::size_t i = 0; i < reference.state.size(); ++i)
    error = worse(error, std::abs(static_cast<double>(state[i]) - reference.state[i]));
  return relative(error, scale_of(largest_of(reference.state), reference.score));
}

/// Options of the row, except those of precision.
Result<ModelVariant> variant_of(const Contender& contender, const ModelRow& row,
                                const HeatPoint& point) {
  auto pattern = parse_pattern(contender.pattern_json, contender.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  const Products products = products_of(row.options);
  if (Status able = supports_precision(products, point.dtype, point.device); !able)
    return tl::unexpected(able.error());
  ModelOptions options = row.options;
  for (const std::string_view narrow : {bfloat16_products, int8_products})
    options.erase(std::string(narrow));
  return ModelVariant{.pattern = std::move(*pattern),
                      .window = contender.window,
                      .local = layer_attention(row.local),
                      .options = std::move(options),
                      .dtype = point.dtype,
                      .products = products,
                      .device = point.device,
                      .threads = std::max(point.threads, 1)};
}

/// The verdict on an error against the float64 model; `whose` names the values ("scores").
Verdict verdict_of(double error, double bound, std::span<const float> scores,
                   std::string_view whose) {
  if (!std::ranges::all_of(scores, [](float s) { return std::isfinite(s); }))
    return {{.error = infinity, .bound = bound}, "a score is not a number"};
  if (error <= bound) return {{.error = error, .bound = bound}, ""};
  return {{.error = error, .bound = bound},
          fmt::format("its {} differ from the float64 model's: the relative error is {:.3g}, above "
                      "{:.3g}",
                      whose, error, bound)};
}

}  // namespace

std::int32_t random_word(std::uint64_t seed, std::uint64_t counter) {
  const auto words = static_cast<std::uint64_t>(ModelShape{}.vocabulary) - first_word;
  return static_cast<std::int32_t>(first_word + random_bits(seed, counter) % words);
}

ModelContender::ModelContender(const Contender& contender_in, const HeatPoint& point)
    : contender(contender_in) {
  auto parsed = parse_model_row(contender.model);
  if (!parsed) {
    variant = fail("the model {}", parsed.error().message);
    return;
  }
  row = std::move(*parsed);
  family = &family_of(*row.family);
  variant = variant_of(contender, row, point);
}

SharedWeights::SharedWeights(const Heat& heat) : point_(heat.point) {
  for (const Contender& contender : heat.contenders) {
    if (auto row = parse_model_row(contender.model)) rows_[row->weights].push_back(*row);
  }
}

std::shared_ptr<const ModelWeights> SharedWeights::of(const ModelRow& row) {
  std::shared_ptr<const ModelWeights>& weights = drawn_[row.weights];
  if (!weights) {
    weights = ModelWeights::random(row.family->config_for(shape_of(point_), rows_.at(row.weights)),
                                   {.seed = point_.seed});
  }
  return weights;
}

LayerAttentionCheck::LayerAttentionCheck(const HeatSetting& setting, Heat of_attention)
    : setting_(setting),
      heat_(std::move(of_attention)),
      local_(add_local_layers(heat_)),
      attention_(attention_workload({.heat = heat_,
                                     .sizes = setting.sizes,
                                     .device = setting.device,
                                     .beacon = setting.beacon})) {}

std::vector<std::optional<std::size_t>> LayerAttentionCheck::add_local_layers(Heat& heat) {
  std::vector<std::optional<std::size_t>> places(heat.contenders.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto row = parse_model_row(heat.contenders[i].model);
    if (!row || !row->local) continue;
    Contender local = heat.contenders[i];
    const auto attention = layer_attention(row->local);
    local.pattern = attention->pattern.name;
    local.pattern_json = pattern_json(attention->pattern);
    local.window = attention->window;
    places[i] = heat.contenders.size();
    heat.contenders.push_back(std::move(local));
  }
  return places;
}

Verdict LayerAttentionCheck::judge(std::size_t contender) {
  Verdict verdict = judge_layers(contender, contender);
  if (!verdict.wrong.empty() || !local_.at(contender)) return verdict;
  Verdict local = judge_layers(*local_[contender], contender);
  if (local.wrong.empty()) {
    local.error.update(verdict.error.error, verdict.error.bound, verdict.error.tensor);
  }
  return local;
}

Verdict LayerAttentionCheck::judge_layers(std::size_t place, std::size_t contender) {
  const auto needed = attention_->needed_bytes(place, 1);
  if (!needed || *needed < 0 || *needed > setting_.device.memory().free_bytes()) return {};
  attention_->place(0);
  FirstCall unmeasured(setting_, contender);
  Verdict verdict = attention_->check(place, unmeasured);
  setting_.beacon.idle();
  if (verdict.wrong.empty()) verdict = attention_->judge(place);
  if (!verdict.wrong.empty()) verdict.wrong = "its attention alone: " + verdict.wrong;
  return verdict;
}

ModelReferences SharedReferences::of_call(const ModelContender& model, const ModelInputs& inputs,
                                          std::int64_t sequence_tokens) {
  const auto documents = static_cast<std::size_t>(model.documents);
  ModelReferences references;
  for (const std::size_t item : documents_to_compare(sequence_tokens, documents)) {
    const std::int64_t document =
        inputs.document_of(static_cast<std::int64_t>(item), model.documents);
    references.emplace_back(
        item, &of(model, item + 1 == documents,
                  {model.read(inputs.query()), model.read(inputs.document(document))}));
  }
  return references;
}

const ReferenceOutput& SharedReferences::of(const ModelContender& model, bool is_last,
                                            const PairBatch::Item& texts) {
  const Family& family = *model.family;
  ModelVariant variant = *model.variant;
  for (const std::string_view shortcut : family.shortcuts())
    variant.options.erase(std::string(shortcut));
  const auto text_of = [](const std::optional<Window>& window) {
    return window ? window->text() : std::string();
  };
  const std::string local =
      variant.local ? pattern_json(variant.local->pattern) + text_of(variant.local->window) : "";
  const std::string key = fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}", family.description().id(), is_last, fmt::join(variant.options, "+"),
      text_of(model.contender.window), model.contender.pattern_json, local);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  auto reference = family.reference(*model.weights, variant, texts, PairBatch{}.cls);
  require(reference.map([](const ReferenceOutput&) {}));
  return known_.emplace(key, std::move(*reference)).first->second;
}

ModelShape shape_of(const HeatPoint& point) {
  return {.layers = point.layers,
          .hidden = point.heads * point.head_dim,
          .heads = point.heads,
          .feed_forward = point.feed_forward,
          .positions = std::max(point.sequence_tokens, least_positions)};
}

double error_bound(const Family& family, const ModelVariant& variant, const ModelShape& shape) {
  // As in float32, errors of layers accumulate like a random walk. The factors are four times the
  // largest errors observed in models of MiniLM's width with 2 to 12 layers.
  const double walk = std::sqrt(static_cast<double>(std::max<std::int64_t>(shape.layers, 1)));
  switch (variant.products) {
    case Products::float32:
      return family.error_bound(variant.dtype, shape);
    case Products::bfloat16:
      return 2.5e-3 * walk;
    case Products::int8:
      return 7.5e-3 * walk;
  }
  return 0;
}

ModelInputs::ModelInputs(const HeatPoint& point, const GroupSizes& sizes, std::int64_t most)
    : most_(most), query_(static_cast<std::size_t>(sizes.query)), begins_{0} {
  begins_.reserve(static_cast<std::size_t>(most) + 1);
  const LengthDistribution& lengths = point.document_lengths;
  for (std::int64_t d = 0; d < most; ++d) {
    const std::int64_t tokens =
        lengths.is_drawn() ? lengths.words_of(d, point.seed) + 1 : sizes.document;
    begins_.push_back(begins_.back() + static_cast<std::size_t>(tokens));
  }
  documents_.resize(begins_.back());
  std::uint64_t counter = 0;
  for (std::int32_t& id : query_) id = random_word(point.seed, counter++);
  for (std::int32_t& id : documents_) id = random_word(point.seed, counter++);
  query_.back() = separator;
  for (std::size_t d = 1; d < begins_.size(); ++d) documents_[begins_[d] - 1] = separator;
}

std::span<const std::int32_t> ModelInputs::document(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  return std::span(documents_).subspan(begins_[at], begins_[at + 1] - begins_[at]);
}

std::int64_t ModelInputs::document_of(std::int64_t item, std::int64_t documents) const {
  if (item + 1 == documents || most_ == 1) return 0;
  return 1 + item % (most_ - 1);
}

PairBatch ModelInputs::batch_of(std::int64_t documents) const {
  PairBatch batch{.items = {}, .one_query = true};
  batch.items.reserve(static_cast<std::size_t>(documents));
  for (std::int64_t i = 0; i < documents; ++i)
    batch.items.push_back({query_, document(document_of(i, documents))});
  return batch;
}

std::vector<std::size_t> documents_to_compare(std::int64_t sequence_tokens, std::size_t batch) {
  if (batch == 1 || sequence_tokens > short_sequence) return {batch - 1};
  return {0, batch - 1};
}

Verdict judge(const ModelReferences& references, const ModelOutput& output, std::size_t documents,
              double bound) {
  if (output.scores.size() != documents) {
    return {{.error = infinity, .bound = bound},
            fmt::format("it gave {} scores for {} documents", output.scores.size(), documents)};
  }
  double error = 0;
  for (const auto& [item, reference] : references) {
    const std::size_t width = output.states.size() / 2;
    const std::size_t at = item == 0 ? 0 : width;
    error =
        worse(error, error_of(*reference, item == 0 ? output.scores.front() : output.scores.back(),
                              std::span(output.states).subspan(at, width)));
  }
  return verdict_of(error, bound, output.scores, "states and scores");
}

Verdict judge_scores(const ModelReferences& references, std::span<const float> scores,
                     double bound) {
  double error = 0;
  for (const auto& [item, reference] : references) {
    const double apart = std::abs(static_cast<double>(scores[item]) - reference->score);
    error = worse(error, relative(apart, scale_of(largest_of(reference->state), reference->score)));
  }
  return verdict_of(error, bound, scores, "scores");
}

double error_of_scores(const ModelOutput& checked, std::span<const float> scores) {
  if (checked.scores.size() != scores.size()) return infinity;
  const double largest = largest_of(checked.states);
  double error = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double apart = std::abs(static_cast<double>(checked.scores[i]) - scores[i]);
    error = worse(error, relative(apart, scale_of(largest, checked.scores[i])));
  }
  return error;
}

Verdict judge_again(const ModelOutput& checked, const ModelOutput& later, double bound) {
  const double error = error_of_scores(checked, later.scores);
  if (error <= 2 * bound) return {};
  return {{.error = error, .bound = 2 * bound},
          fmt::format(
              "its scores were right when they were checked, but differ after the timed calls by "
              "{:.3g}, above {:.3g}",
              error, 2 * bound)};
}

}  // namespace attnscope::measure
