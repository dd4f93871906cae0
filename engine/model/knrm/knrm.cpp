// SPDX-License-Identifier: Apache-2.0
//
// KNRM: kernels over the cosines of word vectors, summed over the document; the first kernel counts
// exact matches of the query's words (Xiong et al., SIGIR 2017, Sec. 3). CONV-KNRM: convolutions
// over one, two and three consecutive words, kernels over the cosines of each n-gram length of the
// query with each of the document (Dai et al., WSDM 2018, Sec. 3).
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>

#include "engine/model/bert/encoder.h"
#include "engine/model/bert/reference.h"
#include "engine/model/linear.h"
#include "engine/model/words/pooled_documents.h"
#include "engine/model/words/words_description.h"
#include "engine/model/words/words_model.h"

namespace attnscope {

const FamilyDescription& knrm_description();
const FamilyDescription& conv_knrm_description();

namespace {

/// So narrow that the kernel is 0 for every other word.
constexpr float exact_match_sigma = 1e-4F;

/// Concatenated words of texts, and the range of each text.
struct WordsInRow {
  explicit WordsInRow(std::span<const TokenIds> from) {
    texts.reserve(from.size());
    for (const TokenIds text : from) {
      const auto first = static_cast<std::int64_t>(ids.size());
      texts.push_back({first, first + words_in(text)});
      ids.insert(ids.end(), text.begin(), text.end());
    }
  }
  std::vector<std::int64_t> ids;
  std::vector<TokenRange> texts;
};

class KnrmModel final : public WordsModel {
 public:
  /// Normalizes the word vectors to unit length once.
  KnrmModel(std::shared_ptr<const ModelWeights> of, const ModelConfig& config,
            const ModelVariant& variant)
      : WordsModel(std::move(of), config, variant),
        table_(weights().tensor(word_embeddings).clone()),
        kernels_(weights().tensor(kernel_weights)) {
    to_unit_length(table_);
  }

 protected:
  [[nodiscard]] Result<GroupOutput> score_words(TokenIds query, std::span<const TokenIds> documents,
                                                const Show& show) override {
    const WordsInRow words(documents);
    const at::Tensor rows = table_.index_select(
        0, at::tensor(std::vector<std::int64_t>(query.begin(), query.end()), at::kLong));
    const auto sums = pooled_documents({.query = {rows.const_data_ptr<float>(), hidden()},
                                        .query_rows = words_in(query),
                                        .tokens = {table_.const_data_ptr<float>(), hidden()},
                                        .token_rows = table_.size(0),
                                        .width = hidden(),
                                        .numbers = words.ids,
                                        .documents = words.texts,
                                        .query_normalised = true,
                                        .tokens_normalised = true,
                                        .first_sigma = exact_match_sigma},
                                       threads());
    if (!sums) return tl::unexpected(sums.error());
    GroupOutput output{.scores = {}, .states = log_sums(*sums, words_in(query))};
    output.scores = weighted(output.states, kernels_);
    if (show) show({0, "sums", {words_in(query), cpu::pooling_kernels}, *sums});
    return output;
  }

  [[nodiscard]] ModelWork work_of(const WordCounts& words) const override {
    return work_of_pooling(words, hidden());
  }
  [[nodiscard]] std::int64_t peak_bytes(const WordCounts& words) const override {
    return bytes_of_pooling(words, hidden(), threads()) +
           static_cast<std::int64_t>(words.words()) *
               static_cast<std::int64_t>(sizeof(std::int64_t)) +
           words.query * hidden() * static_cast<std::int64_t>(sizeof(float));
  }

 private:
  at::Tensor table_;  // [vocabulary, hidden], unit-length rows
  at::Tensor kernels_;
};

class KnrmFamily final : public WordsFamily {
 public:
  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return {kernel_pooling};
  }

