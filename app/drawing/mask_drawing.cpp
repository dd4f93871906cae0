// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/mask_drawing.h"

#include <fmt/format.h>

#include <QFontMetricsF>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "app/drawing/chart_style.h"
#include "app/drawing/mask_problem.h"
#include "attnscope/build_info.h"

namespace attnscope::charts {
namespace {

// Up to this count every token has its own pixel on any usual page; in PDF and SVG the cells are
// vectors.
constexpr std::int64_t crisp_tokens = 400;
constexpr double boxed = 0.35;        // em; tokens from this size on are separate boxes
constexpr double hair = 0.06;         // em
constexpr double hatch_period = 0.5;  // em, of the difference's hatching

/// One block per subsequence.
std::vector<MapBlock> blocks_of(const SequenceLayout& layout) {
  std::vector<MapBlock> blocks;
  const auto add = [&](TokenGroup group, int document, TokenRange tokens) {
    if (!tokens.empty()) blocks.push_back({.group = group, .document = document, .tokens = tokens});
  };
  add(TokenGroup::cls, -1, layout.cls(0));
  add(TokenGroup::query, -1, layout.query(0));
  for (std::int64_t d = 0; d < layout.document_count(0); ++d) {
    add(TokenGroup::document, static_cast<int>(d), layout.document(0, d));
  }
  return blocks;
}

// "w = 4" for a window, "40+5" for chunks, nothing for a whole group.
QString rule_note(const GroupRule& rule, std::optional<Window> window) {
  if (rule.kind == GroupRule::Kind::chunks) return QString::fromStdString(rule.chunk.text());
  if (rule.kind != GroupRule::Kind::window) return {};
  const std::optional<Window> w = rule.fixed_window ? Window::of(*rule.fixed_window) : window;
  if (!w || w->is_infinite()) return {};
  return QStringLiteral("w = %1").arg(w->tokens());
}

// ", chunks of 40+5 are drawn as 6+2", for the first rule that the drawing changes.
QString narrowed_chunks(const MaskProblem& problem) {
  for (const TokenGroup from : token_groups) {
    for (const TokenGroup to : token_groups) {
      const ChunkRule& requested = problem.requested().rule(from, to).chunk;
      const ChunkRule& drawn = problem.pattern().rule(from, to).chunk;
      if (requested == drawn) continue;
      return QStringLiteral(", chunks of %1 are drawn as %2")
          .arg(QString::fromStdString(requested.text()), QString::fromStdString(drawn.text()));
    }
  }
  return {};
}

QString title_of(const MaskProblem& problem) {
  const AttentionPattern& pattern = problem.pattern();
  QString title = QString::fromUtf8(pattern.title.empty() ? pattern.name : pattern.title);
  if (pattern.blocks && pattern.blocks->random > 0) title += QStringLiteral(", head 0");
  if (pattern.has_window() && problem.true_window()) {
    title += QStringLiteral(", window ") + QString::fromStdString(problem.true_window()->text());
  }
  return title;
}

// Moves labels of the given extents apart, in order, so that none overlap and all are in [0, end].
std::vector<double> spread(std::vector<double> centers, const std::vector<double>& extents,
                           double end) {
  double last = 0;
  for (std::size_t i = 0; i < centers.size(); ++i) {
    centers[i] = std::max(centers[i], last + extents[i] / 2);
    last = centers[i] + extents[i] / 2;
  }
  double next = end;
  for (std::size_t i = centers.size(); i-- > 0;) {
    centers[i] = std::min(centers[i], next - extents[i] / 2);
    next = centers[i] - extents[i] / 2;
  }
  return centers;
}

}  // namespace

// The hatching's lines are where x + y (or x - y) is a multiple of the period, so that they
// continue from cell to cell. They are cut here, because SVG writers do not clip.
void paint_part(QPainter& painter, const QRectF& rect, DifferencePart part, ChartTheme theme,
                double em) {
  painter.fillRect(rect, difference_color(part, theme));
  const int way = hatch_of(part);
  if (way == 0) return;
  const double period = 1.4 * hatch_period * em;
  painter.setPen(QPen(hatch_color(part, theme), 0.2 * period, Qt::SolidLine, Qt::FlatCap));
  const double upper = way > 0 ? rect.top() : -rect.bottom();
  const double lower = way > 0 ? rect.bottom() : -rect.top();
  const double first = std::ceil((rect.left() + upper) / period) * period;
  for (double sum = first; sum < rect.right() + lower; sum += period) {
    const double left = std::max(rect.left(), sum - lower);
    const double right = std::min(rect.right(), sum - upper);
    painter.drawLine(QPointF(left, way * (sum - left)), QPointF(right, way * (sum - right)));
  }
  painter.setPen(Qt::NoPen);
}

MaskDrawing::MaskDrawing(DrawnMasks masks, const MapFocus& focus, const Page& page)
    : masks_(std::move(masks)), problem_(*masks_.a), page_(page) {
  strip_ = 0.9 * page_.em;
  // Laid out at the origin; lay_out moves it to its position.
  if (page_.legend && masks_.b) lay_out_difference_legend();
  if (page_.legend && !masks_.b) lay_out_group_legend();
  if (page_.names || page_.title) collect_texts();
  lay_out(focus);
}

std::vector<TokenGroup> MaskDrawing::present_groups() const {
  const SequenceLayout& layout = problem_.layout();
  const auto sentences = static_cast<std::int64_t>(problem_.sentence_tokens().size());
  std::vector<TokenGroup> groups;
  if (!layout.cls(0).empty()) groups.push_back(TokenGroup::cls);
  if (!layout.query(0).empty()) groups.push_back(TokenGroup::query);
  if (layout.documents(0).size() > sentences) groups.push_back(TokenGroup::document);
  if (sentences > 0) groups.push_back(TokenGroup::sentence);
  return groups;
}

void MaskDrawing::collect_texts() {
  if (page_.title) title_ = title_of(problem_);
  if (page_.title && masks_.b) title_ += QStringLiteral(" against ") + title_of(*masks_.b);
  if (!page_.names) return;
  if (problem_.is_stand_in()) {
    note_ = QStringLiteral("Schematic: sizes are not to scale");
    if (problem_.true_window() != problem_.window()) {
      note_ += QStringLiteral(", window %1 is drawn as %2")
                   .arg(QString::fromStdString(problem_.true_window()->text()),
                        QString::fromStdString(problem_.window()->text()));
    }
    note_ += narrowed_chunks(problem_);
    note_ += QLatin1Char('.');
  }
  if (problem_.tokens() > crisp_tokens) {
    note_ += QStringLiteral("Paler: only some of the pairs there are allowed.");
  }
}

void MaskDrawing::lay_out_difference_legend() {
  const double em = page_.em;
  const double line = 1.45 * em;
  const QFontMetricsF metrics(figure_font(em));
  const std::pair<std::optional<DifferencePart>, QString> entries[] = {
      {DifferencePart::only_a, QStringLiteral("only ") + title_of(problem_)},
      {DifferencePart::only_b, QStringLiteral("only ") + title_of(*masks_.b)},
      {DifferencePart::both, QStringLiteral("both")},
      {std::nullopt, QStringLiteral("neither")}};
  double width = 0;
  double y = 0;
  for (const auto& [part, whole_words] : entries) {
    const QString words =
        metrics.elidedText(whole_words, Qt::ElideRight, page_.size.width() - 4.5 * em);
    const double advance = metrics.horizontalAdvance(words);
    legend_.push_back({.text = words,
                       .rect = QRectF(2.4 * em, y, advance + em, line),
                       .box = QRectF(0, y + 0.2 * em, 1.8 * em, 1.05 * em),
                       .color = ground_color(page_.theme),
                       .part = part});
    width = std::max(width, 2.4 * em + advance);
    y += line;
  }
  legend_size_ = QSizeF(width, y);
}

void MaskDrawing::lay_out_group_legend() {
  const double em = page_.em;
  const double line = 1.45 * em;
  const double between = 1.4 * em;
  const QFontMetricsF metrics(figure_font(em));
  const std::vector<TokenGroup> groups = present_groups();
  const auto note_of = [&](TokenGroup from, TokenGroup to) {
    return rule_note(problem_.requested().rule(from, to), problem_.true_window());
  };
  const QString corner = QStringLiteral("row sees");
  double x = metrics.horizontalAdvance(corner);
  for (const TokenGroup group : groups) {
    x = std::max(x, metrics.horizontalAdvance(group_title(group)));
  }
  const double names = x + em;
  legend_.push_back({.text = corner, .rect = QRectF(0, 0, names, line), .faint = true, .box = {}});
  x += between;
  std::vector<double> columns;
  for (const TokenGroup to : groups) {
    double width = metrics.horizontalAdvance(group_title(to));
    for (const TokenGroup from : groups) {
      width = std::max(width, 1.2 * em + metrics.horizontalAdvance(note_of(from, to)));
    }
    legend_.push_back({.text = group_title(to), .rect = QRectF(x, 0, width + em, line), .box = {}});
    columns.push_back(x);
    x += width + between;
  }
  double y = line;
  for (const TokenGroup from : groups) {
    legend_.push_back({.text = group_title(from), .rect = QRectF(0, y, names, line), .box = {}});
    for (std::size_t column = 0; column < groups.size(); ++column) {
      const TokenGroup to = groups[column];
      // Blocks are independent of groups: any pair may be allowed.
      const bool sees = problem_.requested().rule(from, to).kind != GroupRule::Kind::none ||
                        problem_.pattern().blocks;
      legend_.push_back(
          {.text = note_of(from, to),
           .rect = QRectF(columns[column] + 1.2 * em, y, 7.8 * em, line),
           .box = QRectF(columns[column], y + line / 2 - 0.45 * em, 0.9 * em, 0.9 * em),
           .color = sees ? pair_color(from, to, page_.theme) : ground_color(page_.theme)});
    }
    y += line;
  }
  legend_size_ = QSizeF(x - between, y);
}

void MaskDrawing::move_legend(double x, double y) {
  for (MaskLegendEntry& entry : legend_) {
    entry.rect.translate(x, y);
    if (!entry.box.isEmpty()) entry.box.translate(x, y);
  }
}

void MaskDrawing::lay_out(const MapFocus& focus) {
  const double em = page_.em;
  const double pad = 0.5 * em;
  const double width = page_.size.width();
  const double height = page_.size.height();

  std::vector<MapBlock> blocks = blocks_of(problem_.layout());
  const QFontMetricsF metrics(figure_font(em));
  double widest_name = 0;
  for (const MapBlock& block : blocks) {
    if (!page_.names) break;
    QString name = group_title(block.group);
    if (block.group == TokenGroup::document && problem_.layout().document_count(0) > 1) {
      name += QStringLiteral(" %1").arg(block.document + 1);
    }
    if (!problem_.is_stand_in() && block.tokens.size() > 1) {
      name += QStringLiteral(" · %1").arg(block.tokens.size());
    }
    names_.push_back(name);
    widest_name = std::max(widest_name, metrics.horizontalAdvance(name));
  }

  double top = pad;
  if (!title_.isEmpty()) {
    const double title_height =
        size_of_lines(figure_font(em, true), title_, width - 2 * pad).height();
    title_rect_ = QRectF(pad, top, width - 2 * pad, title_height);
    top += title_height + 0.4 * em;
  }
  // Caption, group names and their leaders, coloured margin.
  const double margin = strip_ + 0.35 * em;
  const double left = pad + (page_.names ? 1.5 * em + widest_name + 1.0 * em : 0) + margin;
  top += (page_.names ? 1.5 * em + 1.5 * em + 0.8 * em : 0) + margin;

  const double note_height =
      note_.isEmpty()
          ? 0
          : size_of_lines(figure_font(em * small_text), note_, width - 2 * pad).height();
  double bottom = pad + (note_.isEmpty() ? 0 : note_height + 0.4 * em);
  const double side_room = width - left - pad - legend_size_.width() - 2.5 * em;
  const double height_room = height - top - bottom - 0.6 * em;
  const bool alongside = !legend_.empty() && side_room >= height_room;
  const double legend_height = legend_size_.height();
  if (!alongside && legend_height > 0) bottom += legend_height + 0.4 * em;

  const double available = alongside ? side_room : width - left - pad;
  const double side =
      std::max(4 * em, std::floor(std::min(available, height - top - bottom - 0.6 * em)));
  const double slack = std::max(0.0, std::floor((available - side) / 2));
  square_.rect = QRectF(std::floor(left + slack), std::ceil(top), side, side);
  row_caption_left_ = square_.rect.left() - left + pad;
  const double below = square_.rect.bottom() + 0.6 * em;
  if (alongside) {
    move_legend(square_.rect.right() + 2 * em, square_.rect.top());
  } else {
    move_legend(std::max(pad, square_.rect.right() - legend_size_.width()), below);
  }
  const double note_top = below + (alongside || legend_height == 0 ? 0 : legend_height + 0.4 * em);
  note_rect_ = QRectF(pad, note_top, width - 2 * pad, note_height);
  needed_height_ = square_.rect.bottom() + 0.6 * em + bottom;
  square_.axis = MapAxis(std::move(blocks), side, 0.5 * em, focus);
}

double MaskDrawing::page_begin(Side side, std::int64_t token) const {
  return side == Side::rows ? square_.row_begin(token) : square_.column_begin(token);
}

std::pair<std::int64_t, std::int64_t> MaskDrawing::visible_tokens(Side side,
                                                                  const MapBlock& block) const {
  const double scroll =
      side == Side::rows ? square_.axis.row_scroll() : square_.axis.column_scroll();
  const auto size = static_cast<double>(block.tokens.size());
  const double first = std::clamp((scroll - block.begin) / block.units_per_token, 0.0, size);
  const double last =
      std::clamp((scroll + square_.axis.length() - block.begin) / block.units_per_token, 0.0, size);
  return {block.tokens.begin + static_cast<std::int64_t>(first),
          block.tokens.begin + static_cast<std::int64_t>(std::ceil(last))};
}

bool MaskDrawing::cells_fit_vectors() const {
  return problem_.tokens() <= crisp_tokens;
}

CellPicture MaskDrawing::picture(double pixels_per_unit) const {
  const int pixels =
      std::max(1, static_cast<int>(std::lround(square_.rect.width() * pixels_per_unit)));
  return {.masks = masks_,
          .axis = square_.axis,
          .pixels = pixels,
          .pixels_per_unit = pixels / square_.rect.width(),
          .hatch_pixels = hatch_period * page_.em * pixels_per_unit,
          .theme = page_.theme};
}

void MaskDrawing::paint(QPainter& painter, const QImage& cells) const {
  paint_ground(painter);
  if (cells.isNull()) {
    painter.fillRect(square_.rect, ground_color(page_.theme));
  } else {
    painter.drawImage(square_.rect, cells);
  }
  paint_frame(painter);
}

void MaskDrawing::paint_vectors(QPainter& painter) const {
  paint_ground(painter);
  paint_cells(painter);
  paint_frame(painter);
}

void MaskDrawing::paint_ground(QPainter& painter) const {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::TextAntialiasing);
  painter.fillRect(QRectF(QPointF(0, 0), page_.size), colors_of(page_.theme).background);
}

