// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/pattern_matrix_model.h"

#include "app/gui/charts/mask_colors.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

int kind_number(GroupRule::Kind kind) {
  return static_cast<int>(kind);
}

GroupRule::Kind next_kind(GroupRule::Kind kind, bool may_be_window) {
  switch (kind) {
    case GroupRule::Kind::none:
      return GroupRule::Kind::whole;
    case GroupRule::Kind::whole:
      return may_be_window ? GroupRule::Kind::window : GroupRule::Kind::none;
    case GroupRule::Kind::window:
      break;
  }
  return GroupRule::Kind::none;
}

}  // namespace

PatternMatrixModel::PatternMatrixModel(PatternEditor& editor, QObject* parent)
    : QAbstractTableModel(parent), editor_(editor) {
  connect(&editor, &PatternEditor::changed, this,
          [this] { Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1)); });
}

const GroupRule& PatternMatrixModel::rule_at(const QModelIndex& index) const {
  return editor_.pattern().rule(group_at(index.row()), group_at(index.column()));
}

int PatternMatrixModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(token_group_count);
}

int PatternMatrixModel::columnCount(const QModelIndex& parent) const {
  return rowCount(parent);
}

QString PatternMatrixModel::words_for(const QModelIndex& index) const {
  const GroupRule& rule = rule_at(index);
  switch (rule.kind) {
    case GroupRule::Kind::none:
      return tr("none");
    case GroupRule::Kind::whole:
      return tr("whole");
    case GroupRule::Kind::window:
      break;
  }
  return rule.fixed_window ? QStringLiteral("w = %1").arg(*rule.fixed_window) : QStringLiteral("w");
}

QVariant PatternMatrixModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const GroupRule& rule = rule_at(index);
  const TokenGroup from = group_at(index.row());
  const TokenGroup to = group_at(index.column());
  switch (role) {
    case Qt::DisplayRole:
      return editor_.pattern().blocks ? tr("blocks") : words_for(index);
    case Qt::EditRole:
      return static_cast<qlonglong>(rule.fixed_window.value_or(slider_window));
    case kind_role:
      return kind_number(rule.kind);
    case next_kind_role:
      return kind_number(next_kind(rule.kind, share_positions(from, to)));
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::Alignment(Qt::AlignCenter));
    case Qt::AccessibleTextRole: {
      const QString rule_words = data(index, Qt::DisplayRole).toString();
      const bool is_window = rule.kind == GroupRule::Kind::window;
      return tr("%1 sees %2: %3")
          .arg(charts::group_title(from), charts::group_title(to),
               is_window ? tr("window, %1").arg(rule_words) : rule_words);
    }
    case Qt::ToolTipRole:
      return tr("%1 sees %2. Click or Space: the next rule; 1 none, 2 whole, 3 window, F2 a window "
                "of its own.")
          .arg(charts::group_title(from), charts::group_title(to));
    default:
      return {};
  }
}

QVariant PatternMatrixModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (section < 0 || section >= rowCount()) return {};
  const QString title = charts::group_title(group_at(section));
  if (role == Qt::DisplayRole) {
    if (group_at(section) == TokenGroup::sentence) return tr("sent.");
    // Columns are narrow.
    const bool is_short =
        orientation == Qt::Horizontal && group_at(section) == TokenGroup::document;
    return is_short ? tr("doc.") : title;
  }
  if (role == Qt::ToolTipRole || role == Qt::AccessibleTextRole) {
    return orientation == Qt::Vertical ? tr("Rows attend: %1").arg(title)
                                       : tr("Columns are attended to: %1").arg(title);
  }
  return {};
}

Qt::ItemFlags PatternMatrixModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags common = QAbstractTableModel::flags(index);
  if (!index.isValid() || editor_.pattern().blocks) return common & ~Qt::ItemIsEnabled;
  const bool may_be_window = share_positions(group_at(index.row()), group_at(index.column()));
  return may_be_window ? common | Qt::ItemIsEditable : common;
}

bool PatternMatrixModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return false;
  GroupRule rule;
  bool is_number = false;
  const qlonglong number = value.toLongLong(&is_number);
  if (role == kind_role && is_number && number >= 0 && number <= 2) {
    rule.kind = static_cast<GroupRule::Kind>(number);
  } else if (role == Qt::EditRole && is_number && number >= slider_window) {
    rule.kind = GroupRule::Kind::window;
    if (number != slider_window) rule.fixed_window = number;
  } else {
    return false;
  }
  const Status done = editor_.set_rule(group_at(index.row()), group_at(index.column()), rule);
  Q_EMIT refused(done ? QString() : words(done.error().message));
  return done.has_value();
}

}  // namespace attnscope::gui
