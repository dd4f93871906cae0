// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/model_gate.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnscope::measure {
namespace {

constexpr std::int64_t short_sequence = 1024;

/// Not a number is the worst error of all.
double worse(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::infinity() : std::max(a, b);
}

double error_of(const ReferenceOutput& reference, const ModelOutput& output, std::size_t item) {
  const std::size_t hidden = reference.state.size();
  double largest = 0;
  for (const double value : reference.state) largest = std::max(largest, std::abs(value));
  double error = std::abs(static_cast<double>(output.scores[item]) - reference.score);
  for (std::size_t i = 0; i < hidden; ++i) {
    const double state = output.states[item * hidden + i];
    error = worse(error, std::abs(state - reference.state[i]));
  }
  return error / largest;
}

}  // namespace

std::vector<std::size_t> documents_to_compare(std::int64_t sequence_tokens, std::size_t batch) {
  if (batch == 1 || sequence_tokens > short_sequence) return {batch - 1};
  return {0, batch - 1};
}

Result<ModelReferences::Outputs> ModelReferences::of(
    const Family& family, const ModelWeights& weights, const ModelVariant& variant,
    const Contender& contender, const PairBatch& batch, const std::vector<std::size_t>& items) {
  ModelVariant whole = variant;
  for (const std::string_view shortcut : family.shortcuts()) {
    whole.options.erase(std::string(shortcut));
  }
  const std::string options = fmt::format("{}", fmt::join(whole.options, "+"));
  Outputs outputs;
  outputs.reserve(items.size());
  for (const std::size_t item : items) {
    const bool is_last = item + 1 == batch.items.size();
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}\n{}", family.description().id(), is_last, options,
                    contender.window ? contender.window->text() : "", contender.pattern_json);
    auto known = known_.find(key);
    if (known == known_.end()) {
      auto reference = family.reference(weights, whole, batch.items[item], batch.cls);
      if (!reference) return tl::unexpected(reference.error());
      known = known_.emplace(key, std::move(*reference)).first;
    }
    outputs.emplace_back(item, &known->second);
  }
  return outputs;
}

ModelVerdict judge(const ModelReferences::Outputs& references, const ModelOutput& output,
                   std::size_t documents, double bound) {
  ModelVerdict verdict{.error = 0, .bound = bound, .trouble = {}};
  if (output.scores.size() != documents) {
    verdict.error = std::numeric_limits<double>::infinity();
    verdict.trouble = Trouble{CellStatus::wrong, fmt::format("it gave {} scores for {} documents",
                                                             output.scores.size(), documents)};
    return verdict;
  }
  for (const auto& [item, reference] : references)
    verdict.error = worse(verdict.error, error_of(*reference, output, item));
  const bool is_number =
      std::ranges::all_of(output.scores, [](float s) { return std::isfinite(s); });
  if (!is_number) {
    verdict.error = std::numeric_limits<double>::infinity();
    verdict.trouble = Trouble{CellStatus::wrong, "a score is not a number"};
  } else if (verdict.error > bound) {
    verdict.trouble = Trouble{CellStatus::wrong,
                              fmt::format("its states and scores differ from the float64 model's: "
                                          "the relative error is {:.3g}, above {:.3g}",
                                          verdict.error, bound)};
  }
  return verdict;
}

std::optional<ModelVerdict> judge_again(const ModelOutput& checked, const ModelOutput& later,
                                        double bound) {
  double largest = 0;
  for (const float value : checked.states)
    largest = std::max(largest, static_cast<double>(std::abs(value)));
  double error =
      checked.scores.size() == later.scores.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < checked.scores.size() && std::isfinite(error); ++i) {
    error =
        worse(error, std::abs(static_cast<double>(checked.scores[i]) - later.scores[i]) / largest);
  }
  if (error <= 2 * bound) return std::nullopt;
  return ModelVerdict{
      .error = error,
      .bound = 2 * bound,
      .trouble =
          Trouble{CellStatus::wrong,
                  fmt::format("its scores were right when they were checked and others after "
                              "timed calls: they differ by {:.3g}, above {:.3g}",
                              error, 2 * bound)}};
}

}  // namespace attnscope::measure