void MaskDrawing::paint_cells(QPainter& painter) const {
  painter.setPen(Qt::NoPen);
  for (const MapBlock& rows : square_.axis.blocks()) {
    for (const MapBlock& columns : square_.axis.blocks()) {
      const QRectF ground(square_.rect.left() + columns.begin, square_.rect.top() + rows.begin,
                          columns.end() - columns.begin, rows.end() - rows.begin);
      painter.fillRect(ground, ground_color(page_.theme));
    }
  }
  if (masks_.b) return paint_difference_cells(painter);
  std::vector<TokenRange> intervals;
  for (std::int64_t query = 0; query < problem_.tokens(); ++query) {
    const double top = page_begin(Side::rows, query);
    const double height = square_.axis.extent_of(query);
    const TokenGroup from = problem_.group_of(query);
    problem_.keys_of(query, intervals);
    visit_blocks(square_.axis, intervals, [&](const MapBlock& block, TokenRange keys) {
      visit_runs(problem_, block, keys, [&](TokenGroup to, TokenRange run) {
        const double width = block.units_per_token * static_cast<double>(run.size());
        painter.fillRect(QRectF(page_begin(Side::columns, run.begin), top, width, height),
                         pair_color(from, to, page_.theme));
      });
    });
  }
}

void MaskDrawing::paint_difference_cells(QPainter& painter) const {
  DifferenceRow row;
  for (std::int64_t query = 0; query < problem_.tokens(); ++query) {
    row.split(problem_, *masks_.b, query);
    for (std::size_t p = 0; p < difference_part_count; ++p) {
      const auto part = static_cast<DifferencePart>(p);
      visit_blocks(square_.axis, row.keys(part), [&](const MapBlock& block, TokenRange keys) {
        const double width = block.units_per_token * static_cast<double>(keys.size());
        paint_part(painter,
                   QRectF(page_begin(Side::columns, keys.begin), page_begin(Side::rows, query),
                          width, square_.axis.extent_of(query)),
                   part, page_.theme, page_.em);
      });
    }
  }
}

