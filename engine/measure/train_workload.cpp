// SPDX-License-Identifier: Apache-2.0
//
// Training steps of a cross-encoder: forward only, up to the gradients, whole steps, or the
// optimiser alone. The learning rate is 0, so that every call does the same work on the same
// weights and its scores can be compared with those of the first.
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/heat/model_row.h"
#include "engine/measure/model_workload.h"
#include "engine/measure/workload.h"
#include "engine/model/bert/bert_description.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/model_weights.h"
#include "engine/train/trained_cross_encoder.h"
#include "engine/train/trainer.h"

namespace attnscope::measure {
namespace {

/// The attention in the model, forward and backward.
Heat attention_of_training(Heat heat) {
  heat.point.operation = Operation::attention;
  heat.point.direction = Direction::forward_backward;
  heat.point.stage = Stage::whole;
  return heat;
}

class TrainWorkload final : public Workload {
 public:
  explicit TrainWorkload(const HeatSetting& setting)
      : setting_(setting),
        point_(setting.heat.point),
        attention_(setting_, attention_of_training(setting.heat)) {
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
      if (one.row.family->id() != "bert") {
        one.variant = fail("models of the family {} are not trained here", one.row.family->id());
      }
      if (has_narrow_products(contender.model))
        one.variant = fail("linear layers are trained in the heat's dtype, and not in fewer bits");
    }
  }

  [[nodiscard]] bool shares_batch() const override { return !point_.batch_per_contender; }
  [[nodiscard]] std::int64_t item_bytes() const override {
    return point_.sequence_tokens * point_.heads * point_.head_dim;
  }

  /// Weights, gradients and two moments, and the saved activations of each layer per token: its
  /// input, queries, keys and values, the attention's output and two sums with their norms, and the
  /// wide layer before and after its activation.
  Result<std::int64_t> needed_bytes(std::size_t contender, std::int64_t batch) override {
    if (const Status made = prepare(contender); !made) return tl::unexpected(made.error());
    const OneContender& one = contenders_[contender];
    const std::int64_t hidden = point_.heads * point_.head_dim;
    const std::int64_t of_layer = 10 * hidden + 2 * point_.feed_forward;
    const bool recomputes = one.row.options.contains(recomputed_layers);
    const std::int64_t values =
        recomputes ? point_.layers * hidden + 2 * of_layer : (point_.layers + 1) * of_layer;
    const std::int64_t tokens = batch * point_.sequence_tokens;
    return 4 * one.weight_bytes + tokens * values * size_of(point_.dtype);
  }

  Result<CellWork> take(std::size_t contender, std::int64_t batch) override {
    OneContender& one = contenders_[contender];
    one.documents = batch;
    inputs_.emplace(point_, setting_.sizes, batch);
    const auto model = one.family->make(one.weights, *one.variant,
                                        setting_.heat.contenders[contender].implementation);
    if (!model) return tl::unexpected(model.error());
    const auto work = (*model)->work(batch_of(one));
    if (!work) return tl::unexpected(work.error());
    return work_of_stage(*work, static_cast<double>(one.weight_bytes));
  }

  void place(int /*placement*/) override {
    if (!std::exchange(is_placed_, true)) return;
    for (OneContender& contender : contenders_) {
      contender.gradients.clear();
      contender.optimizer.reset();
      contender.model.reset();
    }
    weights_.clear();
  }

  Status prepare(std::size_t contender) override {
    OneContender& one = contenders_[contender];
    if (one.model) return {};
    if (!one.variant) return tl::unexpected(one.variant.error());
    one.weights = weights_of(one);
    auto made = TrainedCrossEncoder::make(
        *one.weights, *one.variant, setting_.heat.contenders[contender].implementation,
        one.row.options.contains(recomputed_layers) ? KeptLayers::inputs_alone : KeptLayers::whole);
    if (!made) return tl::unexpected(made.error());
    one.model = std::move(*made);
    one.weight_bytes = 0;
    for (const Parameter& parameter : one.model->parameters())
      one.weight_bytes += static_cast<std::int64_t>(parameter.value.nbytes());
    if (is_updated()) one.optimizer.emplace(one.model->parameters(), AdamWOptions{});
    return {};
  }

  Verdict check(std::size_t contender, FirstCall& first) override {
    OneContender& one = contenders_[contender];
    if (point_.stage == Stage::train_optimizer) keep_gradients(one);
    first.measure([&] { compute(one); });
    one.checked = one.scored;
    return {};
  }

  Verdict judge(std::size_t contender) override {
    OneContender& one = contenders_[contender];
    if (Verdict alone = attention_.judge(contender); !alone.wrong.empty()) return alone;
    const std::vector<float> scored =
        point_.stage == Stage::train_optimizer ? scores_of(one) : one.checked;
    const double bound = one.family->error_bound(point_.dtype, shape_of(point_));
    ModelReferences references;
    for (const std::size_t item :
         documents_to_compare(point_.sequence_tokens, static_cast<std::size_t>(one.documents)))
      references.emplace_back(item, &reference_of(contender, item));
    return judge_scores(references, scored, bound);
  }

  void before_rounds() override { attention_.let_go(); }
  void enter(std::size_t contender) override {
    OneContender& one = contenders_[contender];
    if (point_.stage == Stage::train_optimizer && one.gradients.empty()) keep_gradients(one);
  }
  void call(std::size_t contender) override { compute(contenders_[contender]); }
  Verdict judge_sample(std::size_t contender) override {
    const OneContender& one = contenders_[contender];
    if (one.scored == one.checked) return {};
    return {{.error = std::numeric_limits<double>::infinity(), .bound = 0},
            "its scores were others after timed calls than when they were checked, though the "
            "weights are the same"};
  }

