// SPDX-License-Identifier: Apache-2.0
//
// MatchPyramid: the cosines of words as an image in which convolutions detect patterns of matches;
// each image is pooled to a fixed size, independent of the texts' lengths (Pang et al., AAAI 2016).
#include <ATen/TensorOperators.h>
#include <ATen/ops/adaptive_max_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <vector>

#include "engine/model/words/map_model.h"
#include "engine/model/words/words_description.h"
#include "engine/model/words/words_model.h"

namespace attnscope {

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
