// SPDX-License-Identifier: Apache-2.0
//
// TKL: words of a document contextualized within their chunk, kernels over their cosines with the
// query's words, summed over regions and saturated; the best regions determine the score
// (Hofstaetter et al., SIGIR 2020, Sec. 3). Where the paper and its authors' program differ, the
// sizes are the program's.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/attention/list.h"
#include "engine/model/bert/encoder.h"
#include "engine/model/tkl/tkl_config.h"
#include "engine/model/words/encoded_model.h"
#include "engine/model/words/pooled_documents.h"
#include "engine/model/words/words_description.h"
#include "engine/model/words/words_model.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {

const FamilyDescription& tkl_description();

namespace {

constexpr std::int64_t counts = cpu::region_tokens + 1;  // of words in a region

/// Saturation parameters for each query word and each number of words in a region.
struct SaturationTable {
  std::vector<float> factor, exponent, constant, alpha;
  [[nodiscard]] cpu::RegionSaturation spans() const { return {factor, exponent, constant, alpha}; }
};

/// y = w x + b of two numbers.
class TwoToOne {
 public:
  TwoToOne(const ModelWeights& weights, const std::string& name) {
    const at::Tensor& weight = weights.tensor(name + ".weight");
    first_ = weight.const_data_ptr<float>()[0];
    second_ = weight.const_data_ptr<float>()[1];
    bias_ = weights.tensor(name + ".bias").item<float>();
  }
  [[nodiscard]] double operator()(double x, double y) const {
    return static_cast<double>(first_) * x + static_cast<double>(second_) * y +
           static_cast<double>(bias_);
  }

 private:
  float first_, second_, bias_;
};

class TklModel final : public EncodedModel {
 public:
  TklModel(const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
           const ModelVariant& variant, const Implementation& implementation)
      : EncodedModel(weights, limited(config), variant, implementation, encoding_of(config)),
        own_(std::any_cast<const TklConfig&>(config.own)),
        mixer_(weights->tensor(tkl_names::mixer).item<float>()),
        factor_(*weights, tkl_names::factor),
        exponent_(*weights, tkl_names::exponent),
        offset_(*weights, tkl_names::offset) {}

 protected:
  [[nodiscard]] std::vector<std::int64_t> sequences_of(std::int64_t words) const override {
    std::vector<std::int64_t> lengths;
    for (const ChunkWords& chunk : chunks_in(words, own_.drops_tail))
      lengths.push_back(chunk.size());
    return lengths;
  }
  [[nodiscard]] std::int64_t kept_of(std::int64_t words) const override {
    return kept_words(words, own_.drops_tail);
  }

  [[nodiscard]] Result<at::Tensor> encode_query(TokenIds query) const override {
    std::vector<ContextRow> rows;
    rows.reserve(query.size());
    for (const std::int32_t word : query) {
      const auto number = std::ssize(rows);
      rows.push_back({word, static_cast<std::int32_t>(number), number});
    }
    const std::vector<std::int64_t> lengths{words_in(query)};
    return contextualizer().run(
        {.rows = rows,
         .lengths = lengths,
         .positions = weights().tensor(tkl_names::query_positions).squeeze(0),
         .mixer = mixer_,
         .kept = words_in(query)});
  }

  [[nodiscard]] Result<at::Tensor> encode(std::span<const TokenIds> documents) const override {
    std::vector<ContextRow> rows;
    std::vector<std::int64_t> lengths;
    std::int64_t kept = 0;
    for (const TokenIds document : documents) {
      for (const ChunkWords& chunk : chunks_in(words_in(document), own_.drops_tail)) {
        auto position = static_cast<std::int32_t>(chunk.first_position);
        for (std::int64_t word = chunk.begin; word < chunk.end; ++word, ++position) {
          const bool middle = position >= chunk_overlap && position < chunk_overlap + chunk_words;
          rows.push_back({document[static_cast<std::size_t>(word)], position,
                          middle ? kept++ : ContextRow::dropped});
        }
        lengths.push_back(chunk.size());
      }
    }
    return contextualizer().run(
        {.rows = rows,
         .lengths = lengths,
         .positions = weights().tensor(tkl_names::document_positions).squeeze(0),
         .mixer = mixer_,
         .kept = kept,
         .to_unit_length = true});
  }

