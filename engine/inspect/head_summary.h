#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The distribution of a head's attention mass, in one pass over its rows, and a map of its weights;
// the mass of every head of a dump, by token group, under the pattern that the model ran with.
//
//   std::optional<HeadSummary> summary = summarise(weights, groups, {.map_side = 1024}, {});
//   summary->mass(TokenGroup::query, TokenGroup::document);   // of a query token, on the document
//   Result<GroupMasses> masses = group_masses(dump);
//   write(write_masses(*masses, MassFormat::csv));

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/inspect/dump.h"
#include "engine/inspect/head_weights.h"
#include "engine/pattern/attention_pattern.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

struct MapRegion {
  TokenRange rows, columns;
  // In cells; at most one per token.
  std::int64_t height = 0;
  std::int64_t width = 0;
  friend bool operator==(const MapRegion&, const MapRegion&) = default;
};

/// A part of a head's tokens x tokens weights, reduced for drawing: each cell contains the weight
/// of largest magnitude among the pairs that it covers, so that a narrow band or a single strong
/// pair remains visible when many pairs share a pixel.
class PooledMap {
 public:
  PooledMap() = default;
  explicit PooledMap(const MapRegion& region);

  [[nodiscard]] const MapRegion& region() const { return region_; }
  /// NaN if the cell covers no allowed pair.
  [[nodiscard]] float cell(std::int64_t y, std::int64_t x) const {
    return cells_[static_cast<std::size_t>(y * region_.width + x)];
  }
  /// The tokens that a row (column) of cells covers.
  [[nodiscard]] TokenRange rows_of(std::int64_t y) const;
  [[nodiscard]] TokenRange columns_of(std::int64_t x) const;
  /// Largest magnitude of all cells; 0 without cells.
  [[nodiscard]] float largest() const;

  /// Adds a row of weights. Precondition: `query` is in region().rows.
  void add(std::int64_t query, const RowWeights& row);
  /// A part of this map in fewer cells; a requested cell between this map's cells takes the
  /// nearest.
  [[nodiscard]] PooledMap pooled(const MapRegion& region) const;

 private:
  void join(float& cell, float value) const;

  MapRegion region_;
  std::vector<float> cells_;
  std::vector<std::int32_t> cell_of_column_;
};

using MassTable = std::array<std::array<double, token_group_count>, token_group_count>;

struct HeadSummary {
  std::array<std::int64_t, token_group_count> rows{};  // number of rows read, by attending group
  /// [from][to]: the mean over the tokens of `from` of the mass that they put on all tokens of
  /// `to`. For a difference of heads, the mean difference.
  MassTable group_mass{};
  /// For each attending group, the mass that each token receives from all rows of the group.
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
/// Returns the mass received from all rows, by the summary.
[[nodiscard]] Received received_from_all(const HeadSummary& summary);
/// Returns the mass received from disjoint ranges of rows, nothing if stopped.
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

/// Reads the rows of the region; empty if stopped.
[[nodiscard]] std::optional<PooledMap> pool_region(const WeightRows& weights,
                                                   const MapRegion& region, const Stopped& stopped);

/// A head's weights as the model computed them. `layer` is an index into info().layers. Errors:
/// those of Dump::head and compile_plan.
[[nodiscard]] Result<std::shared_ptr<const HeadWeights>> head_weights(const Dump& dump,
                                                                      std::size_t layer,
                                                                      std::int32_t head);

struct HeadMass {
  std::int64_t layer = 0;  // the model's number
  std::int32_t head = 0;
  MassTable mass{};
};

struct GroupMasses {
  std::vector<TokenGroup> groups;  // groups that have tokens
  std::vector<HeadMass> heads;     // by layer, then head
};

[[nodiscard]] Result<GroupMasses> group_masses(const Dump& dump);

enum class MassFormat : std::uint8_t { text, csv, json };
/// Errors name the formats.
[[nodiscard]] Result<MassFormat> parse_mass_format(std::string_view text);
/// One row for each head and attending group, one column for each attended group; csv and json have
/// the unscaled masses, text has percent.
[[nodiscard]] std::string write_masses(const GroupMasses& masses, MassFormat format);

}  // namespace attnscope
