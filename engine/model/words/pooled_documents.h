#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Kernels pooled over whole documents, as families ask for it. LibTorch inside.

#include <cstdint>
#include <vector>

#include "engine/model/words/words_model.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {

/// Sums of every document, query word and kernel: [documents, query words, 11].
[[nodiscard]] Result<std::vector<float>> pooled_documents(const cpu::PoolingCall& call,
                                                          int threads);

/// Floats of scratch of a query and documents of at most `longest` words.
[[nodiscard]] std::int64_t pooling_scratch_floats(std::int64_t query_words, std::int64_t longest,
                                                  std::int64_t width, int threads);

/// Cosines and kernels of vectors of so many numbers.
[[nodiscard]] ModelWork work_of_pooling(const WordCounts& words, std::int64_t width);
/// Scratch, sums and scores.
[[nodiscard]] std::int64_t bytes_of_pooling(const WordCounts& words, std::int64_t width,
                                            int threads);

}  // namespace attnscope
