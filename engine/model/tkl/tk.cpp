// SPDX-License-Identifier: Apache-2.0
//
// TK: contextualized words, kernels over their cosines with the query's words, summed over the
// document (Hofstaetter et al., ECAI 2020, Sec. 3).
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "engine/attention/list.h"
#include "engine/model/bert/reference.h"
#include "engine/model/words/encoded_model.h"
#include "engine/model/words/pooled_documents.h"
#include "engine/model/words/words_description.h"
#include "engine/model/words/words_model.h"

namespace attnscope {

const FamilyDescription& tk_description();

namespace {

constexpr double least_kernel_sum = 1e-10;
constexpr auto tk_kernels = static_cast<std::size_t>(cpu::pooling_kernels);

class TkModel final : public EncodedModel {
 public:
  TkModel(const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
          const ModelVariant& variant, const Implementation& implementation)
      : EncodedModel(weights, config, variant, implementation, "whole documents"),
        mixer_(weights->tensor(tk_names::mixer).item<float>()) {}

 protected:
  [[nodiscard]] std::vector<std::int64_t> sequences_of(std::int64_t words) const override {
    if (words == 0) return {};
    return {words};
  }
  [[nodiscard]] std::int64_t kept_of(std::int64_t words) const override { return words; }

  [[nodiscard]] Result<at::Tensor> encode_query(TokenIds query) const override {
    const std::vector<TokenIds> texts{query};
    return in_context(texts, /*to_unit_length=*/false);
  }

  [[nodiscard]] Result<at::Tensor> encode(std::span<const TokenIds> documents) const override {
    return in_context(documents, /*to_unit_length=*/true);
  }

  [[nodiscard]] Result<GroupOutput> interact(const Encoded& encoded,
                                             const Show& show) const override {
    const std::int64_t query = encoded.query.size(0);
    const auto sums = pooled_documents(encoded.pooling(), threads());
    if (!sums) return tl::unexpected(sums.error());
    const float* logarithms = weights().tensor(tk_names::logarithms).const_data_ptr<float>();
    const float* means = weights().tensor(tk_names::means).const_data_ptr<float>();
    const float* both = weights().tensor(tk_names::both).const_data_ptr<float>();
    const float scale = weights().tensor(tk_names::scale).item<float>();
    GroupOutput output;
    for (std::size_t d = 0; d < encoded.documents.size(); ++d) {
      const std::span<const float> own =
          std::span(*sums).subspan(d * static_cast<std::size_t>(query) * tk_kernels,
                                   static_cast<std::size_t>(query) * tk_kernels);
      const auto length = static_cast<float>(encoded.documents[d].size() + 1);
      std::array<float, 2 * tk_kernels> state{};
      float of_logarithms = 0, of_means = 0;
      for (std::size_t k = 0; k < tk_kernels; ++k) {
        for (std::size_t i = k; i < own.size(); i += tk_kernels) {
          state[k] += scale * std::log2(std::max(own[i], static_cast<float>(least_kernel_sum)));
          state[tk_kernels + k] += scale * own[i] / length;
        }
        of_logarithms += logarithms[k] * state[k];
        of_means += means[k] * state[tk_kernels + k];
      }
      output.scores.push_back(both[0] * of_logarithms + both[1] * of_means);
      output.states.insert(output.states.end(), state.begin(), state.end());
    }
    if (!show) return output;
    const Status shown = show_parts(encoded, show);
    if (!shown) return tl::unexpected(shown.error());
    show({0, "score", {1}, {output.scores.front()}});
    return output;
  }

  [[nodiscard]] ModelWork work_of_interaction(const WordCounts& words) const override {
    return work_of_pooling(words, hidden());
  }
  [[nodiscard]] std::int64_t bytes_of_interaction(const WordCounts& words) const override {
    return bytes_of_pooling(words, hidden(), threads());
  }

 private:
  /// Positions count from 0 in both query and document.
  [[nodiscard]] Result<at::Tensor> in_context(std::span<const TokenIds> texts,
                                              bool to_unit_length) const {
    const std::vector<std::int64_t> lengths = words_in(texts);
    std::vector<ContextRow> rows;
    for (const TokenIds text : texts) {
      for (std::int32_t position = 0; const std::int32_t word : text)
        rows.push_back({word, position++, std::ssize(rows)});
    }
    const at::Tensor positions = sinusoid_rows(std::ranges::max(lengths), hidden());
    return contextualizer().run({.rows = rows,
                                 .lengths = lengths,
                                 .positions = positions,
                                 .mixer = mixer_,
                                 .kept = std::ssize(rows),
                                 .to_unit_length = to_unit_length});
  }

