#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where the mass of a head goes, in one pass over its rows.
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
  std::array<std::int64_t, token_group_count> rows{};  // of each attending group, that were read
  /// [from][to]: mean over the tokens of `from` of the mass they put on all tokens of `to`. Of a
  /// difference, the mean difference.
  MassTable group_mass{};
  /// By attending group: what each token receives from all of the group's rows together.
  std::array<std::vector<double>, token_group_count> received;
  PooledMap map;  // of all tokens

  [[nodiscard]] double mass(TokenGroup from, TokenGroup to) const {
    return group_mass[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
};

struct SummaryOptions {
  std::int64_t map_side = 1024;  // cells, at most
  /// More rows than that of a group are represented by so many, evenly spread. 0: all.
  std::int64_t rows_of_a_group = 0;
};

/// `groups`: of the tokens. Nothing when stopped.
[[nodiscard]] std::optional<HeadSummary> summarise(const WeightRows& weights,
                                                   std::span<const TokenGroup> groups,
                                                   const SummaryOptions& options,
                                                   const Stopped& stopped);

/// What each token receives from a mean row of a selection.
struct Received {
  std::int64_t rows = 0;
  std::vector<double> mass;  // by token; adds up to 1 when every row sees some key
};
/// From all rows, which the summary knows already.
[[nodiscard]] Received received_from_all(const HeadSummary& summary);
/// From disjoint ranges of rows. Nothing when stopped.
[[nodiscard]] std::optional<Received> received_from(const WeightRows& weights,
                                                    std::span<const TokenRange> rows,
                                                    const Stopped& stopped);

/// How much of the mass that `weights` gives stays on keys that `allowed` allows too: the mean over
/// each group's tokens, and over all.
struct KeptMass {
  std::array<double, token_group_count> by_group{};
  double all = 0;
};
[[nodiscard]] std::optional<KeptMass> kept_mass(const WeightRows& weights,
                                                const WeightRows& allowed,
                                                std::span<const TokenGroup> groups,
                                                const Stopped& stopped);

/// The tokens that receive most, most first; equal ones in their order.
[[nodiscard]] std::vector<std::int64_t> most_attended(std::span<const double> mass,
                                                      std::size_t count);

}  // namespace attnscope
