// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/model_heat.h"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

#include "engine/attention/cuda_runtime.h"
#include "engine/heat/model_row.h"
#include "engine/measure/attention_inside.h"
#include "engine/measure/available_memory.h"
#include "engine/measure/lineup.h"
#include "engine/measure/model_gate.h"
#include "engine/measure/model_inputs.h"
#include "engine/measure/process_peak.h"
#include "engine/model/model_weights.h"

namespace attnscope::measure {
namespace {

constexpr std::int64_t least_positions = 512;  // what BERT has

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

CellWork work_of(const ModelWork& work) {
  return {.useful_flop = work.linear_flop + work.attention_flop,
          .least_bytes = work.least_bytes,
          .exponentials = work.exponentials,
          .executed_flop = work.linear_flop + work.executed_attention_flop};
}

/// What a contender is measured with.
struct Entrant {
  ModelRow row;
  const Family* family = nullptr;
  ModelVariant variant;
  std::shared_ptr<const ModelWeights> weights;  // of the current placement, as is the model
  std::unique_ptr<Model> model;
  PairBatch batch;
  ModelOutput checked;  // of the call that was held against the reference
  ModelOutput latest;
  double first_call_ns = 0;
  std::vector<std::int64_t> first_call_blocks;
};

class ModelHeat {
 public:
  ModelHeat(HeatRecord& record, const GroupSizes& sizes)
      : record_(record),
        point_(record.heat().point),
        sizes_(sizes),
        memory_(record.memory()),
        troubles_(record.troubles()),
        cells_(record.cells()),
        entrants_(cells_.size()) {}

  void measure() {
    for_each_left([&](std::size_t i) { troubles_[i] = take_in(i); });
    for (const int placement : record_.placements()) {
      if (record_.cancelled() || record_.nobody_left()) return;
      if (const auto trouble = guarded(memory_, [&] { measure_at(placement); }))
        record_.drop_all_left(*trouble);
    }
  }

 private:
  template <typename Each>
  void for_each_left(const Each& each) {
    for (std::size_t i = 0; i < entrants_.size(); ++i)
      if (!troubles_[i] && !record_.cancelled()) each(i);
  }

  static Trouble unsupported(const Error& error) {
    return {CellStatus::unsupported, error.message};
  }

  std::optional<Trouble> take_in(std::size_t i) {
    if (point_.device == DeviceKind::cuda && !cuda::usable())
      return unsupported(cuda::usable().error());
    const Contender& contender = cells_[i].contender;
    Entrant& entrant = entrants_[i];
    auto row = parse_model_row(contender.model);
    if (!row) return Trouble{CellStatus::unsupported, "the model " + row.error().message};
    entrant.row = std::move(*row);
    entrant.family = &family_of(*entrant.row.family);
    auto variant = variant_of(contender, entrant.row, point_);
    if (!variant) return unsupported(variant.error());
    entrant.variant = std::move(*variant);
    return std::nullopt;
  }

  /// Weights lie elsewhere at every placement, as do what the models made of them.
  void measure_at(int placement) {
    for (Entrant& entrant : entrants_) {
      entrant.model.reset();
      entrant.weights.reset();
    }
    draw_weights();
    for_each_left([&](std::size_t i) {
      troubles_[i] = make_model(entrants_[i], cells_[i].contender.implementation);
    });
    if (!inputs_) {
      choose_batches();
      check_attention();
      for_each_left([&](std::size_t i) { check(i); });
    }
    time_all_left(placement);
  }

  /// Once for all rows that share them.
  void draw_weights() {
    std::map<std::string, std::vector<ModelRow>> rows;
    for (const Entrant& entrant : entrants_) {
      if (entrant.family != nullptr) rows[entrant.row.weights].push_back(entrant.row);
    }
    for (const auto& [key, sharing] : rows) {
      const ModelConfig config = sharing.front().family->config_for(shape_of(point_), sharing);
      const auto weights = ModelWeights::random(config, {.seed = point_.seed});
      for (Entrant& entrant : entrants_) {
        if (entrant.family != nullptr && entrant.row.weights == key) entrant.weights = weights;
      }
    }
  }

  std::optional<Trouble> make_model(Entrant& entrant, const std::string& implementation) {
    std::optional<Trouble> refused;
    const auto thrown = guarded(memory_, [&] {
      auto made = entrant.family->make(entrant.weights, entrant.variant, implementation);
      if (made) {
        entrant.model = std::move(*made);
      } else {
        refused = unsupported(made.error());
      }
    });
    return thrown ? thrown : refused;
  }

  /// Batches that fit, from what the models foresee. Nobody is foreseen to need less for more.
  void choose_batches() {
    const ModelInputs single(point_, sizes_, 1);
    const std::int64_t free = memory_.free_bytes();
    for_each_left([&](std::size_t i) {
      const auto needed = entrants_[i].model->predicted_peak_bytes(single.batch_of(1));
      if (!needed) {
        troubles_[i] = unsupported(needed.error());
      } else if (*needed < 0 || *needed > free) {
        troubles_[i] =
            Trouble{CellStatus::oom, fmt::format("one document would ask for {} when {} are free",
                                                 bytes_in_words(*needed), bytes_in_words(free))};
      }
    });
    const std::int64_t mebibytes =
        std::min(point_.batch_memory_mb, std::numeric_limits<std::int64_t>::max() >> 20);
    const std::int64_t budget = std::min(free, mebibytes << 20);
    // A document has at least its token ids, and a state for each of them.
    const std::int64_t most = std::clamp<std::int64_t>(
        budget / (point_.sequence_tokens * point_.heads * point_.head_dim), 1, point_.batch_max);
    inputs_.emplace(point_, sizes_, most);
    std::int64_t common = most;
    for_each_left([&](std::size_t i) {
      cells_[i].batch = largest_batch(*entrants_[i].model, budget);
      common = std::min(common, cells_[i].batch);
    });
    for_each_left([&](std::size_t i) {
      if (!point_.batch_per_contender) cells_[i].batch = common;
      entrants_[i].batch = inputs_->batch_of(cells_[i].batch);
      if (const auto work = entrants_[i].model->work(entrants_[i].batch))
        cells_[i].work = work_of(*work);
    });
  }

