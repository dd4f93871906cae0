#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Writes a mask as .pdf, .svg or .png, from the drawing that MaskView shows; always light. Up to
// some hundred tokens the cells of PDF and SVG are vectors, beyond that an image of 600 dpi.

#include <optional>
#include <string>

#include "app/gui/charts/mask_problem.h"
#include "app/gui/charts/printable.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/sequence_layout.h"
#include "kernels/base/result.h"

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

/// Width, font, title, dpi, .csv and .tex of the options mean something to a mask. Its height
/// follows from its width, it is always light, and its .csv has every run of keys:
/// query,first_key,last_key (of a difference, mask A or B before them). Errors of the pattern or
/// the layout come with the first page.
[[nodiscard]] Printable printable(MaskSubject subject);

inline constexpr double mask_width_mm = 84;  // unless asked otherwise

}  // namespace attnscope::charts
