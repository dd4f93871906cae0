// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/regions_drawing.h"

#include <fmt/format.h>

#include <QFontMetricsF>
#include <QLinearGradient>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/drawing/chart_style.h"
#include "app/drawing/map.h"
#include "attnscope/build_info.h"

namespace attnscope::charts {
namespace {

/// Colour of the first, second and third region, as in the figure of their positions.
QColor peak_color(int peak) {
  return ContenderStyles().style(fmt::format("region {}", peak + 1)).color(ChartTheme::light);
}

QColor marking(int peak, bool alongside, ChartTheme theme) {
  QColor color = peak_color(peak);
  const double light = theme == ChartTheme::light ? 0.55 : 0.6;
  color.setAlphaF(static_cast<float>(alongside ? 0.45 * light : light));
  return color;
}

QString query_of(const DocumentRegions& regions) {
  QStringList words;
  for (const std::string& word : regions.query) words.append(QString::fromStdString(word));
  return words.join(QLatin1Char(' '));
}

}  // namespace

RegionsDrawing::RegionsDrawing(std::shared_ptr<const DocumentRegions> regions, Page page)
    : regions_(std::move(regions)), page_(std::move(page)) {
  lay_out();
}

void RegionsDrawing::lay_out() {
  line_ = QFontMetricsF(figure_font(page_.em)).lineSpacing() * 1.15;
  double y = 0;
  if (page_.title) {
    add_lines(y, query_of(*regions_), 1.15, true, false);
    add_lines(y,
              QString::fromStdString(about_in_words(*regions_)) +
                  QStringLiteral(" The query's words are bold."),
              small_text, false, true);
    y += 0.4 * page_.em;
  }
  add_lines(y, QString::fromStdString(score_in_words(*regions_)), 1, false, false);
  if (const std::string notes = notes_in_words(*regions_); !notes.empty())
    add_lines(y, QString::fromStdString(notes), 1, true, false);
  add_strip(y);
  add_peaks(y);
  add_words(y);
  if (!page_.caption.isEmpty()) {
    y += 0.5 * page_.em;
    add_lines(y, page_.caption, small_text, false, true);
  }
  height_ = y + 0.3 * page_.em;
}

void RegionsDrawing::add_lines(double& y, const QString& text, double size, bool bold, bool faint) {
  const QSizeF needed = size_of_lines(figure_font(size * page_.em, bold), text, page_.width);
  lines_.push_back({QRectF(0, y, page_.width, needed.height()), text, size, bold, faint});
  y += needed.height() + 0.15 * page_.em;
}

void RegionsDrawing::add_strip(double& y) {
  y += 0.3 * page_.em;
  heat_ = strip_of(*regions_);
  if (heat_.cells.empty()) return;
  strip_ = QRectF(0, y, page_.width, 2.1 * page_.em);
  y = strip_.bottom() + 0.2 * page_.em;
  ramp_ = QRectF(0, y + 0.25 * page_.em, 6 * page_.em, 0.6 * page_.em);
  const QString ends = QString::fromStdString(
      fmt::format("{} or less to {} or more: a region's score, at its middle. Words 1 to {}",
                  number_in_words(*regions_, heat_.least), number_in_words(*regions_, heat_.most),
                  regions_->kept));
  const double indent = ramp_.right() + 0.6 * page_.em;
  const QSizeF needed =
      size_of_lines(figure_font(small_text * page_.em), ends, page_.width - indent);
  lines_.push_back(
      {QRectF(indent, y, page_.width - indent, needed.height()), ends, small_text, false, true});
  y += needed.height() + 0.55 * page_.em;
}

void RegionsDrawing::add_peaks(double& y) {
  if (regions_->peaks.empty()) {
    return add_lines(y, QStringLiteral("The document has no words, and so no regions."), 1, false,
                     true);
  }
  const double indent = 1.8 * page_.em;
  for (std::size_t p = 0; p < regions_->peaks.size(); ++p) {
    const RegionPeak& peak = regions_->peaks[p];
    const QString text = QString::fromStdString(peak_in_words(*regions_, peak));
    const QSizeF needed = size_of_lines(figure_font(page_.em), text, page_.width - indent);
    lines_.push_back({QRectF(indent, y, page_.width - indent, needed.height()), text, 1, false,
                      false, static_cast<int>(p)});
    y += needed.height() + 0.25 * page_.em;
  }
  y += 0.5 * page_.em;
}

void RegionsDrawing::add_words(double& y) {
  const QFontMetricsF metrics(figure_font(page_.em)), bold(figure_font(page_.em, true));
  const double blank = metrics.horizontalAdvance(QLatin1Char(' '));
  const auto holds = [](const TokenRange& range, std::int64_t word) {
    return range.begin <= word && word < range.end;
  };
  const auto peak_at = [&](std::int64_t word) -> std::pair<int, bool> {
    for (std::size_t p = 0; p < regions_->peaks.size(); ++p)
      if (holds(regions_->peaks[p].words, word)) return {static_cast<int>(p), false};
    for (std::size_t p = 0; p < regions_->peaks.size(); ++p)
      if (holds(regions_->peaks[p].with_neighbours, word)) return {static_cast<int>(p), true};
    return {-1, false};
  };
  double x = 0;
  bool skipped = false;
  const auto place = [&](const Run& like, const QString& text) {
    const double width =
        std::min((like.requested ? bold : metrics).horizontalAdvance(text), page_.width);
    if (x > 0 && x + width > page_.width) {
      x = 0;
      y += line_;
    }
    Run run = like;
    run.text = text;
    run.rect = QRectF(x, y, width, line_);
    if (run.first >= 0) words_[static_cast<std::size_t>(run.first)] = run.rect;
    Run* last = runs_.empty() ? nullptr : &runs_.back();
    const bool joins = last != nullptr && last->rect.top() == y && last->peak == run.peak &&
                       last->alongside == run.alongside && last->left_out == run.left_out &&
                       last->requested == run.requested && last->end == run.first;
    if (joins) {
      last->text += QLatin1Char(' ') + text;
      last->rect.setWidth(run.rect.right() - last->rect.left());
      last->end = run.end;
    } else {
      runs_.push_back(std::move(run));
    }
    x += width + blank;
  };
  const auto all = static_cast<std::int64_t>(regions_->document.size());
  words_.resize(regions_->document.size());
  for (std::int64_t word = 0; word < all; ++word) {
    const bool left_out = word >= regions_->kept;
    const auto [peak, alongside] = left_out ? std::pair(-1, false) : peak_at(word);
    if (page_.excerpts && peak < 0) {
      if (!std::exchange(skipped, true)) place({.first = -1, .end = -1}, QStringLiteral("…"));
      continue;
    }
    skipped = false;
    const std::string& text = regions_->document[static_cast<std::size_t>(word)];
    const bool requested = std::ranges::find(regions_->query, text) != regions_->query.end();
    place({.first = word,
           .end = word + 1,
           .peak = peak,
           .alongside = alongside,
           .left_out = left_out,
           .requested = requested},
          QString::fromStdString(text));
  }
  if (all > 0) y += line_;
}

void RegionsDrawing::paint(QPainter& painter, std::optional<std::int64_t> shown) const {
  const ThemeColors& colors = colors_of(page_.theme);
  painter.fillRect(QRectF(0, 0, page_.width, height_), colors.background);
  for (const Lines& lines : lines_) {
    painter.setPen(lines.faint ? colors.faint_text : colors.text);
    draw_lines(painter, figure_font(lines.size * page_.em, lines.bold), lines.rect, lines.text);
    if (lines.peak < 0) continue;
    const QRectF badge(0, lines.rect.top() + 0.15 * page_.em, 1.2 * page_.em, 1.1 * page_.em);
    painter.fillRect(badge, marking(lines.peak, false, page_.theme));
    painter.setFont(figure_font(small_text * page_.em, true));
    painter.drawText(badge, Qt::AlignCenter, QString::number(lines.peak + 1));
  }
  paint_strip(painter, shown);
  const QFont font = figure_font(page_.em), bold = figure_font(page_.em, true);
  for (const Run& run : runs_) {
    if (run.peak >= 0) {
      painter.fillRect(run.rect.adjusted(0, 0.08 * line_, 0, -0.04 * line_),
                       marking(run.peak, run.alongside, page_.theme));
    }
    painter.setPen(run.left_out ? colors.faint_text : colors.text);
    painter.setFont(run.requested ? bold : font);
    painter.drawText(run.rect.adjusted(0, 0, page_.em, 0), Qt::AlignVCenter, run.text);
  }
  if (!shown) return;
  const TokenRange words = regions_->words_of(*shown);
  for (std::int64_t word = words.begin; word < words.end; ++word) {
    const QRectF& rect = words_[static_cast<std::size_t>(word)];
    painter.fillRect(QRectF(rect.left(), rect.bottom() - 0.1 * line_, rect.width(), 0.08 * line_),
                     colors.selected);
  }
}

/// Regions along the document, with the best ones marked below.
void RegionsDrawing::paint_strip(QPainter& painter, std::optional<std::int64_t> shown) const {
  if (heat_.cells.empty()) return;
  const ThemeColors& colors = colors_of(page_.theme);
  const HeatRamp& ramp = weight_ramp(page_.theme);
  const auto color = [&ramp](double share) {
    return QColor::fromRgb(
        ramp.at(static_cast<std::size_t>(std::lround(share * (heat_steps - 1)))));
  };
  const QRectF heat(strip_.topLeft(), QSizeF(strip_.width(), 1.5 * page_.em));
  const double unit = strip_.width() / static_cast<double>(regions_->kept);
  for (const StripCell& cell : heat_.cells) {
    // Neighbours overlap, so that no gaps appear between them.
    painter.fillRect(
        QRectF(heat.left() + cell.begin * unit, heat.top(),
               std::min(cell.end * unit + 0.5, strip_.width()) - cell.begin * unit, heat.height()),
        color(cell.heat));
  }
  QLinearGradient along(ramp_.topLeft(), ramp_.topRight());
  constexpr int stops = 8;
  for (int i = 0; i <= stops; ++i)
    along.setColorAt(static_cast<double>(i) / stops, color(static_cast<double>(i) / stops));
  painter.fillRect(ramp_, along);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(colors.axis, 0.05 * page_.em));
  painter.drawRect(heat);
  painter.drawRect(ramp_);
  for (std::size_t p = 0; p < regions_->peaks.size(); ++p) {
    const TokenRange& range = regions_->peaks[p].words;
    painter.fillRect(QRectF(static_cast<double>(range.begin) * unit, heat.bottom() + 0.1 * page_.em,
                            static_cast<double>(range.size()) * unit, 0.4 * page_.em),
                     peak_color(static_cast<int>(p)));
  }
  if (!shown) return;
  const TokenRange words = regions_->words_of(*shown);
  painter.setPen(QPen(colors.selected, 0.15 * page_.em));
  painter.drawRect(QRectF(static_cast<double>(words.begin) * unit, heat.top(),
                          static_cast<double>(words.size()) * unit, heat.height()));
}

