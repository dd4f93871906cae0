#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Regions of a document, runs of 30 words at a distance of 2: selects the regions of TKL's score
// (Hofstaetter et al., SIGIR 2020, Sec. 3.4; sizes from the authors' program), and shows a
// document's matches in them.
//
//   const BestRegions best = best_regions(scores);    // of all regions (kernel_pooling.h)
//   float score = 0;
//   for (std::size_t i = 0; i < best.score.size(); ++i) score += weights[i] * best.score[i];

#include <array>
#include <cstdint>
#include <span>

#include "engine/model/family.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {

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
