// SPDX-License-Identifier: Apache-2.0
//
// Throughput of re-rankers with encoded documents, at the size of BERT-base: 20 query tokens, 180
// tokens per document, random weights and rows.
//
//   attnscope_late_figures [ROUNDS [THREADS]]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/measure/benchmark/figures.h"
#include "engine/measure/heat_device.h"
#include "engine/model/linear.h"
#include "kernels/cpu/document_vectors.h"

namespace attnscope {
namespace {

constexpr std::int64_t tokens_of_query = 19;      // plus [CLS]
constexpr std::int64_t tokens_of_document = 179;  // plus [CLS]
constexpr std::int32_t cls = 101, sep = 102, some_word = 2000;
constexpr ModelShape bert_base{.layers = 12, .hidden = 768, .heads = 12, .feed_forward = 3072};

std::vector<std::int32_t> words(std::int64_t count) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count), some_word);
  ids.back() = sep;
  return ids;
}

class LateFigures : public Figures {
 public:
  using Figures::Figures;

  /// Scores a query against this many encoded documents.
  Case& online(const std::string& row, const std::shared_ptr<Model>& model, std::int64_t candidates,
               std::optional<VectorFormat> format = {}) {
    std::string name = fmt::format("{}, {} candidates{}", row, candidates,
                                   format ? fmt::format(", {}", name_of(*format)) : "");
    const CachedDocuments documents{.query = query_,
                                    .one_document = one_,
                                    .tokens = tokens_of_document,
                                    .count = candidates,
                                    .cls = cls,
                                    .format = format};
    return add_cached(std::move(name), model, documents);
  }

  /// Encodes documents of these lengths, excluding [CLS], packed.
  Case& offline(const std::string& name, const std::shared_ptr<Model>& model,
                const std::vector<std::int64_t>& lengths) {
    auto texts = std::make_shared<std::vector<std::vector<std::int32_t>>>();
    texts->reserve(lengths.size());
    for (const std::int64_t tokens : lengths) texts->push_back(words(tokens));
    auto documents = std::make_shared<std::vector<TokenIds>>(texts->begin(), texts->end());
    return add(
        name,
        [model, texts, documents] {
          static_cast<void>(needed(model->encode_documents(*documents, cls)));
        },
        cell_work(needed(model->work_of_documents(*documents))));
  }

 private:
  std::vector<std::int32_t> query_ = words(tokens_of_query), one_ = words(1);
};

/// Only the kernel that sums ColBERT's scores, without the query's encoder.
std::function<void()> maxima_alone(std::int64_t candidates, int threads) {
  constexpr std::int64_t width = 128, queries = tokens_of_query + 1, rows = tokens_of_document + 1;
  const at::Tensor vectors = at::randn({candidates * rows, width}),
                   query = at::randn({queries, width});
  std::vector<TokenRange> documents;
  documents.reserve(static_cast<std::size_t>(candidates));
  for (std::int64_t i = 0; i < candidates; ++i) documents.push_back({i * rows, (i + 1) * rows});
  auto largest =
      std::make_shared<std::vector<float>>(static_cast<std::size_t>(candidates * queries));
  auto workspace = std::make_shared<std::vector<float>>(
      static_cast<std::size_t>(cpu::vector_workspace_floats(width, queries, threads)));
  return [=] {
    const cpu::VectorRows cache{.data = static_cast<const std::byte*>(vectors.data_ptr()),
                                .format = VectorFormat::float32,
                                .width = width,
                                .rows = candidates * rows};
    const std::span<const float> requested(query.data_ptr<float>(),
                                           static_cast<std::size_t>(queries * width));
    if (!cpu::largest_products(cache, documents, requested, queries, 0, *largest, threads,
                               *workspace))
      std::abort();
  };
}

/// ColBERT's score with LibTorch operations: the product with every document's vectors, the maximum
/// over each document, their sum.
std::function<void()> maxima_of_torch(std::int64_t candidates) {
  const at::Tensor query = at::randn({tokens_of_query + 1, 128});
  const at::Tensor documents = at::randn({candidates, tokens_of_document + 1, 128});
  return [query, documents] {
    const at::Tensor products = at::matmul(documents, query.t());  // [candidates, tokens, query's]
    static_cast<void>(products.amax(1).sum(1).contiguous());
  };
}

/// BERT's layers as in PyTorch, on documents padded to the longest one.
class PaddedEncoder {
 public:
  explicit PaddedEncoder(const std::vector<std::int64_t>& lengths) {
    const std::int64_t h = bert_base.hidden, f = bert_base.feed_forward;
    const std::int64_t longest = *std::ranges::max_element(lengths) + 1;
    const auto count = static_cast<std::int64_t>(lengths.size());
    states_ = at::randn({count, longest, h});
    mask_ = at::zeros({count, 1, 1, longest}, at::kBool);
    for (std::int64_t i = 0; i < count; ++i)
      mask_[i].slice(2, 0, lengths[static_cast<std::size_t>(i)] + 1).fill_(true);
    for (std::int64_t i = 0; i < bert_base.layers; ++i) {
      const auto matrix = [](std::int64_t out, std::int64_t in) {
        return Linear(at::randn({out, in}) * 0.02, at::zeros({out}), LinearRoute::plain);
      };
      layers_.push_back({matrix(3 * h, h), matrix(h, h), matrix(f, h), matrix(h, f)});
    }
    norm_ = at::ones({h});
    shift_ = at::zeros({h});
  }

