#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Regions of a document, stretches of 30 words, 2 apart: which of them make TKL's score
// (Hofstaetter et al., SIGIR 2020, Sec. 3.4; sizes of its authors' program), and what of a document
// there is to see by them.
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

/// The best regions, which are at least a region's words apart, and all that count: those beside
/// them, too.
inline constexpr std::int64_t peak_regions = 3, counted_regions = 15;

/// In the order of their weights: the three peaks, then for all three the region before, behind,
/// two before and two behind each.
struct BestRegions {
  std::array<std::int64_t, counted_regions> region{};
  std::array<float, counted_regions> score{};  // 0 where a region has no words
};

/// Of all regions' scores, 0 where one has no words; of none, regions 0 with score 0.
[[nodiscard]] BestRegions best_regions(std::span<const float> scores);

/// Hands `show` the regions of the first document of calls that differ in saturation and weights
/// alone, and whose scores add up:
///
///   regions  [regions]                     each one's score
///   counted  [15]                          the best ones' numbers, as BestRegions has them
///   unmatched [15]                         what of their scores is there when nothing matches
///   shares   [15, query words, kernels]    what matches add to that
[[nodiscard]] Status show_regions(std::span<const cpu::RegionCall> calls, int threads,
                                  const Show& show);

}  // namespace attnscope