void MaskDrawing::paint_frame(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  const double em = page_.em;
  paint_cell_lines(painter);
  paint_margin(painter, Side::rows);
  paint_margin(painter, Side::columns);
  if (page_.names) {
    paint_group_names(painter, Side::rows);
    paint_group_names(painter, Side::columns);
  }
  if (page_.legend) paint_legend(painter);

  painter.setPen(colors.text);
  draw_lines(painter, figure_font(em, true), title_rect_, title_);
  if (!page_.names) return;
  painter.setFont(figure_font(em));
  painter.setPen(colors.faint_text);
  const double caption_top = square_.rect.top() - (1.5 + 1.5 + 0.8 + 0.35) * em - strip_;
  painter.drawText(QRectF(square_.rect.left(), caption_top, square_.rect.width(), 1.4 * em),
                   Qt::AlignHCenter | Qt::AlignTop, QStringLiteral("attended tokens (keys)"));
  painter.save();
  painter.translate(row_caption_left_, square_.rect.center().y());
  painter.rotate(-90);
  // Next to a small mask the caption is longer than the mask.
  const QString caption = QStringLiteral("attending tokens (queries)");
  const double length =
      std::max(square_.rect.height(), painter.fontMetrics().horizontalAdvance(caption) + em);
  painter.drawText(QRectF(-length / 2, 0, length, 1.4 * em), Qt::AlignHCenter | Qt::AlignTop,
                   caption);
  painter.restore();
  draw_lines(painter, figure_font(em * small_text), note_rect_, note_);
}

