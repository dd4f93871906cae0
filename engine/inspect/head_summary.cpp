// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/head_summary.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/sentences.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/plan/key_runs.h"

namespace attnscope {
namespace {

std::array<std::vector<std::int64_t>, token_group_count> rows_by_group(
    std::span<const TokenGroup> groups) {
  std::array<std::vector<std::int64_t>, token_group_count> rows;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    rows[static_cast<std::size_t>(groups[i])].push_back(static_cast<std::int64_t>(i));
  }
  return rows;
}

/// Selects `most` of `rows`, evenly spaced; all if `most` is 0.
std::vector<std::int64_t> spread(const std::vector<std::int64_t>& rows, std::int64_t most) {
  const auto there = static_cast<std::int64_t>(rows.size());
  if (most <= 0 || there <= most) return rows;
  std::vector<std::int64_t> some;
  some.reserve(static_cast<std::size_t>(most));
  for (std::int64_t i = 0; i < most; ++i) {
    some.push_back(rows[static_cast<std::size_t>((2 * i + 1) * there / (2 * most))]);
  }
  return some;
}

/// The first token of cell `at` if `range` is divided into `cells` parts whose sizes differ by at
/// most one.
std::int64_t cut(TokenRange range, std::int64_t cells, std::int64_t at) {
  return range.begin + range.size() * at / cells;
}

/// The cell that contains `token`, the inverse of cut.
std::int64_t cell_of(TokenRange range, std::int64_t cells, std::int64_t token) {
  return ((token - range.begin + 1) * cells - 1) / range.size();
}

}  // namespace

std::optional<HeadSummary> summarise(const WeightRows& weights, std::span<const TokenGroup> groups,
                                     const SummaryOptions& options, const Stopped& stopped) {
  const std::int64_t tokens = weights.tokens();
  const std::int64_t side = std::min(tokens, options.map_side);
  HeadSummary summary;
  summary.map = PooledMap({{0, tokens}, {0, tokens}, side, side});
  RowWeights row;
  const auto by_group = rows_by_group(groups);
  for (std::size_t from = 0; from < token_group_count; ++from) {
    const std::vector<std::int64_t> rows = spread(by_group[from], options.rows_of_a_group);
    summary.rows[from] = static_cast<std::int64_t>(rows.size());
    std::vector<double>& received = summary.received[from];
    received.assign(static_cast<std::size_t>(tokens), 0.0);
    for (const std::int64_t query : rows) {
      if (stopped && stopped()) return std::nullopt;
      weights.row(query, row);
      summary.map.add(query, row);
      for (const TokenRange& keys : row.keys) {
        for (std::int64_t j = keys.begin; j < keys.end; ++j) {
          const auto at = static_cast<std::size_t>(j);
          received[at] += static_cast<double>(row.weights[at]);
        }
      }
    }
    if (rows.empty()) continue;
    for (std::size_t j = 0; j < received.size(); ++j) {
      summary.group_mass[from][static_cast<std::size_t>(groups[j])] += received[j];
    }
    for (double& mass : summary.group_mass[from]) mass /= static_cast<double>(rows.size());
  }
  return summary;
}

Received received_from_all(const HeadSummary& summary) {
  Received received;
  received.rows = std::accumulate(summary.rows.begin(), summary.rows.end(), std::int64_t{0});
  for (const std::vector<double>& from : summary.received) {
    received.mass.resize(from.size(), 0.0);
    for (std::size_t j = 0; j < from.size(); ++j) {
      received.mass[j] += from[j] / static_cast<double>(received.rows);
    }
  }
  return received;
}

std::optional<Received> received_from(const WeightRows& weights, std::span<const TokenRange> rows,
                                      const Stopped& stopped) {
  Received received;
  received.mass.assign(static_cast<std::size_t>(weights.tokens()), 0.0);
  RowWeights row;
  for (const TokenRange& range : rows) {
    for (std::int64_t query = range.begin; query < range.end; ++query) {
      if (stopped && stopped()) return std::nullopt;
      weights.row(query, row);
      ++received.rows;
      for (const TokenRange& keys : row.keys) {
        for (std::int64_t j = keys.begin; j < keys.end; ++j) {
          const auto at = static_cast<std::size_t>(j);
          received.mass[at] += static_cast<double>(row.weights[at]);
        }
      }
    }
  }
  if (received.rows > 0) {
    for (double& mass : received.mass) mass /= static_cast<double>(received.rows);
  }
  return received;
}

