// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/contender_matrix.h"

#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QVBoxLayout>
#include <utility>

#include "app/gui/session/text.h"
#include "app/gui/views/check_delegate.h"
#include "app/gui/views/problem_label.h"
#include "engine/heat/model_row.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope::gui {
namespace {

constexpr int least_row = 26;  // pixels

QList<ContenderMatrixModel::Named> pattern_names() {
  QList<ContenderMatrixModel::Named> names;
  for (const AttentionPattern& pattern : built_in_patterns())
    names.append({words(pattern.name), words(pattern.description)});
  return names;
}

QList<ContenderMatrixModel::Named> model_names() {
  QList<ContenderMatrixModel::Named> names;
  for (const ContenderMatrixModel::Named& pattern : pattern_names()) {
    names.append(pattern);
    for (const FamilyChoice& row : rows_with_pattern(pattern.name.toStdString()))
      names.append({words(row.name), words(row.summary)});
  }
  const QList<ContenderMatrixModel::Named> whole = names;
  for (const auto& [name, tip] : whole) {
    for (const FamilyChoice& option : family_of_row(name.toStdString()).row_options()) {
      names.append({QStringLiteral("%1+%2").arg(name, words(option.name)),
                    QStringLiteral("%1 %2").arg(tip, words(option.summary))});
    }
  }
  return names;
}

/// As high as its rows: what it stands in scrolls, not the table.
class WholeTable : public QTableView {
 public:
  WholeTable() {
    connect(horizontalScrollBar(), &QScrollBar::rangeChanged, this, [this] { updateGeometry(); });
  }
  [[nodiscard]] QSize sizeHint() const override {
    const QScrollBar& across = *horizontalScrollBar();
    const int bar = across.maximum() > 0 ? across.sizeHint().height() : 0;
    return {QTableView::sizeHint().width(), horizontalHeader()->sizeHint().height() +
                                                verticalHeader()->length() + 2 * frameWidth() +
                                                bar};
  }
  [[nodiscard]] QSize minimumSizeHint() const override { return {200, sizeHint().height()}; }
};

}  // namespace

ContenderMatrix::ContenderMatrix(QWidget* parent)
    : QWidget(parent),
      table_(new WholeTable),
      note_(new QLabel),
      problem_(new ProblemLabel("contenders_problem")),
      implementations_problem_(new ProblemLabel("implementations_problem")),
      impossible_(new ProblemLabel("impossible_contenders")) {
  model_.set_names(pattern_names(), {});
  table_->setObjectName(QStringLiteral("contenders"));
  table_->setModel(&model_);
  table_->setItemDelegate(new CheckDelegate(table_));
  table_->setAccessibleName(tr("Contenders: implementations down, patterns across"));
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setTabKeyNavigation(false);
  table_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->setMouseTracking(true);
  for (QHeaderView* header : {table_->horizontalHeader(), table_->verticalHeader()}) {
    header->setSectionResizeMode(QHeaderView::ResizeToContents);
    header->setHighlightSections(false);
  }
  table_->horizontalHeader()->setMinimumSectionSize(60);
  table_->verticalHeader()->setMinimumSectionSize(least_row);
  table_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  note_->setObjectName(QStringLiteral("contender_note"));
  note_->setTextFormat(Qt::PlainText);
  note_->setWordWrap(true);
  note_->setForegroundRole(QPalette::PlaceholderText);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  layout->addWidget(table_);
  layout->addWidget(note_);
  for (ProblemLabel* label : {problem_, impossible_, implementations_problem_})
    layout->addWidget(label);

  connect(table_, &QTableView::entered, this, &ContenderMatrix::say);
  connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& cell) {
            say(cell);
            bring_into_sight(cell);
          });
  connect(&model_, &QAbstractItemModel::modelReset, table_, &QWidget::updateGeometry);
  connect(&model_, &QAbstractItemModel::modelReset, this, &ContenderMatrix::count_impossible);
  connect(&model_, &QAbstractItemModel::dataChanged, this, [this] {
    say(table_->currentIndex());
    count_impossible();
  });
  say({});
}

void ContenderMatrix::set_implementations(const QList<ContenderMatrixModel::Named>& implementations,
                                          const QString& problem) {
  implementations_ = implementations;
  model_.set_names(of_models_ ? model_names() : pattern_names(), implementations);
  implementations_problem_->set_problem(problem);
}

void ContenderMatrix::show_models(bool of_models) {
  if (std::exchange(of_models_, of_models) == of_models) return;
  model_.set_names(of_models ? model_names() : pattern_names(), implementations_);
}

void ContenderMatrix::set_problem(const QString& sentence) {
  problem_->set_problem(sentence);
}

void ContenderMatrix::say(const QModelIndex& cell) {
  note_->setText(
      cell.isValid()
          ? cell.data(Qt::ToolTipRole).toString().replace(QLatin1Char('\n'), QStringLiteral(": "))
          : tr("Arrow keys and Space, or clicks. Struck-out boxes cannot be measured."));
}

void ContenderMatrix::bring_into_sight(const QModelIndex& cell) {
  QWidget* around = parentWidget();
  while (around && !qobject_cast<QScrollArea*>(around)) around = around->parentWidget();
  if (!around || !cell.isValid()) return;
  auto* area = static_cast<QScrollArea*>(around);
  const QRect there = table_->visualRect(cell);
  const QPoint centre = table_->viewport()->mapTo(area->widget(), there.center());
  area->ensureVisible(0, centre.y(), 0, 2 * there.height());
}

void ContenderMatrix::count_impossible() {
  QStringList all;
  for (const PatternAndImplementation& pair : model_.checked()) {
    const QString reason = model_.reason_against(pair);
    if (!reason.isEmpty())
      all.append(QStringLiteral("%1/%2: %3").arg(pair.first, pair.second, reason));
  }
  impossible_->set_problem(
      all.isEmpty() ? QString()
                    : tr("Will be kept as unsupported: %1").arg(all.join(QStringLiteral("; "))));
}

}  // namespace attnscope::gui
