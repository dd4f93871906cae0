// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/attended_tokens_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/drawing/map.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {

QString share_words(double share) {
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
    QString text = words(text_of);
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
          return words(dump_->info().tokens[at]);
        case position:
          return QString::number(index.row());
        case group:
          return charts::group_title(of);
        case mass:
          return has_mass ? share_words(mass_[at]) : QString();
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
  const QString tips[] = {tr("The token's text"),
                          scale_.difference
                              ? tr("Share of a mean selected row that goes to it in B, less in A")
                              : tr("Share of a mean selected row that goes to it"),
                          tr("Its place, counted from 0"), tr("Its token group")};
  if (role == Qt::DisplayRole) return names[section];
  if (role == Qt::ToolTipRole) return tips[section];
  return {};
}

}  // namespace attnscope::gui
