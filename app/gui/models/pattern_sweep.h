#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A sweep that measures patterns on an item: all implementations that take them, against full
// attention. Patterns of one's own go along inside the sweep.

#include <QStringList>
#include <string>
#include <vector>

#include "app/gui/charts/mask_problem.h"

namespace attnscope::gui {

struct RunWish {
  std::string name;
  std::vector<charts::MaskSource> sources;
  LayoutItem item;
  int heads = 12, head_dim = 32;
  QStringList implementations;  // that take the patterns
  bool other_lengths = true;    // and lengths around the item's
};

/// An error says what a sweep cannot carry, and what to do instead.
[[nodiscard]] Result<QString> sweep_of(const RunWish& wish);

}  // namespace attnscope::gui
