// SPDX-License-Identifier: Apache-2.0
//
// Whole models, all on the same random weights and ids.
#include "engine/measure/model_workload.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/heat/model_row.h"
#include "engine/measure/random.h"
#include "engine/measure/workload.h"
#include "engine/model/model_weights.h"

namespace attnscope::measure {
namespace {

constexpr std::int64_t least_positions = 512;  // what BERT has
constexpr std::int64_t short_sequence = 1024;
constexpr std::int32_t separator = 102;     // BERT's [SEP]
constexpr std::uint64_t first_word = 1000;  // ids below are special tokens and unused ones
constexpr double infinity = std::numeric_limits<double>::infinity();

std::int32_t random_word(std::uint64_t seed, std::uint64_t counter) {
  const auto words = static_cast<std::uint64_t>(ModelShape{}.vocabulary) - first_word;
  return static_cast<std::int32_t>(first_word + random_bits(seed, counter) % words);
}

/// Not a number is the worst error of all.
double worse(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? infinity : std::max(a, b);
}

double error_of(const ReferenceOutput& reference, const ModelOutput& output, std::size_t item) {
  // States of one query's documents are alike in width.
  const std::size_t width = output.states.size() / output.scores.size();
  if (width < reference.state.size()) return infinity;
  double largest = 0;
  for (const double value : reference.state) largest = std::max(largest, std::abs(value));
  double error = std::abs(static_cast<double>(output.scores[item]) - reference.score);
  for (std::size_t i = 0; i < reference.state.size(); ++i) {
    const double state = output.states[item * width + i];
    error = worse(error, std::abs(state - reference.state[i]));
  }
  return error / largest;
}

ModelShape shape_of(const HeatPoint& point) {
  return {.layers = point.layers,
          .hidden = point.heads * point.head_dim,
          .heads = point.heads,
          .feed_forward = point.feed_forward,
          .positions = std::max(point.sequence_tokens, least_positions)};
}

Result<ModelVariant> variant_of(const Contender& contender, const ModelRow& row,
                                const HeatPoint& point) {
  auto pattern = parse_pattern(contender.pattern_json, contender.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  return ModelVariant{.pattern = std::move(*pattern),
                      .window = contender.window,
                      .options = row.options,
                      .dtype = point.dtype,
                      .device = point.device,
                      .threads = std::max(point.threads, 1)};
}

Heat one_item_of_attention(Heat heat) {
  heat.point.operation = Operation::attention;
  return heat;
}

class ModelWorkload final : public Workload {
 public:
  explicit ModelWorkload(const HeatSetting& setting)
      : setting_(setting),
        point_(setting.heat.point),
        attention_heat_(one_item_of_attention(setting.heat)),
        attention_(attention_workload({.heat = attention_heat_,
                                       .sizes = setting.sizes,
                                       .device = setting.device,
                                       .beacon = setting.beacon})) {
    for (const Contender& contender : setting.heat.contenders) {
      OneContender& one = contenders_.emplace_back();
      auto row = parse_model_row(contender.model);
      if (!row) {
        one.variant = fail("the model {}", row.error().message);
        continue;
      }
      one.row = std::move(*row);
      one.family = &family_of(*one.row.family);
      one.variant = variant_of(contender, one.row, point_);
    }
  }

  [[nodiscard]] bool shares_batch() const override { return !point_.batch_per_contender; }
  // A document has at least its token ids, and a state for each of them.
  [[nodiscard]] std::int64_t item_bytes() const override {
    return point_.sequence_tokens * point_.heads * point_.head_dim;
  }

  Result<std::int64_t> needed_bytes(std::size_t contender, std::int64_t batch) override {
    if (const Status made = prepare(contender); !made) return tl::unexpected(made.error());
    if (!inputs_ || inputs_->most() < batch) inputs_.emplace(point_, setting_.sizes, batch);
    return contenders_[contender].model->predicted_peak_bytes(inputs_->batch_of(batch));
  }

  Result<CellWork> take(std::size_t contender, std::int64_t batch) override {
    OneContender& one = contenders_[contender];
    one.batch = inputs_->batch_of(batch);
    return one.model->work(one.batch).map([](const ModelWork& work) {
      return CellWork{.useful_flop = work.linear_flop + work.attention_flop,
                      .least_bytes = work.least_bytes,
                      .exponentials = work.exponentials,
                      .executed_flop = work.linear_flop + work.executed_attention_flop};
    });
  }

  /// Weights lie elsewhere at every placement, as does what the models made of them. The first ones
  /// are those that batches were foreseen with.
  void place(int /*placement*/) override {
    if (!std::exchange(is_placed_, true)) return;
    for (OneContender& one : contenders_) {
      one.model.reset();
      one.weights.reset();
    }
    draw_weights();
  }

  Status prepare(std::size_t contender) override {
    OneContender& one = contenders_[contender];
    if (one.model) return {};
    if (!one.variant) return tl::unexpected(one.variant.error());
    if (!one.weights) draw_weights();
    auto made = one.family->make(one.weights, *one.variant,
                                 setting_.heat.contenders[contender].implementation);
    if (!made) return tl::unexpected(made.error());
    one.model = std::move(*made);
    return {};
  }

  Verdict check(std::size_t contender, FirstCall& first) override {
    first.measure([&] { contenders_[contender].checked = score(contender); });
    return {};
  }

  Verdict judge(std::size_t contender) override {
    Verdict alone = judge_attention(contender);
    if (!alone.wrong.empty()) return alone;
    const OneContender& one = contenders_[contender];
    const std::size_t documents = one.batch.items.size();
    ModelReferences references;
    for (const std::size_t item : documents_to_compare(point_.sequence_tokens, documents))
      references.emplace_back(item, &reference_of(contender, item));
    return measure::judge(references, one.checked, documents, bound_of(one));
  }

  void before_rounds() override { attention_.reset(); }  // with its tensors
  void call(std::size_t contender) override { contenders_[contender].latest = score(contender); }

  Verdict judge_sample(std::size_t contender) override {
    const OneContender& one = contenders_[contender];
    return judge_again(one.checked, one.latest, bound_of(one));
  }

 private:
  struct OneContender {
    ModelRow row{};
    const Family* family = nullptr;
    Result<ModelVariant> variant{};                 // or what it cannot do
    std::shared_ptr<const ModelWeights> weights{};  // of the current placement, as is the model
    std::unique_ptr<Model> model{};
    PairBatch batch{};
    ModelOutput checked{};  // of the call that was held against the reference
    ModelOutput latest{};
  };

  [[nodiscard]] double bound_of(const OneContender& one) const {
    return one.family->error_bound(point_.dtype, shape_of(point_));
  }

  /// Once for all rows that share them.
  void draw_weights() {
    std::map<std::string, std::vector<ModelRow>> rows;
    for (const OneContender& one : contenders_)
      if (one.family != nullptr) rows[one.row.weights].push_back(one.row);
    for (const auto& [key, sharing] : rows) {
      const ModelConfig config = sharing.front().family->config_for(shape_of(point_), sharing);
      const auto weights = ModelWeights::random(config, {.seed = point_.seed});
      for (OneContender& one : contenders_)
        if (one.family != nullptr && one.row.weights == key) one.weights = weights;
    }
  }

  [[nodiscard]] ModelOutput score(std::size_t contender) {
    OneContender& one = contenders_[contender];
    auto output = one.model->score(one.batch);
    require(output.map([](const ModelOutput&) {}));
    return std::move(*output);
  }

  /// The attention inside the model, row by row, on one item in the memory order of its
  /// projections: a wrong row of one layer may leave the [CLS] state of a random model within
  /// rounding. Right where the implementation does not take the item's plan as a whole.
  Verdict judge_attention(std::size_t contender) {
    const auto needed = attention_->needed_bytes(contender, 1);
    if (!needed || *needed < 0 || *needed > setting_.device.memory().free_bytes()) return {};
    attention_->place(0);
    FirstCall unmeasured(setting_, contender);
    Verdict verdict = attention_->check(contender, unmeasured);
    setting_.beacon.idle();
    if (verdict.wrong.empty()) verdict = attention_->judge(contender);
    if (!verdict.wrong.empty()) verdict.wrong = "its attention alone: " + verdict.wrong;
    return verdict;
  }

  /// One for each distinct family, pattern, window and options but shortcuts, and for the last
  /// document and the first of all others, computed when first asked for.
  const ReferenceOutput& reference_of(std::size_t contender, std::size_t item) {
    const OneContender& one = contenders_[contender];
    const Contender& named = setting_.heat.contenders[contender];
    ModelVariant whole = *one.variant;
    for (const std::string_view shortcut : one.family->shortcuts())
      whole.options.erase(std::string(shortcut));
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}\n{}", one.family->description().id(),
                    item + 1 == one.batch.items.size(), fmt::join(whole.options, "+"),
                    named.window ? named.window->text() : "", named.pattern_json);
    const auto known = references_.find(key);
    if (known != references_.end()) return known->second;
    auto reference =
        one.family->reference(*one.weights, whole, one.batch.items[item], one.batch.cls);
    require(reference.map([](const ReferenceOutput&) {}));
    return references_.emplace(key, std::move(*reference)).first->second;
  }

