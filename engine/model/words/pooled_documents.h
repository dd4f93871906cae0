#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Kernel pooling over whole documents, as families use it. LibTorch inside.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/words/words_model.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {

/// The only implementation of families that pool kernels without attention.
inline constexpr std::string_view kernel_pooling = "kernel-pooling";

/// Kernel sums for every document, query word and kernel: [documents, query words, 11].
[[nodiscard]] Result<std::vector<float>> pooled_documents(const cpu::PoolingCall& call,
                                                          int threads);
/// KNRM's features of such sums: 0.01 ln(max(sum, 1e-10)), summed over the query: [documents, 11].
[[nodiscard]] std::vector<float> log_sums(std::span<const float> sums, std::int64_t query_words);
/// Dot product of each row of `states` with the weights [width]: [documents].
[[nodiscard]] std::vector<float> weighted(std::span<const float> states, const at::Tensor& weights);

/// Scratch floats for a query and documents of at most `longest` words.
[[nodiscard]] std::int64_t pooling_scratch_floats(std::int64_t query_words, std::int64_t longest,
                                                  std::int64_t width, int threads);

/// Work of cosines and kernels of vectors of `width` numbers.
[[nodiscard]] ModelWork work_of_pooling(const WordCounts& words, std::int64_t width);
/// Bytes of scratch, sums and scores.
[[nodiscard]] std::int64_t bytes_of_pooling(const WordCounts& words, std::int64_t width,
                                            int threads);

}  // namespace attnscope