// Thin lines in the background colour separate the cells.
void MaskDrawing::paint_cell_lines(QPainter& painter) const {
  const auto paint_side = [&](Side side) {
    for (const MapBlock& block : square_.axis.blocks()) {
      if (block.units_per_token < boxed * page_.em) continue;
      const double width = std::min(0.12 * block.units_per_token, 0.12 * page_.em);
      painter.setPen(QPen(colors_of(page_.theme).background, width, Qt::SolidLine, Qt::FlatCap));
      const auto [first, last] = visible_tokens(side, block);
      for (std::int64_t token = first + 1; token < last; ++token) {
        const double at = page_begin(side, token);
        if (side == Side::rows) {
          painter.drawLine(QPointF(square_.rect.left(), at), QPointF(square_.rect.right(), at));
        } else {
          painter.drawLine(QPointF(at, square_.rect.top()), QPointF(at, square_.rect.bottom()));
        }
      }
    }
  };
  paint_side(Side::rows);
  paint_side(Side::columns);
}

void MaskDrawing::paint_margin_run(QPainter& painter, Side side, double begin, double end,
                                   TokenGroup group) const {
  const double first = side == Side::rows ? square_.rect.top() : square_.rect.left();
  begin = std::max(begin, first);
  end = std::min(end, first + square_.axis.length());
  if (begin >= end) return;
  const double away = strip_ + 0.35 * page_.em;
  const QRectF rect = side == Side::rows
                          ? QRectF(square_.rect.left() - away, begin, strip_, end - begin)
                          : QRectF(begin, square_.rect.top() - away, end - begin, strip_);
  painter.fillRect(rect, margin_color(group, page_.theme));
}