  [[nodiscard]] Result<GroupOutput> interact(const Encoded& encoded,
                                             const Show& show) const override {
    const SaturationTable table = saturation_of(encoded.query, encoded.words);
    const cpu::RegionCall call = call_of(encoded, table);
    std::vector<float> workspace(
        static_cast<std::size_t>(cpu::pooling_workspace_floats(call.pooling, threads())));
    std::int64_t regions = 0;
    for (const TokenRange& document : encoded.documents)
      regions += cpu::regions_of(document.size());
    std::vector<float> scores(static_cast<std::size_t>(regions));
    if (Status done = cpu::region_scores(call, scores, threads(), workspace); !done)
      return tl::unexpected(done.error());
    GroupOutput output;
    output.scores.reserve(encoded.documents.size());
    const float* of_place = weights().tensor(tkl_names::regions).const_data_ptr<float>();
    for (std::size_t first = 0; const TokenRange& document : encoded.documents) {
      const auto own = static_cast<std::size_t>(cpu::regions_of(document.size()));
      const auto regions_of_it = std::span(scores).subspan(first, own);
      const BestRegions best = best_regions(regions_of_it);
      // A NaN region is never among the best, but it makes the score undefined.
      float score =
          std::ranges::any_of(regions_of_it, [](float value) { return !std::isfinite(value); })
              ? std::numeric_limits<float>::quiet_NaN()
              : 0;
      for (std::size_t i = 0; i < best.score.size(); ++i) score += of_place[i] * best.score[i];
      output.scores.push_back(score);
      output.states.insert(output.states.end(), best.score.begin(), best.score.end());
      first += own;
    }
    if (!show) return output;
    const Status shown = show_regions({&call, 1}, threads(), show);
    if (!shown) return tl::unexpected(shown.error());
    show({0, "score", {1}, {output.scores.front()}});
    show({0, "weights", {counted_regions}, {of_place, of_place + counted_regions}});
    return output;
  }

  [[nodiscard]] ModelWork work_of_interaction(const WordCounts& words) const override {
    const auto query = static_cast<double>(words.query);
    double regions = 0;
    for (const std::int64_t document : words.documents)
      regions += static_cast<double>(cpu::regions_of(document));
    constexpr auto each = static_cast<double>(cpu::pooling_kernels);
    // A power of each saturated sum; logarithms are not counted.
    const double powers = own_.saturation == Saturation::linear ? 0 : query * regions * each;
    return {.linear_flop = 2 * query * words.words() * static_cast<double>(hidden()),
            .exponentials = query * words.words() * each + powers,
            .least_bytes = words.words() * static_cast<double>(hidden()) * sizeof(float)};
  }
  [[nodiscard]] std::int64_t bytes_of_interaction(const WordCounts& words) const override {
    std::int64_t regions = 0, longest = 0;
    for (const std::int64_t document : words.documents) {
      regions += cpu::regions_of(document);
      longest = std::max(longest, document);
    }
    return static_cast<std::int64_t>(sizeof(float)) *
               (pooling_scratch_floats(words.query, longest, hidden(), threads()) + regions +
                3 * words.query * counts + words.query * hidden()) +
           static_cast<std::int64_t>(words.documents.size()) *
               static_cast<std::int64_t>((1 + counted_regions) * sizeof(float) +
                                         sizeof(TokenRange));
  }

 private:
  /// The number of query words is limited by the number of positions.
  static ModelConfig limited(ModelConfig config) {
    const std::int64_t positions = std::any_cast<const TklConfig&>(config.own).query_positions;
    if (config.most_query_tokens == 0 || config.most_query_tokens > positions)
      config.most_query_tokens = positions;
    return config;
  }

  static std::string encoding_of(const ModelConfig& config) {
    return std::any_cast<const TklConfig&>(config.own).drops_tail
               ? "chunks of 40 words, the last up to four words of long documents dropped"
               : "chunks of 40 words";
  }

  [[nodiscard]] cpu::RegionCall call_of(const Encoded& encoded,
                                        const SaturationTable& table) const {
    return {.pooling = encoded.pooling(),
            .saturation = table.spans(),
            .kernel_weights = {weights().tensor(tkl_names::kernels).const_data_ptr<float>(),
                               static_cast<std::size_t>(cpu::pooling_kernels)}};
  }

