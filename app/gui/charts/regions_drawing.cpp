// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/regions_drawing.h"

#include <fmt/format.h>

#include <QFontMetricsF>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/gui/charts/figure_font.h"
#include "attnscope/build_info.h"

namespace attnscope::charts {
namespace {

/// Of the first, second and third region (Okabe and Ito).
const std::array<QColor, 3>& peak_colors() {
  static const std::array<QColor, 3> colors{QColor(0xe6, 0x9f, 0x00), QColor(0x56, 0xb4, 0xe9),
                                            QColor(0x00, 0x9e, 0x73)};
  return colors;
}

QColor marking(int peak, bool beside, ChartTheme theme) {
  QColor color = peak_colors().at(static_cast<std::size_t>(peak));
  const double light = theme == ChartTheme::light ? 0.55 : 0.6;
  color.setAlphaF(static_cast<float>(beside ? 0.45 * light : light));
  return color;
}

struct Least {
  float least = 0, most = 0;
};

/// Of the regions that have words.
Least range_of(const std::vector<float>& scores) {
  Least range;
  bool first = true;
  for (const float score : scores) {
    if (score == 0) continue;
    range.least = first ? score : std::min(range.least, score);
    range.most = first ? score : std::max(range.most, score);
    first = false;
  }
  return range;
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
    QString about = QStringLiteral(
                        "Regions of 30 words that made the score of %1; regions beside "
                        "the best ones, which count, too, are paler.")
                        .arg(QString::fromStdString(regions_->model));
    if (!regions_->note.empty()) about += QLatin1Char(' ') + QString::fromStdString(regions_->note);
    add_lines(y, about, small_text, false, true);
    y += 0.4 * page_.em;
  }
  if (const std::string left_out = left_out_in_words(*regions_); !left_out.empty())
    add_lines(y, QString::fromStdString(left_out), 1, true, false);
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
  strip_ = QRectF(0, y, page_.width, 2.1 * page_.em);
  y = strip_.bottom() + 0.2 * page_.em;
  const QString ends =
      QStringLiteral("word 1 to %1; the stronger the colour, the higher a region's score")
          .arg(std::max<std::int64_t>(regions_->kept, 1));
  add_lines(y, ends, small_text, false, true);
  y += 0.4 * page_.em;
}

void RegionsDrawing::add_peaks(double& y) {
  constexpr std::size_t named = 6;
  if (regions_->peaks.empty())
    return add_lines(y, QStringLiteral("The document has no words, and so no regions."), 1, false,
                     true);
  const double indent = 1.8 * page_.em;
  for (std::size_t p = 0; p < regions_->peaks.size(); ++p) {
    const RegionPeak& peak = regions_->peaks[p];
    const QString text = QString::fromStdString(
        fmt::format("words {} to {}, score {:.4g}: {}", peak.words.begin + 1, peak.words.end,
                    peak.score, shares_in_words(*regions_, peak, named)));
    const QSizeF needed = size_of_lines(figure_font(page_.em), text, page_.width - indent);
    lines_.push_back({QRectF(indent, y, page_.width - indent, needed.height()), text, 1, false,
                      false, static_cast<int>(p)});
    y += needed.height() + 0.25 * page_.em;
  }
  y += 0.5 * page_.em;
}

void RegionsDrawing::add_words(double& y) {
  const QFontMetricsF metrics(figure_font(page_.em));
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
    const double width = std::min(metrics.horizontalAdvance(text), page_.width);
    if (x > 0 && x + width > page_.width) {
      x = 0;
      y += line_;
    }
    Run run = like;
    run.text = text;
    run.rect = QRectF(x, y, width, line_);
    Run* last = runs_.empty() ? nullptr : &runs_.back();
    const bool joins = last != nullptr && last->rect.top() == y && last->peak == run.peak &&
                       last->beside == run.beside && last->left_out == run.left_out &&
                       last->end == run.first;
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
  for (std::int64_t word = 0; word < all; ++word) {
    const bool left_out = word >= regions_->kept;
    const auto [peak, beside] = left_out ? std::pair(-1, false) : peak_at(word);
    if (page_.excerpts && peak < 0) {
      if (!std::exchange(skipped, true)) place({.first = -1, .end = -1}, QStringLiteral("…"));
      continue;
    }
    skipped = false;
    place({.first = word, .end = word + 1, .peak = peak, .beside = beside, .left_out = left_out},
          QString::fromStdString(regions_->document[static_cast<std::size_t>(word)]));
  }
  if (all > 0) y += line_;
}

void RegionsDrawing::paint(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  painter.fillRect(QRectF(0, 0, page_.width, height_), colors.background);
  for (const Lines& one : lines_) {
    painter.setPen(one.faint ? colors.faint_text : colors.text);
    draw_lines(painter, figure_font(one.size * page_.em, one.bold), one.rect, one.text);
    if (one.peak < 0) continue;
    const QRectF badge(0, one.rect.top() + 0.15 * page_.em, 1.2 * page_.em, 1.1 * page_.em);
    painter.fillRect(badge, marking(one.peak, false, page_.theme));
    painter.setFont(figure_font(small_text * page_.em, true));
    painter.drawText(badge, Qt::AlignCenter, QString::number(one.peak + 1));
  }
  paint_strip(painter);
  const QFont font = figure_font(page_.em);
  painter.setFont(font);
  for (const Run& run : runs_) {
    if (run.peak >= 0) {
      painter.fillRect(run.rect.adjusted(0, 0.08 * line_, 0, -0.04 * line_),
                       marking(run.peak, run.beside, page_.theme));
    }
    painter.setPen(run.left_out ? colors.faint_text : colors.text);
    painter.drawText(run.rect.adjusted(0, 0, page_.em, 0), Qt::AlignVCenter, run.text);
  }
}

/// Regions along the document, the best ones marked below.
void RegionsDrawing::paint_strip(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  const QRectF heat(strip_.topLeft(), QSizeF(strip_.width(), 1.5 * page_.em));
  painter.fillRect(heat, colors.grid);
  const auto words = static_cast<double>(std::max<std::int64_t>(regions_->kept, 1));
  const double unit = strip_.width() / words;
  const auto [least, most] = range_of(regions_->scores);
  for (std::size_t r = 0; r < regions_->scores.size(); ++r) {
    const float score = regions_->scores[r];
    const TokenRange of_region = regions_->words_of(static_cast<std::int64_t>(r));
    if (score == 0 || of_region.size() == 0) continue;
    QColor color(0xb2, 0x18, 0x2b);
    const float share = most > least ? (score - least) / (most - least) : 1;
    color.setAlphaF(0.04F + 0.96F * share);
    const double left = static_cast<double>(of_region.begin) * unit;
    const double right = std::min(left + 2 * unit, strip_.width());
    painter.fillRect(QRectF(heat.left() + left, heat.top(), right - left, heat.height()), color);
  }
  for (std::size_t p = 0; p < regions_->peaks.size(); ++p) {
    const TokenRange& range = regions_->peaks[p].words;
    painter.fillRect(QRectF(static_cast<double>(range.begin) * unit, heat.bottom() + 0.1 * page_.em,
                            static_cast<double>(range.size()) * unit, 0.4 * page_.em),
                     peak_colors().at(p));
  }
}

QString RegionsDrawing::words_at(QPointF point) const {
  const auto told = [&](std::int64_t region) {
    const TokenRange range = regions_->words_of(region);
    return QStringLiteral("Region of words %1 to %2: score %3")
        .arg(range.begin + 1)
        .arg(range.end)
        .arg(static_cast<double>(regions_->scores[static_cast<std::size_t>(region)]), 0, 'g', 4);
  };
  const auto count = static_cast<std::int64_t>(regions_->scores.size());
  if (count == 0) return {};
  if (strip_.contains(point)) {
    const double word = point.x() / strip_.width() * static_cast<double>(regions_->kept);
    return told(std::clamp(static_cast<std::int64_t>(word / 2), std::int64_t{0}, count - 1));
  }
  for (const Run& run : runs_) {
    if (!run.rect.contains(point)) continue;
    if (run.peak >= 0) return told(regions_->peaks[static_cast<std::size_t>(run.peak)].region);
    if (run.left_out) return QStringLiteral("In no region");
  }
  return {};
}

Printable printable(DocumentRegions regions) {
  auto shared = std::make_shared<const DocumentRegions>(std::move(regions));
  Printable what;
  what.title = fmt::format("Regions: {}", query_of(*shared).toStdString());
  what.provenance = fmt::format(
      "Regions of a document of {} words that made the score of {}. AttnScope {}, "
      "commit {:.12}.",
      shared->document.size(), shared->model, ATTNSCOPE_VERSION, ATTNSCOPE_GIT_COMMIT);
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
