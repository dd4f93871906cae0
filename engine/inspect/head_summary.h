#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The distribution of a head's attention mass, in one pass over its rows.
//
//   std::optional<HeadSummary> summary = summarise(weights, groups, {.map_side = 1024}, {});
//   summary->mass(TokenGroup::query, TokenGroup::document);   // of a query token, on the document

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/inspect/head_weights.h"
#include "engine/inspect/pooled_map.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope {

using MassTable = std::array<std::array<double, token_group_count>, token_group_count>;

struct HeadSummary {
  std::array<std::int64_t, token_group_count> rows{};  // number of rows read, by attending group
  /// [from][to]: the mean over the tokens of `from` of the mass that they put on all tokens of
  /// `to`. For a difference of heads, the mean difference.
  MassTable group_mass{};
  /// By attending group: the mass that each token receives from all rows of the group.
  std::array<std::vector<double>, token_group_count> received;
  PooledMap map;  // of all tokens

  [[nodiscard]] double mass(TokenGroup from, TokenGroup to) const {
    return group_mass[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
};

struct SummaryOptions {
  std::int64_t map_side = 1024;  // at most, in cells
  /// The maximum number of rows read per group, evenly spaced. 0: all.
  std::int64_t rows_of_a_group = 0;
};

/// `groups`: by token. Empty if stopped.
[[nodiscard]] std::optional<HeadSummary> summarise(const WeightRows& weights,
                                                   std::span<const TokenGroup> groups,
                                                   const SummaryOptions& options,
                                                   const Stopped& stopped);

/// The mass that each token receives from the mean row of a selection.
struct Received {
  std::int64_t rows = 0;
  std::vector<double> mass;  // by token; sums to 1 if every row has an allowed key
};
/// From all rows, by the summary.
[[nodiscard]] Received received_from_all(const HeadSummary& summary);
/// From disjoint ranges of rows. Empty if stopped.
[[nodiscard]] std::optional<Received> received_from(const WeightRows& weights,
                                                    std::span<const TokenRange> rows,
                                                    const Stopped& stopped);

/// The share of the mass of `weights` on keys that `allowed` also allows: the mean over each
/// group's tokens, and over all tokens.
struct KeptMass {
  std::array<double, token_group_count> by_group{};
  double all = 0;
};
[[nodiscard]] std::optional<KeptMass> kept_mass(const WeightRows& weights,
                                                const WeightRows& allowed,
                                                std::span<const TokenGroup> groups,
                                                const Stopped& stopped);

/// The tokens with the largest mass, in descending order; ties in token order.
[[nodiscard]] std::vector<std::int64_t> most_attended(std::span<const double> mass,
                                                      std::size_t count);

}  // namespace attnscope
