// SPDX-License-Identifier: Apache-2.0
#include "engine/model/words/pooled_documents.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace attnscope {
Result<std::vector<float>> pooled_documents(const cpu::PoolingCall& call, int threads) {
  std::vector<float> workspace(
      static_cast<std::size_t>(cpu::pooling_workspace_floats(call, threads)));
  std::vector<float> sums(call.documents.size() * static_cast<std::size_t>(call.query_rows) *
                          static_cast<std::size_t>(cpu::pooling_kernels));
  if (Status done = cpu::pooled_sums(call, sums, threads, workspace); !done)
    return tl::unexpected(done.error());
  return sums;
}

std::vector<float> log_sums(std::span<const float> sums, std::int64_t query_words) {
  constexpr float scale = 0.01F;
  constexpr auto kernels = static_cast<std::size_t>(cpu::pooling_kernels);
  const std::size_t own = static_cast<std::size_t>(query_words) * kernels;
  std::vector<float> all(sums.size() / static_cast<std::size_t>(query_words));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    all[i / own * kernels + i % kernels] +=
        scale * std::log(std::max(sums[i], cpu::least_pooled_sum));
  }
  return all;
}

std::vector<float> weighted(std::span<const float> states, const at::Tensor& weights) {
  const auto width = static_cast<std::size_t>(weights.numel());
  const float* factors = weights.const_data_ptr<float>();
  std::vector<float> scores;
  scores.reserve(states.size() / width);
  for (std::size_t first = 0; first < states.size(); first += width) {
    scores.push_back(std::inner_product(factors, factors + width,
                                        states.begin() + static_cast<std::ptrdiff_t>(first), 0.0F));
  }
  return scores;
}

std::int64_t pooling_scratch_floats(std::int64_t query_words, std::int64_t longest,
                                    std::int64_t width, int threads) {
  const std::vector<TokenRange> documents{{0, longest}};
  cpu::PoolingCall call;
  call.query_rows = query_words;
  call.token_rows = longest;
  call.width = width;
  call.documents = documents;
  return cpu::pooling_workspace_floats(call, threads);
}

ModelWork work_of_pooling(const WordCounts& words, std::int64_t width) {
  const double pairs = static_cast<double>(words.query) * words.words();
  return {.linear_flop = 2 * pairs * static_cast<double>(width),
          .exponentials = pairs * static_cast<double>(cpu::pooling_kernels),
          .least_bytes = words.words() * static_cast<double>(width) * sizeof(float)};
}

std::int64_t bytes_of_pooling(const WordCounts& words, std::int64_t width, int threads) {
  const auto documents = static_cast<std::int64_t>(words.documents.size());
  std::int64_t longest = 0;
  for (const std::int64_t document : words.documents) longest = std::max(longest, document);
  return static_cast<std::int64_t>(sizeof(float)) *
             (pooling_scratch_floats(words.query, longest, width, threads) +
              documents * (1 + (words.query + 2) * cpu::pooling_kernels)) +
         documents * static_cast<std::int64_t>(sizeof(TokenRange));
}

namespace {

/// Scores in the authors' program of a region without words, and of regions too near a peak: both
/// are below any real score.
constexpr float no_words = -9900, taken = -10001;
constexpr std::int64_t regions_apart = cpu::region_tokens / cpu::region_step;

/// Subtracts from a region's shares what they contain without any match; returns its sum.
float take_unmatched(const cpu::RegionCall& call, std::int64_t words, std::span<float> shares) {
  if (words == 0) return 0;
  const cpu::RegionSaturation& by = call.saturation;
  float sum = 0;
  for (std::size_t at = 0; at < shares.size(); ++at) {
    const auto kernel = at % static_cast<std::size_t>(cpu::pooling_kernels);
    const auto entry = at / static_cast<std::size_t>(cpu::pooling_kernels) *
                           static_cast<std::size_t>(cpu::region_tokens + 1) +
                       static_cast<std::size_t>(words);
    float none = std::log(cpu::least_pooled_sum);
    if (by.alpha.empty()) {
      none = by.factor[entry] * (by.exponent.empty()
                                     ? cpu::least_pooled_sum
                                     : std::pow(cpu::least_pooled_sum, by.exponent[entry])) -
             by.constant[entry];
    }
    none *= call.kernel_weights[kernel];
    shares[at] -= none;
    sum += none;
  }
  return sum;
}

}  // namespace

BestRegions best_regions(std::span<const float> scores) {
  if (scores.empty()) return {};
  const auto last = static_cast<std::int64_t>(scores.size()) - 1;
  std::vector<float> left(scores.begin(), scores.end());
  std::ranges::replace(left, 0.0F, no_words);
  std::array<std::int64_t, peak_regions> peaks{};
  for (std::int64_t peak = 0; peak < peak_regions; ++peak) {
    const std::int64_t best = std::ranges::max_element(left) - left.begin();
    peaks[static_cast<std::size_t>(peak)] = best;
    const std::int64_t first = std::max<std::int64_t>(best - regions_apart + 1, 0);
    for (std::int64_t near = first; near <= std::min(best + regions_apart - 1, last); ++near)
      left[static_cast<std::size_t>(near)] = taken - static_cast<float>(peak);
  }
  BestRegions best;
  std::size_t at = 0;
  for (const std::int64_t alongside : {0, -1, 1, -2, 2}) {
    for (const std::int64_t peak : peaks) {
      best.region[at] = std::clamp<std::int64_t>(peak + alongside, 0, last);
      best.score[at] = scores[static_cast<std::size_t>(best.region[at])];
      ++at;
    }
  }
  return best;
}

Status show_regions(std::span<const cpu::RegionCall> calls, int threads, const Show& show) {
  const cpu::PoolingCall& pooling = calls.front().pooling;
  const std::int64_t regions = cpu::regions_of(pooling.documents.front().size());
  const std::int64_t query = pooling.query_rows;
  std::vector<float> workspace(
      static_cast<std::size_t>(cpu::pooling_workspace_floats(pooling, threads)));
  std::vector<float> scores(static_cast<std::size_t>(regions)), part(scores.size());
  const auto add = [](const std::vector<float>& more, std::span<float> sum) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  };
  for (const cpu::RegionCall& call : calls) {
    if (Status done = cpu::region_scores(call, part, threads, workspace); !done) return done;
    add(part, scores);
  }
  const std::int64_t words = pooling.documents.front().size();
  const BestRegions best = best_regions(scores);
  const auto each = static_cast<std::size_t>(query * cpu::pooling_kernels);
  std::vector<float> shares(static_cast<std::size_t>(counted_regions) * each), of_region(each);
  std::vector<float> unmatched(static_cast<std::size_t>(counted_regions));
  for (std::size_t i = 0; regions > 0 && i < best.region.size(); ++i) {
    for (const cpu::RegionCall& call : calls) {
      Status done = cpu::region_shares(call, 0, best.region[i], of_region, workspace);
      if (!done) return done;
      unmatched[i] += take_unmatched(call, cpu::tokens_in_region(words, best.region[i]), of_region);
      add(of_region, std::span(shares).subspan(i * each, each));
    }
  }
  show({0, "regions", {regions}, std::move(scores)});
  show({0, "counted", {counted_regions}, {best.region.begin(), best.region.end()}});
  show({0, "unmatched", {counted_regions}, std::move(unmatched)});
  show({0, "shares", {counted_regions, query, cpu::pooling_kernels}, std::move(shares)});
  return {};
}

}  // namespace attnscope
