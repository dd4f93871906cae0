// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>

#include "engine/report/table.h"

namespace attnscope::report {
namespace {

/// Rows of one line: one contender, every axis alike but the length.
std::string line_of(const Row& row) {
  HeatPoint point = row.cell.point;
  point.sequence_tokens = 0;
  return point_key(point) + " " + row.cell.cell.contender.id();
}

std::vector<statistics::Observation> per_token(const Row& row) {
  std::vector<statistics::Observation> observations = per_item(row.cell.cell);
  for (statistics::Observation& one : observations) {
    one.time_ns /= static_cast<double>(row.cell.point.sequence_tokens);
  }
  return observations;
}

}  // namespace

void add_growth(Table& table) {
  std::map<std::string, const Row*> shortest;
  for (const Row& row : table.rows) {
    if (!is_measured(row)) continue;
    const Row*& known = shortest[line_of(row)];
    if (known == nullptr || row.cell.point.sequence_tokens < known->cell.point.sequence_tokens) {
      known = &row;
    }
  }
  for (Row& row : table.rows) {
    row.growth.reset();
    if (!is_measured(row)) continue;
    const Row* const from = shortest.at(line_of(row));
    if (from == &row) {
      row.growth = statistics::Ratio{.ratio = 1, .low = 1, .high = 1};
      continue;
    }
    const statistics::Ratio ratio = statistics::unpaired_ratio(per_token(row), per_token(*from));
    if (std::isfinite(ratio.ratio)) row.growth = ratio;
  }
  table.has_growth = true;
}

}  // namespace attnscope::report
