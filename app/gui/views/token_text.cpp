// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/token_text.h"

#include <QHash>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/charts/mask_colors.h"
#include "app/gui/session/text.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int around = 4;  // around the text

}  // namespace

TokenText::TokenText(QWidget* parent) : QAbstractScrollArea(parent) {
  setObjectName(QStringLiteral("token_text"));
  setAccessibleName(tr("Tokens"));
  setToolTip(
      tr("Each token on the colour of the mass it receives. Choose those that attend: click, "
         "drag, or arrow keys with Shift; Escape: all of them"));
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
}

int TokenText::line_height() const {
  return fontMetrics().height() + 5;
}

QSize TokenText::sizeHint() const {
  return {40 * fontMetrics().averageCharWidth(), 5 * line_height()};
}

QSize TokenText::minimumSizeHint() const {
  return {16 * fontMetrics().averageCharWidth(), 2 * line_height() + 2 * around};
}

void TokenText::show_tokens(std::shared_ptr<const Dump> dump) {
  dump_ = std::move(dump);
  mass_.clear();
  chosen_.reset();
  anchor_ = cursor_ = marked_ = -1;
  read_texts();
  lay_out();
  verticalScrollBar()->setValue(0);
}

// WordPiece marks what continues a word (##), byte-level BPE and SentencePiece what begins one
// (Ġ, U+2581).
void TokenText::read_texts() {
  placed_.clear();
  joined_.clear();
  if (!dump_) return;
  const auto begins_word = [](const std::string& token) {
    return token.starts_with("\xc4\xa0") || token.starts_with("\xe2\x96\x81");
  };
  const std::vector<std::string>& tokens = dump_->info().tokens;
  const bool marks_beginnings = std::ranges::any_of(tokens, begins_word);
  placed_.reserve(tokens.size());
  for (const std::string& token : tokens) {
    QString text = words(token);
    const bool special = token.size() > 2 && (token.front() == '[' || token.front() == '<');
    bool joined = false;
    if (marks_beginnings) {
      joined = !begins_word(token) && !special;
      if (!joined && !special) text.remove(0, 1);
    } else if (token.size() > 2 && token.starts_with("##")) {
      joined = true;
      text.remove(0, 2);
    }
    for (QChar& c : text) {
      if (!c.isPrint()) c = QLatin1Char('?');
    }
    if (text.isEmpty()) text = QStringLiteral("·");
    joined_.push_back(joined);
    placed_.push_back({text});
  }
}

void TokenText::lay_out() {
  QHash<QString, int> widths;  // words come again and again
  const int space = std::max(3, fontMetrics().horizontalAdvance(QLatin1Char(' ')));
  const int right = viewport()->width() - around;
  int x = around;
  int line = 0;
  for (std::size_t i = 0; i < placed_.size(); ++i) {
    Placed& placed = placed_[i];
    auto known = widths.constFind(placed.text);
    if (known == widths.constEnd()) {
      known = widths.insert(placed.text, fontMetrics().horizontalAdvance(placed.text) + 2);
    }
    placed.width = *known;
    if (i > 0 && !joined_[i]) x += space;
    if (x > around && x + placed.width > right) {
      x = around;
      ++line;
    }
    placed.x = x;
    placed.line = line;
    x += placed.width;
  }
  const int height = 2 * around + (placed_.empty() ? 0 : line + 1) * line_height();
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(line_height());
  verticalScrollBar()->setRange(0, std::max(0, height - viewport()->height()));
  viewport()->update();
}

void TokenText::set_mass(std::vector<double> mass, const charts::HeatScale& scale) {
  mass_ = std::move(mass);
  scale_ = scale;
  viewport()->update();
}

void TokenText::set_chosen(std::optional<TokenRange> tokens) {
  chosen_ = tokens;
  if (!tokens) anchor_ = -1;
  viewport()->update();
}

void TokenText::set_marked(qint64 token) {
  if (token == marked_) return;
  marked_ = token;
  if (token >= 0) scroll_to(token);
  viewport()->update();
}

QRect TokenText::rect_of(qint64 token) const {
  const Placed& placed = placed_.at(static_cast<std::size_t>(token));
  return {placed.x, around + placed.line * line_height() - verticalScrollBar()->value(),
          placed.width, line_height() - 2};
}

qint64 TokenText::first_of_line(int line) const {
  return std::ranges::lower_bound(placed_, line, {}, &Placed::line) - placed_.begin();
}

qint64 TokenText::token_at(QPoint position) const {
  const int line = (position.y() + verticalScrollBar()->value() - around) / line_height();
  for (qint64 i = first_of_line(line); i < size(); ++i) {
    if (placed_[static_cast<std::size_t>(i)].line != line) break;
    if (rect_of(i).contains(position)) return i;
  }
  return -1;
}

