// SPDX-License-Identifier: Apache-2.0
//
// Compiled once per instruction set, with the set's flags and ATTNSCOPE_KERNELS naming the function
// that returns its table: the only symbol this file exports.
#include "kernels/cpu/inner/backward_unit.h"
#include "kernels/cpu/inner/document_vectors.h"
#include "kernels/cpu/inner/kernel_pooling.h"
#include "kernels/cpu/inner/segment_chunk.h"
#include "kernels/cpu/inner/vector.h"
#include "kernels/cpu/inner/windowed_backward.h"
#include "kernels/cpu/inner/windowed_products.h"
#include "kernels/cpu/inner/windowed_softmax.h"
#include "kernels/cpu/kernel_table.h"

namespace attnscope::cpu {
namespace {

void exponentials(const float* x, std::int64_t count, float* exp2_of_x) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(exp2_of_x + i, exp2_of(load(x + i)));
  if (i < count) store_first(exp2_of_x + i, count - i, exp2_of(load_first(x + i, count - i, 0.0f)));
}

void store_one_row(const float* from, std::int64_t d, float factor, const HeadView<std::byte>& view,
                   std::int64_t offset) {
  store_row(from, d, factor, view, offset);
}

constexpr KernelTable table{.segment_chunk = segment_chunk,
                            .windowed_scores = windowed_scores,
                            .windowed_softmax = windowed_softmax,
                            .windowed_values = windowed_values,
                            .segment_backward_unit = segment_backward_unit,
                            .windowed_score_gradients = windowed_score_gradients,
                            .windowed_transposed = windowed_transposed,
                            .windowed_store_keys = windowed_store_keys,
                            .row_products = row_products_of,
                            .largest_products = largest_products_of,
                            .pooling_query = pooling_query,
                            .pooling_sums = pooling_sums_of,
                            .region_scores = region_scores_of,
                            .pooling_backward = pooling_backward,
                            .exponentials = exponentials,
                            .store_row = store_one_row};

}  // namespace

const KernelTable* ATTNSCOPE_KERNELS() {
  return &table;
}

}  // namespace attnscope::cpu