  /// Eq. 5 and 6 as in the authors' program: a, b and c are linear in the query word's salience and
  /// the region's length; the exponent is 1 / b.
  [[nodiscard]] SaturationTable saturation_of(const at::Tensor& query, TokenIds words) const {
    SaturationTable table;
    if (own_.saturation == Saturation::log) {
      const float* factors = weights().tensor(tkl_names::kernel_factors).const_data_ptr<float>();
      table.alpha.assign(factors, factors + cpu::pooling_kernels);
      return table;
    }
    const std::vector<double> salience = salience_of(query, words);
    for (const double of_word : salience) {
      for (std::int64_t n = 0; n < counts; ++n) {
        const auto [x, y] = seen_by_saturation(of_word, static_cast<double>(n));
        table.factor.push_back(static_cast<float>(factor_(x, y)));
        if (own_.saturation == Saturation::linear) {
          table.constant.push_back(static_cast<float>(-exponent_(x, y)));
        } else {
          table.exponent.push_back(static_cast<float>(1 / exponent_(x, y)));
          table.constant.push_back(static_cast<float>(offset_(x, y)));
        }
      }
    }
    return table;
  }

  /// For each query word: the product with its contextualized vector, or its IDF.
  [[nodiscard]] std::vector<double> salience_of(const at::Tensor& query, TokenIds words) const {
    std::vector<double> all;
    all.reserve(words.size());
    if (own_.saturation == Saturation::embedding) {
      const at::Tensor products =
          query.to(at::kDouble)
              .mv(weights().tensor(tkl_names::salience).squeeze(0).to(at::kDouble));
      const double* first = products.const_data_ptr<double>();
      all.assign(first, first + products.numel());
      return all;
    }
    const float* idfs = weights().tensor(word_idfs).const_data_ptr<float>();
    for (const std::int32_t word : words)
      all.push_back(std::max(static_cast<double>(idfs[word]), 0.0));
    return all;
  }

  /// Inputs of the saturation: layer-normalized if the salience is learned.
  [[nodiscard]] std::pair<double, double> seen_by_saturation(double salience, double length) const {
    if (own_.saturation != Saturation::embedding) return {salience, length};
    constexpr double epsilon = 1e-5;
    const NormWeights norm = weights().norm(tkl_names::salience_norm);
    const float* weight = norm.weight.const_data_ptr<float>();
    const float* bias = norm.bias.const_data_ptr<float>();
    const double half = (salience - length) / 2;
    const double scaled = half / std::sqrt(half * half + epsilon);
    return {scaled * static_cast<double>(weight[0]) + static_cast<double>(bias[0]),
            -scaled * static_cast<double>(weight[1]) + static_cast<double>(bias[1])};
  }

  TklConfig own_;
  double mixer_;
  TwoToOne factor_, exponent_, offset_;
};

constexpr double least_region_sum = 1e-10;

/// TKL in float64, written from its formulas: every chunk and every region separately, with the
/// full tensor of kernels; region scores and the 15 regions that count.
class TklReference {
 public:
  TklReference(const WordsReference& of, const TklConfig& own, TokenIds query, TokenIds document)
      : of_(of), own_(own), query_(query), document_(document) {}

  ReferenceOutput score() const {
    const auto words = static_cast<std::int64_t>(document_.size());
    std::int64_t chunks = 1;
    if (words > 5) chunks = own_.drops_tail ? (words - 5) / 40 + 1 : (words + 39) / 40;
    const at::Tensor query = encoded_query();
    std::vector<at::Tensor> encoded;
    for (std::int64_t c = 0; c < chunks && c * 40 < words; ++c) encoded.push_back(chunk(c));
    const std::int64_t regions = (chunks * 40 - 30) / 2 + 1;
    std::vector<double> scores(static_cast<std::size_t>(regions));
    if (words > 0) {
      const at::Tensor kernels =
          WordsReference::kernels(WordsReference::cosines(query, at::cat(encoded)), 0.1);
      for (std::int64_t r = 0; r < regions; ++r)
        scores[static_cast<std::size_t>(r)] = region(kernels, query, r);
    }
    return counted(scores);
  }

 private:
  at::Tensor mixed(const at::Tensor& embedded, const at::Tensor& context) const {
    const at::Tensor mixer = of_.tensor(tkl_names::mixer);
    return mixer * embedded + (1 - mixer) * context;
  }

  at::Tensor encoded_query() const {
    const at::Tensor embedded = of_.embed(query_);
    const at::Tensor positions = of_.tensor(tkl_names::query_positions)[0];
    return mixed(embedded, of_.contextualize(embedded + positions.narrow(0, 0, embedded.size(0))));
  }

