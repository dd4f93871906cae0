#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Maps of attention weights as a figure: one to three of them side by side, with strips of the
// token groups, colour bars and, where asked for, a caption. In .pdf and .svg the weights are an
// image at 600 dpi inside vector lines and texts. Always light.

#include <QString>
#include <filesystem>
#include <vector>

#include "app/gui/charts/heat_colors.h"
#include "engine/inspect/pooled_map.h"
#include "engine/pattern/attention_pattern.h"
#include "kernels/plan/result.h"

namespace attnscope::charts {

struct HeatPanel {
  QString title;
  PooledMap map;
  HeatScale scale;
};

struct HeatFigure {
  std::vector<HeatPanel> panels;  // of the same tokens
  std::vector<TokenGroup> groups;
  QString caption;  // what the weights are of; provenance
};

struct HeatFigureOptions {
  double width_mm = 122;  // the text width of Springer's LNCS
  double font_pt = 8;
  bool titles = true;
  bool caption = true;
  double png_dpi = 300;
};

/// Errors: as export_figure; no panel.
[[nodiscard]] Status export_heat(const HeatFigure& figure, const std::filesystem::path& path,
                                 const HeatFigureOptions& options = {});

}  // namespace attnscope::charts
