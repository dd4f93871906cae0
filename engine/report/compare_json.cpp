// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "engine/report/axes_in_words.h"
#include "engine/report/compare.h"
#include "engine/report/run_differences.h"

namespace attnscope::report {
namespace {

using nlohmann::ordered_json;

ordered_json side_of(const StoredCell& cell) {
  const Row row{.cell = cell, .limit_ms = {}, .share_of_limit = {}, .ratio = {}};
  ordered_json side = {{"status", cell.damaged ? damaged_status : name_of(cell.cell.status)},
                       {"batch", cell.cell.batch},
                       {"ms_per_document", nullptr}};
  if (is_measured(row)) side["ms_per_document"] = cell.summary.median_ns / 1e6 / documents_of(row);
  return side;
}

ordered_json row_of(const ComparedCell& compared) {
  ordered_json row = {{"contender", compared.a.cell.contender.id()},
                      {"name", compared.a.cell.contender.name}};
  for (const AxisValue& axis : axes_of(compared.a.point)) row[std::string(axis.key)] = axis.value;
  row["sequence_tokens"] = compared.a.point.sequence_tokens;
  row["a"] = side_of(compared.a);
  row["b"] = side_of(compared.b);
  for (const char* key : {"ratio", "ratio_low", "ratio_high", "verdict"}) row[key] = nullptr;
  if (compared.ratio) {
    row["ratio"] = compared.ratio->ratio;
    row["ratio_low"] = compared.ratio->low;
    row["ratio_high"] = compared.ratio->high;
    row["verdict"] = name_of(compared.ratio->verdict);
  }
  return row;
}

}  // namespace

std::string write_comparison_json(const Comparison& comparison) {
  ordered_json cells = ordered_json::array();
  for (const ComparedCell& cell : comparison.cells) cells.push_back(row_of(cell));
  const ordered_json whole = {
      {"a", comparison.run_a.id.uuid},
      {"b", comparison.run_b.id.uuid},
      {"not_alike", differences(comparison.run_a, comparison.run_b)},
      {"machine_moved",
       comparison.machine_moved ? ordered_json(*comparison.machine_moved) : nullptr},
      {"shift_between", comparison.between.shift},
      {"spread_between", comparison.between.spread},
      {"only_in_a", comparison.only_in_a},
      {"only_in_b", comparison.only_in_b},
      {"cells", std::move(cells)}};
  // Infinite ends of an interval are null in JSON.
  return whole.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace attnscope::report