  /// The words in the chunk's centre.
  at::Tensor chunk(std::int64_t number) const {
    const auto words = static_cast<std::int64_t>(document_.size());
    const std::int64_t from = number * 40 - 5;
    const std::int64_t begin = std::max<std::int64_t>(from, 0), end = std::min(from + 50, words);
    const at::Tensor embedded = of_.embed(
        document_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    const at::Tensor positions =
        of_.tensor(tkl_names::document_positions)[0].narrow(0, begin - from, end - begin);
    const at::Tensor all = mixed(embedded, of_.contextualize(embedded + positions));
    const std::int64_t first = number * 40, last = std::min(first + 40, words);
    return all.narrow(0, first - begin, last - first);
  }

  double region(const at::Tensor& kernels, const at::Tensor& query, std::int64_t number) const {
    const std::int64_t begin = 2 * number, end = std::min(begin + 30, kernels.size(1));
    if (end <= begin) return 0;
    const at::Tensor sums = kernels.narrow(1, begin, end - begin).sum(1);
    const at::Tensor weights = of_.tensor(tkl_names::kernels)[0];
    return (saturated(sums, query, end - begin) * weights).sum().item<double>();
  }

  /// Saturates the sums [query, 11] of a region of `words` words.
  at::Tensor saturated(const at::Tensor& sums, const at::Tensor& query, std::int64_t words) const {
    if (own_.saturation == Saturation::log) {
      const at::Tensor factors = of_.tensor(tkl_names::kernel_factors)[0].reshape({1, 11});
      return (sums * factors).clamp_min(least_region_sum).log();
    }
    at::Tensor salience;
    if (own_.saturation == Saturation::embedding) {
      salience = query.matmul(of_.tensor(tkl_names::salience).t());
    } else {
      const std::vector<std::int64_t> ids(query_.begin(), query_.end());
      salience = of_.tensor(word_idfs).index_select(0, at::tensor(ids, at::kLong)).relu();
    }
    const at::Tensor length = at::full({query.size(0), 1}, static_cast<double>(words), at::kDouble);
    at::Tensor x = at::cat({salience, length}, 1);
    if (own_.saturation == Saturation::embedding) x = of_.norm(tkl_names::salience_norm, x);
    const at::Tensor a = of_.linear(tkl_names::factor, x);
    const at::Tensor b = of_.linear(tkl_names::exponent, x);
    const at::Tensor counted = sums.clamp_min(least_region_sum);
    if (own_.saturation == Saturation::linear) return a * counted + b;
    return a * counted.pow(1 / b) - of_.linear(tkl_names::offset, x);
  }

  ReferenceOutput counted(const std::vector<double>& scores) const {
    const auto count = static_cast<std::int64_t>(scores.size());
    std::vector<double> with_gaps(scores);
    std::ranges::replace(with_gaps, 0.0, -9900.0);
    std::vector<double> left(with_gaps);
    std::vector<std::int64_t> peaks;
    for (int peak = 0; peak < 3; ++peak) {
      const std::int64_t best = std::ranges::max_element(left) - left.begin();
      peaks.push_back(best);
      for (std::int64_t r = 0; r < count; ++r)
        if (std::abs(r - best) < 15) left[static_cast<std::size_t>(r)] = -10001.0 - peak;
    }
    ReferenceOutput output;
    const at::Tensor weights = of_.tensor(tkl_names::regions)[0];
    for (const std::int64_t alongside : {0, -1, 1, -2, 2}) {
      for (const std::int64_t peak : peaks) {
        const std::int64_t r = std::clamp<std::int64_t>(peak + alongside, 0, count - 1);
        const double score = with_gaps[static_cast<std::size_t>(r)];
        const double value = score <= -9900 ? 0 : score;
        output.score +=
            weights[static_cast<std::int64_t>(output.state.size())].item<double>() * value;
        output.state.push_back(value);
      }
    }
    return output;
  }

  const WordsReference& of_;
  const TklConfig& own_;
  TokenIds query_, document_;
};

class TklFamily final : public WordsFamily {
 public:
  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return word_implementations();
  }

 protected:
  [[nodiscard]] const WordsDescription& words() const override {
    return static_cast<const WordsDescription&>(tkl_description());
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> model(
      const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
      const ModelVariant& variant, std::string_view implementation) const override {
    const auto found = implementation_named(implementation);
    if (!found) return tl::unexpected(found.error());
    return std::make_unique<TklModel>(weights, config, variant, **found);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const WordsReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override {
    return TklReference(reference, std::any_cast<const TklConfig&>(config.own), query, document)
        .score();
  }
};

}  // namespace

const Family& tkl_family() {
  static const TklFamily family;
  return family;
}

}  // namespace attnscope
