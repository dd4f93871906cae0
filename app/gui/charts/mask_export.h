#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Writes a mask as .pdf, .svg or .png, from the drawing that MaskView shows; always light. Up to
// some hundred tokens the cells of PDF and SVG are vectors, beyond that an image of 600 dpi.

#include <filesystem>
#include <optional>
#include <string>

#include "app/gui/charts/mask_problem.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/plan/result.h"

namespace attnscope::charts {

struct MaskOptions {
  MaskStyle style = MaskStyle::schematic;
  double width_mm = 84;
  double font_pt = 8;
  bool title = true;  // the pattern's title and its window
  bool legend = true;
  double png_dpi = 300;
  std::string command = {};  // that draws it again; kept inside the file
};

/// Errors: as MaskView::show_mask and export_figure.
[[nodiscard]] Status export_mask(const AttentionPattern& pattern, std::optional<Window> window,
                                 const LayoutItem& item, const std::filesystem::path& path,
                                 const MaskOptions& options = {});

}  // namespace attnscope::charts
