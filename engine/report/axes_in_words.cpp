// SPDX-License-Identifier: Apache-2.0
#include "engine/report/axes_in_words.h"

#include <fmt/format.h>

#include <tuple>

namespace attnscope::report {

std::vector<AxisValue> axes_of(const HeatPoint& point) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  const auto word = [](std::string_view value) { return std::string(value); };
  const bool of_models = point.operation == Operation::model;
  const bool has_query = point.operation != Operation::windowed_matmul;
  return {
      {"operation", word(name_of(point.operation)), word(name_of(point.operation))},
      {"direction", word(name_of(point.direction)), word(name_of(point.direction))},
      {"sequence_tokens", number(point.sequence_tokens),
       fmt::format("{} tokens", point.sequence_tokens)},
      {"query_tokens", number(point.query_tokens),
       has_query ? fmt::format("query {}", point.query_tokens) : std::string()},
      {"shared_query", point.shared_query ? "true" : "false",
       point.shared_query ? "shared query" : ""},
      {"documents", number(point.documents),
       point.documents > 1 ? fmt::format("{} documents an item", point.documents) : std::string()},
      {"batch_max", number(point.batch_max), fmt::format("batch up to {}", point.batch_max)},
      {"batch_memory_mb", number(point.batch_memory_mb), ""},
      {"batch_per_contender", point.batch_per_contender ? "true" : "false",
       point.batch_per_contender ? "each its own batch" : ""},
      {"heads", number(point.heads), fmt::format("{} heads", point.heads)},
      {"head_dim", number(point.head_dim), fmt::format("head dimension {}", point.head_dim)},
      {"layers", number(point.layers),
       of_models ? fmt::format("{} layer{}", point.layers, point.layers == 1 ? "" : "s")
                 : std::string()},
      {"feed_forward", number(point.feed_forward),
       of_models ? fmt::format("feed-forward {}", point.feed_forward) : std::string()},
      {"dtype", word(name_of(point.dtype)), word(name_of(point.dtype))},
      {"memory_order", word(name_of(point.memory_order)), word(name_of(point.memory_order))},
      {"cache", word(name_of(point.cache)), point.cache == CacheState::cold ? "cold caches" : ""},
      {"device", word(name_of(point.device)), word(name_of(point.device))},
      {"threads", number(point.threads),
       fmt::format("{} thread{}", point.threads, point.threads == 1 ? "" : "s")},
      {"seed", number(point.seed), ""},
  };
}

bool comes_before(const HeatPoint& a, const HeatPoint& b) {
  const auto order = [](const HeatPoint& p) {
    return std::tie(p.operation, p.direction, p.device, p.dtype, p.memory_order, p.cache, p.heads,
                    p.head_dim, p.layers, p.feed_forward, p.threads, p.shared_query, p.documents,
                    p.query_tokens, p.batch_max, p.batch_memory_mb, p.batch_per_contender, p.seed,
                    p.sequence_tokens);
  };
  return order(a) < order(b);
}

std::vector<bool> varying_axes(std::span<const Row> rows) {
  std::vector<bool> varying(axes_of({}).size(), false);
  if (rows.empty()) return varying;
  const std::vector<AxisValue> first = axes_of(rows.front().cell.point);
  for (const Row& row : rows) {
    if (row.cell.point == rows.front().cell.point) continue;
    const std::vector<AxisValue> axes = axes_of(row.cell.point);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].value != first[i].value) varying[i] = true;
    }
  }
  return varying;
}

std::string words_of(const AxisValue& axis) {
  return axis.words.empty() ? fmt::format("{} {}", axis.key, axis.value) : axis.words;
}

std::string words_of(const HeatPoint& point, const std::vector<bool>& varying, bool wanted) {
  std::string text;
  const std::vector<AxisValue> axes = axes_of(point);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (varying[i] != wanted) continue;
    // An axis that varies has to be told apart even where it usually goes without saying.
    const std::string words = wanted ? words_of(axes[i]) : axes[i].words;
    if (words.empty()) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", words);
  }
  return text;
}

}  // namespace attnscope::report
