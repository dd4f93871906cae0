#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Kernels pooled over whole documents, as families ask for it. LibTorch inside.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/words/words_model.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {

/// The one implementation of families without attention that pool kernels.
inline constexpr std::string_view kernel_pooling = "kernel-pooling";

/// Sums of every document, query word and kernel: [documents, query words, 11].
[[nodiscard]] Result<std::vector<float>> pooled_documents(const cpu::PoolingCall& call,
                                                          int threads);
/// What KNRM makes of such sums: 0.01 ln(max(sum, 1e-10)), summed up over the query: [documents,
/// 11].
[[nodiscard]] std::vector<float> log_sums(std::span<const float> sums, std::int64_t query_words);
/// Each row of `states` times the weights [width]: [documents].
[[nodiscard]] std::vector<float> weighted(std::span<const float> states, const at::Tensor& weights);

/// Floats of scratch of a query and documents of at most `longest` words.
[[nodiscard]] std::int64_t pooling_scratch_floats(std::int64_t query_words, std::int64_t longest,
                                                  std::int64_t width, int threads);

/// Cosines and kernels of vectors of so many numbers.
[[nodiscard]] ModelWork work_of_pooling(const WordCounts& words, std::int64_t width);
/// Scratch, sums and scores.
[[nodiscard]] std::int64_t bytes_of_pooling(const WordCounts& words, std::int64_t width,
                                            int threads);

}  // namespace attnscope