void TokenText::scroll_to(qint64 token) {
  const QRect rect = rect_of(token);
  QScrollBar* bar = verticalScrollBar();
  if (rect.top() < 0) bar->setValue(bar->value() + rect.top() - around);
  const int below = rect.bottom() + around - viewport()->height();
  if (below > 0) bar->setValue(bar->value() + below);
}

void TokenText::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(viewport());
  painter.setFont(font());
  const charts::ChartTheme theme = charts::theme_of(palette());
  const QColor accent = palette().color(QPalette::Link);
  const int first_line = (verticalScrollBar()->value() - around) / line_height();
  for (qint64 i = first_of_line(std::max(0, first_line)); i < size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const QRect rect = rect_of(i);
    if (rect.top() > viewport()->height()) break;
    QColor text = palette().color(QPalette::Text);
    if (mass_.size() == placed_.size()) {
      const QColor ground = charts::heat_color(mass_[at], scale_, theme);
      painter.fillRect(rect, ground);
      text = text_on(ground);
    }
    painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 2),
                     charts::margin_color(dump_->info().groups[at], theme));
    painter.setPen(text);
    painter.drawText(rect.adjusted(1, 0, 1, 0), Qt::AlignLeft | Qt::AlignVCenter, placed_[at].text);
    const bool chosen = chosen_ && i >= chosen_->begin && i < chosen_->end;
    if (chosen || i == marked_) {
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(accent, chosen ? 2 : 1));
      painter.drawRect(rect.adjusted(0, 0, -1, -1));
    }
  }
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(accent, 1));
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
  }
}

void TokenText::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  lay_out();
}

void TokenText::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange) lay_out();
}

bool TokenText::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) Q_EMIT hovered(-1);
  return QAbstractScrollArea::viewportEvent(event);
}

void TokenText::choose(qint64 anchor, qint64 cursor) {
  anchor_ = anchor;
  cursor_ = cursor;
  chosen_ = TokenRange{std::min(anchor, cursor), std::max(anchor, cursor) + 1};
  scroll_to(cursor);
  setAccessibleDescription(
      tr("Token %1: %2").arg(cursor).arg(placed_[static_cast<std::size_t>(cursor)].text));
  viewport()->update();
}

void TokenText::mousePressEvent(QMouseEvent* event) {
  const qint64 token = token_at(event->pos());
  if (event->button() != Qt::LeftButton || token < 0) return;
  choosing_ = true;
  choose(event->modifiers() & Qt::ShiftModifier && anchor_ >= 0 ? anchor_ : token, token);
}

void TokenText::mouseMoveEvent(QMouseEvent* event) {
  const qint64 token = token_at(event->pos());
  if (choosing_ && token >= 0) choose(anchor_, token);
  Q_EMIT hovered(token);
}

void TokenText::mouseReleaseEvent(QMouseEvent* /*event*/) {
  if (std::exchange(choosing_, false) && chosen_) Q_EMIT tokens_chosen(*chosen_);
}

void TokenText::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    Q_EMIT choice_given_up();
    return;
  }
  if (placed_.empty()) return QAbstractScrollArea::keyPressEvent(event);
  const qint64 from = std::max<qint64>(cursor_, 0);
  const Placed& here = placed_[static_cast<std::size_t>(from)];
  qint64 to = from;
  const auto over = [&](int line) {  // the token above or below
    qint64 token = std::clamp<qint64>(first_of_line(line), 0, size() - 1);
    while (token + 1 < size() && placed_[static_cast<std::size_t>(token + 1)].line == line &&
           placed_[static_cast<std::size_t>(token + 1)].x <= here.x) {
      ++token;
    }
    return token;
  };
  switch (event->key()) {
    case Qt::Key_Left:
      to = from - 1;
      break;
    case Qt::Key_Right:
      to = cursor_ < 0 ? 0 : from + 1;
      break;
    case Qt::Key_Up:
      to = here.line > 0 ? over(here.line - 1) : 0;
      break;
    case Qt::Key_Down:
      to = over(here.line + 1);
      break;
    case Qt::Key_Home:
      to = 0;
      break;
    case Qt::Key_End:
      to = size() - 1;
      break;
    default:
      return QAbstractScrollArea::keyPressEvent(event);
  }
  to = std::clamp<qint64>(to, 0, size() - 1);
  choose(event->modifiers() & Qt::ShiftModifier && anchor_ >= 0 ? anchor_ : to, to);
  Q_EMIT tokens_chosen(*chosen_);
}

}  // namespace attnscope::gui
