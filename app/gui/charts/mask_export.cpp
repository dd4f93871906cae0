// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/mask_export.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/gui/charts/drawing_file.h"
#include "app/gui/charts/mask_drawing.h"
#include "attnscope/build_info.h"

namespace attnscope::charts {
namespace {

constexpr double image_dpi_in_vectors = 600;
constexpr double unbounded = 1e7;  // units; the width alone decides

std::string made_by(const std::string& command) {
  return fmt::format(" Drawn by AttnScope {}, commit {}{}{}{}", ATTNSCOPE_VERSION,
                     ATTNSCOPE_GIT_COMMIT, ATTNSCOPE_GIT_DIRTY != 0 ? " (modified)" : "",
                     command.empty() ? "" : ": ", command);
}

}  // namespace

Status export_mask(const AttentionPattern& pattern, std::optional<Window> window,
                   const LayoutItem& item, const std::filesystem::path& path,
                   const MaskOptions& options) {
  const Result<FileFormat> format = format_of(path);
  if (!format) return tl::unexpected(format.error());
  if (!(options.width_mm >= 30 && options.width_mm <= 2000)) {
    return fail("a mask's width must lie between 30 and 2000 mm, not {}", options.width_mm);
  }
  if (!(options.font_pt >= 4 && options.font_pt <= 40)) {
    return fail("a mask's font size must lie between 4 and 40 pt, not {}", options.font_pt);
  }
  Result<std::unique_ptr<MaskProblem>> problem =
      MaskProblem::make(pattern, window, item, options.style);
  if (!problem) return tl::unexpected(problem.error());

  MaskDrawing::Page page;
  page.em = options.font_pt * units_per_point;
  page.title = options.title;
  page.legend = options.legend;
  page.size = QSizeF(units_of_mm(options.width_mm), unbounded);
  page.size.setHeight(MaskDrawing(**problem, options.style, {}, page).needed_height());
  const MaskDrawing drawing(**problem, options.style, {}, page);
  const double dpi = *format == FileFormat::png ? options.png_dpi : image_dpi_in_vectors;
  const auto paint = [&](QPainter& painter) {
    drawing.paint_ground(painter);
    if (*format != FileFormat::png && drawing.cells_fit_vectors()) {
      drawing.paint_cells(painter);
    } else {
      painter.drawImage(drawing.cells_rect(),
                        drawing.render_cells(dpi / (72 * units_per_point)).image);
    }
    drawing.paint_frame(painter);
  };
  const std::string window_text =
      pattern.has_window() && window ? " Window " + window->text() + "." : std::string();
  return write_drawing(path,
                       {.size = page.size,
                        .title = QString::fromStdString(pattern.title),
                        .description = QString::fromStdString(pattern.description + window_text +
                                                              made_by(options.command)),
                        .png_dpi = options.png_dpi},
                       paint);
}

}  // namespace attnscope::charts