void MaskDrawing::paint_margin(QPainter& painter, Side side) const {
  const double least = hair * page_.em;
  for (const MapBlock& block : square_.axis.blocks()) {
    const auto [first, last] = visible_tokens(side, block);
    if (first >= last) continue;
    const double extent = block.units_per_token;
    const bool boxes = extent >= boxed * page_.em;
    const double inset = boxes ? 0.05 * extent : 0;
    if (boxes) {
      for (std::int64_t token = first; token < last; ++token) {
        const double at = page_begin(side, token);
        paint_margin_run(painter, side, at + inset, at + extent - inset, problem_.group_of(token));
      }
      continue;
    }
    const double begin = page_begin(side, first);
    const auto count = static_cast<double>(last - first);
    paint_margin_run(painter, side, begin, begin + extent * count, block.group);
    if (block.group != TokenGroup::document) continue;
    double drawn = -1e9;  // sentence starts closer than a hair are one mark
    for (std::int64_t s = problem_.next_sentence(first - 1); s < last;
         s = problem_.next_sentence(s)) {
      const double at = page_begin(side, s);
      if (at - drawn < 2 * least) continue;
      drawn = at;
      paint_margin_run(painter, side, at, at + std::max(extent, least), TokenGroup::sentence);
      s += std::max<std::int64_t>(0, static_cast<std::int64_t>(2 * least / extent) - 1);
    }
  }
}

