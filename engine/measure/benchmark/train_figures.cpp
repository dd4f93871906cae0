// SPDX-License-Identifier: Apache-2.0
//
// Training throughput of a cross-encoder at MiniLM's sizes with random weights: a step with pairs
// of 512 tokens relative to the machine's multiply-add rate; a step with pairs of 4096 tokens by
// `segment` compared with full attention by LibTorch, with the memory of both; and a step with
// pairs of typical lengths, which train_in_transformers.py runs with transformers and PyTorch.
//
//   attnscope_train_figures [ROUNDS [THREADS [512|4096|pairs]]]
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "engine/heat/model_row.h"
#include "engine/measure/benchmark/figures.h"
#include "engine/measure/heat_device.h"
#include "engine/model/model_weights.h"
#include "engine/train/trainer.h"

namespace attnscope {
namespace {

constexpr std::int32_t cls = 101;
constexpr std::int64_t query_tokens = 11;
constexpr double megabyte = 1e6;

std::vector<std::int32_t> drawn(std::int64_t tokens, std::mt19937& draw) {
  std::uniform_int_distribution<std::int32_t> word(1000, 30'000);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
  for (std::int32_t& id : ids) id = word(draw);
  return ids;
}

/// A training and its batch.
class Steps {
 public:
  /// `lengths`: tokens of each pair; every group has two pairs.
  Steps(const char* pattern, const char* implementation, const std::vector<std::int64_t>& lengths,
        int threads, KeptLayers kept)
      : variant_{.pattern = *find_pattern(pattern),
                 .window = Window::of(4),
                 .options = {"cls-only-last-layer"},
                 .threads = threads} {
    const ModelRow row = needed(parse_model_row(pattern));
    ModelRow plain = row;
    plain.options.clear();
    const ModelConfig config = row.family->config_for({.positions = 4096}, {&plain, 1});
    weights_ = ModelWeights::random(config, {});
    trainer_ = needed(Trainer::make(weights_, variant_, implementation,
                                    {.objective = Objective::margin_mse, .kept = kept}));
    std::mt19937 draw(1);
    for (std::size_t i = 0; i < lengths.size(); i += 2) {
      TrainingGroup group{.query = drawn(query_tokens, draw), .documents = {}, .margin = 1};
      for (std::size_t d = i; d < i + 2; ++d)
        group.documents.push_back(drawn(lengths[d] - 1 - query_tokens, draw));
      batch_.push_back(std::move(group));
    }
    // The first step requests its memory from the system.
    measure::HeatMemory& memory = measure::process_memory();
    const auto before = memory.counters().requested;
    memory.reset_peaks();
    step();
    peak_bytes_ = static_cast<double>(memory.counters().requested_peak - before);
  }

  void step() const { static_cast<void>(needed(trainer_->step({&batch_, 1}, cls))); }

  /// Forward and backward: three products per linear layer; two and five products of attention.
  [[nodiscard]] CellWork work() const {
    PairBatch pairs{.items = {}, .cls = cls};
    for (const TrainingGroup& group : batch_)
      for (const auto& document : group.documents) pairs.items.push_back({group.query, document});
    const auto model =
        needed(family_of(*weights_->config().family).make(weights_, variant_, "segment"));
    const ModelWork forward = needed(model->work(pairs));
    return {.useful_flop = 3 * forward.linear_flop + 3.5 * forward.attention_flop};
  }

  /// Peak memory of the first step, excluding weights and moments, which every training needs.
  [[nodiscard]] double peak_bytes() const { return peak_bytes_; }

 private:
  ModelVariant variant_;
  std::shared_ptr<const ModelWeights> weights_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<TrainingGroup> batch_;
  double peak_bytes_ = 0;
};

class TrainFigures : public Figures {
 public:
  using Figures::Figures;
  Case& steps(const std::string& name, const std::shared_ptr<const Steps>& steps) {
    return add(
        name, [steps] { steps->step(); }, steps->work());
  }
};

std::shared_ptr<const Steps> made(const char* pattern, const char* implementation,
                                  const std::vector<std::int64_t>& lengths, int threads,
                                  KeptLayers kept = KeptLayers::whole) {
  return std::make_shared<const Steps>(pattern, implementation, lengths, threads, kept);
}

void print_rate(const char* what, double tokens, const Case& of) {
  double seconds = 0;
  for (const double call_seconds : of.seconds) seconds += call_seconds;
  fmt::print("{}: {:.0f} tokens a second\n", what,
             tokens * static_cast<double>(of.seconds.size()) / seconds);
}

void short_pairs(int rounds, int threads) {
  constexpr std::int64_t pairs = 16;
  const std::vector<std::int64_t> lengths(pairs, 512);
  TrainFigures figures(threads);
  const Case& full =
      figures.steps("full, 16 pairs of 512", made("full", "segment", lengths, threads));
  const Case& sparse = figures.steps("sparse w = 4", made("sparse", "segment", lengths, threads));
  figures.measure(rounds);
  figures.print();
  print_rate("full", static_cast<double>(pairs * 512), full);
  print_rate("sparse w = 4", static_cast<double>(pairs * 512), sparse);
  figures.print_share("a step, full attention by segment", full, "0.6");
  figures.print_share("... sparse w = 4", sparse, "0.6");
}

void long_pairs(int rounds, int threads) {
  const std::vector<std::int64_t> lengths(2, 4096);
  TrainFigures figures(threads);
  const auto ours = made("sparse", "segment", lengths, threads);
  const auto again = made("sparse", "segment", lengths, threads, KeptLayers::inputs_alone);
  const auto torch = made("full", "sdpa", lengths, threads);
  const double all = torch->peak_bytes();
  for (const auto& [name, steps] :
       {std::pair("sparse w = 4", ours), std::pair("... with layers computed twice", again),
        std::pair("full by sdpa", torch)}) {
    const double bytes = steps->peak_bytes();
    fmt::print("{}: {:.0f} MB at its peak, {:.2f} of full's (reach: 0.5 at most)\n", name,
               bytes / megabyte, bytes / all);
  }
  std::fflush(stdout);
  const Case& sparse = figures.steps("sparse w = 4, 2 pairs of 4096", ours);
  const Case& recomputed = figures.steps("... with layers computed twice", again);
  const Case& full = figures.steps("full by sdpa", torch);
  figures.measure(rounds);
  figures.print();
  Figures::print_times("sparse w = 4 at 4096 tokens against full by sdpa", sparse, full, 1, "4x");
  Figures::print_times("... with layers computed twice", recomputed, full, 1, "(none)");
}

/// train_in_transformers.py contains the same list.
void usual_pairs(int rounds, int threads) {
  std::vector<std::int64_t> lengths;
  std::int64_t tokens = 0;
  for (std::int64_t i = 0; i < 32; ++i) {
    lengths.push_back(32 + (i * 37) % 128);
    tokens += lengths.back();
  }
  TrainFigures figures(threads);
  const Case& full = figures.steps("full, 32 pairs of 32 to 159 tokens",
                                   made("full", "segment", lengths, threads));
  const Case& sparse = figures.steps("sparse w = 4", made("sparse", "segment", lengths, threads));
  figures.measure(rounds);
  figures.print();
  print_rate("full", static_cast<double>(tokens), full);
  print_rate("sparse w = 4", static_cast<double>(tokens), sparse);
}

int run(int rounds, int threads, std::string_view which) {
  at::set_num_threads(threads);
  if (which.empty() || which == "512") short_pairs(rounds, threads);
  if (which.empty() || which == "4096") long_pairs(rounds, threads);
  if (which.empty() || which == "pairs") usual_pairs(rounds, threads);
  return 0;
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  static_cast<void>(attnscope::measure::process_memory());
  return attnscope::run(attnscope::argument(argc, argv, 1, 5),
                        attnscope::argument(argc, argv, 2, 2), argc > 3 ? argv[3] : "");
}