 protected:
  [[nodiscard]] const WordsDescription& words() const override {
    return static_cast<const WordsDescription&>(knrm_description());
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> model(
      const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
      const ModelVariant& variant, std::string_view /*implementation*/) const override {
    return std::make_unique<KnrmModel>(weights, config, variant);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const WordsReference& reference,
                                                     const ModelConfig& /*config*/, TokenIds query,
                                                     TokenIds document) const override {
    const at::Tensor cosines =
        WordsReference::cosines(reference.embed(query), reference.embed(document));
    const at::Tensor state = WordsReference::log_sums(cosines, exact_match_sigma);
    const at::Tensor score = (reference.tensor(kernel_weights)[0] * state).sum();
    return ReferenceOutput{.score = score.item<double>(), .state = doubles_of(state)};
  }
};

constexpr float exact_gram_sigma = 1e-3F;
constexpr std::int64_t gram_pairs = ngrams::longest_gram * ngrams::longest_gram;
/// Number of zero vectors after each text, which the n-grams of its last words include.
constexpr std::int64_t words_between = ngrams::longest_gram - 1;
/// Documents that one thread convolves in one call: their vectors stay in its caches.
constexpr std::int64_t words_convolved_at_once = 512;

/// Unit-length n-gram vectors of texts, for each length.
struct Grams {
  std::array<at::Tensor, ngrams::longest_gram> rows;  // [words and zeros between, 128]
  std::vector<TokenRange> texts;                      // row range of each text
};

class ConvKnrmModel final : public WordsModel {
 public:
  ConvKnrmModel(std::shared_ptr<const ModelWeights> of, const ModelConfig& config,
                const ModelVariant& variant)
      : WordsModel(std::move(of), config, variant), kernels_(weights().tensor(kernel_weights)) {
    const LinearRoute route = fastest_route(DType::float32, DeviceKind::cpu,
                                            hidden() * ngrams::longest_gram, ngrams::gram_width);
    for (std::int64_t words = 1; words <= ngrams::longest_gram; ++words) {
      const LinearWeights own = weights().linear(ngrams::convolution(words));
      // The convolution as a linear layer over the concatenated words' vectors.
      const at::Tensor weight = own.weight.permute({0, 2, 1}).reshape({ngrams::gram_width, -1});
      convolutions_[static_cast<std::size_t>(words - 1)] = Linear(weight, own.bias, route);
    }
  }

 protected:
  [[nodiscard]] Result<GroupOutput> score_words(TokenIds query, std::span<const TokenIds> documents,
                                                const Show& show) override {
    const std::vector<TokenIds> of_query{query};
    const Grams requested = grams_of(of_query);
    const auto pieces = pieces_of_words(documents, words_convolved_at_once);
    const auto count = static_cast<std::int64_t>(pieces.size());
    std::vector<Result<std::vector<float>>> states(pieces.size());
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
      const c10::InferenceMode no_graph;  // is thread-local
      for (std::int64_t piece = begin; piece < end; ++piece) {
        const auto own = static_cast<std::size_t>(piece);
        states[own] = compared(requested, grams_of(pieces[own]), count > 1 ? 1 : threads(), show);
      }
    });
    GroupOutput all;
    for (const auto& state : states) {
      if (!state) return tl::unexpected(state.error());
      all.states.insert(all.states.end(), state->begin(), state->end());
    }
    all.scores = weighted(all.states, kernels_);
    return all;
  }

  [[nodiscard]] ModelWork work_of(const WordCounts& words) const override {
    const double width = static_cast<double>(hidden()) * static_cast<double>(ngrams::gram_width);
    constexpr double together =
        ngrams::longest_gram * (ngrams::longest_gram + 1) / 2.0;  // words of all lengths
    ModelWork sum{
        .linear_flop = 2 * together * width * (static_cast<double>(words.query) + words.words()),
        .least_bytes =
            sizeof(float) * (words.words() * static_cast<double>(hidden()) + together * width)};
    add(work_of_pooling(words, ngrams::gram_width), gram_pairs, sum);
    return sum;
  }

  [[nodiscard]] std::int64_t peak_bytes(const WordCounts& words) const override {
    std::int64_t longest = words.query, all = words.query;
    for (const std::int64_t own : words.documents) {
      longest = std::max(longest, own);
      all += own + words_between;
    }
    // One-word documents have words_between zeros for each word.
    const std::int64_t piece = std::max(longest, words_convolved_at_once * (1 + words_between));
    const std::int64_t together = words.query + std::min(all, threads() * piece);
    // Concatenated vectors, if a route requires them, and the results of all lengths.
    const std::int64_t of_word =
        (2 + ngrams::longest_gram) * hidden() + (ngrams::longest_gram + 1) * ngrams::gram_width;
    return bytes_of_pooling(words, ngrams::gram_width, threads()) +
           static_cast<std::int64_t>(sizeof(float)) *
               (together * of_word + 2 * static_cast<std::int64_t>(words.documents.size()) *
                                         gram_pairs * cpu::pooling_kernels);
  }

