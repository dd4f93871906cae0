#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Vectors of queries against vectors of documents that were encoded before: products, and the
// largest product of each document, which is what ColBERT's MaxSim adds up (Khattab and Zaharia,
// SIGIR 2020, Eq. 3). Both read a cache once, in the type it is kept in, and store no matrix of
// query tokens x document tokens.
//
//   const VectorRows rows{.data = cache, .format = VectorFormat::int8, .width = 768, .rows = n,
//                         .scales = scales};
//   std::vector<float> workspace(vector_workspace_floats(rows.width, 1, threads));
//   row_products(rows, numbers, query, 1, products, threads, workspace);

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/result.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/vector_format.h"

namespace attnscope::cpu {

/// Rows of `width` numbers one after the other.
struct VectorRows {
  const std::byte* data = nullptr;
  VectorFormat format = VectorFormat::float32;
  std::int64_t width = 0;
  std::int64_t rows = 0;
  const float* scales =
      nullptr;  // [rows], of int8: a row's numbers are to be multiplied by its own
};

/// Floats of scratch: the queries as the inner loops want them, and rows of a piece a thread.
[[nodiscard]] std::int64_t vector_workspace_floats(std::int64_t width, std::int64_t query_count,
                                                   int threads);

/// products[i * query_count + q] = the product of row numbers[i] and queries[q * width ...]. Sums
/// are float32; not a number in a row gives not a number. Uses at most `threads` OpenMP threads;
/// the result does not depend on their number. Errors: sizes that contradict each other, too small
/// a workspace, a number that is no row.
[[nodiscard]] Status row_products(const VectorRows& rows, std::span<const std::int64_t> numbers,
                                  std::span<const float> queries, std::int64_t query_count,
                                  std::span<float> products, int threads,
                                  std::span<float> workspace);

/// largest[d * query_count + q] = the largest of `least` and the products of query q with the rows
/// of document d; not a number where one of the products is none. Else as row_products.
[[nodiscard]] Status largest_products(const VectorRows& rows, std::span<const TokenRange> documents,
                                      std::span<const float> queries, std::int64_t query_count,
                                      float least, std::span<float> largest, int threads,
                                      std::span<float> workspace);

}  // namespace attnscope::cpu
