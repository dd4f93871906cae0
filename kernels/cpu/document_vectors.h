#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Products of query vectors with precomputed document vectors, and the largest product per
// document, which ColBERT's MaxSim sums (Khattab and Zaharia, SIGIR 2020, Eq. 3). Both read the
// cache once, in its storage type, and store no matrix of query tokens x document tokens.
//
//   const VectorRows rows{.data = cache, .format = VectorFormat::int8, .width = 768, .rows = n,
//                         .scales = scales};
//   std::vector<float> workspace(vector_workspace_floats(rows.width, 1, threads));
//   row_products(rows, numbers, query, 1, products, threads, workspace);

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cpu {

/// Consecutive rows of `width` numbers.
struct VectorRows {
  const std::byte* data = nullptr;
  VectorFormat format = VectorFormat::float32;
  std::int64_t width = 0;
  std::int64_t rows = 0;
  const float* scales = nullptr;  // [rows], int8 only: the factor of each row's numbers
};

/// Floats of workspace: the queries in the order of the inner loops, and a piece of rows per
/// thread.
[[nodiscard]] std::int64_t vector_workspace_floats(std::int64_t width, std::int64_t query_count,
                                                   int threads);

/// products[i * query_count + q] = the product of row numbers[i] and queries[q * width ...]. Sums
/// are float32; NaN in a row gives NaN. Uses at most `threads` OpenMP threads; the result does not
/// depend on their number. Errors: inconsistent sizes, a workspace that is too small, a number that
/// is not a row.
[[nodiscard]] Status row_products(const VectorRows& rows, std::span<const std::int64_t> numbers,
                                  std::span<const float> queries, std::int64_t query_count,
                                  std::span<float> products, int threads,
                                  std::span<float> workspace);

/// largest[d * query_count + q] = the largest of `least` and the products of query q with the rows
/// of document d; NaN if one of the products is NaN. Otherwise like row_products.
[[nodiscard]] Status largest_products(const VectorRows& rows, std::span<const TokenRange> documents,
                                      std::span<const float> queries, std::int64_t query_count,
                                      float least, std::span<float> largest, int threads,
                                      std::span<float> workspace);

}  // namespace attnscope::cpu