 private:
  [[nodiscard]] Grams grams_of(std::span<const TokenIds> texts) const {
    Grams grams;
    grams.texts.reserve(texts.size());
    std::int64_t rows = 0;
    for (const TokenIds text : texts) {
      grams.texts.push_back({rows, rows + words_in(text)});
      rows += words_in(text) + words_between;
    }
    const at::Tensor x = at::zeros({rows, hidden()});
    for (std::size_t t = 0; t < texts.size(); ++t) {
      const TokenRange own = grams.texts[t];
      if (own.size() > 0) x.narrow(0, own.begin, own.size()).copy_(embed(texts.subspan(t, 1)));
    }
    for (std::int64_t words = 1; words <= ngrams::longest_gram; ++words) {
      const at::Tensor side_by_side =
          x.as_strided({rows - words_between, words * hidden()}, {hidden(), 1});
      at::Tensor& to = grams.rows[static_cast<std::size_t>(words - 1)];
      to = convolutions_[static_cast<std::size_t>(words - 1)](side_by_side, cpu::Activation::relu);
      to_unit_length(to);
    }
    return grams;
  }

  /// [documents, 9 * 11].
  [[nodiscard]] Result<std::vector<float>> compared(const Grams& requested, const Grams& grams,
                                                    int threads, const Show& show) const {
    const std::int64_t query = requested.texts.front().size();
    const auto kernels = static_cast<std::size_t>(cpu::pooling_kernels);
    std::vector<float> state(grams.texts.size() * gram_pairs * kernels);
    std::size_t pair = 0;
    for (const at::Tensor& of_query : requested.rows) {
      for (const at::Tensor& of_documents : grams.rows) {
        const auto sums =
            pooled_documents({.query = {of_query.const_data_ptr<float>(), ngrams::gram_width},
                              .query_rows = query,
                              .tokens = {of_documents.const_data_ptr<float>(), ngrams::gram_width},
                              .token_rows = of_documents.size(0),
                              .width = ngrams::gram_width,
                              .documents = grams.texts,
                              .query_normalised = true,
                              .tokens_normalised = true,
                              .first_sigma = exact_gram_sigma},
                             threads);
        if (!sums) return tl::unexpected(sums.error());
        const std::vector<float> counted = log_sums(*sums, query);
        for (std::size_t d = 0; d < grams.texts.size(); ++d) {
          std::copy_n(
              counted.begin() + static_cast<std::ptrdiff_t>(d * kernels), kernels,
              state.begin() + static_cast<std::ptrdiff_t>((d * gram_pairs + pair) * kernels));
        }
        if (show)
          show({static_cast<std::int64_t>(pair), "sums", {query, cpu::pooling_kernels}, *sums});
        ++pair;
      }
    }
    return state;
  }

  std::array<Linear, ngrams::longest_gram> convolutions_;
  at::Tensor kernels_;
};

class ConvKnrmFamily final : public WordsFamily {
 public:
  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return {kernel_pooling};
  }

 protected:
  [[nodiscard]] const WordsDescription& words() const override {
    return static_cast<const WordsDescription&>(conv_knrm_description());
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> model(
      const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
      const ModelVariant& variant, std::string_view /*implementation*/) const override {
    return std::make_unique<ConvKnrmModel>(weights, config, variant);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const WordsReference& reference,
                                                     const ModelConfig& /*config*/, TokenIds query,
                                                     TokenIds document) const override {
    const auto grams = [&](TokenIds text, std::int64_t words) {
      const at::Tensor weight = reference.tensor(ngrams::convolution(words) + ".weight");
      const at::Tensor embedded = reference.embed(text);
      const at::Tensor x =
          at::cat({embedded, at::zeros({words - 1, embedded.size(1)}, at::kDouble)});
      at::Tensor sum = reference.tensor(ngrams::convolution(words) + ".bias");
      for (std::int64_t word = 0; word < words; ++word)
        sum = sum + x.narrow(0, word, words_in(text)).matmul(weight.select(2, word).t());
      return sum.relu();
    };
    std::vector<at::Tensor> states;
    for (std::int64_t of_query = 1; of_query <= ngrams::longest_gram; ++of_query) {
      for (std::int64_t of_document = 1; of_document <= ngrams::longest_gram; ++of_document) {
        states.push_back(WordsReference::log_sums(
            WordsReference::cosines(grams(query, of_query), grams(document, of_document)),
            exact_gram_sigma));
      }
    }
    const at::Tensor state = at::cat(states);
    const at::Tensor score = (reference.tensor(kernel_weights)[0] * state).sum();
    return ReferenceOutput{.score = score.item<double>(), .state = doubles_of(state)};
  }
};

}  // namespace

const Family& knrm_family() {
  static const KnrmFamily family;
  return family;
}

const Family& conv_knrm_family() {
  static const ConvKnrmFamily family;
  return family;
}

}  // namespace attnscope
