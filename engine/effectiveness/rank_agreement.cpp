// SPDX-License-Identifier: Apache-2.0
#include "engine/effectiveness/rank_agreement.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace attnscope::effectiveness {
namespace {

using Ranks = std::unordered_map<std::string_view, std::int64_t>;  // from 1

Ranks ranks_of(const std::vector<RankedDocument>& documents) {
  Ranks ranks;
  for (const RankedDocument& document : documents)
    ranks.emplace(document.id, static_cast<std::int64_t>(ranks.size()) + 1);
  return ranks;
}

std::int64_t rank_in(const Ranks& ranks, std::string_view id) {
  const auto found = ranks.find(id);
  return found == ranks.end() ? 0 : found->second;
}

double rank_biased_overlap(const std::vector<RankedDocument>& a,
                           const std::vector<RankedDocument>& b, double p) {
  const std::vector<RankedDocument>& shorter = a.size() < b.size() ? a : b;
  const std::vector<RankedDocument>& longer = a.size() < b.size() ? b : a;
  if (shorter.empty()) return longer.empty() ? 1 : 0;
  const Ranks in_shorter = ranks_of(shorter), in_longer = ranks_of(longer);
  const auto s = static_cast<std::int64_t>(shorter.size());
  const auto l = static_cast<std::int64_t>(longer.size());
  double sum = 0, weight = 1, overlap_at_s = 0;
  std::int64_t overlap = 0;
  for (std::int64_t depth = 1; depth <= l; ++depth) {
    // Each document is counted at the deeper of its two ranks.
    const auto at = static_cast<std::size_t>(depth - 1);
    const std::int64_t other = rank_in(in_shorter, longer[at].id);
    if (other > 0 && other <= depth) ++overlap;
    if (depth <= s) {
      const std::int64_t deeper = rank_in(in_longer, shorter[at].id);
      if (deeper > 0 && deeper < depth) ++overlap;
    }
    if (depth == s) overlap_at_s = static_cast<double>(overlap);
    weight *= p;
    const auto d = static_cast<double>(depth);
    sum += static_cast<double>(overlap) / d * weight;
    if (depth > s) {
      sum += overlap_at_s * static_cast<double>(depth - s) / (static_cast<double>(s) * d) * weight;
    }
  }
  const double beyond = (static_cast<double>(overlap) - overlap_at_s) / static_cast<double>(l) +
                        overlap_at_s / static_cast<double>(s);
  return (1 - p) / p * sum + beyond * weight;
}

/// Counts inversions by merge sort.
std::int64_t inversions(std::vector<std::int64_t>& values, std::size_t begin, std::size_t end) {
  if (end - begin < 2) return 0;
  const std::size_t middle = begin + (end - begin) / 2;
  std::int64_t count = inversions(values, begin, middle) + inversions(values, middle, end);
  std::size_t right = middle;
  for (std::size_t left = begin; left < middle; ++left) {
    while (right < end && values[right] < values[left]) ++right;
    count += static_cast<std::int64_t>(right - middle);
  }
  const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  std::inplace_merge(at(begin), at(middle), at(end));
  return count;
}

std::optional<double> kendall(const std::vector<RankedDocument>& from, const Ranks& to) {
  std::vector<std::int64_t> ranks;
  for (const RankedDocument& document : from) {
    if (const std::int64_t rank = rank_in(to, document.id); rank > 0) ranks.push_back(rank);
  }
  if (ranks.size() < 2) return std::nullopt;
  const double pairs =
      static_cast<double>(ranks.size()) * static_cast<double>(ranks.size() - 1) / 2;
  return 1 - 2 * static_cast<double>(inversions(ranks, 0, ranks.size())) / pairs;
}

}  // namespace

RankAgreement compare_rankings(const std::vector<RankedDocument>& from,
                               const std::vector<RankedDocument>& to, double persistence) {
  const Ranks ranks_from = ranks_of(from), ranks_to = ranks_of(to);
  RankAgreement agreement{.rbo = rank_biased_overlap(from, to, persistence),
                          .tau = kendall(from, ranks_to),
                          .moves = {}};
  for (const RankedDocument& document : from) {
    const RankAgreement::Move move{document.id, rank_in(ranks_from, document.id),
                                   rank_in(ranks_to, document.id)};
    if (move.from != move.to) agreement.moves.push_back(move);
  }
  for (const RankedDocument& document : to) {
    if (!ranks_from.contains(document.id))
      agreement.moves.push_back({document.id, 0, rank_in(ranks_to, document.id)});
  }
  const auto discount = [](std::int64_t rank, std::size_t ranks) {
    return 1 / std::log2(
                   static_cast<double>(rank > 0 ? rank : static_cast<std::int64_t>(ranks) + 1) + 1);
  };
  const auto distance = [&](const RankAgreement::Move& move) {
    return std::fabs(discount(move.from, from.size()) - discount(move.to, to.size()));
  };
  std::ranges::stable_sort(agreement.moves, std::ranges::greater(), distance);
  return agreement;
}

}  // namespace attnscope::effectiveness