 private:
  struct OneContender {
    ModelRow row{};
    const Family* family = nullptr;
    Result<ModelVariant> variant{};  // or what it does not support
    std::int64_t documents = 0;      // per call
    std::int64_t weight_bytes = 0;
    // Weights and tensors of the current placement.
    std::shared_ptr<const ModelWeights> weights{};
    std::unique_ptr<TrainedCrossEncoder> model{};
    std::optional<AdamW> optimizer{};
    std::vector<at::Tensor> gradients{};  // for the optimiser stage only
    std::vector<float> scored{}, checked{};
  };

  [[nodiscard]] bool is_updated() const {
    return point_.stage == Stage::train_step || point_.stage == Stage::train_optimizer;
  }

  /// Each pair has its own query, as in training.
  [[nodiscard]] PairBatch batch_of(const OneContender& one) const {
    PairBatch batch = inputs_->batch_of(one.documents);
    batch.one_query = false;
    return batch;
  }

  /// The backward pass of a linear layer has two products, for the gradients of inputs and of
  /// weights; that of attention has five for the forward pass's two.
  [[nodiscard]] CellWork work_of_stage(const ModelWork& forward, double weight_bytes) const {
    constexpr double optimizer_passes = 7;  // reads weight, gradient, moments; writes all but one
    CellWork work;
    if (point_.stage != Stage::train_optimizer) {
      const bool back = point_.stage != Stage::train_forward;
      const double linear = back ? 3 : 1, attention = back ? 3.5 : 1;
      work.useful_flop = linear * forward.linear_flop + attention * forward.attention_flop;
      work.executed_flop =
          linear * forward.linear_flop + attention * forward.executed_attention_flop;
      work.least_bytes = linear * forward.least_bytes;
      work.exponentials = (back ? 2 : 1) * forward.exponentials;
    }
    if (is_updated()) work.least_bytes += optimizer_passes * weight_bytes;
    return work;
  }

  void compute(OneContender& one) {
    if (point_.stage == Stage::train_optimizer) {
      for (std::size_t i = 0; i < one.gradients.size(); ++i) {
        at::Tensor weight = one.model->parameters()[i].value;
        weight.mutable_grad() = one.gradients[i];
      }
      update(one);
      return;
    }
    forget_gradients(one);
    const auto scores = one.model->scores(batch_of(one));
    require(scores.map([](const at::Tensor&) {}));
    if (point_.stage != Stage::train_forward) scores->square().mean().backward();
    if (point_.stage == Stage::train_step) update(one);
    one.scored = floats_of(scores->detach());
  }

  /// The scores of an update with a learning rate of 0, which must be unchanged.
  [[nodiscard]] std::vector<float> scores_of(OneContender& one) const {
    const auto scores = one.model->scores(batch_of(one));
    require(scores.map([](const at::Tensor&) {}));
    return floats_of(scores->detach());
  }

  static void update(OneContender& one) {
    require(one.optimizer->step(/*learning_rate=*/0).map([](double) {}));
  }

  static void forget_gradients(OneContender& one) {
    for (const Parameter& parameter : one.model->parameters()) {
      at::Tensor weight = parameter.value;
      weight.mutable_grad().reset();
    }
  }

  void keep_gradients(OneContender& one) {
    const auto scores = one.model->scores(batch_of(one));
    require(scores.map([](const at::Tensor&) {}));
    scores->square().mean().backward();
    one.gradients.clear();
    for (const Parameter& parameter : one.model->parameters())
      one.gradients.push_back(parameter.value.grad());
  }

  /// Draws weights once for all rows that share them.
  [[nodiscard]] std::shared_ptr<const ModelWeights> weights_of(const OneContender& asking) {
    std::shared_ptr<const ModelWeights>& weights = weights_[asking.row.weights];
    if (weights) return weights;
    std::vector<ModelRow> sharing;
    sharing.reserve(contenders_.size());
    for (const OneContender& contender : contenders_) {
      if (contender.family != nullptr && contender.row.weights == asking.row.weights)
        sharing.push_back(contender.row);
    }
    weights = ModelWeights::random(asking.row.family->config_for(shape_of(point_), sharing),
                                   {.seed = point_.seed});
    return weights;
  }

  const ReferenceOutput& reference_of(std::size_t contender, std::size_t item) {
    const OneContender& one = contenders_[contender];
    const std::int64_t document =
        inputs_->document_of(static_cast<std::int64_t>(item), one.documents);
    return references_.of(setting_.heat.contenders[contender], *one.family, *one.weights,
                          *one.variant, item + 1 == static_cast<std::size_t>(one.documents),
                          {inputs_->query(), inputs_->document(document)});
  }

  HeatSetting setting_;
  const HeatPoint& point_;
  AttentionInside attention_;  // including its gradients
  std::vector<OneContender> contenders_;
  std::map<std::string, std::shared_ptr<const ModelWeights>> weights_;
  bool is_placed_ = false;
  std::optional<ModelInputs> inputs_;
  SharedReferences references_;
};

}  // namespace

std::unique_ptr<Workload> train_workload(const HeatSetting& setting) {
  return std::make_unique<TrainWorkload>(setting);
}

}  // namespace attnscope::measure
