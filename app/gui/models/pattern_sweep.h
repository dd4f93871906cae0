#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A sweep that measures a pattern: all implementations that take it, against full attention, at
// lengths around the chosen one. A pattern of one's own goes along inside the sweep.

#include <QStringList>

#include "app/gui/charts/mask_problem.h"

namespace attnscope::gui {

struct BenchmarkWish {
  charts::MaskSource source;
  LayoutItem item;
  int heads = 12, head_dim = 32;
  QStringList implementations;  // that take the pattern
};

/// An error says what a sweep cannot carry, and what to do instead.
[[nodiscard]] Result<QString> sweep_of(const BenchmarkWish& wish);

}  // namespace attnscope::gui
