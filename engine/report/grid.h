#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Texts in a grid, in every form a table has: for what no run's own rows make, such as published
// numbers, alone or beside ours.
//
//   const Grid grid{.heading = "Table 3", .columns = {...}, .rows = {{...}}, .notes = {"..."}};
//   write_grid(grid, TableFormat::latex);

#include <string>
#include <vector>

#include "engine/report/published.h"
#include "engine/report/table.h"

namespace attnscope::report {

struct Grid {
  std::string heading;
  std::vector<PublishedColumn> columns;
  std::vector<std::vector<std::string>> rows;  // as many texts as columns
  std::vector<std::string> notes;              // sentences under it
  std::string source;                          // of every row, in CSV and JSON
  /// The first column heads blocks of rows where that reads better than a column of its own.
  bool in_blocks = false;
};

[[nodiscard]] std::string write_grid(const Grid& grid, TableFormat format);

}  // namespace attnscope::report
