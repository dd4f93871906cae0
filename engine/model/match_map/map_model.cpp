// SPDX-License-Identifier: Apache-2.0
#include "engine/model/match_map/map_model.h"

#include <ATen/Parallel.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/model/bert/reference.h"
#include "engine/model/linear.h"
#include "engine/model/words/words_description.h"

namespace attnscope {
namespace {

/// Number of floats in all channels of the rows that are convolved in one call: they stay in the L2
/// cache.
constexpr std::int64_t channel_floats = 1 << 16;

std::int64_t rows_convolved_at_once(std::int64_t rows, std::int64_t columns,
                                    std::int64_t channels) {
  return std::clamp<std::int64_t>(channel_floats / (channels * columns), 1, rows);
}

at::Tensor unit_rows(const at::Tensor& rows) {
  at::Tensor unit = rows.clone();
  to_unit_length(unit);
  return unit;
}

std::vector<float> copied_floats(const at::Tensor& tensor) {
  const at::Tensor whole = tensor.contiguous();
  return {whole.const_data_ptr<float>(), whole.const_data_ptr<float>() + whole.numel()};
}

}  // namespace

MapModel::MapModel(std::shared_ptr<const ModelWeights> weights, ModelConfig config,
                   const ModelVariant& variant, std::int64_t features)
    : WordsModel(std::move(weights), std::move(config), variant),
      features_(features),
      first_(this->weights().linear(map_names::first)),
      second_(this->weights().linear(map_names::second)),
      last_(this->weights().tensor(map_names::last)) {}

/// Each document is processed by one thread, whose temporaries stay in its caches.
Result<GroupOutput> MapModel::score_words(TokenIds query, std::span<const TokenIds> documents,
                                          const Show& show) {
  const std::vector<TokenIds> of_query{query};
  const at::Tensor vectors = embed(of_query);
  // The kernel's sums do not depend on other rows: equal words have equal cosines.
  const Linear products(unit_rows(vectors), at::zeros({vectors.size(0)}), LinearRoute::kernel);
  const auto count = static_cast<std::int64_t>(documents.size());
  at::Tensor features = at::empty({count, features_});
  std::vector<Shown> shown;
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    const c10::InferenceMode no_graph;  // is thread-local
    for (std::int64_t d = begin; d < end; ++d) {
      const auto text = documents.subspan(static_cast<std::size_t>(d), 1);
      const at::Tensor words = text.front().empty() ? at::zeros({1, hidden()}) : embed(text);
      const at::Tensor cosines = products(unit_rows(words)).t().contiguous();
      features.select(0, d).copy_(seen_in({vectors, words, cosines}));
      if (show && d == 0)
        shown.push_back({0, "cosines", cosines.sizes().vec(), copied_floats(cosines)});
    }
  });
  for (Shown& tensor : shown) show(std::move(tensor));
  return GroupOutput{.scores = copied_floats(scores_of(features)),
                     .states = copied_floats(features)};
}

at::Tensor MapModel::scores_of(const at::Tensor& features) const {
  const auto layer = [](const at::Tensor& x, const LinearWeights& by) {
    return at::relu(at::linear(x, by.weight, by.bias));
  };
  return at::linear(layer(layer(features, first_), second_), last_).squeeze(1);
}

ModelWork MapModel::work_of(const WordCounts& counts) const {
  const auto query = static_cast<double>(counts.query), width = static_cast<double>(hidden());
  const double layers = static_cast<double>(features_ * map_names::first_width +
                                            map_names::first_width * map_names::second_width +
                                            map_names::second_width);
  ModelWork work{.linear_flop = 2 * query * counts.words() * width,
                 .least_bytes = sizeof(float) * (counts.words() * width + layers)};
  for (const std::int64_t words : counts.documents)
    work.linear_flop += flop_of_map(counts.query, words) + 2 * layers;
  return work;
}

/// Per thread, for its document: its vectors twice, the map twice and the features.
std::int64_t MapModel::peak_bytes(const WordCounts& counts) const {
  const auto documents = static_cast<std::int64_t>(counts.documents.size());
  std::int64_t longest = 1;
  for (const std::int64_t words : counts.documents) longest = std::max(longest, words);
  const std::int64_t each =
      2 * longest * (hidden() + counts.query) + floats_of_map(counts.query, longest);
  const std::int64_t layers = map_names::first_width + map_names::second_width + 1;
  return static_cast<std::int64_t>(sizeof(float)) *
         (std::min<std::int64_t>(threads(), documents) * each + 3 * counts.query * hidden() +
          documents * (2 * features_ + 2 * layers));
}

ReferenceOutput scored_map(const WordsReference& reference, const at::Tensor& features) {
  const at::Tensor seen = features.unsqueeze(0);
  const at::Tensor first = reference.linear(map_names::first, seen).relu();
  const at::Tensor second = reference.linear(map_names::second, first).relu();
  return {.score = second.matmul(reference.tensor(map_names::last).t()).item<double>(),
          .state = doubles_of(features)};
}

void convolve_rows(const at::Tensor& map, const LinearWeights& convolution,
                   const std::function<void(std::int64_t, const at::Tensor&)>& use) {
  const std::int64_t beyond = convolution.weight.size(3) - 1;
  const std::int64_t rows = map.size(0);
  const at::Tensor padded = at::constant_pad_nd(map, {0, beyond, 0, beyond}, 0);
  const std::int64_t at_once =
      rows_convolved_at_once(rows, map.size(1), convolution.weight.size(0));
  for (std::int64_t first = 0; first < rows; first += at_once) {
    const std::int64_t count = std::min(at_once, rows - first);
    const at::Tensor seen = padded.narrow(0, first, count + beyond).unsqueeze(0).unsqueeze(0);
    use(first, at::conv2d(seen, convolution.weight, convolution.bias).squeeze(0));
  }
}

std::int64_t floats_of_convolved_rows(std::int64_t rows, std::int64_t columns,
                                      std::int64_t channels) {
  // LibTorch holds a second copy of the channels in its own layout.
  return 2 * channels * rows_convolved_at_once(rows, columns, channels) * columns +
         2 * rows * columns;
}

}  // namespace attnscope
