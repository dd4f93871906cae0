// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/beside_view.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

using Pair = report::BesidePublished;

// Whole cross-encoders on a GPU stand beside ours, and no ratio is taken.
std::vector<RowsModel<Pair>::Column> beside_columns() {
  const QString published =
      BesideView::tr("ECIR 2024, Table 3: one NVIDIA A100 40 GB; published, not measured here");
  return {
      {BesideView::tr("Contender"), BesideView::tr("Ours: pattern, implementation and window"),
       false, [](const Pair& pair) { return words(pair.row->cell.cell.contender.id()); }},
      {BesideView::tr("Measured"),
       BesideView::tr("What ours is a time of; the paper's is a whole cross-encoder of six layers"),
       false, [](const Pair& pair) { return words(name_of(pair.row->cell.point.operation)); }},
      {BesideView::tr("Tokens"), BesideView::tr("[CLS], query and document with their [SEP]"), true,
       [](const Pair& pair) { return QString::number(pair.row->cell.point.sequence_tokens); }},
      {BesideView::tr("Time per document, here"),
       BesideView::tr("Median over the documents of the batch"), true,
       [](const Pair& pair) {
         return words(report::format_time(pair.row->cell.summary.median_ns /
                                          report::documents_of(*pair.row)));
       }},
      {BesideView::tr("Published"), published, true,
       [](const Pair& pair) {
         return words(report::format_time(pair.cost.time_us_per_document * 1e3));
       }},
      {BesideView::tr("Memory per document, here"),
       BesideView::tr("Peak bytes during the call over the documents of the batch"), true,
       [](const Pair& pair) {
         const auto bytes = static_cast<double>(pair.row->cell.cell.memory.requested_bytes);
         return words(report::format_bytes(bytes / report::documents_of(*pair.row)));
       }},
      {BesideView::tr("Published"), published, true,
       [](const Pair& pair) {
         return words(report::format_bytes(pair.cost.memory_mb_per_document * 1e6));
       }},
      {BesideView::tr("Model in the paper"),
       BesideView::tr("The cross-encoder that was measured there"), false,
       [](const Pair& pair) { return words(pair.cost.model); }}};
}

}  // namespace

BesideView::BesideView(QWidget* parent)
    : QWidget(parent), model_(beside_columns()), words_(new QLabel), table_(new QTableView) {
  words_->setWordWrap(true);
  words_->setTextFormat(Qt::PlainText);
  words_->setObjectName(QStringLiteral("beside_words"));
  table_->setModel(&model_);
  table_->setObjectName(QStringLiteral("beside_table"));
  table_->setAccessibleName(tr("Our times and memory beside the published ones"));
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setShowGrid(false);
  table_->setAlternatingRowColors(true);
  table_->setWordWrap(false);
  table_->setTabKeyNavigation(false);
  table_->verticalHeader()->hide();
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setStretchLastSection(true);
  auto* close = new QToolButton;
  close->setText(QStringLiteral("✕"));
  close->setAutoRaise(true);
  close->setObjectName(QStringLiteral("close_beside"));
  close->setAccessibleName(tr("No longer set published numbers beside"));
  close->setToolTip(tr("No longer set published numbers beside"));
  close->setFocusPolicy(Qt::StrongFocus);
  connect(close, &QToolButton::clicked, this, &BesideView::close_asked);

  auto* head = new QHBoxLayout;
  head->addWidget(words_, 1);
  head->addWidget(close, 0, Qt::AlignTop);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(head);
  layout->addWidget(table_);
}

void BesideView::show_run(const RunPointer& run) {
  model_.set_rows(run ? report::beside_published(run->table) : std::vector<Pair>());
  run_ = run;
  const int rows = model_.rowCount();
  words_->setText(
      rows > 0
          ? tr("Beside ECIR 2024, Table 3 (published, not measured here): whole cross-encoders "
               "of six layers on one NVIDIA A100 40 GB. Ours are of what the column "
               "\"Measured\" says.")
          : tr("No cell of this run stands beside ECIR 2024, Table 3: that has 174 and 4096 "
               "tokens, full attention, sparse with w = 4 or 64, longformer and qds with "
               "w = 64. Measure these to see them here."));
  table_->setVisible(rows > 0);
  constexpr int most_rows = 4;  // more scroll: the run itself keeps the room
  const int row_height = table_->fontMetrics().height() + 8;
  table_->verticalHeader()->setDefaultSectionSize(row_height);
  table_->setFixedHeight(row_height * std::min(rows, most_rows) +
                         table_->horizontalHeader()->sizeHint().height() + 4);
  table_->resizeColumnsToContents();
}

}  // namespace attnscope::gui
