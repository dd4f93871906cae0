// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/published_view.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <utility>

#include "app/gui/models/terms.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/flow_layout.h"
#include "app/gui/views/reading_table.h"
#include "app/gui/views/theme.h"
#include "views/ui_published_view.h"
#include "views/ui_side_by_side_view.h"

namespace attnscope::gui {
namespace {

using Pair = report::PublishedComparison;

// Whole cross-encoders on a GPU are shown next to ours, without a ratio.
std::vector<RowsModel<Pair>::Column> alongside_columns() {
  const QString published =
      SideBySideView::tr("ECIR 2024, Table 3: one NVIDIA A100 40 GB; published, not measured here");
  return {{SideBySideView::tr("Contender"), explained("contender"), false,
           [](const Pair& pair) { return words(pair.row->cell.cell.contender.id()); }},
          {SideBySideView::tr("Measured"),
           SideBySideView::tr(
               "What ours is a time of; the paper's is a whole cross-encoder of six layers"),
           false, [](const Pair& pair) { return words(name_of(pair.row->cell.point.operation)); }},
          {SideBySideView::tr("Tokens"),
           SideBySideView::tr("[CLS], query and document with their [SEP]"), true,
           [](const Pair& pair) { return QString::number(pair.row->cell.point.sequence_tokens); }},
          {SideBySideView::tr("Time per\ndocument, here"),
           SideBySideView::tr("Median over the documents of the batch"), true,
           [](const Pair& pair) {
             return words(report::format_time(pair.row->cell.summary.median_ns /
                                              report::documents_of(*pair.row)));
           }},
          {SideBySideView::tr("Published"), published, true,
           [](const Pair& pair) {
             return words(report::format_time(pair.cost.time_us_per_document * 1e3));
           }},
          {SideBySideView::tr("Memory per\ndocument, here"),
           SideBySideView::tr("Peak bytes during the call over the documents of the batch"), true,
           [](const Pair& pair) {
             const auto bytes = static_cast<double>(pair.row->cell.cell.memory.requested_bytes);
             return words(report::format_bytes(bytes / report::documents_of(*pair.row)));
           }},
          {SideBySideView::tr("Published"), published, true,
           [](const Pair& pair) {
             return words(report::format_bytes(pair.cost.memory_mb_per_document * 1e6));
           }},
          {SideBySideView::tr("Model in the paper"),
           SideBySideView::tr("The cross-encoder that was measured there"), false,
           [](const Pair& pair) { return words(pair.cost.model); }}};
}

}  // namespace

PublishedView::PublishedView(QWidget* parent)
    : QWidget(parent), ui_(std::make_unique<Ui::PublishedView>()) {
  ui_->setupUi(this);
  set_text(ui_->published_title, TextSize::title);
  ui_->published_label->setText(words(report::published_label));
  ui_->published_label->setMargin(space::gap / 2);
  paint_label();
  ui_->published_source->setForegroundRole(QPalette::PlaceholderText);
  ui_->published_table->setModel(&model_);
  new FlowLayout(ui_->head);
  // Not a fixed policy: that would limit it to the height of one line.
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  ui_->head->setSizePolicy(policy);
}

PublishedView::~PublishedView() = default;

void PublishedView::show_table(const report::PublishedTable& table) {
  shown_ = table;
  std::vector<RowsModel<std::vector<std::string>>::Column> columns;
  for (std::size_t at = 0; at < table.columns.size(); ++at) {
    const QString tip = words(table.columns[at].title);
    // Wrapped: fifteen columns with long titles would not fit side by side.
    QString title = tip;
    for (const QString& word : {QStringLiteral("w ="), QStringLiteral("("), QStringLiteral("per "),
                                QStringLiteral("vs. ")})
      title.replace(QLatin1Char(' ') + word, QLatin1Char('\n') + word);
    columns.push_back({title, tip, table.columns[at].is_number,
                       [at](const std::vector<std::string>& row) { return words(row[at]); }});
  }
  model_.set_table(std::move(columns), table.rows);
  ui_->published_title->setText(words(table.title));
  ui_->published_subject->setText(words(table.subject));
  ui_->published_source->setText(
      tr("%1.\nMachine: %2.\n%3")
          .arg(words(table.citation), words(table.machine), words(table.note)));
  ui_->published_table->resizeColumnsToContents();
}

void PublishedView::paint_label() {
  QPalette ground;
  ground.setColor(QPalette::Window, info_ground(palette()));
  ui_->published_label->setPalette(ground);
}

void PublishedView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paint_label();
}

void PublishedView::copy_table(report::TableFormat format) const {
  QApplication::clipboard()->setText(words(report::write_published(shown_, format)));
}

SideBySideView::SideBySideView(QWidget* parent)
    : QWidget(parent), model_(alongside_columns()), ui_(std::make_unique<Ui::SideBySideView>()) {
  ui_->setupUi(this);
  ui_->side_by_side_table->setModel(&model_);
}

SideBySideView::~SideBySideView() = default;

void SideBySideView::show_run(const RunPointer& run) {
  model_.set_rows(run ? report::published_comparison(run->table) : std::vector<Pair>());
  run_ = run;
  const int rows = model_.rowCount();
  QTableView* table = ui_->side_by_side_table;
  ui_->side_by_side_words->setText(
      rows > 0
          ? tr("Beside ECIR 2024, Table 3 (published, not measured here): whole cross-encoders "
               "of six layers on one NVIDIA A100 40 GB. Ours are of what the column "
               "\"Measured\" says.")
          : tr("No cell of this run stands beside ECIR 2024, Table 3: that has 174 and 4096 "
               "tokens, full attention, sparse with w = 4 or 64, longformer and qds with "
               "w = 64. Measure these to see them here."));
  table->setVisible(rows > 0);
  table->setMinimumHeight(height_of_rows(*table, 4));
  table->resizeColumnsToContents();
}

}  // namespace attnscope::gui