  HeatSetting setting_;
  const HeatPoint& point_;
  Heat attention_heat_;
  std::unique_ptr<Workload> attention_;
  std::vector<OneContender> contenders_;
  bool is_placed_ = false;
  std::optional<ModelInputs> inputs_;
  std::map<std::string, ReferenceOutput> references_;
};

}  // namespace

ModelInputs::ModelInputs(const HeatPoint& point, const GroupSizes& sizes, std::int64_t most)
    : most_(most),
      document_tokens_(sizes.document),
      query_(static_cast<std::size_t>(sizes.query)),
      documents_(static_cast<std::size_t>(most * sizes.document)) {
  std::uint64_t counter = 0;
  for (std::int32_t& id : query_) id = random_word(point.seed, counter++);
  for (std::int32_t& id : documents_) id = random_word(point.seed, counter++);
  query_.back() = separator;
  for (std::int64_t d = 0; d < most; ++d)
    documents_[static_cast<std::size_t>((d + 1) * document_tokens_ - 1)] = separator;
}

std::span<const std::int32_t> ModelInputs::document(std::int64_t index) const {
  return std::span(documents_)
      .subspan(static_cast<std::size_t>(index * document_tokens_),
               static_cast<std::size_t>(document_tokens_));
}

PairBatch ModelInputs::batch_of(std::int64_t documents) const {
  PairBatch batch{.items = {}, .one_query = true};
  batch.items.reserve(static_cast<std::size_t>(documents));
  for (std::int64_t d = 1; d < documents; ++d) batch.items.push_back({query_, document(d)});
  batch.items.push_back({query_, document(0)});
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
  for (const auto& [item, reference] : references)
    error = worse(error, error_of(*reference, output, item));
  if (!std::ranges::all_of(output.scores, [](float s) { return std::isfinite(s); }))
    return {{.error = infinity, .bound = bound}, "a score is not a number"};
  if (error <= bound) return {{.error = error, .bound = bound}, ""};
  return {{.error = error, .bound = bound},
          fmt::format("its states and scores differ from the float64 model's: the relative "
                      "error is {:.3g}, above {:.3g}",
                      error, bound)};
}

Verdict judge_again(const ModelOutput& checked, const ModelOutput& later, double bound) {
  double largest = 0;
  for (const float value : checked.states)
    largest = std::max(largest, static_cast<double>(std::abs(value)));
  double error = checked.scores.size() == later.scores.size() ? 0 : infinity;
  for (std::size_t i = 0; i < checked.scores.size() && std::isfinite(error); ++i) {
    error =
        worse(error, std::abs(static_cast<double>(checked.scores[i]) - later.scores[i]) / largest);
  }
  if (error <= 2 * bound) return {};
  return {{.error = error, .bound = 2 * bound},
          fmt::format("its scores were right when they were checked and others after timed calls: "
                      "they differ by {:.3g}, above {:.3g}",
                      error, 2 * bound)};
}

std::unique_ptr<Workload> model_workload(const HeatSetting& setting) {
  return std::make_unique<ModelWorkload>(setting);
}

}  // namespace attnscope::measure
