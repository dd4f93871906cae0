// SPDX-License-Identifier: Apache-2.0
#include "engine/model/words/pooled_documents.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

}  // namespace attnscope
