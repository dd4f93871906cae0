#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Masks and maps of attention weights as figures, from the drawings that the window shows; always
// light, their height follows from their width. In .pdf and .svg the cells of a mask of up to some
// hundred tokens are vectors; those of others and weights are an image of 600 dpi inside vector
// lines and texts.

#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/charts/map_colors.h"
#include "app/gui/charts/mask_problem.h"
#include "app/gui/charts/printable.h"

namespace attnscope::charts {

/// What a mask is a mask of, and how it is to be shown.
struct MaskSubject {
  AttentionPattern pattern;
  std::optional<Window> window;
  LayoutItem item;
  MaskStyle style = MaskStyle::schematic;
  bool legend = true;
  std::string command = {};  // that draws it again; kept inside the file
  /// Then what only the first allows, only this one, and both, on the same item.
  std::optional<MaskSource> against = {};
};

/// Its .csv has every run of keys: query,first_key,last_key (of a difference, mask A or B before
/// them). Errors of the pattern or the layout come with the first page.
[[nodiscard]] Printable printable(MaskSubject subject);

inline constexpr double mask_width_mm = 84;  // unless asked otherwise

struct HeatPanel {
  QString title;
  PooledMap map;
  HeatScale scale;
};

/// One to three maps side by side, with strips of the token groups, a colour bar for each scale
/// and, where asked for, a caption.
struct HeatFigure {
  std::vector<HeatPanel> panels;  // of the same tokens
  std::vector<TokenGroup> groups;
  /// Texts of all tokens, written along the axes where there is room; empty: none are.
  std::vector<std::string> tokens;
  std::string title;       // what the weights are of, in a line
  std::string provenance;  // the same in sentences: model, head, tokens, patterns, program
  std::string numbers;     // what its .csv holds
};

/// Errors come with the first page: no panel, maps that do not fit the width.
[[nodiscard]] Printable printable(HeatFigure figure);

}  // namespace attnscope::charts
