// SPDX-License-Identifier: Apache-2.0
//
// Checks, packs the queries for the inner loops and distributes pieces of rows, or documents, to
// threads.
#include "kernels/cpu/document_vectors.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/selected_kernels.h"

namespace attnscope::cpu {
namespace {

/// Minimum rows of a piece.
constexpr std::int64_t rows_of_a_piece = 256;

std::int64_t padded_to_vectors(std::int64_t count) {
  return (count + widest_vector - 1) / widest_vector * widest_vector;
}

/// [width, queries padded to vectors]: a lane is a query.
void pack_queries(std::span<const float> queries, std::int64_t count, std::int64_t width,
                  float* packed) {
  const std::int64_t padded = padded_to_vectors(count);
  std::fill_n(packed, width * padded, 0.0F);
  for (std::int64_t q = 0; q < count; ++q) {
    for (std::int64_t c = 0; c < width; ++c) {
      packed[c * padded + q] = queries[static_cast<std::size_t>(q * width + c)];
    }
  }
}

std::int64_t packed_floats(std::int64_t width, std::int64_t query_count) {
  return width * padded_to_vectors(query_count);
}

/// Scratch of one thread.
std::int64_t scratch_floats_of(std::int64_t width, std::int64_t query_count) {
  return vector_rows_at_once(width) * padded_to_vectors(width) + padded_to_vectors(query_count);
}

Status check_sizes(const VectorRows& rows, std::span<const float> queries, std::int64_t query_count,
                   std::size_t results, std::size_t expected, int threads,
                   std::span<const float> workspace) {
  if (rows.width < 1 || query_count < 1) {
    return fail(
        "vectors of {} numbers and {} queries have no products; at least 1 of each is needed",
        rows.width, query_count);
  }
  if (static_cast<std::int64_t>(queries.size()) != query_count * rows.width) {
    return fail("{} queries of {} numbers are {} floats, not {}", query_count, rows.width,
                query_count * rows.width, queries.size());
  }
  if (results != expected)
    return fail("the output has {} floats, and {} are needed", results, expected);
  if (rows.data == nullptr && rows.rows > 0) return fail("rows without data have no products");
  if (rows.format == VectorFormat::int8 && rows.scales == nullptr && rows.rows > 0) {
    return fail("rows of int8 need one scale each");
  }
  if (threads < 1) return fail("products need at least 1 thread, not {}", threads);
  const std::int64_t needed = vector_workspace_floats(rows.width, query_count, threads);
  if (static_cast<std::int64_t>(workspace.size()) < needed) {
    return fail("the workspace has {} floats, and {} are needed", workspace.size(), needed);
  }
  return {};
}

/// Calls `work` for each of `pieces` pieces, with the piece and the scratch of its thread.
template <typename Work>
void deal(std::int64_t pieces, int threads, float* scratch, std::int64_t floats_a_thread,
          const Work& work) {
  const int team = static_cast<int>(std::clamp<std::int64_t>(pieces, 1, threads));
  std::atomic<std::int64_t> next{0};
#pragma omp parallel num_threads(team)
  {
    float* mine = scratch + omp_get_thread_num() * floats_a_thread;
    for (std::int64_t piece = next++; piece < pieces; piece = next++) work(piece, mine);
  }
}

VectorCall call_of(const VectorRows& rows, const float* queries, std::int64_t query_count) {
  return {.data = rows.data,
          .format = rows.format,
          .width = rows.width,
          .scales = rows.scales,
          .queries = queries,
          .query_count = query_count,
          .padded_queries = padded_to_vectors(query_count),
          .rows_at_once = vector_rows_at_once(rows.width),
          .scratch = nullptr};
}

}  // namespace

std::int64_t vector_workspace_floats(std::int64_t width, std::int64_t query_count, int threads) {
  return packed_floats(width, query_count) + threads * scratch_floats_of(width, query_count);
}

Status row_products(const VectorRows& rows, std::span<const std::int64_t> numbers,
                    std::span<const float> queries, std::int64_t query_count,
                    std::span<float> products, int threads, std::span<float> workspace) {
  const auto expected =
      numbers.size() * static_cast<std::size_t>(std::max<std::int64_t>(query_count, 0));
  const Status sizes =
      check_sizes(rows, queries, query_count, products.size(), expected, threads, workspace);
  if (!sizes) return sizes;
  for (const std::int64_t number : numbers) {
    if (number < 0 || number >= rows.rows) {
      return fail("row {} does not exist; there are {} rows", number, rows.rows);
    }
  }
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  float* scratch = workspace.data() + packed_floats(rows.width, query_count);
  const float* packed = queries.data();  // a single query is used without packing
  if (query_count > 1) {
    pack_queries(queries, query_count, rows.width, workspace.data());
    packed = workspace.data();
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  deal((count + rows_of_a_piece - 1) / rows_of_a_piece, threads, scratch,
       scratch_floats_of(rows.width, query_count), [&](std::int64_t piece, float* mine) {
         const std::int64_t first = piece * rows_of_a_piece;
         VectorCall call = call_of(rows, packed, query_count);
         call.scratch = mine;
         (*kernels)->row_products(call, numbers.data() + first,
                                  std::min(rows_of_a_piece, count - first),
                                  products.data() + first * query_count);
       });
  return {};
}

Status largest_products(const VectorRows& rows, std::span<const TokenRange> documents,
                        std::span<const float> queries, std::int64_t query_count, float least,
                        std::span<float> largest, int threads, std::span<float> workspace) {
  const auto expected =
      documents.size() * static_cast<std::size_t>(std::max<std::int64_t>(query_count, 0));
  const Status sizes =
      check_sizes(rows, queries, query_count, largest.size(), expected, threads, workspace);
  if (!sizes) return sizes;
  for (const TokenRange& document : documents) {
    if (document.begin < 0 || document.end < document.begin || document.end > rows.rows) {
      return fail("rows {} to {} do not exist; there are {} rows", document.begin, document.end,
                  rows.rows);
    }
  }
  const Result<const KernelTable*> kernels = selected_kernels();
  if (!kernels) return tl::unexpected(kernels.error());
  pack_queries(queries, query_count, rows.width, workspace.data());
  float* scratch = workspace.data() + packed_floats(rows.width, query_count);
  deal(static_cast<std::int64_t>(documents.size()), threads, scratch,
       scratch_floats_of(rows.width, query_count), [&](std::int64_t piece, float* mine) {
         VectorCall call = call_of(rows, workspace.data(), query_count);
         call.scratch = mine;
         (*kernels)->largest_products(call, documents[static_cast<std::size_t>(piece)], least,
                                      largest.data() + piece * query_count);
       });
  return {};
}

}  // namespace attnscope::cpu
