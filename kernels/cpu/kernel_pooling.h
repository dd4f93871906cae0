#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Kernel pooling: how often words of a document are similar to a query word, counted by eleven
// Gaussian kernels over their cosine (Xiong et al., SIGIR 2017), and, for TKL, counted per region
// of the document with a saturation (Hofstaetter et al., SIGIR 2020, section 3). No array of the
// size query x document x kernels is stored.
//
//   PoolingCall call{.query = {q, width}, .query_rows = 10, .tokens = {d, width},
//                    .token_rows = 2000, .width = width, .documents = documents};
//   std::vector<float> workspace(pooling_workspace_floats(call, threads));
//   pooled_sums(call, sums, threads, workspace);

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/cpu/linear.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::cpu {

/// phi_k(c) = exp(-(c - mu_k)^2 / (2 sigma_k^2)).
inline constexpr std::int64_t pooling_kernels = 11;
inline constexpr std::array<float, pooling_kernels> pooling_centres{
    1.0F, 0.9F, 0.7F, 0.5F, 0.3F, 0.1F, -0.1F, -0.3F, -0.5F, -0.7F, -0.9F};
/// Sigma of all kernels but the first, whose sigma is part of a call.
inline constexpr float pooling_sigma = 0.1F;
/// Lower bound of sums in a saturation.
inline constexpr float least_pooled_sum = 1e-10F;

/// Regions of TKL: tokens 2 r to 2 r + 29 of the document; positions beyond its end do not count.
inline constexpr std::int64_t region_tokens = 30;
inline constexpr std::int64_t region_step = 2;
inline constexpr std::int64_t region_chunk = 40;
/// Regions of a document: those within whole chunks of 40 tokens, 20 ceil(tokens / 40) - 14; none
/// for an empty document.
[[nodiscard]] constexpr std::int64_t regions_of(std::int64_t tokens) {
  const std::int64_t chunks = (tokens + region_chunk - 1) / region_chunk;
  return chunks == 0 ? 0 : (chunks * region_chunk - region_tokens) / region_step + 1;
}
/// Tokens of the document in the region, 0 to 30.
[[nodiscard]] constexpr std::int64_t tokens_in_region(std::int64_t tokens, std::int64_t region) {
  const std::int64_t left = tokens - region * region_step;
  return left < 0 ? 0 : (left < region_tokens ? left : region_tokens);
}

/// One query and documents. cos(q, d) is the product of q / (|q| + 1e-13) and d / (|d| + 1e-13); a
/// row of zeros has cosine 0 with all others.
struct PoolingCall {
  RowsOf<const float> query;  // [query_rows, width]
  std::int64_t query_rows = 0;
  RowsOf<const float> tokens;  // [token_rows, width]
  std::int64_t token_rows = 0;
  std::int64_t width = 0;
  /// Token t is row numbers[t] of `tokens`; none: row t.
  std::span<const std::int64_t> numbers = {};
  /// Ranges of tokens, counted like `numbers`; in any order, may overlap.
  std::span<const TokenRange> documents;
  /// Whether rows have length 1 or 0, so that their products are the cosines.
  bool query_normalised = false;
  bool tokens_normalised = false;
  float first_sigma = pooling_sigma;          // TK and TKL 0.1, CONV-KNRM 1e-3, KNRM 1e-4
  std::span<const float> query_weights = {};  // [query_rows], a row's factor; none: 1
};

/// Floats of workspace: the query in the order of the inner loops, a piece of a document for each
/// thread, and sums of the pieces of long documents.
[[nodiscard]] std::int64_t pooling_workspace_floats(const PoolingCall& call, int threads);
/// The same for the two gradient functions.
[[nodiscard]] std::int64_t pooling_backward_workspace_floats(const PoolingCall& call, int threads);

/// sums[(document * query_rows + i) * 11 + k] = weight_i sum over the document's tokens j of
/// phi_k(cos(q_i, d_j)), in float32. Cosines are within 1e-6, also those of a row with itself; for
/// a cosine within 1e-7, its kernels are within 7e-6 of their values and 1e-37. Uses at most
/// `threads` OpenMP threads; results depend neither on their number nor on the other documents, and
/// NaN affects only its document. Errors: inconsistent sizes, a number that is not a row, a
/// workspace that is too small.
[[nodiscard]] Status pooled_sums(const PoolingCall& call, std::span<float> sums, int threads,
                                 std::span<float> workspace);

/// The saturation of a region's sums S of query row i, for a region with n of the document's
/// tokens.
struct RegionSaturation {
  /// T = factor max(S, 1e-10)^exponent - constant; without exponents, T = factor max(S, 1e-10) -
  /// constant. [query_rows, 31], by n; values at n = 0 are not read, T is 0 there.
  std::span<const float> factor = {};
  std::span<const float> exponent = {};
  std::span<const float> constant = {};
  /// If given, [11], the others are not: T = ln(max(alpha_k S, 1e-10)), 0 at n = 0.
  std::span<const float> alpha = {};
};

struct RegionCall {
  PoolingCall pooling;
  RegionSaturation saturation;
  std::span<const float> kernel_weights;  // [11]
};

/// scores[r] = sum over k of kernel_weights[k] sum over i of weight_i T[i, r, k] for all regions of
/// the first document, then of the second and so on. A region's sum adds its tokens and is not a
/// difference of prefix sums, which would lose small values. Otherwise like pooled_sums().
[[nodiscard]] Status region_scores(const RegionCall& call, std::span<float> scores, int threads,
                                   std::span<float> workspace);

/// The terms of one region's score: shares[i * 11 + k] = kernel_weights[k] weight_i T[i, r, k].
/// Further error: a document or region that does not exist.
[[nodiscard]] Status region_shares(const RegionCall& call, std::int64_t document,
                                   std::int64_t region, std::span<float> shares,
                                   std::span<float> workspace);

/// Gradients with respect to the rows as passed; for normalised rows there is no projection. A row
/// of zeros gets no gradient. Rows of tokens are numbered like `numbers`; those of no document are
/// not written. Without memory a gradient is not computed.
struct PoolingGradients {
  RowsOf<float> query;   // [query_rows, width]
  RowsOf<float> tokens;  // [tokens, width]
};

/// Gradients of a loss, from its gradients with respect to `sums`. Kernels are recomputed, not
/// stored. Documents must be in ascending order and disjoint. Otherwise like pooled_sums().
[[nodiscard]] Status pooled_sums_backward(const PoolingCall& call, std::span<const float> grad_sums,
                                          const PoolingGradients& gradients, int threads,
                                          std::span<float> workspace);

struct RegionGradients {
  PoolingGradients rows;
  std::span<float> kernel_weights = {};  // [11]; empty, like all below: not computed
  std::span<float> factor = {};          // as in RegionSaturation
  std::span<float> exponent = {};
  std::span<float> constant = {};
  std::span<float> alpha = {};
};

/// Gradients of a loss, from its gradients with respect to `scores`. A sum below 1e-10 gets none.
/// Only regions whose gradient is not 0 are computed. Documents must be in ascending order and
/// disjoint.
[[nodiscard]] Status region_scores_backward(const RegionCall& call,
                                            std::span<const float> grad_scores,
                                            const RegionGradients& gradients, int threads,
                                            std::span<float> workspace);

}  // namespace attnscope::cpu