void MaskDrawing::paint_group_names(QPainter& painter, Side side) const {
  const double em = page_.em;
  const QFont font = figure_font(em);
  const QFontMetricsF metrics(font);
  const bool rows = side == Side::rows;
  const double first = rows ? square_.rect.top() : square_.rect.left();
  std::vector<double> centers;
  std::vector<double> extents;
  std::vector<QString> names;
  for (std::size_t b = 0; b < square_.axis.blocks().size(); ++b) {
    const auto [begin, end] = visible_tokens(side, square_.axis.blocks()[b]);
    if (begin >= end) continue;
    const double from = std::max(0.0, page_begin(side, begin) - first);
    const double to =
        std::min(square_.axis.length(),
                 page_begin(side, end - 1) + square_.axis.blocks()[b].units_per_token - first);
    centers.push_back((from + to) / 2);
    extents.push_back(rows ? 1.25 * em : metrics.horizontalAdvance(names_[b]) + 0.8 * em);
    names.push_back(names_[b]);
  }
  const std::vector<double> placed = spread(centers, extents, square_.axis.length());
  const ThemeColors& colors = colors_of(page_.theme);
  painter.setFont(font);
  const double strip = strip_ + 0.35 * em;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double at = first + placed[i];
    if (rows) {
      const double right = square_.rect.left() - strip - 0.9 * em;
      painter.setPen(colors.text);
      painter.drawText(QRectF(right - 40 * em, at - em, 40 * em, 2 * em),
                       Qt::AlignRight | Qt::AlignVCenter, names[i]);
      painter.setPen(QPen(colors.axis, hair * em));
      painter.drawLine(QPointF(right + 0.15 * em, at),
                       QPointF(right + 0.75 * em, first + centers[i]));
    } else {
      const double bottom = square_.rect.top() - strip - 0.8 * em;
      painter.setPen(colors.text);
      painter.drawText(QRectF(at - extents[i], bottom - 1.5 * em, 2 * extents[i], 1.5 * em),
                       Qt::AlignHCenter | Qt::AlignBottom, names[i]);
      painter.setPen(QPen(colors.axis, hair * em));
      painter.drawLine(QPointF(at, bottom + 0.05 * em),
                       QPointF(first + centers[i], bottom + 0.65 * em));
    }
  }
}

