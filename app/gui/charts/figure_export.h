#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Writes a figure as .pdf (vectors, font embedded), .svg (vectors, texts kept as text) or .png,
// from the drawing that RunChart shows. The extension chooses; light, for paper, unless asked
// otherwise.
//
//   OffscreenApplication application;   // on a machine without a display
//   Status done = export_figure(figure, "fig2a.pdf", {.width_mm = 122});

#include <filesystem>

#include "app/gui/charts/printable.h"
#include "engine/report/figure.h"

namespace attnscope::charts {

/// See write_printable.
[[nodiscard]] Status export_figure(report::Figure figure, const std::filesystem::path& path,
                                   const FigureOptions& options = {});

}  // namespace attnscope::charts
