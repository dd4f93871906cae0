// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/published_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/models/terms.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/flow_layout.h"
#include "app/gui/views/reading_table.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

using Pair = report::BesidePublished;

// Whole cross-encoders on a GPU stand beside ours, and no ratio is taken.
std::vector<RowsModel<Pair>::Column> beside_columns() {
  const QString published =
      BesideView::tr("ECIR 2024, Table 3: one NVIDIA A100 40 GB; published, not measured here");
  return {
      {BesideView::tr("Contender"), explained("contender"), false,
       [](const Pair& pair) { return words(pair.row->cell.cell.contender.id()); }},
      {BesideView::tr("Measured"),
       BesideView::tr("What ours is a time of; the paper's is a whole cross-encoder of six layers"),
       false, [](const Pair& pair) { return words(name_of(pair.row->cell.point.operation)); }},
      {BesideView::tr("Tokens"), BesideView::tr("[CLS], query and document with their [SEP]"), true,
       [](const Pair& pair) { return QString::number(pair.row->cell.point.sequence_tokens); }},
      {BesideView::tr("Time per\ndocument, here"),
       BesideView::tr("Median over the documents of the batch"), true,
       [](const Pair& pair) {
         return words(report::format_time(pair.row->cell.summary.median_ns /
                                          report::documents_of(*pair.row)));
       }},
      {BesideView::tr("Published"), published, true,
       [](const Pair& pair) {
         return words(report::format_time(pair.cost.time_us_per_document * 1e3));
       }},
      {BesideView::tr("Memory per\ndocument, here"),
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

PublishedView::PublishedView(QWidget* parent)
    : QWidget(parent),
      title_(new ReadingLabel(nullptr, "published_title")),
      label_(new QLabel(words(report::published_label))),
      subject_(new ReadingLabel(nullptr, "published_subject")),
      source_(new ReadingLabel(nullptr, "published_source")),
      beside_(new QCheckBox(tr("Set &beside my runs"))),
      table_(reading_table("published_table", tr("Published numbers"), &model_)) {
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
    // In lines: fifteen columns of long titles would not fit beside each other.
    QString title = tip;
    for (const QString& word : {QStringLiteral("w ="), QStringLiteral("("), QStringLiteral("per "),
                                QStringLiteral("vs. ")})
      title.replace(QLatin1Char(' ') + word, QLatin1Char('\n') + word);
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

BesideView::BesideView(QWidget* parent)
    : QWidget(parent),
      model_(beside_columns()),
      words_(new ReadingLabel(nullptr, "beside_words")),
      table_(reading_table("beside_table", tr("Our times and memory beside the published ones"),
                           &model_)) {
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
  table_->setFixedHeight(table_->verticalHeader()->defaultSectionSize() *
                             std::min(rows, most_rows) +
                         table_->horizontalHeader()->sizeHint().height() + 4);
  table_->resizeColumnsToContents();
}

}  // namespace attnscope::gui
