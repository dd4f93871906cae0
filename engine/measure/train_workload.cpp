// SPDX-License-Identifier: Apache-2.0
//
// Training steps of a cross-encoder: forward only, up to the gradients, whole steps, or the
// optimiser alone. The learning rate is 0, so that every call does the same work on the same
// weights and its scores can be compared with those of the first.
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/heat/model_row.h"
#include "engine/measure/model_contenders.h"
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
        attention_(setting_, attention_of_training(setting.heat)),
        weights_(setting.heat) {
    for (const Contender& contender : setting.heat.contenders) {
      Entry& entry = entries_.emplace_back(contender, point_);
      if (entry.family == nullptr) continue;
      if (entry.row.family->id() != "bert") {
        entry.variant =
            fail("models of the family {} are not trained here", entry.row.family->id());
      }
      if (has_narrow_products(contender.model)) {
        entry.variant =
            fail("linear layers are trained in the heat's dtype, and not in fewer bits");
      }
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
    const Entry& entry = entries_[contender];
    const std::int64_t hidden = point_.heads * point_.head_dim;
    const std::int64_t of_layer = 10 * hidden + 2 * point_.feed_forward;
    const bool recomputes = entry.row.options.contains(recomputed_layers);
    const std::int64_t values =
        recomputes ? point_.layers * hidden + 2 * of_layer : (point_.layers + 1) * of_layer;
    const std::int64_t tokens = batch * point_.sequence_tokens;
    return 4 * entry.weight_bytes + tokens * values * size_of(point_.dtype);
  }

  Result<CellWork> set_batch(std::size_t contender, std::int64_t batch) override {
    Entry& entry = entries_[contender];
    entry.documents = batch;
    inputs_.emplace(point_, setting_.sizes, batch);
    const auto model =
        entry.family->make(entry.weights, *entry.variant, entry.contender.implementation);
    if (!model) return tl::unexpected(model.error());
    const auto work = (*model)->work(batch_of(entry));
    if (!work) return tl::unexpected(work.error());
    return work_of_stage(*work, static_cast<double>(entry.weight_bytes));
  }

  void place(int /*placement*/) override {
    if (!std::exchange(is_placed_, true)) return;
    for (Entry& entry : entries_) {
      entry.gradients.clear();
      entry.optimizer.reset();
      entry.model.reset();
      entry.weights.reset();
    }
    weights_.release();
  }

  Status prepare(std::size_t contender) override {
    Entry& entry = entries_[contender];
    if (entry.model) return {};
    if (!entry.variant) return tl::unexpected(entry.variant.error());
    entry.weights = weights_.of(entry.row);
    auto made = TrainedCrossEncoder::make(
        *entry.weights, *entry.variant, entry.contender.implementation,
        entry.row.options.contains(recomputed_layers) ? KeptLayers::inputs_alone
                                                      : KeptLayers::whole);
    if (!made) return tl::unexpected(made.error());
    entry.model = std::move(*made);
    entry.weight_bytes = 0;
    for (const Parameter& parameter : entry.model->parameters())
      entry.weight_bytes += static_cast<std::int64_t>(parameter.value.nbytes());
    if (is_updated()) entry.optimizer.emplace(entry.model->parameters(), AdamWOptions{});
    return {};
  }

  Verdict check(std::size_t contender, FirstCall& first) override {
    Entry& entry = entries_[contender];
    if (point_.stage == Stage::train_optimizer) keep_gradients(entry);
    first.measure([&] { compute(entry); });
    entry.checked = entry.scored;
    return {};
  }

  Verdict judge(std::size_t contender) override {
    Entry& entry = entries_[contender];
    if (Verdict alone = attention_.judge(contender); !alone.wrong.empty()) return alone;
    const std::vector<float> scored =
        point_.stage == Stage::train_optimizer ? scores_of(entry) : entry.checked;
    const double bound = entry.family->error_bound(point_.dtype, shape_of(point_));
    return judge_scores(references_.of_call(entry, *inputs_, point_.sequence_tokens), scored,
                        bound);
  }

  void before_rounds() override { attention_.release(); }
  void enter(std::size_t contender) override {
    Entry& entry = entries_[contender];
    if (point_.stage == Stage::train_optimizer && entry.gradients.empty()) keep_gradients(entry);
  }
  void call(std::size_t contender) override { compute(entries_[contender]); }
  Verdict judge_sample(std::size_t contender) override {
    const Entry& entry = entries_[contender];
    if (entry.scored == entry.checked) return {};
    return {{.error = std::numeric_limits<double>::infinity(), .bound = 0},
            "its scores after the timed calls differ from those that were checked, although the "
            "weights are the same"};
  }

 private:
  struct Entry : ModelContender {
    using ModelContender::ModelContender;
    std::int64_t weight_bytes = 0;
    std::unique_ptr<TrainedCrossEncoder> model{};
    std::optional<AdamW> optimizer{};
    std::vector<at::Tensor> gradients{};  // for the optimiser stage only
    std::vector<float> scored{}, checked{};
  };

  [[nodiscard]] bool is_updated() const {
    return point_.stage == Stage::train_step || point_.stage == Stage::train_optimizer;
  }

  /// Each pair has its own query, as in training.
  [[nodiscard]] PairBatch batch_of(const Entry& entry) const {
    PairBatch batch = inputs_->batch_of(entry.documents);
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

  void compute(Entry& entry) {
    if (point_.stage == Stage::train_optimizer) {
      for (std::size_t i = 0; i < entry.gradients.size(); ++i) {
        at::Tensor weight = entry.model->parameters()[i].value;
        weight.mutable_grad() = entry.gradients[i];
      }
      update(entry);
      return;
    }
    forget_gradients(entry);
    const auto scores = entry.model->scores(batch_of(entry));
    require(scores.map([](const at::Tensor&) {}));
    if (point_.stage != Stage::train_forward) scores->square().mean().backward();
    if (point_.stage == Stage::train_step) update(entry);
    entry.scored = floats_of(scores->detach());
  }

  /// The scores of an update with a learning rate of 0, which must be unchanged.
  [[nodiscard]] std::vector<float> scores_of(Entry& entry) const {
    const auto scores = entry.model->scores(batch_of(entry));
    require(scores.map([](const at::Tensor&) {}));
    return floats_of(scores->detach());
  }

  static void update(Entry& entry) {
    require(entry.optimizer->step(/*learning_rate=*/0).map([](double) {}));
  }

  static void forget_gradients(Entry& entry) {
    for (const Parameter& parameter : entry.model->parameters()) {
      at::Tensor weight = parameter.value;
      weight.mutable_grad().reset();
    }
  }

  void keep_gradients(Entry& entry) {
    const auto scores = entry.model->scores(batch_of(entry));
    require(scores.map([](const at::Tensor&) {}));
    scores->square().mean().backward();
    entry.gradients.clear();
    for (const Parameter& parameter : entry.model->parameters())
      entry.gradients.push_back(parameter.value.grad());
  }

  HeatSetting setting_;
  const HeatPoint& point_;
  LayerAttentionCheck attention_;  // including its gradients
  std::vector<Entry> entries_;
  SharedWeights weights_;
  bool is_placed_ = false;
  std::optional<ModelInputs> inputs_;
  SharedReferences references_;
};

}  // namespace

std::unique_ptr<Workload> train_workload(const HeatSetting& setting) {
  return std::make_unique<TrainWorkload>(setting);
}

}  // namespace attnscope::measure
