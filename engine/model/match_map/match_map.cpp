// SPDX-License-Identifier: Apache-2.0
//
// PACRR: convolutions over the cosines of words in a map of fixed size, and the largest values for
// each query word (Hui et al., EMNLP 2017, Sec. 3), as in the code of the TKL authors. IDFs do not
// affect scores there: the weights computed from them are unused. CO-PACRR: PACRR with the context
// of each match (Hui et al., WSDM 2018).
#include <ATen/TensorOperators.h>
#include <ATen/ops/adaptive_max_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "engine/model/match_map/map_model.h"
#include "engine/model/match_map/pacrr_description.h"
#include "engine/model/words/words_description.h"
#include "engine/model/words/words_model.h"

namespace attnscope {

const FamilyDescription& pacrr_description();
const FamilyDescription& co_pacrr_description();

namespace {

/// For CO-PACRR: number of words in a context, which starts at the word itself.
constexpr std::int64_t context_words = 6;

/// The largest numbers so far, in descending order; of equal numbers the first.
class BestValues {
 public:
  BestValues() { values_.fill(-std::numeric_limits<float>::infinity()); }
  void take(float value, std::int64_t place) {
    if (!(value > values_.back())) return;
    std::size_t at = values_.size() - 1;
    for (; at > 0 && value > values_[at - 1]; --at) {
      values_[at] = values_[at - 1];
      places_[at] = places_[at - 1];
    }
    values_[at] = value;
    places_[at] = place;
  }
  [[nodiscard]] const std::array<float, pacrr::best>& values() const { return values_; }
  [[nodiscard]] const std::array<std::int64_t, pacrr::best>& places() const { return places_; }

 private:
  std::array<float, pacrr::best> values_{};
  std::array<std::int64_t, pacrr::best> places_{};
};

/// Zero-pads cosines to the size of a map.
at::Tensor of_whole_size(const at::Tensor& cosines) {
  return at::constant_pad_nd(
      cosines,
      {0, pacrr::document_words - cosines.size(1), 0, pacrr::query_words - cosines.size(0)}, 0);
}

/// Cosine, at each position, of the mean of the following context words with the mean of the query.
std::array<float, pacrr::document_words> contexts_of(const MatchMap& map) {
  const std::int64_t words = map.document.size(0);
  at::Tensor query = map.query.sum(0, /*keepdim=*/true).div_(pacrr::query_words);
  const at::Tensor padded = at::constant_pad_nd(map.document, {0, 0, 0, context_words - 1}, 0);
  at::Tensor around = padded.narrow(0, 0, words).clone();
  for (std::int64_t after = 1; after < context_words; ++after)
    around.add_(padded.narrow(0, after, words));
  around.div_(context_words);
  to_unit_length(query);
  to_unit_length(around);
  const at::Tensor cosines = around.matmul(query.squeeze(0)).contiguous();
  std::array<float, pacrr::document_words> contexts{};
  std::copy_n(cosines.const_data_ptr<float>(), words, contexts.begin());
  return contexts;
}

class PacrrModel final : public MapModel {
 public:
  PacrrModel(const std::shared_ptr<const ModelWeights>& of, const ModelConfig& config,
             const ModelVariant& variant, pacrr::RowFeatures taken)
      : MapModel(of, limited(config), variant, taken.features()), taken_(taken) {
    for (std::int64_t words = 2; words <= pacrr::longest_gram; ++words) {
      convolutions_[static_cast<std::size_t>(words - 2)] =
          weights().linear(pacrr::convolution(words));
    }
  }

 protected:
  [[nodiscard]] at::Tensor seen_in(const MatchMap& map) const override {
    const at::Tensor whole = of_whole_size(map.cosines);
    std::array<at::Tensor, pacrr::longest_gram> maps{whole};
    for (std::size_t i = 0; i < convolutions_.size(); ++i) {
      at::Tensor& to = maps[i + 1] = at::empty_like(whole);
      convolve_rows(whole, convolutions_[i], [&](std::int64_t first, const at::Tensor& seen) {
        to.narrow(0, first, seen.size(1)).copy_(seen.amax(0));
      });
    }
    std::array<float, pacrr::document_words> contexts{};
    if (taken_.context) contexts = contexts_of(map);
    at::Tensor features = at::empty({taken_.features()});
    float* to = features.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < pacrr::query_words; ++i) {
      for (const at::Tensor& gram_map : maps)
        to = take(gram_map.const_data_ptr<float>() + i * pacrr::document_words, contexts, to);
    }
    return features;
  }