  /// Shows the score of each region's words alone, with means over the document's length.
  [[nodiscard]] Status show_parts(const Encoded& encoded, const Show& show) const {
    const float* both = weights().tensor(tk_names::both).const_data_ptr<float>();
    const float scale = weights().tensor(tk_names::scale).item<float>();
    const auto words = static_cast<float>(encoded.documents.front().size() + 1);
    const auto weighted = [&](const char* name, float factor) {
      const float* weight = weights().tensor(name).const_data_ptr<float>();
      std::vector<float> all(weight, weight + tk_kernels);
      for (float& value : all) value *= factor;
      return all;
    };
    const std::vector<float> logarithms =
        weighted(tk_names::logarithms, both[0] * scale * std::numbers::log2e_v<float>);
    const std::vector<float> means = weighted(tk_names::means, both[1] * scale / words);
    const std::vector<float> ones(tk_kernels, 1.0F);
    const auto table = static_cast<std::size_t>(encoded.query.size(0) * (cpu::region_tokens + 1));
    const std::vector<float> factors(table, 1.0F), zeros(table, 0.0F);
    const std::array<cpu::RegionCall, 2> calls{
        {{.pooling = encoded.pooling(),
          .saturation = {.alpha = ones},
          .kernel_weights = logarithms},
         {.pooling = encoded.pooling(),
          .saturation = {.factor = factors, .constant = zeros},
          .kernel_weights = means}}};
    return show_regions(calls, threads(), show);
  }

  double mixer_;
};

class TkFamily final : public WordsFamily {
 public:
  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return word_implementations();
  }

 protected:
  [[nodiscard]] const WordsDescription& words() const override {
    return static_cast<const WordsDescription&>(tk_description());
  }
  [[nodiscard]] Status fits(const ModelConfig& config, const ModelVariant& /*variant*/,
                            std::string_view /*implementation*/) const override {
    if (config.shape.hidden % 2 == 0) return {};
    return fail("TK's positions are pairs of a sine and a cosine, and vectors have {} numbers",
                config.shape.hidden);
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> model(
      const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
      const ModelVariant& variant, std::string_view implementation) const override {
    const auto found = implementation_named(implementation);
    if (!found) return tl::unexpected(found.error());
    return std::make_unique<TkModel>(weights, config, variant, **found);
  }

  [[nodiscard]] Result<ReferenceOutput> reference_of(const WordsReference& reference,
                                                     const ModelConfig& /*config*/, TokenIds query,
                                                     TokenIds document) const override {
    const at::Tensor mixer = reference.tensor(tk_names::mixer).reshape({1});
    const auto encoded = [&](TokenIds words) {
      const at::Tensor embedded = reference.embed(words);
      const at::Tensor positions = reference.sinusoids(0, embedded.size(0));
      return mixer * embedded + (1 - mixer) * reference.contextualize(embedded + positions);
    };
    at::Tensor sums = at::zeros({words_in(query), cpu::pooling_kernels}, at::kDouble);
    if (!document.empty()) {
      const at::Tensor cosines = WordsReference::cosines(encoded(query), encoded(document));
      sums = WordsReference::kernels(cosines, 0.1).sum(1);
    }
    const at::Tensor scale = reference.tensor(tk_names::scale);
    const at::Tensor logarithms = (at::log2(sums.clamp_min(least_kernel_sum)) * scale).sum(0);
    const at::Tensor means = (sums / static_cast<double>(document.size() + 1) * scale).sum(0);
    const at::Tensor both = reference.tensor(tk_names::both)[0];
    const at::Tensor score =
        both[0] * (reference.tensor(tk_names::logarithms)[0] * logarithms).sum() +
        both[1] * (reference.tensor(tk_names::means)[0] * means).sum();
    return ReferenceOutput{.score = score.item<double>(),
                           .state = doubles_of(at::cat({logarithms, means}))};
  }
};

}  // namespace

const Family& tk_family() {
  static const TkFamily family;
  return family;
}

}  // namespace attnscope
