// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/token_text.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/drawing/map.h"
#include "app/gui/session/text.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {

QString share_text(double share) {
  const double percent = std::abs(share) * 100;
  const QString sign = share < 0 ? QStringLiteral("−") : QString();
  const QString unit = QStringLiteral("\u00a0%");  // prevents a line break before the unit
  if (percent == 0) return QLatin1Char('0') + unit;
  if (percent < 0.1) {
    return (sign.isEmpty() ? QStringLiteral("<\u00a00.1") : QStringLiteral(">\u00a0−0.1")) + unit;
  }
  return sign + QString::number(percent, 'f', percent < 1 ? 2 : 1) + unit;
}

void AttendedTokensModel::set_dump(const std::shared_ptr<const Dump>& dump) {
  beginResetModel();
  dump_ = dump;
  mass_.clear();
  read_texts();
  endResetModel();
}

// WordPiece marks continuations of a word (##), byte-level BPE and SentencePiece mark beginnings
// (Ġ, U+2581; a space in our own dumps).
void AttendedTokensModel::read_texts() {
  texts_.clear();
  joined_.clear();
  const auto begins_word = [](const std::string& text_of) {
    return text_of.starts_with(' ') || text_of.starts_with("\xc4\xa0") ||
           text_of.starts_with("\xe2\x96\x81");
  };
  const std::vector<std::string>& tokens = dump_->info().tokens;
  const bool marks_beginnings = std::ranges::any_of(tokens, begins_word);
  for (const std::string& text_of : tokens) {
    QString text = qstring(text_of);
    const bool special = text_of.size() > 2 && (text_of.front() == '[' || text_of.front() == '<');
    const bool continues = text_of.size() > 2 && text_of.starts_with("##");
    const bool joined = marks_beginnings ? !begins_word(text_of) && !special : continues;
    if (marks_beginnings ? !joined && !special : joined) text.remove(0, marks_beginnings ? 1 : 2);
    for (QChar& c : text) {
      if (!c.isPrint()) c = QLatin1Char('?');
    }
    texts_.append(text.isEmpty() ? QStringLiteral("·") : text);
    joined_.push_back(joined);
  }
}

void AttendedTokensModel::set_mass(std::vector<double> received, std::optional<TokenGroup> only,
                                   bool logarithmic, bool difference) {
  mass_ = std::move(received);
  double largest = 0;
  for (std::size_t i = 0; i < mass_.size(); ++i) {
    if (only && dump_->info().groups[i] != *only) mass_[i] = std::nan("");
    if (!std::isnan(mass_[i])) largest = std::max(largest, std::abs(mass_[i]));
  }
  scale_ = {.logarithmic = logarithmic, .difference = difference};
  if (largest > 0) scale_.largest = largest;
  Q_EMIT headerDataChanged(Qt::Horizontal, Column::mass, Column::mass);
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, column_count - 1));
}

int AttendedTokensModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(texts_.size());
}

int AttendedTokensModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : column_count;
}

QVariant AttendedTokensModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const auto at = static_cast<std::size_t>(index.row());
  const bool has_mass = at < mass_.size() && !std::isnan(mass_[at]);
  const TokenGroup of = dump_->info().groups[at];
  switch (role) {
    case Qt::DisplayRole:
      switch (index.column()) {
        case token:
          return qstring(dump_->info().tokens[at]);
        case position:
          return QString::number(index.row());
        case group:
          return charts::group_title(of);
        case mass:
          return has_mass ? share_text(mass_[at]) : QString();
        default:
          return {};
      }
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(index.column() == token || index.column() == group
                                     ? Qt::AlignLeft | Qt::AlignVCenter
                                     : Qt::AlignRight | Qt::AlignVCenter);
    case mass_role:
      return has_mass ? QVariant(mass_[at]) : QVariant();
    case size_role:
      return has_mass ? std::abs(mass_[at]) : 0.0;
    case listed_role:
      return has_mass && mass_[at] != 0;
    case group_role:
      return static_cast<int>(of);
    case text_role:
      return texts_[index.row()];
    case joined_role:
      return bool{joined_[at]};
    default:
      return {};
  }
}

QVariant AttendedTokensModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= column_count) return {};
  const QString names[] = {tr("Token"), scale_.difference ? tr("Change") : tr("Mass"), tr("At"),
                           tr("Group")};
  const QString tips[] = {
      tr("The token's text"),
      scale_.difference
          ? tr("Share of an average selected row that the token receives in B, minus that in A")
          : tr("Share of an average selected row that the token receives"),
      tr("The token's position, counted from 0"), tr("The token's group")};
  if (role == Qt::DisplayRole) return names[section];
  if (role == Qt::ToolTipRole) return tips[section];
  return {};
}