  [[nodiscard]] double flop_of_map(std::int64_t /*query*/, std::int64_t document) const override {
    double sum =
        taken_.context ? static_cast<double>((context_words + 3) * document * hidden()) : 0;
    for (std::int64_t words = 2; words <= pacrr::longest_gram; ++words) {
      sum += static_cast<double>(2 * words * words * pacrr::channels * pacrr::query_words *
                                 pacrr::document_words);
    }
    return sum;
  }
  [[nodiscard]] std::int64_t floats_of_map(std::int64_t /*query*/,
                                           std::int64_t document) const override {
    return floats_of_convolved_rows(pacrr::query_words, pacrr::document_words, pacrr::channels) +
           pacrr::longest_gram * pacrr::query_words * pacrr::document_words +
           (taken_.context ? 2 * (document + context_words) * hidden() : 0);
  }

 private:
  static ModelConfig limited(ModelConfig config) {
    const auto limit = [](std::int64_t& words, std::int64_t most) {
      if (words == 0 || words > most) words = most;
    };
    limit(config.most_query_tokens, pacrr::query_words);
    limit(config.most_document_tokens, pacrr::document_words);
    return config;
  }

  /// Writes the features of a row; returns the end of the output.
  float* take(const float* row, const std::array<float, pacrr::document_words>& contexts,
              float* to) const {
    BestValues found;
    float* context = to + static_cast<std::int64_t>(taken_.views.size()) * pacrr::best;
    std::int64_t place = 0;
    for (const std::int64_t view : taken_.views) {
      for (; place < view; ++place) found.take(row[place], place);
      to = std::copy(found.values().begin(), found.values().end(), to);
      if (!taken_.context) continue;
      for (const std::int64_t at : found.places())
        *context++ = contexts[static_cast<std::size_t>(at)];
    }
    return context;
  }

  pacrr::RowFeatures taken_;
  std::array<LinearWeights, pacrr::longest_gram - 1> convolutions_;
};

/// Positions of a row [places], ordered by descending number, of equal numbers the first. Numbers
/// that differ only by rounding count as equal.
at::Tensor in_order(const at::Tensor& row) {
  constexpr double distinct_places = 1e9;
  return (row * distinct_places).round().argsort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
}

class PacrrFamily final : public WordsFamily {
 public:
  PacrrFamily(const FamilyDescription& description, pacrr::RowFeatures taken)
      : description_(static_cast<const PacrrDescription&>(description)), taken_(taken) {}

  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return {map_implementation};
  }

 protected:
  [[nodiscard]] const WordsDescription& words() const override { return description_; }
  [[nodiscard]] Result<std::unique_ptr<Model>> model(
      const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
      const ModelVariant& variant, std::string_view /*implementation*/) const override {
    return std::make_unique<PacrrModel>(weights, config, variant, taken_);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const WordsReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override {
    const auto whole = [&](TokenIds text, std::int64_t words) {
      const at::Tensor none = at::zeros({words - words_in(text), config.shape.hidden}, at::kDouble);
      return at::cat({reference.embed(text), none});
    };
    const at::Tensor q = whole(query, pacrr::query_words),
                     d = whole(document, pacrr::document_words);
    const at::Tensor cosines = WordsReference::cosines(q, d);
    std::vector<at::Tensor> maps{cosines};
    for (std::int64_t words = 2; words <= pacrr::longest_gram; ++words)
      maps.push_back(reference.convolve(pacrr::convolution(words), cosines.unsqueeze(0)).amax(0));
    const at::Tensor after =
        at::cat({d, at::zeros({context_words - 1, config.shape.hidden}, at::kDouble)});
    const at::Tensor contexts = WordsReference::cosines(
        q.mean(0, /*keepdim=*/true), after.unfold(0, context_words, 1).mean(2))[0];
    std::vector<at::Tensor> features;
    for (std::int64_t i = 0; i < pacrr::query_words; ++i) {
      for (const at::Tensor& map : maps) {
        std::vector<at::Tensor> near;
        for (const std::int64_t view : taken_.views) {
          const at::Tensor row = map[i].narrow(0, 0, view);
          const at::Tensor places = in_order(row).narrow(0, 0, pacrr::best);
          features.push_back(row.index_select(0, places));
          near.push_back(contexts.index_select(0, places));
        }
        if (taken_.context) features.insert(features.end(), near.begin(), near.end());
      }
    }
    return scored_map(reference, at::cat(features));
  }

 private:
  const PacrrDescription& description_;
  pacrr::RowFeatures taken_;
};

}  // namespace

const Family& pacrr_family() {
  static const PacrrFamily family(pacrr_description(), pacrr::pacrr_features);
  return family;
}

const Family& co_pacrr_family() {
  static const PacrrFamily family(co_pacrr_description(), pacrr::co_pacrr_features);
  return family;
}

// MatchPyramid: the cosines of words as an image in which convolutions detect patterns of matches;
// each image is pooled to a fixed size, independent of the texts' lengths (Pang et al., AAAI 2016).

const FamilyDescription& match_pyramid_description();