std::optional<std::int64_t> RegionsDrawing::region_in_the_middle_of(double word) const {
  for (const StripCell& cell : heat_.cells)
    if (cell.begin <= word && word <= cell.end) return cell.region;
  return std::nullopt;
}

std::optional<std::int64_t> RegionsDrawing::region_at(QPointF point) const {
  if (strip_.contains(point)) {
    return region_in_the_middle_of(point.x() / strip_.width() *
                                   static_cast<double>(regions_->kept));
  }
  for (const Lines& lines : lines_) {
    if (lines.peak >= 0 && lines.rect.contains(point))
      return regions_->peaks[static_cast<std::size_t>(lines.peak)].region;
  }
  for (const Run& run : runs_) {
    if (run.first < 0 || run.left_out || !run.rect.contains(point)) continue;
    if (run.peak >= 0) return regions_->peaks[static_cast<std::size_t>(run.peak)].region;
    for (std::int64_t word = run.first; word < run.end; ++word) {
      if (point.x() < words_[static_cast<std::size_t>(word)].right())
        return region_in_the_middle_of(static_cast<double>(word) + 0.5);
    }
  }
  return std::nullopt;
}

QString RegionsDrawing::words_at(QPointF point) const {
  const std::optional<std::int64_t> region = region_at(point);
  if (!region) {
    const bool left_out = std::ranges::any_of(
        runs_, [&](const Run& run) { return run.left_out && run.rect.contains(point); });
    return left_out ? QStringLiteral("In no region") : QString();
  }
  const auto peak = std::ranges::find(regions_->peaks, *region, &RegionPeak::region);
  if (peak != regions_->peaks.end()) {
    return QString::fromStdString(fmt::format("Region {}: {}", peak - regions_->peaks.begin() + 1,
                                              peak_in_words(*regions_, *peak)));
  }
  const TokenRange words = regions_->words_of(*region);
  return QString::fromStdString(
      fmt::format("Region of words {} to {}: score {}", words.begin + 1, words.end,
                  number_in_words(*regions_, regions_->scores[static_cast<std::size_t>(*region)])));
}