std::optional<KeptMass> kept_mass(const WeightRows& weights, const WeightRows& allowed,
                                  std::span<const TokenGroup> groups, const Stopped& stopped) {
  KeptMass kept;
  std::array<std::int64_t, token_group_count> rows{};
  RowWeights row;
  for (std::int64_t query = 0; query < weights.tokens(); ++query) {
    if (stopped && stopped()) return std::nullopt;
    weights.row(query, row);
    double mass = 0;
    const std::vector<TokenRange> allowed_keys = allowed.keys(query);
    auto other = allowed_keys.begin();
    for (const TokenRange& keys : row.keys) {
      while (other != allowed_keys.end() && other->end <= keys.begin) ++other;
      for (auto at = other; at != allowed_keys.end() && at->begin < keys.end; ++at) {
        const TokenRange both = intersect(keys, *at);
        mass = std::accumulate(
            row.weights.begin() + both.begin, row.weights.begin() + both.end, mass,
            [](double sum, float weight) { return sum + static_cast<double>(weight); });
      }
    }
    const auto from = static_cast<std::size_t>(groups[static_cast<std::size_t>(query)]);
    kept.by_group[from] += mass;
    kept.all += mass;
    ++rows[from];
  }
  for (std::size_t from = 0; from < token_group_count; ++from) {
    if (rows[from] > 0) kept.by_group[from] /= static_cast<double>(rows[from]);
  }
  kept.all /= static_cast<double>(weights.tokens());
  return kept;
}

PooledMap::PooledMap(const MapRegion& region)
    : region_(region),
      cells_(static_cast<std::size_t>(region.height * region.width),
             std::numeric_limits<float>::quiet_NaN()) {
  assert(region.height <= region.rows.size() && region.width <= region.columns.size());
  cell_of_column_.reserve(static_cast<std::size_t>(region.columns.size()));
  for (std::int64_t j = region.columns.begin; j < region.columns.end; ++j) {
    cell_of_column_.push_back(static_cast<std::int32_t>(cell_of(region.columns, region.width, j)));
  }
}

TokenRange PooledMap::rows_of(std::int64_t y) const {
  return {cut(region_.rows, region_.height, y), cut(region_.rows, region_.height, y + 1)};
}

TokenRange PooledMap::columns_of(std::int64_t x) const {
  return {cut(region_.columns, region_.width, x), cut(region_.columns, region_.width, x + 1)};
}

float PooledMap::largest() const {
  float largest = 0;
  for (const float cell : cells_) {
    if (std::abs(cell) > largest) largest = std::abs(cell);
  }
  return largest;
}

void PooledMap::join(float& cell, float value) const {
  if (!(std::abs(cell) >= std::abs(value))) cell = value;  // also if the cell is NaN
}

void PooledMap::add(std::int64_t query, const RowWeights& row) {
  const std::int64_t y = cell_of(region_.rows, region_.height, query);
  float* cells = cells_.data() + y * region_.width;
  for (const TokenRange& keys : row.keys) {
    const TokenRange inside = intersect(keys, region_.columns);
    for (std::int64_t j = inside.begin; j < inside.end; ++j) {
      join(cells[cell_of_column_[static_cast<std::size_t>(j - region_.columns.begin)]],
           row.weights[static_cast<std::size_t>(j)]);
    }
  }
}

PooledMap PooledMap::pooled(const MapRegion& region) const {
  PooledMap smaller(region);
  std::vector<std::int64_t> first(static_cast<std::size_t>(region.width));
  std::vector<std::int64_t> last(first.size());
  for (std::int64_t x = 0; x < region.width; ++x) {
    const TokenRange tokens = smaller.columns_of(x);
    first[static_cast<std::size_t>(x)] = cell_of(region_.columns, region_.width, tokens.begin);
    last[static_cast<std::size_t>(x)] = cell_of(region_.columns, region_.width, tokens.end - 1);
  }
  for (std::int64_t y = 0; y < region.height; ++y) {
    const TokenRange tokens = smaller.rows_of(y);
    const std::int64_t top = cell_of(region_.rows, region_.height, tokens.begin);
    const std::int64_t bottom = cell_of(region_.rows, region_.height, tokens.end - 1);
    for (std::int64_t from = top; from <= bottom; ++from) {
      for (std::int64_t x = 0; x < region.width; ++x) {
        float& cell = smaller.cells_[static_cast<std::size_t>(y * region.width + x)];
        const auto at = static_cast<std::size_t>(x);
        for (std::int64_t column = first[at]; column <= last[at]; ++column) {
          if (const float value = this->cell(from, column); !std::isnan(value)) join(cell, value);
        }
      }
    }
  }
  return smaller;
}