  void operator()() const {
    at::Tensor x = states_;
    const std::int64_t count = x.size(0), tokens = x.size(1), h = bert_base.hidden;
    const auto normed = [&](const at::Tensor& sum) {
      return at::layer_norm(sum, {h}, norm_, shift_, bert_base.norm_epsilon);
    };
    for (const Layer& layer : layers_) {
      const at::Tensor parts =
          layer.projections(x).view({count, tokens, 3, bert_base.heads, bert_base.head_dim()});
      const auto part = [&](std::int64_t i) { return parts.select(2, i).transpose(1, 2); };
      const at::Tensor attended = at::scaled_dot_product_attention(part(0), part(1), part(2), mask_)
                                      .transpose(1, 2)
                                      .reshape({count, tokens, h});
      x = normed(layer.output(attended) + x);
      x = normed(layer.narrow(at::gelu(layer.wide(x))) + x);
    }
  }

 private:
  struct Layer {
    Linear projections, output, wide, narrow;
  };
  at::Tensor states_, mask_, norm_, shift_;
  std::vector<Layer> layers_;
};

/// Between 20 and 180, 75 on average, like the paper's candidates.
std::vector<std::int64_t> usual_lengths() {
  return {19, 29, 44, 54, 64, 84, 119, 179};
}

int run(int rounds, int threads) {
  const c10::InferenceMode no_graph;
  at::set_num_threads(threads);
  LateFigures figures(threads);
  constexpr std::int64_t few = 1000, many = 100'000, crossed = 4;
  const std::shared_ptr<Model> mix = figures.model("mixencoder-a", bert_base, "segment"),
                               dual = figures.model("dual-bert", bert_base, "segment"),
                               poly = figures.model("poly-encoder-360", bert_base, "segment"),
                               colbert = figures.model("colbert", bert_base, "segment"),
                               cross = figures.model("cross-bert", bert_base, "segment");
  const Case& mixed = figures.online("mixencoder-a", mix, few);
  PairBatch pairs{.items = {}};
  const std::vector<std::int32_t> query = words(tokens_of_query),
                                  document = words(tokens_of_document);
  pairs.items.reserve(static_cast<std::size_t>(crossed));
  for (std::int64_t i = 0; i < crossed; ++i) pairs.items.push_back({query, document});
  const Case& crosses = figures.add(fmt::format("cross-bert, {} candidates", crossed),
                                    [&] { static_cast<void>(needed(cross->score(pairs))); });
  const at::Tensor from = at::randn({40'000'000}), to = at::empty_like(from);
  const Case& copy = figures.add("copying 160 MB", [=] { to.copy_(from); },
                                 {.least_bytes = 2.0 * static_cast<double>(from.nbytes())});
  const at::Tensor left = at::randn({2000, bert_base.hidden}),
                   right = at::randn({bert_base.feed_forward, bert_base.hidden});
  const Case& product =
      figures.add("LibTorch's product of 2000 x 768 and 768 x 3072",
                  [=] { static_cast<void>(at::linear(left, right)); },
                  {.useful_flop = 2.0 * 2000 * bert_base.hidden * bert_base.feed_forward});
  const Linear kernel(right, at::zeros({bert_base.feed_forward}), LinearRoute::kernel);
  const Case& of_kernel = figures.add(
      "the linear kernel's", [=] { static_cast<void>(kernel(left)); }, product.work);
  const Case& duals = figures.online("dual-bert", dual, many);
  const Case& matched = figures.online("colbert", colbert, few);
  const Case& narrow = figures.online("colbert", colbert, few, VectorFormat::int8);
  const Case& alone = figures.add("its products and maxima alone", maxima_alone(few, threads));
  const Case& by_torch =
      figures.add("LibTorch's product and maximum, 1000 candidates", maxima_of_torch(few));
  const Case& poly_few = figures.online("poly-encoder-360", poly, few);
  const Case& dual_few = figures.online("dual-bert", dual, few);
  const std::vector<std::int64_t> alike(8, tokens_of_document);
  const Case& encoded = figures.offline("encoding 8 documents of 180 tokens", dual, alike);
  const Case& packed =
      figures.offline("encoding 8 documents of 75 tokens on average", dual, usual_lengths());
  const Case& padded =
      figures.add("PyTorch's layers on the same, padded", PaddedEncoder(usual_lengths()));
  figures.measure(rounds);
  figures.print();
  figures.print_share("LibTorch's product", product, "(none)");
  figures.print_share("the linear kernel's", of_kernel, "what bounds products here");
  figures.print_share("MixEncoder a, k = 1, 1000 candidates", mixed, "0.7");
  Figures::print_times("... a candidate, against Cross-BERT", mixed, crosses,
                       static_cast<double>(few) / crossed, "600x");
  std::vector<double> reading;
  reading.reserve(duals.seconds.size());
  for (std::size_t i = 0; i < duals.seconds.size(); ++i)
    reading.push_back(duals.seconds[i] - dual_few.seconds[i]);
  Figures::print_rate("Dual-BERT, 99,000 candidates more",
                      duals.work.least_bytes - dual_few.work.least_bytes, reading, copy, "0.7");
  Figures::print_rate("ColBERT's maxima, 1000 candidates", matched.work.least_bytes, alone.seconds,
                      copy, "0.6");
  Figures::print_times("... against LibTorch's product and maximum", alone, by_torch, 1, "5x");
  Figures::print_times("ColBERT, 1000 candidates, over int8", narrow, matched, 1, "(none)");
  figures.print_share("encoding documents of 180 tokens", encoded, "0.75");
  Figures::print_times("... of 75 on average, against PyTorch's, padded", packed, padded, 1, "2x");
  Figures::print_times("Poly-360 over Dual-BERT, 1000 candidates", dual_few, poly_few, 1,
                       "1.3x at most");
  return 0;
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  static_cast<void>(attnscope::measure::process_memory());
  return attnscope::run(attnscope::argument(argc, argv, 1, 10),
                        attnscope::argument(argc, argv, 2, 2));
}
