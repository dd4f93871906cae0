#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A small table of texts and numbers, for the clipboard and for files.

#include <string>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::gui {

struct NumberGrid {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;  // each as long as `heads`
  std::string note = {};                       // what it is of; a comment where the form has them
};

/// A number with all its digits, and a decimal point in every locale.
[[nodiscard]] std::string number_text(double value);

[[nodiscard]] std::string write_grid(const NumberGrid& grid, report::TableFormat format);

}  // namespace attnscope::gui