  [[nodiscard]] std::int64_t largest_batch(const Model& model, std::int64_t budget) const {
    const auto fits = [&](std::int64_t documents) {
      const auto needed = model.predicted_peak_bytes(inputs_->batch_of(documents));
      return needed && *needed >= 0 && *needed <= budget;
    };
    if (fits(inputs_->most())) return inputs_->most();
    std::int64_t fitting = 1;
    std::int64_t too_many = inputs_->most();
    while (too_many - fitting > 1) {
      const std::int64_t middle = fitting + (too_many - fitting) / 2;
      (fits(middle) ? fitting : too_many) = middle;
    }
    return fitting;
  }

  static ModelOutput score(Entrant& entrant) {
    auto output = entrant.model->score(entrant.batch);
    if (!output) throw std::runtime_error(output.error().message);
    return std::move(*output);
  }

  void check_attention() {
    AttentionInside inside(record_, sizes_);
    for_each_left([&](std::size_t i) {
      record_.tell(i, "check");
      std::optional<Verdict> verdict;
      troubles_[i] = guarded(memory_, [&] { verdict = inside.check(i); });
      if (!verdict || !verdict->trouble) return;
      cells_[i].relative_error = verdict->error.error;
      cells_[i].error_bound = verdict->error.bound;
      troubles_[i] = std::move(verdict->trouble);
    });
  }

  void check(std::size_t i) {
    Entrant& entrant = entrants_[i];
    record_.tell(i, "check");
    troubles_[i] = guarded(memory_, [&] { meter(i); });
    record_.beacon().idle();
    if (troubles_[i]) return;
    std::optional<Trouble> wrong;
    troubles_[i] = guarded(memory_, [&] {
      const std::size_t documents = entrant.batch.items.size();
      const auto references =
          references_.of(*entrant.family, *entrant.weights, entrant.variant, cells_[i].contender,
                         entrant.batch, documents_to_compare(point_.sequence_tokens, documents));
      if (!references) throw std::runtime_error(references.error().message);
      const ModelVerdict verdict =
          judge(*references, entrant.checked, documents, bound_of(entrant));
      cells_[i].relative_error = verdict.error;
      cells_[i].error_bound = verdict.bound;
      wrong = verdict.trouble;
    });
    if (!troubles_[i]) troubles_[i] = std::move(wrong);
  }

  /// The first call of a contender, alone with an empty cache: what it asks for is its memory.
  void meter(std::size_t i) {
    Entrant& entrant = entrants_[i];
    const EmptyCache alone(memory_);
    memory_.reset_peaks();
    const HeatMemory::Counters before = memory_.counters();
    const ProcessPeak process;
    record_.beacon().calling(static_cast<int>(i));
    const auto start = std::chrono::steady_clock::now();
    entrant.checked = score(entrant);
    entrant.first_call_ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    entrant.first_call_blocks = memory_.cached_blocks();
    const HeatMemory::Counters after = memory_.counters();
    cells_[i].memory = {.requested_bytes = after.requested_peak - before.requested,
                        .reserved_bytes = after.reserved_peak - before.reserved,
                        .workspace_bytes = 0};
    // A device's memory is not the process's.
    if (point_.device == DeviceKind::cpu)
      cells_[i].memory.process_peak_bytes = process.grown_bytes();
  }

  void time_all_left(int placement) {
    std::vector<Lane> lanes;
    for_each_left([&](std::size_t i) {
      Entrant& entrant = entrants_[i];
      memory_.provide(entrant.first_call_blocks);
      lanes.push_back({.contender = static_cast<int>(i),
                       .call = [&entrant] { entrant.latest = score(entrant); },
                       .judge = [this, i] { return judge_sample(i); },
                       .earlier_ns = entrant.first_call_ns});
    });
    std::vector<LaneResult> results = run_rounds(lanes, record_.rounds(placement));
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
      record_.keep(std::move(results[lane]), static_cast<std::size_t>(lanes[lane].contender));
  }

  std::optional<Trouble> judge_sample(std::size_t i) {
    auto wrong = judge_again(entrants_[i].checked, entrants_[i].latest, bound_of(entrants_[i]));
    if (!wrong) return std::nullopt;
    cells_[i].relative_error = wrong->error;
    cells_[i].error_bound = wrong->bound;
    return wrong->trouble;
  }

  [[nodiscard]] double bound_of(const Entrant& entrant) const {
    return entrant.family->error_bound(point_.dtype, shape_of(point_));
  }

  HeatRecord& record_;
  const HeatPoint& point_;
  const GroupSizes& sizes_;
  HeatMemory& memory_;
  std::vector<std::optional<Trouble>>& troubles_;
  std::vector<Cell>& cells_;
  std::optional<ModelInputs> inputs_;
  ModelReferences references_;
  std::vector<Entrant> entrants_;
};

}  // namespace

void measure_models(HeatRecord& record, const GroupSizes& sizes) {
  ModelHeat(record, sizes).measure();
}

}  // namespace attnscope::measure
