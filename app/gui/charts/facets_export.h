#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Writes panels as one figure: side by side and below one another, on the same axes, with one title
// and one legend around them.
//
//   OffscreenApplication application;
//   Status done = export_facets(facets, "dtypes.pdf", {.width_mm = 122});

#include <filesystem>

#include "app/gui/charts/printable.h"
#include "engine/report/figure.h"

namespace attnscope::charts {

/// See write_printable. As many columns as the facets ask for, or as leave a panel 19 times the
/// font's size; a height given in the options is divided among the rows.
[[nodiscard]] Status export_facets(report::Facets facets, const std::filesystem::path& path,
                                   const FigureOptions& options = {});

}  // namespace attnscope::charts
