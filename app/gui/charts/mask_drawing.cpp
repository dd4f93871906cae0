// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/mask_drawing.h"

#include <QFontMetricsF>
#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/charts/figure_font.h"

namespace attnscope::charts {
namespace {

// Up to here every token has a pixel of its own on any usual page; cells are vectors in PDF and
// SVG.
constexpr std::int64_t crisp_tokens = 400;

double wrapped_height(const QFont& font, const QString& text, double width) {
  return QFontMetricsF(font)
      .boundingRect(QRectF(0, 0, width, 1e6), Qt::TextWordWrap, text)
      .height();
}

// "w = 4" for a window, nothing for a whole group.
QString window_note(const GroupRule& rule, std::optional<Window> window) {
  if (rule.kind != GroupRule::Kind::window) return {};
  const std::optional<Window> w = rule.fixed_window ? Window::of(*rule.fixed_window) : window;
  if (!w || w->is_infinite()) return {};
  return QStringLiteral("w = %1").arg(w->tokens());
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

}  // namespace

MaskDrawing::MaskDrawing(const MaskProblem& problem, MaskStyle style, const MaskViewport& viewport,
                         const Page& page, const MaskProblem* other)
    : problem_(problem), other_(other), style_(style), page_(page) {
  strip_ = 0.9 * page_.em;
  gap_ = 0.5 * page_.em;
  if (page_.legend) lay_out_legend();
  if (page_.names || page_.title) collect_texts();
  lay_out(viewport);
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
  if (page_.title && other_) title_ += QStringLiteral(" against ") + title_of(*other_);
  if (!page_.names) return;
  if (problem_.is_stand_in()) {
    note_ = QStringLiteral("Schematic: sizes are not to scale");
    if (problem_.true_window() != problem_.window()) {
      note_ += QStringLiteral(", window %1 is drawn as %2")
                   .arg(QString::fromStdString(problem_.true_window()->text()),
                        QString::fromStdString(problem_.window()->text()));
    }
    note_ += QLatin1Char('.');
  } else if (style_ == MaskStyle::equal_groups) {
    note_ = QStringLiteral("Groups are drawn at equal size; // marks a change of scale. ");
  }
  if (problem_.tokens() > crisp_tokens) {
    note_ += QStringLiteral("Paler: only a share of the pairs at that place.");
  }
}

// At the origin; lay_out moves it to its place.
void MaskDrawing::lay_out_legend() {
  if (other_) {
    lay_out_difference_legend();
  } else {
    lay_out_group_legend();
  }
}

void MaskDrawing::lay_out_difference_legend() {
  const double em = page_.em;
  const double line = 1.45 * em;
  const QFontMetricsF metrics(figure_font(em));
  const std::pair<std::optional<DifferencePart>, QString> entries[] = {
      {DifferencePart::only_a, QStringLiteral("only ") + title_of(problem_)},
      {DifferencePart::only_b, QStringLiteral("only ") + title_of(*other_)},
      {DifferencePart::both, QStringLiteral("both")},
      {std::nullopt, QStringLiteral("neither")}};
  double width = 0;
  double y = 0;
  for (const auto& [part, whole_words] : entries) {
    const QString words =
        metrics.elidedText(whole_words, Qt::ElideRight, page_.size.width() - 4.5 * em);
    parts_.push_back({part, QRectF(0, y + 0.2 * em, 1.8 * em, 1.05 * em)});
    const double advance = metrics.horizontalAdvance(words);
    headings_.push_back({words, QRectF(2.4 * em, y, advance + em, line), false});
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
  const QString corner = QStringLiteral("row sees");
  double x = metrics.horizontalAdvance(corner);
  for (const TokenGroup group : groups) {
    x = std::max(x, metrics.horizontalAdvance(group_title(group)));
  }
  headings_.push_back({corner, QRectF(0, 0, x + em, line), true});
  for (std::size_t row = 0; row < groups.size(); ++row) {
    const double y = line * static_cast<double>(row + 1);
    headings_.push_back({group_title(groups[row]), QRectF(0, y, x + em, line), false});
  }
  x += between;
  for (const TokenGroup to : groups) {
    double width = metrics.horizontalAdvance(group_title(to));
    headings_.push_back({group_title(to), QRectF(x, 0, width + em, line), false});
    for (std::size_t row = 0; row < groups.size(); ++row) {
      const GroupRule& rule = problem_.pattern().rule(groups[row], to);
      const QString note = window_note(rule, problem_.window());
      width = std::max(width, 1.2 * em + metrics.horizontalAdvance(note));
      // Blocks know no groups: any pair may be seen.
      const bool sees = rule.kind != GroupRule::Kind::none || problem_.pattern().blocks;
      legend_.push_back({groups[row], to, sees, note,
                         QRectF(x, line * static_cast<double>(row + 1), 9 * em, line)});
    }
    x += width + between;
  }
  legend_size_ = QSizeF(x - between, line * static_cast<double>(groups.size() + 1));
}

void MaskDrawing::move_legend(double x, double y) {
  for (MaskLegendEntry& entry : legend_) entry.rect.translate(x, y);
  for (PartEntry& entry : parts_) entry.box.translate(x, y);
  for (LegendHeading& heading : headings_) heading.rect.translate(x, y);
}

void MaskDrawing::lay_out(const MaskViewport& viewport) {
  const double em = page_.em;
  const double pad = 0.5 * em;
  const double width = page_.size.width();
  const double height = page_.size.height();

  // Names are laid out before the axis exists: the same blocks at any length.
  const MaskAxis blocks(problem_, style_, 1, 0, {});
  const QFontMetricsF metrics(figure_font(em));
  double widest_name = 0;
  for (const MaskBlock& block : blocks.blocks()) {
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
    const double title_height = wrapped_height(figure_font(em, true), title_, width - 2 * pad);
    title_rect_ = QRectF(pad, top, width - 2 * pad, title_height);
    top += title_height + 0.4 * em;
  }
  // Caption, group names and their leaders, coloured margin.
  const double margin = strip_ + 0.35 * em;
  const double left = pad + (page_.names ? 1.5 * em + widest_name + 1.0 * em : 0) + margin;
  top += (page_.names ? 1.5 * em + 1.5 * em + 0.8 * em : 0) + margin;

  const double note_height =
      note_.isEmpty() ? 0 : wrapped_height(figure_font(em * small_text), note_, width - 2 * pad);
  double bottom = pad + (note_.isEmpty() ? 0 : note_height + 0.4 * em);
  const double side_room = width - left - pad - legend_size_.width() - 2.5 * em;
  const double height_room = height - top - bottom - 0.6 * em;
  const bool beside = !headings_.empty() && side_room >= height_room;
  const double legend_height = legend_size_.height();
  if (!beside && legend_height > 0) bottom += legend_height + 0.4 * em;

  const double available = beside ? side_room : width - left - pad;
  const double side =
      std::max(4 * em, std::floor(std::min(available, height - top - bottom - 0.6 * em)));
  const double slack = std::max(0.0, std::floor((available - side) / 2));
  cells_ = QRectF(std::floor(left + slack), std::ceil(top), side, side);
  row_caption_left_ = cells_.left() - left + pad;
  const double below = cells_.bottom() + 0.6 * em;
  if (beside) {
    move_legend(cells_.right() + 2 * em, cells_.top());
  } else {
    move_legend(std::max(pad, cells_.right() - legend_size_.width()), below);
  }
  const double note_top = below + (beside || legend_height == 0 ? 0 : legend_height + 0.4 * em);
  note_rect_ = QRectF(pad, note_top, width - 2 * pad, note_height);
  needed_height_ = cells_.bottom() + 0.6 * em + bottom;
  axis_ = MaskAxis(problem_, style_, side, gap_, viewport);
}

double MaskDrawing::page_begin(Side side, std::int64_t token) const {
  return side == Side::rows ? cells_.top() + axis_.begin_of(token) - axis_.row_scroll()
                            : cells_.left() + axis_.begin_of(token) - axis_.column_scroll();
}

std::pair<std::int64_t, std::int64_t> MaskDrawing::visible_tokens(Side side,
                                                                  const MaskBlock& block) const {
  const double scroll = side == Side::rows ? axis_.row_scroll() : axis_.column_scroll();
  const auto size = static_cast<double>(block.tokens.size());
  const double first = std::clamp((scroll - block.begin) / block.units_per_token, 0.0, size);
  const double last =
      std::clamp((scroll + axis_.length() - block.begin) / block.units_per_token, 0.0, size);
  return {block.tokens.begin + static_cast<std::int64_t>(first),
          block.tokens.begin + static_cast<std::int64_t>(std::ceil(last))};
}

QRectF MaskDrawing::cell_rect(qint64 query_token, qint64 key_token) const {
  return {page_begin(Side::columns, key_token), page_begin(Side::rows, query_token),
          axis_.extent_of(key_token), axis_.extent_of(query_token)};
}

std::optional<std::pair<qint64, qint64>> MaskDrawing::pair_at(QPointF position) const {
  if (!cells_.contains(position)) return std::nullopt;
  const auto row = axis_.token_at(position.y() - cells_.top() + axis_.row_scroll());
  const auto column = axis_.token_at(position.x() - cells_.left() + axis_.column_scroll());
  if (!row || !column) return std::nullopt;
  return std::pair<qint64, qint64>(*row, *column);
}

bool MaskDrawing::cells_fit_vectors() const {
  return problem_.tokens() <= crisp_tokens;
}

}  // namespace attnscope::charts
