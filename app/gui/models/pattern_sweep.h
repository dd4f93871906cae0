#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A sweep that measures patterns on an item: all implementations that support them, compared with
// full attention. The sweep includes the definitions of user patterns.

#include <QStringList>
#include <string>
#include <vector>

#include "app/drawing/mask_problem.h"

namespace attnscope::gui {

struct RunWish {
  std::string name;
  std::vector<charts::MaskSource> sources;
  LayoutItem item;
  int heads = 12, head_dim = 32;
  QStringList implementations;  // those that support the patterns
  bool other_lengths = true;    // also measure lengths around the item's
};

/// An error names what a sweep cannot contain, and the alternative.
[[nodiscard]] Result<QString> sweep_of(const RunWish& wish);

}  // namespace attnscope::gui
