// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/pooling_reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tests/kernels/packed.h"

namespace attnscope::testing {
namespace {

using cpu::pooling_kernels;

constexpr std::int64_t columns = cpu::region_tokens + 1;

/// A pair of query row and token, with the values that gradients need.
struct Pair {
  const float *query, *token;
  double query_length, token_length, cosine;
};

double length_of_row(const float* row, std::int64_t width) {
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += static_cast<double>(row[c]) * row[c];
  return std::sqrt(sum);
}

Pair pair_of(const cpu::PoolingCall& call, std::int64_t i, std::int64_t token) {
  const std::int64_t row = call.numbers.empty() ? token : call.numbers[index(token)];
  Pair pair{.query = call.query.data + i * call.query.stride,
            .token = call.tokens.data + row * call.tokens.stride,
            .query_length = 1,
            .token_length = 1,
            .cosine = 0};
  if (!call.query_normalised) pair.query_length = length_of_row(pair.query, call.width);
  if (!call.tokens_normalised) pair.token_length = length_of_row(pair.token, call.width);
  double product = 0;
  for (std::int64_t c = 0; c < call.width; ++c)
    product += static_cast<double>(pair.query[c]) * pair.token[c];
  pair.cosine = product / (pair.query_length + 1e-13) / (pair.token_length + 1e-13);
  return pair;
}

/// phi_k and its derivative.
struct Kernel {
  double value, slope;
};

Kernel kernel_of(const cpu::PoolingCall& call, std::int64_t k, double cosine) {
  const double centre = k == 0 ? 1 : 1.1 - 0.2 * static_cast<double>(k);
  const double sigma = k == 0 ? static_cast<double>(call.first_sigma) : 0.1;
  const double off = cosine - centre, value = std::exp(-off * off / (2 * sigma * sigma));
  return {value, -value * off / (sigma * sigma)};
}

double weight_of_row(const cpu::PoolingCall& call, std::int64_t i) {
  return call.query_weights.empty() ? 1 : call.query_weights[index(i)];
}

/// [kernel] of some tokens.
std::vector<double> sums_of(const cpu::PoolingCall& call, std::int64_t i,
                            const TokenRange& tokens) {
  std::vector<double> sums(pooling_kernels);
  for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
    const double cosine = pair_of(call, i, t).cosine;
    for (std::size_t k = 0; k < sums.size(); ++k)
      sums[k] += kernel_of(call, static_cast<std::int64_t>(k), cosine).value;
  }
  return sums;
}

/// T of a sum, and its gradients.
struct Saturated {
  double value = 0;
  double by_sum = 0, by_factor = 0, by_exponent = 0, by_constant = 0, by_alpha = 0;
};

Saturated saturated(const cpu::RegionSaturation& of, std::int64_t i, std::size_t k, std::int64_t n,
                    double sum) {
  const double least = 1e-10;
  const auto at = index(i * columns + n);
  if (n == 0) return {};
  if (!of.alpha.empty()) {
    const double alpha = of.alpha[k];
    if (sum * alpha < least) return {.value = std::log(least)};
    return {.value = std::log(sum * alpha), .by_sum = 1 / sum, .by_alpha = 1 / alpha};
  }
  const double factor = of.factor[at];
  const double exponent = of.exponent.empty() ? 1 : of.exponent[at];
  const double base = std::max(sum, least), power = std::pow(base, exponent);
  return {.value = factor * power - of.constant[at],
          .by_sum = sum < least ? 0 : factor * exponent * power / base,
          .by_factor = power,
          .by_exponent = factor * power * std::log(base),
          .by_constant = -1};
}

/// Tokens of a region.
TokenRange tokens_of(const TokenRange& document, std::int64_t region) {
  const std::int64_t first = document.begin + region * cpu::region_step;
  return {first, first + cpu::tokens_in_region(document.size(), region)};
}

std::int64_t tokens_of_call(const cpu::PoolingCall& call) {
  return call.numbers.empty() ? call.token_rows : static_cast<std::int64_t>(call.numbers.size());
}

PoolingReference nothing(const cpu::PoolingCall& call) {
  const auto table = index(call.query_rows * columns);
  const auto floats = [&](std::int64_t rows) {
    return std::vector<double>(index(rows * call.width));
  };
  return {.query = floats(call.query_rows),
          .tokens = floats(tokens_of_call(call)),
          .kernel_weights = std::vector<double>(pooling_kernels),
          .factor = std::vector<double>(table),
          .exponent = std::vector<double>(table),
          .constant = std::vector<double>(table),
          .alpha = std::vector<double>(pooling_kernels)};
}

/// Adds the contribution of a gradient of the cosine to one of its rows.
void add_to_row(double gradient, double cosine, const float* own, double own_length,
                bool normalised, const float* other, double other_length, std::int64_t width,
                double* to) {
  if (own_length == 0) return;
  for (std::int64_t c = 0; c < width; ++c) {
    const double along = normalised ? 0 : cosine * own[c] / own_length;
    to[c] += gradient * (other[c] / (other_length + 1e-13) - along) / (own_length + 1e-13);
  }
}

/// `of_kernels[k]`: gradients of one pair's kernels.
void add_pair(const cpu::PoolingCall& call, std::int64_t i, std::int64_t token,
              std::span<const double> of_kernels, PoolingReference& to) {
  const Pair pair = pair_of(call, i, token);
  double gradient = 0;
  for (std::size_t k = 0; k < of_kernels.size(); ++k)
    gradient += of_kernels[k] * kernel_of(call, static_cast<std::int64_t>(k), pair.cosine).slope;
  add_to_row(gradient, pair.cosine, pair.query, pair.query_length, call.query_normalised,
             pair.token, pair.token_length, call.width, to.query.data() + i * call.width);
  add_to_row(gradient, pair.cosine, pair.token, pair.token_length, call.tokens_normalised,
             pair.query, pair.query_length, call.width, to.tokens.data() + token * call.width);
}

}  // namespace

