// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/published_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>
#include <utility>

#include "app/gui/session/text.h"
#include "app/gui/views/flow_layout.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

QLabel* reading(const QString& name) {
  auto* label = new QLabel;
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  label->setObjectName(name);
  return label;
}

}  // namespace

PublishedView::PublishedView(QWidget* parent)
    : QWidget(parent),
      title_(reading(QStringLiteral("published_title"))),
      label_(new QLabel(words(report::published_label))),
      subject_(reading(QStringLiteral("published_subject"))),
      source_(reading(QStringLiteral("published_source"))),
      beside_(new QCheckBox(tr("Set &beside my runs"))),
      table_(new QTableView) {
  set_text(title_, TextSize::title);
  title_->setWordWrap(false);
  label_->setObjectName(QStringLiteral("published_label"));
  label_->setAutoFillBackground(true);
  label_->setMargin(4);
  paint_label();
  beside_->setObjectName(QStringLiteral("set_beside"));
  beside_->setToolTip(
      tr("Shows these times and memory under a run, where length, window and "
         "pattern are the same (Alt+B)"));
  source_->setForegroundRole(QPalette::PlaceholderText);
  table_->setModel(&model_);
  table_->setObjectName(QStringLiteral("published_table"));
  table_->setAccessibleName(tr("Published numbers"));
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setShowGrid(false);
  table_->setAlternatingRowColors(true);
  table_->setWordWrap(false);
  table_->setTabKeyNavigation(false);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->verticalHeader()->hide();
  table_->horizontalHeader()->setHighlightSections(false);

  auto* head = new QWidget;
  auto* flow = new FlowLayout;
  head->setLayout(flow);
  // Not fixed: that would hold it to the height of one line.
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  head->setSizePolicy(policy);
  flow->addWidget(title_);
  flow->addWidget(label_);
  flow->addWidget(beside_);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(head);
  layout->addWidget(subject_);
  layout->addWidget(table_, 1);
  layout->addWidget(source_);
}

void PublishedView::show_table(const report::PublishedTable& table) {
  shown_ = table;
  std::vector<RowsModel<std::vector<std::string>>::Column> columns;
  for (std::size_t at = 0; at < table.columns.size(); ++at) {
    const QString tip = words(table.columns[at].title);
    // In two lines: fifteen columns of long titles would not fit beside each other.
    QString title = tip;
    title.replace(QStringLiteral(" w = "), QStringLiteral("\nw = "));
    title.replace(QStringLiteral(" ("), QStringLiteral("\n("));
    columns.push_back({title, tip, table.columns[at].is_number,
                       [at](const std::vector<std::string>& row) { return words(row[at]); }});
  }
  model_.set_table(std::move(columns), table.rows);
  title_->setText(words(table.title));
  subject_->setText(words(table.subject));
  source_->setText(tr("%1.\nMachine: %2.\n%3")
                       .arg(words(table.citation), words(table.machine), words(table.note)));
  // The one table whose numbers mean what ours do, per document and at given lengths.
  beside_->setVisible(table.id == "ecir24-table3");
  table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 8);
  table_->resizeColumnsToContents();
}

void PublishedView::paint_label() {
  QPalette ground;
  ground.setColor(QPalette::Window, info_ground(palette()));
  label_->setPalette(ground);
}

void PublishedView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paint_label();
}

void PublishedView::copy_table(report::TableFormat format) const {
  QApplication::clipboard()->setText(words(report::write_published(shown_, format)));
}

}  // namespace attnscope::gui