void MaskDrawing::paint_legend(QPainter& painter) const {
  const ThemeColors& colors = colors_of(page_.theme);
  painter.setFont(figure_font(page_.em));
  for (const MaskLegendEntry& entry : legend_) {
    if (entry.part) {
      paint_part(painter, entry.box, *entry.part, page_.theme, page_.em);
    } else if (!entry.box.isEmpty()) {
      painter.fillRect(entry.box, entry.color);
    }
    painter.setPen(entry.faint ? colors.faint_text : colors.text);
    painter.drawText(entry.rect, Qt::AlignLeft | Qt::AlignVCenter, entry.text);
  }
}

namespace {

constexpr std::size_t largest_csv = 200'000'000;  // bytes

std::string described(const MaskSource& source) {
  const bool with_window = source.pattern.has_window() && source.window;
  return source.pattern.description +
         (with_window ? " Window " + source.window->text() + "." : std::string());
}

std::string provenance_of(const MaskSubject& subject) {
  return fmt::format("{}{} Drawn by AttnScope {}, commit {}{}{}{}", described(subject.source),
                     subject.against ? " Against: " + described(*subject.against) : "",
                     ATTNSCOPE_VERSION, ATTNSCOPE_GIT_COMMIT,
                     ATTNSCOPE_GIT_DIRTY != 0 ? " (modified)" : "",
                     subject.command.empty() ? "" : ": ", subject.command);
}

Result<DrawnMasks> masks_of(const MaskSubject& subject) {
  return make_masks(subject.source, subject.against, subject.item, subject.style);
}

Result<LaidOut> lay_out_mask(const MaskSubject& subject, const FigureOptions& options,
                             bool vectors) {
  const Result<DrawnMasks> masks = masks_of(subject);
  if (!masks) return tl::unexpected(masks.error());
  MaskDrawing::Page page{.size = QSizeF(units_of_mm(options.width_mm), unbounded),
                         .em = options.font_pt * units_per_point,
                         .title = options.title,
                         .legend = subject.legend};
  page.size.setHeight(MaskDrawing(*masks, {}, page).needed_height());
  const MaskDrawing drawing(*masks, {}, page);
  const double dpi = vectors ? image_dpi_in_vectors : options.png_dpi;
  return LaidOut{page.size, [drawing, vectors, dpi](QPainter& painter) {
                   if (vectors && drawing.cells_fit_vectors()) {
                     drawing.paint_vectors(painter);
                   } else {
                     drawing.paint(painter, render_cells(drawing.picture(dots_per_unit(dpi))));
                   }
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
      return fail("the .csv of this mask would exceed {} MB; draw fewer tokens, or omit the .csv",
                  largest_csv / 1'000'000);
    }
  }
  return {};
}

Result<std::string> mask_csv(const MaskSubject& subject) {
  const Result<DrawnMasks> masks = masks_of(subject);
  if (!masks) return tl::unexpected(masks.error());
  std::string text =
      masks->b ? "mask,query,first_key,last_key\r\n" : "query,first_key,last_key\r\n";
  Status done = add_rows(*masks->a, masks->b ? "A," : "", text);
  if (done && masks->b) done = add_rows(*masks->b, "B,", text);
  if (!done) return tl::unexpected(done.error());
  return text;
}

}  // namespace

Printable printable(MaskSubject subject) {
  const auto shared = std::make_shared<const MaskSubject>(std::move(subject));
  return {.title = shared->source.pattern.title,
          .about = {},
          .provenance = provenance_of(*shared),
          .has_series = false,
          .has_height = false,
          .has_caption = false,
          .lay_out = [shared](const FigureOptions& options,
                              bool vectors) { return lay_out_mask(*shared, options, vectors); },
          .csv = [shared](const FigureOptions& /*options*/) { return mask_csv(*shared); }};
}

}  // namespace attnscope::charts
