#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Maps of attention weights as a figure: one to three of them side by side, with strips of the
// token groups, a colour bar for each scale and, where asked for, a caption. In .pdf and .svg the
// weights are an image at 600 dpi inside vector lines and texts.

#include <QString>
#include <string>
#include <vector>

#include "app/gui/charts/heat_colors.h"
#include "app/gui/charts/printable.h"
#include "engine/inspect/pooled_map.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope::charts {

struct HeatPanel {
  QString title;
  PooledMap map;
  HeatScale scale;
};

struct HeatFigure {
  std::vector<HeatPanel> panels;  // of the same tokens
  std::vector<TokenGroup> groups;
  /// Texts of all tokens, written along the axes where there is room; empty: none are.
  std::vector<std::string> tokens;
  std::string title;       // what the weights are of, in a line
  std::string provenance;  // the same in sentences: model, head, tokens, patterns, program
  std::string numbers;     // what its .csv holds
};

/// Width, font, title (of each map), caption, dpi, .csv and .tex of the options mean something to
/// it. Its height follows from its width, and it is always light. Errors come with the first page:
/// no panel, maps that do not fit the width.
[[nodiscard]] Printable printable(HeatFigure figure);

}  // namespace attnscope::charts
