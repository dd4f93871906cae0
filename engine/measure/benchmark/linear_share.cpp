// SPDX-License-Identifier: Apache-2.0
//
// How much of a model's time its linear layers take: a call, and the same layers alone on as many
// tokens in the same pieces, in turns in one process.
//
//   attnscope_linear_share [TOKENS [DOCUMENTS [TURNS]]]
#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "engine/measure/block_cache.h"
#include "engine/model/bert/encoder_layer.h"
#include "engine/model/family.h"

namespace attnscope {
namespace {

constexpr std::int64_t query_tokens = 11;

double milliseconds(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

std::vector<std::int32_t> drawn(std::int64_t tokens, std::mt19937& draw) {
  std::uniform_int_distribution<std::int32_t> word(1000, 30'000);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
  for (std::int32_t& id : ids) id = word(draw);
  return ids;
}

/// A model's linear layers and nothing else.
class LinearLayers {
 public:
  LinearLayers(const ModelWeights& weights, const Computing& computing) {
    for (std::int64_t l = 0; l < weights.shape().layers; ++l) {
      const std::string layer = name_of_layer(l);
      const LinearWeights query = weights.linear(layer + "attention.self.query");
      const LinearWeights key = weights.linear(layer + "attention.self.key");
      const LinearWeights value = weights.linear(layer + "attention.self.value");
      const LinearWeights projections{at::cat({query.weight, key.weight, value.weight}),
                                      at::cat({query.bias, key.bias, value.bias})};
      layers_.push_back({computing.of(projections),
                         computing.of(weights.linear(layer + "attention.output.dense")),
                         computing.of(weights.linear(layer + "intermediate.dense")),
                         computing.of(weights.linear(layer + "output.dense"))});
    }
  }

  /// Of states x [tokens, hidden]; `wide` [at least tokens_at_once, feed_forward].
  void run(const at::Tensor& x, const at::Tensor& wide) const {
    for (const Layer& layer : layers_) {
      at::Tensor y = layer.projections(x);
      for (std::int64_t first = 0; first < x.size(0); first += EncoderLayer::tokens_at_once) {
        const std::int64_t count = std::min(EncoderLayer::tokens_at_once, x.size(0) - first);
        const at::Tensor piece = x.narrow(0, first, count);
        y = layer.attention_output.plus(piece, piece);
        y = layer.intermediate(piece);
        y = layer.output.plus(wide.narrow(0, 0, count), piece);
      }
    }
  }

 private:
  struct Layer {
    Linear projections, attention_output, intermediate, output;
  };
  std::vector<Layer> layers_;
};

int run(std::int64_t tokens, std::int64_t documents, int turns) {
  const c10::InferenceMode no_graph;
  constexpr int threads = 2;
  at::set_num_threads(threads);
  ModelShape shape;
  shape.positions = std::max(shape.positions, tokens);
  const Family& bert = *families().front();
  const auto weights = ModelWeights::random(bert.description().config_for(shape, {}), {});
  std::mt19937 draw(1);
  const std::vector<std::int32_t> query = drawn(query_tokens, draw);
  std::vector<std::vector<std::int32_t>> texts;
  PairBatch batch{.items = {}, .one_query = true};
  for (std::int64_t d = 0; d < documents; ++d) texts.push_back(drawn(tokens - 12, draw));
  for (const auto& text : texts) batch.items.push_back({query, text});

  auto encoder = bert.make(
      weights, {.pattern = *find_pattern("sparse"), .window = Window::of(4), .threads = threads},
      "segment");
  const LinearRoute route =
      fastest_route(DType::float32, DeviceKind::cpu, shape.hidden, shape.feed_forward);
  const LinearLayers layers(*weights, {.route = route});
  const std::int64_t packed = query_tokens + documents * (tokens - query_tokens);
  const at::Tensor x = at::ones({packed, shape.hidden});
  const at::Tensor wide = at::ones({EncoderLayer::tokens_at_once, shape.feed_forward});

  std::vector<double> whole;
  std::vector<double> linear;
  std::vector<double> shares;
  const auto turn = [&](bool kept) {
    const double of_call = milliseconds([&] {
      if (!(*encoder)->score(batch)) std::abort();
    });
    const double of_layers = milliseconds([&] { layers.run(x, wide); });
    if (!kept) return;
    whole.push_back(of_call);
    linear.push_back(of_layers);
    shares.push_back(1 - of_layers / of_call);
  };
  turn(false);
  for (int i = 0; i < turns; ++i) turn(true);
  std::printf(
      "sparse/segment/4, %ld tokens, %ld documents, linear layers %s: a call %.1f ms, its linear "
      "layers %.1f ms, outside them %.1f%% (quartiles %.1f to %.1f%%)\n",
      static_cast<long>(tokens), static_cast<long>(documents), name_of(route).data(),
      quantile(whole, 0.5), quantile(linear, 0.5), 100 * quantile(shares, 0.5),
      100 * quantile(shares, 0.25), 100 * quantile(shares, 0.75));
  return 0;
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  const auto number = [&](int place, std::int64_t otherwise) {
    return argc > place ? std::strtoll(argv[place], nullptr, 10) : otherwise;
  };
  static_cast<void>(attnscope::measure::process_memory());
  return attnscope::run(std::max<std::int64_t>(number(1, 4096), 16),
                        std::max<std::int64_t>(number(2, 2), 1),
                        static_cast<int>(std::max<std::int64_t>(number(3, 15), 1)));
}