namespace {

/// Max pooling of x [1, channels, ...] to rows x columns windows, which overlap if their number
/// does not divide the size. With channels innermost, LibTorch vectorizes over channels; otherwise
/// pooling takes several times as long as the convolutions.
at::Tensor pooled_to(std::int64_t rows, std::int64_t columns, const at::Tensor& x) {
  const at::Tensor innermost = x.contiguous(at::MemoryFormat::ChannelsLast);
  return std::get<0>(at::adaptive_max_pool2d(innermost, {rows, columns}));
}

class MatchPyramidModel final : public MapModel {
 public:
  MatchPyramidModel(const std::shared_ptr<const ModelWeights>& of, const ModelConfig& config,
                    const ModelVariant& variant)
      : MapModel(of, config, variant, pyramid::features) {
    for (std::size_t i = 0; i < pyramid::pooled.size(); ++i) {
      convolutions_[i] = weights().linear(pyramid::convolution(i));
      // The first convolution's input has one channel, for which this layout is slower in LibTorch.
      if (i > 0) {
        convolutions_[i].weight =
            convolutions_[i].weight.contiguous(at::MemoryFormat::ChannelsLast);
      }
    }
  }

 protected:
  [[nodiscard]] at::Tensor seen_in(const MatchMap& map) const override {
    // Pools columns first: the memory does not grow with the length of a document.
    std::vector<at::Tensor> rows;
    convolve_rows(
        map.cosines, convolutions_.front(), [&](std::int64_t /*first*/, const at::Tensor& seen) {
          rows.push_back(
              pooled_to(seen.size(1), pyramid::pooled.front().columns, seen.relu_().unsqueeze(0)));
        });
    at::Tensor x =
        pooled_to(pyramid::pooled.front().rows, pyramid::pooled.front().columns, at::cat(rows, 2));
    for (std::size_t i = 1; i < pyramid::pooled.size(); ++i) {
      x = at::constant_pad_nd(x, {0, pyramid::extent - 1, 0, pyramid::extent - 1}, 0);
      x = at::conv2d(x, convolutions_[i].weight, convolutions_[i].bias).relu_();
      x = pooled_to(pyramid::pooled[i].rows, pyramid::pooled[i].columns, x);
    }
    return x.flatten();
  }

  [[nodiscard]] double flop_of_map(std::int64_t query, std::int64_t document) const override {
    constexpr double window = pyramid::extent * pyramid::extent * pyramid::channels;
    double sum = 2 * window * static_cast<double>(query * document);
    for (std::size_t i = 1; i < pyramid::pooled.size(); ++i) {
      sum += 2 * window * pyramid::channels *
             static_cast<double>(pyramid::pooled[i - 1].rows * pyramid::pooled[i - 1].columns);
    }
    return sum;
  }
  [[nodiscard]] std::int64_t floats_of_map(std::int64_t query,
                                           std::int64_t document) const override {
    const std::int64_t places = pyramid::pooled.front().rows * pyramid::pooled.front().columns;
    // The pooled rows of the first convolution, then images of the largest size.
    return floats_of_convolved_rows(query, document, pyramid::channels) +
           pyramid::channels * (query * pyramid::pooled.front().columns + 6 * places);
  }

 private:
  std::array<LinearWeights, pyramid::pooled.size()> convolutions_;
};

/// Maxima over window i of m along n positions.
at::Tensor largest_of_windows(const at::Tensor& x, std::int64_t dim, std::int64_t m) {
  const std::int64_t n = x.size(dim);
  std::vector<at::Tensor> all;
  all.reserve(static_cast<std::size_t>(m));
  for (std::int64_t i = 0; i < m; ++i) {
    const std::int64_t first = i * n / m, end = ((i + 1) * n + m - 1) / m;
    all.push_back(x.narrow(dim, first, end - first).amax(dim, /*keepdim=*/true));
  }
  return at::cat(all, dim);
}

class MatchPyramidFamily final : public WordsFamily {
 public:
  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return {map_implementation};
  }

 protected:
  [[nodiscard]] const WordsDescription& words() const override {
    return static_cast<const WordsDescription&>(match_pyramid_description());
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> model(
      const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
      const ModelVariant& variant, std::string_view /*implementation*/) const override {
    return std::make_unique<MatchPyramidModel>(weights, config, variant);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const WordsReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override {
    const at::Tensor words = document.empty() ? at::zeros({1, config.shape.hidden}, at::kDouble)
                                              : reference.embed(document);
    at::Tensor x = WordsReference::cosines(reference.embed(query), words).unsqueeze(0);
    for (std::size_t i = 0; i < pyramid::pooled.size(); ++i) {
      x = reference.convolve(pyramid::convolution(i), x).relu();
      x = largest_of_windows(largest_of_windows(x, 1, pyramid::pooled[i].rows), 2,
                             pyramid::pooled[i].columns);
    }
    return scored_map(reference, x.flatten());
  }
};

}  // namespace

const Family& match_pyramid_family() {
  static const MatchPyramidFamily family;
  return family;
}

}  // namespace attnscope
