#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Kernel pooling over whole documents, and over their regions: runs of 30 words at a distance of 2.
// Selects the regions of TKL's score (Hofstaetter et al., SIGIR 2020, Sec. 3.4; sizes from the
// authors' program), and shows a document's matches in them. Uses LibTorch.
//
//   const BestRegions best = best_regions(scores);    // of all regions (kernel_pooling.h)
//   float score = 0;
//   for (std::size_t i = 0; i < best.score.size(); ++i) score += weights[i] * best.score[i];

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/family.h"
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

/// The peaks, which are at least one region length apart, and all regions that count, including the
/// neighbours of the peaks.
inline constexpr std::int64_t peak_regions = 3, counted_regions = 15;

/// In the order of their weights: the three peaks, then for all three the region before, after, two
/// before and two after each.
struct BestRegions {
  std::array<std::int64_t, counted_regions> region{};
  std::array<float, counted_regions> score{};  // 0 if a region has no words
};

/// `scores`: the scores of all regions, 0 for a region without words; without regions, returns
/// regions 0 with score 0.
[[nodiscard]] BestRegions best_regions(std::span<const float> scores);

/// Passes to `show` the regions of the first document, for calls that differ only in saturation and
/// weights and whose scores are summed:
///
///   regions  [regions]                     each one's score
///   counted  [15]                          the best ones' numbers, as BestRegions has them
///   unmatched [15]                         the part of their scores without any match
///   shares   [15, query words, kernels]    the contribution of matches
[[nodiscard]] Status show_regions(std::span<const cpu::RegionCall> calls, int threads,
                                  const Show& show);

}  // namespace attnscope
