// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/mask_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "app/gui/charts/drawing_file.h"
#include "app/gui/charts/mask_drawing.h"
#include "attnscope/build_info.h"

namespace attnscope::charts {
namespace {

constexpr double image_dpi_in_vectors = 600;
constexpr std::size_t largest_csv = 200'000'000;  // bytes

std::string made_by(const std::string& command) {
  return fmt::format(" Drawn by AttnScope {}, commit {}{}{}{}", ATTNSCOPE_VERSION,
                     ATTNSCOPE_GIT_COMMIT, ATTNSCOPE_GIT_DIRTY != 0 ? " (modified)" : "",
                     command.empty() ? "" : ": ", command);
}

using ProblemPointer = std::unique_ptr<MaskProblem>;

std::string described(const MaskSource& source) {
  const bool with_window = source.pattern.has_window() && source.window;
  return source.pattern.description +
         (with_window ? " Window " + source.window->text() + "." : std::string());
}

std::string provenance_of(const MaskSubject& subject) {
  const std::string first = described({subject.pattern, subject.window});
  return (subject.against ? first + " Against: " + described(*subject.against) : first) +
         made_by(subject.command);
}

/// Problems with their drawing, which points into them.
struct MaskPage {
  ProblemPointer problem, other;  // no other: no difference
  std::unique_ptr<MaskDrawing> drawing;
};

Status make_problems(const MaskSubject& subject, MaskPage& page) {
  Result<ProblemPointer> problem =
      MaskProblem::make(subject.pattern, subject.window, subject.item, subject.style);
  if (!problem) return tl::unexpected(problem.error());
  page.problem = std::move(*problem);
  if (!subject.against) return {};
  Result<ProblemPointer> other = MaskProblem::make(
      subject.against->pattern, subject.against->window, subject.item, subject.style);
  if (!other) return tl::unexpected(other.error());
  page.other = std::move(*other);
  return {};
}

Result<LaidOut> lay_out(const MaskSubject& subject, const FigureOptions& options, bool vectors) {
  auto whole = std::make_shared<MaskPage>();
  if (Status made = make_problems(subject, *whole); !made) return tl::unexpected(made.error());
  MaskDrawing::Page page;
  page.em = options.font_pt * units_per_point;
  page.title = options.title;
  page.legend = subject.legend;
  page.size = QSizeF(units_of_mm(options.width_mm), unbounded);
  const auto draw = [&] {
    return std::make_unique<MaskDrawing>(*whole->problem, subject.style, MapFocus{}, page,
                                         whole->other.get());
  };
  page.size.setHeight(draw()->needed_height());
  whole->drawing = draw();
  const double dpi = vectors ? image_dpi_in_vectors : options.png_dpi;
  return LaidOut{page.size, [whole, vectors, dpi](QPainter& painter) {
                   const MaskDrawing& drawing = *whole->drawing;
                   drawing.paint_ground(painter);
                   if (vectors && drawing.cells_fit_vectors()) {
                     drawing.paint_cells(painter);
                   } else {
                     CellRaster raster(drawing.picture(dpi / (72 * units_per_point)));
                     painter.drawImage(drawing.square().rect, raster.render());
                   }
                   drawing.paint_frame(painter);
                 }};
}

Status add_rows(const MaskProblem& problem, const std::string& before, std::string& text) {
  std::vector<TokenRange> keys;
  for (std::int64_t query = 0; query < problem.tokens(); ++query) {
    problem.keys_of(query, keys);
    std::ranges::sort(keys, {}, &TokenRange::begin);
    for (const TokenRange& run : keys) {
      text += fmt::format("{}{},{},{}\r\n", before, query, run.begin, run.end - 1);
    }
    if (text.size() > largest_csv) {
      return fail(
          "the mask's runs of keys take more than {} MB; draw fewer tokens or leave the .csv out",
          largest_csv / 1'000'000);
    }
  }
  return {};
}

Result<std::string> mask_csv(const MaskSubject& subject) {
  MaskPage page;
  if (Status made = make_problems(subject, page); !made) return tl::unexpected(made.error());
  std::string text =
      page.other ? "mask,query,first_key,last_key\r\n" : "query,first_key,last_key\r\n";
  Status added = add_rows(*page.problem, page.other ? "A," : "", text);
  if (added && page.other) added = add_rows(*page.other, "B,", text);
  if (!added) return tl::unexpected(added.error());
  return text;
}

}  // namespace

Printable printable(MaskSubject subject) {
  const auto shared = std::make_shared<const MaskSubject>(std::move(subject));
  return {.title = shared->pattern.title,
          .about = {},
          .provenance = provenance_of(*shared),
          .has_series = false,
          .has_height = false,
          .has_caption = false,
          .lay_out = [shared](const FigureOptions& options,
                              bool vectors) { return lay_out(*shared, options, vectors); },
          .csv = [shared](const FigureOptions& /*options*/) { return mask_csv(*shared); }};
}

}  // namespace attnscope::charts