Printable printable(DocumentRegions regions) {
  auto shared = std::make_shared<const DocumentRegions>(std::move(regions));
  Printable what;
  what.title = fmt::format("Regions: {}", query_of(*shared).toStdString());
  what.provenance = fmt::format("{} {}; a document of {} words. AttnScope {}, commit {:.12}.",
                                about_in_words(*shared), score_in_words(*shared),
                                shared->document.size(), ATTNSCOPE_VERSION, ATTNSCOPE_GIT_COMMIT);
  what.has_series = false;
  what.has_height = false;
  what.lay_out = [shared](const FigureOptions& options, bool /*vectors*/) -> Result<LaidOut> {
    RegionsDrawing::Page page{.width = units_of_mm(options.width_mm),
                              .em = options.font_pt * units_per_point,
                              .theme = options.theme,
                              .title = options.title,
                              .excerpts = true,
                              .caption = QString::fromStdString(options.caption)};
    const auto drawing = std::make_shared<const RegionsDrawing>(shared, std::move(page));
    return LaidOut{QSizeF(units_of_mm(options.width_mm), drawing->height()),
                   [drawing](QPainter& painter) { drawing->paint(painter); }};
  };
  what.csv = [shared](const FigureOptions& /*options*/) -> Result<std::string> {
    std::string text = "region,first_word,last_word,score\r\n";
    for (std::size_t r = 0; r < shared->scores.size(); ++r) {
      const TokenRange words = shared->words_of(static_cast<std::int64_t>(r));
      if (words.size() == 0) continue;
      text += fmt::format("{},{},{},{}\r\n", r, words.begin + 1, words.end, shared->scores[r]);
    }
    return text;
  };
  return what;
}

}  // namespace attnscope::charts
