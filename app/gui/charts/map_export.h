#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Masks and maps of attention weights as figures, from the drawings that the window shows; always
// light, and the height follows from the width. In .pdf and .svg, the cells of a mask of up to some
// hundred tokens are vectors; larger masks and weights are an image of 600 dpi inside vector lines
// and text.

#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/charts/map_colors.h"
#include "app/gui/charts/mask_problem.h"
#include "app/gui/charts/printable.h"

namespace attnscope::charts {

/// A mask's source, and how to show it.
struct MaskSubject {
  AttentionPattern pattern;
  std::optional<Window> window;
  LayoutItem item;
  MaskStyle style = MaskStyle::schematic;
  bool legend = true;
  std::string command = {};  // redraws the figure; stored in the file
  /// If set: shows the pairs that only the first mask allows, only this one, and both, on the same
  /// item.
  std::optional<MaskSource> against = {};
};

/// The .csv has every run of keys: query,first_key,last_key (for a difference, mask A or B precedes
/// them). The first page reports errors of the pattern or the layout.
[[nodiscard]] Printable printable(MaskSubject subject);

inline constexpr double mask_width_mm = 84;  // default

struct HeatPanel {
  QString title;
  PooledMap map;
  HeatScale scale;
};

/// One to three maps side by side, with strips of the token groups, a colour bar per scale and an
/// optional caption.
struct HeatFigure {
  std::vector<HeatPanel> panels;  // for the same tokens
  std::vector<TokenGroup> groups;
  /// Texts of all tokens, drawn along the axes where there is room; empty: none.
  std::vector<std::string> tokens;
  std::string title;       // source of the weights, in one line
  std::string provenance;  // the source in sentences: model, head, tokens, patterns, program
  std::string numbers;     // content of the .csv
};

/// The first page reports errors: no panel, maps that do not fit the width.
[[nodiscard]] Printable printable(HeatFigure figure);

}  // namespace attnscope::charts