namespace {

class TokenDelegate : public QStyledItemDelegate {
 public:
  TokenDelegate(const AttendedTokensModel& tokens, const TokenText& view, QObject* parent)
      : QStyledItemDelegate(parent), tokens_(tokens), view_(view) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const QPalette& colors = option.palette;
    const charts::ChartTheme theme = charts::theme_of(colors);
    const QRect box = option.rect.adjusted(0, 1, -space_after(option, index), -2);
    const QVariant mass = index.data(AttendedTokensModel::mass_role);
    const QColor ground = mass.isValid()
                              ? charts::heat_color(mass.toDouble(), tokens_.scale(), theme)
                              : colors.color(QPalette::Base);
    const auto group = static_cast<TokenGroup>(index.data(AttendedTokensModel::group_role).toInt());
    painter->fillRect(box, ground);
    painter->fillRect(QRect(box.left(), box.bottom(), box.width(), 2),
                      charts::margin_color(group, theme));
    painter->setPen(text_on(ground));
    painter->drawText(box.adjusted(1, 0, 1, 0), Qt::AlignLeft | Qt::AlignVCenter,
                      index.data(AttendedTokensModel::text_role).toString());
    const bool chosen = option.state & QStyle::State_Selected;
    if (!chosen && index.row() != view_.marked()) return;
    painter->setBrush(Qt::NoBrush);
    painter->setPen(QPen(colors.color(QPalette::Link), chosen ? 2 : 1));
    painter->drawRect(box.adjusted(0, 0, -1, -1));
  }

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override {
    const QString text = index.data(AttendedTokensModel::text_role).toString();
    return {option.fontMetrics.horizontalAdvance(text) + 2 + space_after(option, index),
            option.fontMetrics.height() + 5};
  }

 private:
  static int space_after(const QStyleOptionViewItem& option, const QModelIndex& index) {
    const QModelIndex next = index.siblingAtRow(index.row() + 1);
    if (next.data(AttendedTokensModel::joined_role).toBool()) return 0;
    return std::max(3, option.fontMetrics.horizontalAdvance(QLatin1Char(' ')));
  }

  const AttendedTokensModel& tokens_;
  const TokenText& view_;
};

}  // namespace

TokenText::TokenText(QWidget* parent) : QListView(parent) {
  setAccessibleName(tr("Tokens"));
  setToolTip(
      tr("The background of each token shows the mass that it receives. Select attending tokens by "
         "click, drag, or arrow keys with Shift; Escape selects all"));
  setFlow(QListView::LeftToRight);
  setWrapping(true);
  setResizeMode(QListView::Adjust);
  setMovement(QListView::Static);
  setSelectionMode(QAbstractItemView::ContiguousSelection);
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setMouseTracking(true);
  connect(this, &QAbstractItemView::entered, this,
          [this](const QModelIndex& token) { Q_EMIT hovered(token.row()); });
}

void TokenText::show_tokens(AttendedTokensModel* tokens) {
  setModel(tokens);
  setItemDelegate(new TokenDelegate(*tokens, *this, this));
}

std::optional<TokenRange> TokenText::chosen() const {
  std::optional<TokenRange> all;
  for (const QItemSelectionRange& part : selectionModel()->selection()) {
    if (!all) all = {part.top(), part.bottom() + 1};
    all = {std::min<std::int64_t>(all->begin, part.top()),
           std::max<std::int64_t>(all->end, part.bottom() + 1)};
  }
  return all;
}

void TokenText::select(int from, int to) {
  const QItemSelection tokens(model()->index(std::min(from, to), 0),
                              model()->index(std::max(from, to), 0));
  selectionModel()->select(tokens, QItemSelectionModel::ClearAndSelect);
}

void TokenText::set_chosen(std::optional<TokenRange> tokens) {
  is_reported_ = true;
  if (tokens) {
    select(static_cast<int>(tokens->begin), static_cast<int>(tokens->end) - 1);
  } else {
    clearSelection();
  }
  is_reported_ = false;
}

void TokenText::set_marked(qint64 token) {
  if (token == marked_) return;
  marked_ = token;
  if (token >= 0) scrollTo(model()->index(static_cast<int>(token), 0));
  viewport()->update();
}

void TokenText::selectionChanged(const QItemSelection& selected, const QItemSelection& deselected) {
  QListView::selectionChanged(selected, deselected);
  if (const auto range = chosen(); range && !is_reported_) Q_EMIT tokens_chosen(*range);
}

// Selects from token to token as in text, where a list would select all inside a rectangle.
void TokenText::mouseMoveEvent(QMouseEvent* event) {
  const QModelIndex over = indexAt(event->pos());
  if (!(event->buttons() & Qt::LeftButton)) {
    if (!over.isValid()) Q_EMIT hovered(-1);
    return QListView::mouseMoveEvent(event);
  }
  if (over.isValid() && currentIndex().isValid()) select(currentIndex().row(), over.row());
}

void TokenText::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    Q_EMIT selection_cleared();
    return;
  }
  QListView::keyPressEvent(event);
}

void TokenText::focusInEvent(QFocusEvent* event) {
  // Before the base class, which would select the first one.
  if (!currentIndex().isValid() && model()->rowCount() > 0) {
    selectionModel()->setCurrentIndex(model()->index(0, 0), QItemSelectionModel::NoUpdate);
  }
  QListView::focusInEvent(event);
}

bool TokenText::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) Q_EMIT hovered(-1);
  return QListView::viewportEvent(event);
}

}  // namespace attnscope::gui