std::vector<double> pooled_sums_reference(const cpu::PoolingCall& call) {
  std::vector<double> sums;
  for (const TokenRange& document : call.documents) {
    for (std::int64_t i = 0; i < call.query_rows; ++i) {
      for (const double sum : sums_of(call, i, document))
        sums.push_back(weight_of_row(call, i) * sum);
    }
  }
  return sums;
}

std::vector<double> region_shares_reference(const cpu::RegionCall& call, std::size_t document,
                                            std::int64_t region) {
  const TokenRange tokens = tokens_of(call.pooling.documents[document], region);
  std::vector<double> shares;
  for (std::int64_t i = 0; i < call.pooling.query_rows; ++i) {
    const std::vector<double> sums = sums_of(call.pooling, i, tokens);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      shares.push_back(static_cast<double>(call.kernel_weights[k]) *
                       weight_of_row(call.pooling, i) *
                       saturated(call.saturation, i, k, tokens.size(), sums[k]).value);
    }
  }
  return shares;
}

std::vector<double> region_scores_reference(const cpu::RegionCall& call) {
  std::vector<double> scores;
  for (std::size_t d = 0; d < call.pooling.documents.size(); ++d) {
    for (std::int64_t r = 0; r < cpu::regions_of(call.pooling.documents[d].size()); ++r) {
      double score = 0;
      for (const double share : region_shares_reference(call, d, r)) score += share;
      scores.push_back(score);
    }
  }
  return scores;
}

PoolingReference pooled_sums_backward_reference(const cpu::PoolingCall& call,
                                                std::span<const float> grad_sums) {
  PoolingReference to = nothing(call);
  std::size_t at = 0;
  for (const TokenRange& document : call.documents) {
    for (std::int64_t i = 0; i < call.query_rows; ++i, at += pooling_kernels) {
      std::vector<double> of_kernels(pooling_kernels);
      for (std::size_t k = 0; k < of_kernels.size(); ++k)
        of_kernels[k] = weight_of_row(call, i) * static_cast<double>(grad_sums[at + k]);
      for (std::int64_t t = document.begin; t < document.end; ++t)
        add_pair(call, i, t, of_kernels, to);
    }
  }
  return to;
}

PoolingReference region_scores_backward_reference(const cpu::RegionCall& call,
                                                  std::span<const float> grad_scores) {
  const cpu::PoolingCall& pooling = call.pooling;
  PoolingReference to = nothing(pooling);
  std::size_t score = 0;
  for (const TokenRange& document : pooling.documents) {
    for (std::int64_t r = 0; r < cpu::regions_of(document.size()); ++r, ++score) {
      const TokenRange tokens = tokens_of(document, r);
      const double gradient = grad_scores[score];
      if (gradient == 0 || tokens.empty()) continue;
      for (std::int64_t i = 0; i < pooling.query_rows; ++i) {
        const double own = gradient * weight_of_row(pooling, i);
        const auto table = index(i * columns + tokens.size());
        const std::vector<double> sums = sums_of(pooling, i, tokens);
        std::vector<double> of_kernels(pooling_kernels);
        for (std::size_t k = 0; k < sums.size(); ++k) {
          const Saturated t = saturated(call.saturation, i, k, tokens.size(), sums[k]);
          const double weighted = own * static_cast<double>(call.kernel_weights[k]);
          of_kernels[k] = weighted * t.by_sum;
          to.kernel_weights[k] += own * t.value;
          to.alpha[k] += weighted * t.by_alpha;
          to.factor[table] += weighted * t.by_factor;
          to.exponent[table] += weighted * t.by_exponent;
          to.constant[table] += weighted * t.by_constant;
        }
        for (std::int64_t j = tokens.begin; j < tokens.end; ++j)
          add_pair(pooling, i, j, of_kernels, to);
      }
    }
  }
  return to;
}

}  // namespace attnscope::testing
