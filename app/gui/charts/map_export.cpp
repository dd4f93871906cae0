// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/map_export.h"

#include <fmt/format.h>

#include <QFontMetricsF>
#include <algorithm>
#include <memory>
#include <utility>

#include "app/gui/charts/drawing_file.h"
#include "app/gui/charts/figure_font.h"
#include "app/gui/charts/heat_view.h"
#include "app/gui/charts/mask_drawing.h"
#include "attnscope/build_info.h"

namespace attnscope::charts {
namespace {

constexpr double image_dpi_in_vectors = 600;
constexpr std::size_t largest_csv = 200'000'000;  // bytes

double dots_per_unit(double dpi) {
  return dpi / (72 * units_per_point);
}

std::string described(const MaskSource& source) {
  const bool with_window = source.pattern.has_window() && source.window;
  return source.pattern.description +
         (with_window ? " Window " + source.window->text() + "." : std::string());
}

std::string provenance_of(const MaskSubject& subject) {
  return fmt::format(
      "{}{} Drawn by AttnScope {}, commit {}{}{}{}", described({subject.pattern, subject.window}),
      subject.against ? " Against: " + described(*subject.against) : "", ATTNSCOPE_VERSION,
      ATTNSCOPE_GIT_COMMIT, ATTNSCOPE_GIT_DIRTY != 0 ? " (modified)" : "",
      subject.command.empty() ? "" : ": ", subject.command);
}

/// Problems with their drawing, which refers to them.
struct MaskPage {
  std::unique_ptr<MaskProblem> problem, other;  // null: no difference
  std::unique_ptr<MaskDrawing> drawing;
};

Status make_problems(const MaskSubject& subject, MaskPage& page) {
  const auto make = [&](const MaskSource& source, std::unique_ptr<MaskProblem>& made) -> Status {
    auto problem = MaskProblem::make(source.pattern, source.window, subject.item, subject.style);
    if (!problem) return tl::unexpected(problem.error());
    made = *std::move(problem);
    return {};
  };
  Status made = make({subject.pattern, subject.window}, page.problem);
  if (made && subject.against) made = make(*subject.against, page.other);
  return made;
}

Result<LaidOut> lay_out_mask(const MaskSubject& subject, const FigureOptions& options,
                             bool vectors) {
  auto whole = std::make_shared<MaskPage>();
  if (Status made = make_problems(subject, *whole); !made) return tl::unexpected(made.error());
  MaskDrawing::Page page;
  page.em = options.font_pt * units_per_point;
  page.title = options.title;
  page.legend = subject.legend;
  page.size = QSizeF(units_of_mm(options.width_mm), unbounded);
  const auto draw = [&] {
    return std::make_unique<MaskDrawing>(*whole->problem, MapFocus{}, page, whole->other.get());
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
                     CellRaster raster(drawing.picture(dots_per_unit(dpi)));
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
  Status done = make_problems(subject, page);
  if (!done) return tl::unexpected(done.error());
  std::string text =
      page.other ? "mask,query,first_key,last_key\r\n" : "query,first_key,last_key\r\n";
  done = add_rows(*page.problem, page.other ? "A," : "", text);
  if (done && page.other) done = add_rows(*page.other, "B,", text);
  if (!done) return tl::unexpected(done.error());
  return text;
}

/// Maps side by side; lengths are in page units and follow from the width and the font.
class HeatPage {
 public:
  HeatPage(std::shared_ptr<const HeatFigure> figure, const FigureOptions& options)
      : figure_(std::move(figure)),
        em_(options.font_pt * units_per_point),
        width_(units_of_mm(options.width_mm)),
        caption_(QString::fromStdString(options.caption)) {
    const auto count = static_cast<double>(figure_->panels.size());
    step_ = (width_ + 0.8 * em_) / count;
    const QSizeF page(step_ - 0.8 * em_, unbounded);
    const HeatTokens along{std::make_shared<const std::vector<TokenGroup>>(figure_->groups),
                           figure_->tokens.empty()
                               ? nullptr
                               : std::make_shared<const std::vector<std::string>>(figure_->tokens)};
    for (const HeatPanel& panel : figure_->panels) {
      maps_.emplace_back(
          along, focus_on(panel.map.region()),
          HeatDrawing::Page{page, em_, ChartTheme::light, options.title ? panel.title : QString()});
    }
    bars_ = maps_.front().needed_height() + 0.4 * em_;
    legend_ = bars_ + 2.8 * em_;
    below_ = legend_ + 1.5 * em_;
  }

  [[nodiscard]] double narrowest_map() const { return maps_.front().square().rect.width() / em_; }

  [[nodiscard]] QSizeF size() const {
    if (caption_.isEmpty()) return {width_, below_};
    const QRectF room(0, 0, width_, unbounded);
    const double lines = QFontMetricsF(figure_font(em_ * small_text))
                             .boundingRect(room, Qt::TextWordWrap, caption_)
                             .height();
    return {width_, below_ + 1.1 * lines + 0.6 * em_};
  }

  void paint(QPainter& painter) const {
    painter.fillRect(QRectF({0, 0}, size()), Qt::white);
    for (std::size_t panel = 0; panel < maps_.size(); ++panel) {
      painter.save();
      painter.translate(step_ * static_cast<double>(panel), 0);
      paint_map(painter, figure_->panels[panel], maps_[panel]);
      painter.restore();
    }
    painter.setFont(figure_font(em_ * small_text));
    paint_bars(painter);
    paint_legend(painter);
    painter.setPen(colors_of(ChartTheme::light).faint_text);
    painter.drawText(QRectF(0, below_ + 0.4 * em_, width_, size().height() - below_),
                     Qt::TextWordWrap, caption_);
  }

 private:
  /// A region with as many rows as columns.
  [[nodiscard]] MapFocus focus_on(const MapRegion& region) const {
    if (region.rows.size() == static_cast<std::int64_t>(figure_->groups.size())) return {};
    const auto middle = [](TokenRange range) {
      return AxisPlace{.tokens = static_cast<double>(range.begin + range.end) / 2};
    };
    return {.tokens = static_cast<double>(region.rows.size()),
            .row = middle(region.rows),
            .column = middle(region.columns)};
  }

  static void paint_map(QPainter& painter, const HeatPanel& panel, const HeatDrawing& map) {
    // Printers smooth small images: enlarge each cell to pixels here, so that it stays sharp.
    QImage image = heat_image(panel.map, panel.scale, ChartTheme::light);
    const int dots =
        static_cast<int>(map.square().rect.width() * dots_per_unit(image_dpi_in_vectors));
    const int times = std::max(1, dots / std::max(1, image.width()));
    image = image.scaled(image.width() * times, image.height() * times);
    map.paint(painter, image, panel.map.region());
  }

  /// Paints one bar below each run of neighbours with the same scale.
  void paint_bars(QPainter& painter) const {
    for (std::size_t first = 0; first < maps_.size();) {
      std::size_t last = first;
      const HeatScale& scale = figure_->panels[first].scale;
      while (last + 1 < maps_.size() && figure_->panels[last + 1].scale == scale) ++last;
      const double left = step_ * static_cast<double>(first) + maps_[first].square().rect.left();
      const double right = step_ * static_cast<double>(last) + maps_[last].square().rect.right();
      paint_color_bar(painter, {left, bars_, right - left, 0.7 * em_}, scale, ChartTheme::light);
      first = last + 1;
    }
  }

  void paint_legend(QPainter& painter) const {
    const QFontMetricsF metrics(painter.font());
    double left = maps_.front().square().rect.left();
    const auto entry = [&](const QColor& color, const QString& text) {
      painter.fillRect(QRectF(left, legend_ + 0.2 * em_, 0.8 * em_, 0.8 * em_), color);
      painter.setPen(colors_of(ChartTheme::light).text);
      const double width = metrics.horizontalAdvance(text) + 1;
      painter.drawText(QRectF(left + 1.1 * em_, legend_, width, 1.2 * em_),
                       Qt::AlignLeft | Qt::AlignVCenter, text);
      left += 1.1 * em_ + width + 1.2 * em_;
    };
    for (const TokenGroup group : token_groups) {
      if (std::ranges::find(figure_->groups, group) == figure_->groups.end()) continue;
      entry(margin_color(group, ChartTheme::light), group_title(group));
    }
    entry(not_allowed_color(ChartTheme::light), QStringLiteral("not allowed"));
  }

  std::shared_ptr<const HeatFigure> figure_;
  double em_, width_;
  QString caption_;
  double step_ = 0;                           // distance between maps
  double bars_ = 0, legend_ = 0, below_ = 0;  // top positions
  std::vector<HeatDrawing> maps_;             // one per panel
};

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
                              bool vectors) { return lay_out_mask(*shared, options, vectors); },
          .csv = [shared](const FigureOptions& /*options*/) { return mask_csv(*shared); }};
}

Printable printable(HeatFigure figure) {
  const auto shared = std::make_shared<const HeatFigure>(std::move(figure));
  return {.title = shared->title,
          .about = {},
          .provenance = shared->provenance,
          .has_series = false,
          .has_height = false,
          .has_caption = true,
          .lay_out = [shared](const FigureOptions& options, bool /*vectors*/) -> Result<LaidOut> {
            if (shared->panels.empty()) return fail("there are no weights to draw yet");
            const HeatPage page(shared, options);
            if (page.narrowest_map() < 4) {
              return fail("{} maps of at least four letters' width do not fit {} mm at {} pt",
                          shared->panels.size(), options.width_mm, options.font_pt);
            }
            return LaidOut{page.size(), [page](QPainter& painter) { page.paint(painter); }};
          },
          .csv = [shared](const FigureOptions& /*options*/) -> Result<std::string> {
            return shared->numbers;
          }};
}

}  // namespace attnscope::charts