std::optional<PooledMap> pool_region(const WeightRows& weights, const MapRegion& region,
                                     const Stopped& stopped) {
  PooledMap map(region);
  RowWeights row;
  for (std::int64_t query = region.rows.begin; query < region.rows.end; ++query) {
    if (stopped && stopped()) return std::nullopt;
    weights.row(query, row);
    map.add(query, row);
  }
  return map;
}

namespace {

Result<std::shared_ptr<const Mask>> mask_of(const DumpInfo& info, std::size_t layer) {
  Result<AttentionPlan> plan =
      compile_plan(info.patterns.at(layer), info.windows.at(layer), info.layout, info.heads);
  if (!plan) return tl::unexpected(plan.error());
  return std::make_shared<const Mask>(*std::move(plan));
}

Result<std::shared_ptr<const HeadWeights>> weights_of(const Dump& dump, std::size_t layer,
                                                      std::int32_t head,
                                                      std::shared_ptr<const Mask> mask) {
  Result<HeadVectors> vectors = dump.head(layer, head);
  if (!vectors) return tl::unexpected(vectors.error());
  return std::make_shared<const HeadWeights>(
      std::make_shared<const HeadVectors>(*std::move(vectors)), std::move(mask), head,
      dump.info().scale);
}

std::string as_text(const GroupMasses& masses) {
  std::string text = fmt::format("{:>5} {:>4}  {:<10}", "layer", "head", "from");
  for (const TokenGroup to : masses.groups) {
    fmt::format_to(std::back_inserter(text), "{:>11}", name_of(to));
  }
  text += '\n';
  for (const HeadMass& head : masses.heads) {
    for (const TokenGroup from : masses.groups) {
      fmt::format_to(std::back_inserter(text), "{:>5} {:>4}  {:<10}", head.layer, head.head,
                     name_of(from));
      for (const TokenGroup to : masses.groups) {
        const double mass = head.mass[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
        fmt::format_to(std::back_inserter(text), "{:>10.1f}%", 100 * mass);
      }
      text += '\n';
    }
  }
  return text;
}

std::string as_csv(const GroupMasses& masses) {
  std::string text = "layer,head,from,to,mass\n";
  for (const HeadMass& head : masses.heads) {
    for (const TokenGroup from : masses.groups) {
      for (const TokenGroup to : masses.groups) {
        fmt::format_to(std::back_inserter(text), "{},{},{},{},{}\n", head.layer, head.head,
                       name_of(from), name_of(to),
                       head.mass[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]);
      }
    }
  }
  return text;
}

std::string as_json(const GroupMasses& masses) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const HeadMass& head : masses.heads) {
    nlohmann::ordered_json row = {{"layer", head.layer}, {"head", head.head}};
    for (const TokenGroup from : masses.groups) {
      for (const TokenGroup to : masses.groups) {
        row["mass"][std::string(name_of(from))][std::string(name_of(to))] =
            head.mass[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      }
    }
    rows.push_back(std::move(row));
  }
  return rows.dump(1) + "\n";
}

}  // namespace

Result<std::shared_ptr<const HeadWeights>> head_weights(const Dump& dump, std::size_t layer,
                                                        std::int32_t head) {
  auto mask = mask_of(dump.info(), layer);
  if (!mask) return tl::unexpected(mask.error());
  return weights_of(dump, layer, head, std::move(*mask));
}

Result<GroupMasses> group_masses(const Dump& dump) {
  const DumpInfo& info = dump.info();
  GroupMasses masses;
  for (const TokenGroup group : token_groups) {
    if (std::ranges::find(info.groups, group) != info.groups.end()) masses.groups.push_back(group);
  }
  for (std::size_t layer = 0; layer < info.layers.size(); ++layer) {
    const auto mask = mask_of(info, layer);
    if (!mask) return tl::unexpected(mask.error());
    for (std::int32_t head = 0; head < info.heads; ++head) {
      const auto weights = weights_of(dump, layer, head, *mask);
      if (!weights) return tl::unexpected(weights.error());
      const auto summary = summarise(**weights, info.groups, {.map_side = 1}, {});
      masses.heads.push_back(
          {.layer = info.layers[layer], .head = head, .mass = summary->group_mass});
    }
  }
  return masses;
}

Result<MassFormat> parse_mass_format(std::string_view text) {
  if (text == "text") return MassFormat::text;
  if (text == "csv") return MassFormat::csv;
  if (text == "json") return MassFormat::json;
  return fail("'{}' is not a format for masses; known: text, csv, json", in_a_sentence(text));
}

std::string write_masses(const GroupMasses& masses, MassFormat format) {
  if (format == MassFormat::csv) return as_csv(masses);
  return format == MassFormat::json ? as_json(masses) : as_text(masses);
}

}  // namespace attnscope
