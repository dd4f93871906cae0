#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Kernel pooling: how often words of a document are similar to a query word, counted by eleven
// Gaussian kernels over their cosine (Xiong et al., SIGIR 2017), and, for TKL, counted for regions
// of the document with a saturation (Hofstaetter et al., SIGIR 2020, section 3). Nothing as large
// as query x document x kernels is stored.
//
//   PoolingCall call{.query = {q, width}, .query_rows = 10, .tokens = {d, width},
//                    .token_rows = 2000, .width = width, .documents = documents};
//   std::vector<float> workspace(pooling_workspace_floats(call, threads));
//   pooled_sums(call, sums, threads, workspace);

#include <array>
#include <cstdint>
#include <span>

#include "kernels/base/result.h"
#include "kernels/cpu/linear.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::cpu {

/// phi_k(c) = exp(-(c - mu_k)^2 / (2 sigma_k^2)).
inline constexpr std::int64_t pooling_kernels = 11;
inline constexpr std::array<float, pooling_kernels> pooling_centres{
    1.0F, 0.9F, 0.7F, 0.5F, 0.3F, 0.1F, -0.1F, -0.3F, -0.5F, -0.7F, -0.9F};
/// Of all kernels but the first, whose sigma a call names.
inline constexpr float pooling_sigma = 0.1F;
/// Sums count for no less than this, in a saturation.
inline constexpr float least_pooled_sum = 1e-10F;

/// Regions of TKL: tokens 2 r to 2 r + 29 of the document, those beyond its end count nothing.
inline constexpr std::int64_t region_tokens = 30;
inline constexpr std::int64_t region_step = 2;
inline constexpr std::int64_t region_chunk = 40;
/// Of a document: as many as lie within whole chunks of 40 tokens, 20 ceil(tokens / 40) - 14; none
/// of an empty document.
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
  /// Of tokens, counted as `numbers` counts them; any order, may overlap.
  std::span<const TokenRange> documents;
  /// Rows are of length 1 or 0 already, and their products are the cosines.
  bool query_normalised = false;
  bool tokens_normalised = false;
  float first_sigma = pooling_sigma;          // TK and TKL 0.1, CONV-KNRM 1e-3, KNRM 1e-4
  std::span<const float> query_weights = {};  // [query_rows], a row's factor; none: 1
};

/// Floats of scratch: the query as the inner loops want it, a piece of a document for each thread,
/// and sums of the pieces of long documents.
[[nodiscard]] std::int64_t pooling_workspace_floats(const PoolingCall& call, int threads);
/// For the two calls that give gradients.
[[nodiscard]] std::int64_t pooling_backward_workspace_floats(const PoolingCall& call, int threads);

/// sums[(document * query_rows + i) * 11 + k] = weight_i sum over the document's tokens j of
/// phi_k(cos(q_i, d_j)), in float32. Cosines are within 1e-6, those of a row with itself too; given
/// one within 1e-7, its kernels are within 7e-6 of their values and 1e-37. Uses at most `threads`
/// OpenMP threads; neither their number nor the other documents change a result, and what is not a
/// number stays in its document. Errors: sizes that contradict each other, a number that is no row,
/// too small a workspace.
[[nodiscard]] Status pooled_sums(const PoolingCall& call, std::span<float> sums, int threads,
                                 std::span<float> workspace);

/// What becomes of a region's sums S of query row i, n of the document's tokens being in it.
struct RegionSaturation {
  /// T = factor max(S, 1e-10)^exponent - constant; without exponents, T = factor max(S, 1e-10) -
  /// constant. [query_rows, 31], by n; what stands at n = 0 is not read, there T = 0.
  std::span<const float> factor = {};
  std::span<const float> exponent = {};
  std::span<const float> constant = {};
  /// Where it is given, [11], the others are not: T = ln(max(alpha_k S, 1e-10)), 0 at n = 0.
  std::span<const float> alpha = {};
};

struct RegionCall {
  PoolingCall pooling;
  RegionSaturation saturation;
  std::span<const float> kernel_weights;  // [11]
};

/// scores[r] = sum over k of kernel_weights[k] sum over i of weight_i T[i, r, k] of all regions of
/// the first document, then of the second and so on. Sums over a region are sums of its tokens, no
/// differences of prefixes, in which small ones are lost. Else as pooled_sums().
[[nodiscard]] Status region_scores(const RegionCall& call, std::span<float> scores, int threads,
                                   std::span<float> workspace);

/// What one region's score is made of: shares[i * 11 + k] = kernel_weights[k] weight_i T[i, r, k].
/// Errors: also a document or region that is none.
[[nodiscard]] Status region_shares(const RegionCall& call, std::int64_t document,
                                   std::int64_t region, std::span<float> shares,
                                   std::span<float> workspace);

/// Gradients with regard to rows as they were handed in; of normalised rows nothing is projected.
/// A row of zeros gets none. Rows of tokens count as `numbers` does; those of no document are not
/// written. No memory: not wanted.
struct PoolingGradients {
  RowsOf<float> query;   // [query_rows, width]
  RowsOf<float> tokens;  // [tokens, width]
};

/// Those of a loss, given its gradients with regard to `sums`. Kernels are computed anew, none are
/// stored. Documents must be in ascending order and apart. Else as pooled_sums().
[[nodiscard]] Status pooled_sums_backward(const PoolingCall& call, std::span<const float> grad_sums,
                                          const PoolingGradients& gradients, int threads,
                                          std::span<float> workspace);

struct RegionGradients {
  PoolingGradients rows;
  std::span<float> kernel_weights = {};  // [11]; as all below, none: not wanted
  std::span<float> factor = {};          // as in RegionSaturation
  std::span<float> exponent = {};
  std::span<float> constant = {};
  std::span<float> alpha = {};
};

/// Those of a loss, given its gradients with regard to `scores`. A sum below 1e-10 gets none. Only
/// regions whose gradient is not 0 are computed. Documents must be in ascending order and apart.
[[nodiscard]] Status region_scores_backward(const RegionCall& call,
                                            std::span<const float> grad_scores,
                                            const RegionGradients& gradients, int threads,
                                            std::span<float> workspace);

}  // namespace attnscope::cpu
