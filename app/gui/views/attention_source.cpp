// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/attention_source.h"

#include <QAction>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QEvent>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QSettings>
#include <QSignalBlocker>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/drawing/map.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/theme.h"
#include "app/gui/views/token_text.h"
#include "base/open_file.h"
#include "engine/report/effectiveness.h"
#include "views/ui_attention_source.h"
#include "views/ui_checkpoint_dialog.h"

namespace attnscope::gui {
namespace {

class PictureDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    if (!(option.state & QStyle::State_Enabled)) return;  // after the last of several rows
    const QPalette& colors = option.palette;
    const QRect inside = option.rect.adjusted(2, 2, -2, -2);
    const auto picture = index.data(Qt::DecorationRole).value<QImage>();
    if (picture.isNull()) {
      painter->fillRect(inside, hairline(colors));
    } else {
      painter->drawImage(inside, picture);
    }
    if (!(option.state & QStyle::State_Selected)) return;
    painter->setBrush(Qt::NoBrush);
    painter->setPen(QPen(colors.color(QPalette::Link), 3));
    painter->drawRect(option.rect.adjusted(1, 1, -2, -2));
  }
};

/// "query: 61.0 % on document; document: 40.2 % on document".
QString strongest_flows(const HeadSummary& summary) {
  QStringList flows;
  for (const TokenGroup from : token_groups) {
    if (summary.rows[static_cast<std::size_t>(from)] == 0) continue;
    const auto& masses = summary.group_mass[static_cast<std::size_t>(from)];
    const auto to = static_cast<TokenGroup>(std::ranges::max_element(masses) - masses.begin());
    flows.append(QStringLiteral("%1: %2 on %3")
                     .arg(charts::group_title(from), share_text(summary.mass(from, to)),
                          charts::group_title(to)));
  }
  return flows.join(QStringLiteral("; "));
}

QTableWidgetItem* heading_item(const QString& text, const QString& tip) {
  auto* item = new QTableWidgetItem(text);
  item->setToolTip(tip);
  return item;
}

}  // namespace

HeadGrid::HeadGrid(QWidget* parent) : QTableWidget(parent) {
  set_up_table(this);
  setAccessibleName(
      tr("Heads: one row per layer, one column per head; the last column is the mean"));
  setToolTip(
      tr("A small map of each head, from some of its rows; choose one by mouse or arrow keys"));
  setItemDelegate(new PictureDelegate(this));
  setShowGrid(false);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  for (QHeaderView* header : {horizontalHeader(), verticalHeader()}) {
    header->setSectionResizeMode(QHeaderView::Fixed);
    header->setMinimumSectionSize(8);
    header->setHighlightSections(true);
  }
}

void HeadGrid::set_dump(const std::shared_ptr<const Dump>& dump) {
  layers_ = dump->info().layers;
  heads_ = dump->info().heads;
  pictures_ = heads_ + (heads_ > 1 ? 1 : 0);
  summaries_.assign(layers_.size(), std::vector<std::shared_ptr<const HeadSummary>>(
                                        static_cast<std::size_t>(pictures_)));
  const QSignalBlocker quiet(this);  // the session selects a dump's first head itself
  set_lines(best_lines());
  fit_cells();
  choose(0, 0);
}

void HeadGrid::set_lines(int lines) {
  const QScopedValueRollback wraps(is_wrapping_, true);
  lines_ = lines;
  across_ = (pictures_ + lines - 1) / lines;
  clear();
  setRowCount(static_cast<int>(layers_.size()) * lines);
  setColumnCount(across_);
  const auto number = [this](int head) {
    return head == heads_ ? QStringLiteral("μ") : QString::number(head);
  };
  for (int column = 0; column < across_; ++column) {
    const bool mean = column == heads_;
    setHorizontalHeaderItem(
        column, heading_item(number(column), mean ? tr("The mean over the layer's heads")
                                                  : tr("Head %1 of the layer").arg(column)));
  }
  horizontalHeader()->setVisible(lines == 1);
  for (int row = 0; row < rowCount(); ++row) {
    const auto layer = layers_[static_cast<std::size_t>(row / lines)];
    const int first = row % lines * across_;
    setVerticalHeaderItem(
        row, lines == 1 ? heading_item(QString::number(layer), tr("Layer %1").arg(layer))
                        : heading_item(number(first), tr("Heads from %1 on").arg(first)));
    for (int column = 0; column < across_; ++column) {
      auto* cell = new QTableWidgetItem;
      if (first + column >= pictures_) cell->setFlags(Qt::NoItemFlags);
      setItem(row, column, cell);
    }
  }
  for (int layer = 0; layer < static_cast<int>(layers_.size()); ++layer) {
    for (int head = 0; head < pictures_; ++head) draw(layer, head);
  }
}

int HeadGrid::side_in(int lines) const {
  const int of_width = (viewport()->width() - 2) / ((pictures_ + lines - 1) / lines);
  return lines == 1 ? of_width : std::min(of_width, (height() - 2 * frameWidth()) / lines);
}

int HeadGrid::best_lines() const {
  int best = 1;
  if (layers_.size() != 1) return best;  // each layer is one row
  for (int lines = 2; lines <= pictures_; ++lines) {
    if (side_in(lines) > side_in(best)) best = lines;
  }
  return side_in(1) < 2 * fontMetrics().height() ? best : 1;
}

void HeadGrid::set_summary(int layer, int head, const std::shared_ptr<const HeadSummary>& summary) {
  summaries_.at(static_cast<std::size_t>(layer)).at(static_cast<std::size_t>(head)) = summary;
  draw(layer, head);
}

void HeadGrid::draw(int layer, int head) {
  const auto& summary = summaries_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
  QString tip = name_of(layer, head);
  QTableWidgetItem& shown = *item(layer * lines_ + head / across_, head % across_);
  if (summary) {
    tip = tr("%1: %2").arg(tip, strongest_flows(*summary));
    shown.setData(Qt::DecorationRole, charts::heat_image(summary->map, {.logarithmic = true},
                                                         charts::theme_of(palette())));
  }
  shown.setToolTip(tip);
  shown.setData(Qt::AccessibleTextRole, tip);
}

QString HeadGrid::name_of(int layer, int head) const {
  const auto number = layers_.at(static_cast<std::size_t>(layer));
  if (head == heads_) {
    return tr("layer %1, mean of %2").arg(number).arg(counted(heads_, tr("head"), tr("heads")));
  }
  return tr("layer %1, head %2").arg(number).arg(head);
}

void HeadGrid::choose(int layer, int head) {
  if (layer < static_cast<int>(layers_.size()) && head < pictures_)
    setCurrentCell(layer * lines_ + head / across_, head % across_);
}

void HeadGrid::resizeEvent(QResizeEvent* event) {
  QTableWidget::resizeEvent(event);
  if (is_wrapping_) return;  // a hidden header has freed space
  if (const int lines = best_lines(); lines != lines_) {
    const int head = currentRow() % lines_ * across_ + currentColumn();
    const QSignalBlocker quiet(this);  // the selected head is the same
    set_lines(lines);
    choose(0, std::max(0, head));
  }
  fit_cells();
}

void HeadGrid::changeEvent(QEvent* event) {
  QTableWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  for (int layer = 0; layer < static_cast<int>(layers_.size()); ++layer) {
    for (int head = 0; head < pictures_; ++head) draw(layer, head);
  }
}

void HeadGrid::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QTableWidget::currentChanged(current, previous);
  const int head = current.row() % lines_ * across_ + current.column();
  if (current.isValid() && head < pictures_) Q_EMIT chosen(current.row() / lines_, head);
}

void HeadGrid::fit_cells() {
  if (columnCount() == 0) return;
  constexpr int least = 10;  // points: bands remain distinguishable
  const int side = std::clamp(side_in(lines_), least, 5 * fontMetrics().height());
  horizontalHeader()->setDefaultSectionSize(side);
  // The numbers of many heads are small, otherwise they would overlap.
  const int widest = fontMetrics().horizontalAdvance(QString::number(heads_)) + 2 * space::hair;
  QFont numbers = font();
  numbers.setPointSizeF(numbers.pointSizeF() * std::min(1.0, static_cast<double>(side) / widest));
  horizontalHeader()->setFont(numbers);
  verticalHeader()->setDefaultSectionSize(side);
}

PatternPicker::PatternPicker(QWidget* parent)
    : QWidget(parent),
      box_(picker(QStringLiteral("pattern"), {}, {})),
      window_(new WindowBox(this)) {
  box_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box_->setMinimumContentsLength(8);
  window_->setObjectName(QStringLiteral("window"));
  window_->setToolTip(tr("w: tokens to each side that a token attends to; any number, or inf"));
  window_->setPrefix(QStringLiteral("w = "));
  window_->set_window(Window::of(4));  // as in the paper
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(box_);
  layout->addWidget(window_);
  setFocusProxy(box_);
  connect(box_, &QComboBox::activated, this, &PatternPicker::entry_chosen);
  connect(window_, &QSpinBox::valueChanged, this, &PatternPicker::changed);
}

void PatternPicker::offer(PatternListModel* patterns, const QString& no_choice) {
  patterns_ = patterns;
  box_->setAccessibleName(accessibleName());
  window_->setAccessibleName(tr("Window of %1").arg(accessibleName()));
  box_->addItem(no_choice);
  box_->setCurrentIndex(0);
  fill();
  connect(patterns_, &QAbstractItemModel::rowsInserted, this, &PatternPicker::fill);
}

void PatternPicker::fill() {
  const QSignalBlocker quiet(box_);
  const int current = box_->currentIndex();
  while (box_->count() > 1) box_->removeItem(1);
  for (int row = 0; row < patterns_->rowCount(); ++row) {
    const QModelIndex index = patterns_->index(row);
    box_->addItem(index.data().toString());
    box_->setItemData(row + 1, index.data(Qt::ToolTipRole), Qt::ToolTipRole);
  }
  box_->addItem(tr("From a file…"));
  box_->setCurrentIndex(current);
  window_->setVisible(choice() && choice()->pattern.has_window());
}

std::optional<PatternChoice> PatternPicker::choice() const {
  const int row = box_->currentIndex() - 1;
  if (row < 0 || row >= patterns_->rowCount()) return std::nullopt;
  const AttentionPattern& pattern = patterns_->pattern(row);
  return PatternChoice{pattern,
                       pattern.has_window() ? std::optional(window_->window()) : std::nullopt};
}

QString PatternPicker::title() const {
  return choice() ? box_->currentText() : QString();
}

void PatternPicker::choose(const QString& title) {
  const int at = title.isEmpty() ? 0 : box_->findText(title);
  box_->setCurrentIndex(std::max(0, at));
  entry_chosen();
}

QVariantMap PatternPicker::chosen() const {
  const QString file = choice() ? patterns_->entry(box_->currentIndex() - 1).file : QString();
  return {{QStringLiteral("title"), title()},
          {QStringLiteral("file"), file},
          {QStringLiteral("window"), qstring(window_->window().text())}};
}

void PatternPicker::restore(const QVariantMap& chosen) {
  if (chosen.isEmpty()) return;
  if (const QString file = chosen.value(QStringLiteral("file")).toString(); !file.isEmpty()) {
    (void)patterns_->open_file(file);  // a missing file is no choice
  }
  const QSignalBlocker quiet(window_);
  if (const auto window = stored_window(chosen)) window_->set_window(*window);
  choose(chosen.value(QStringLiteral("title")).toString());
}

void PatternPicker::set_no_choice_text(const QString& words) {
  box_->setItemText(0, words);
}

void PatternPicker::entry_chosen() {
  if (box_->currentIndex() == box_->count() - 1) return ask_for_pattern();
  last_ = box_->currentIndex();
  window_->setVisible(choice() && choice()->pattern.has_window());
  Q_EMIT changed();
}

void PatternPicker::ask_for_pattern() {
  box_->setCurrentIndex(last_);
  ask_for_file(this, tr("Open a pattern"), tr("Patterns (*.json)"), [this](const QString& file) {
    const Result<int> row = patterns_->open_file(file);
    if (!row) {
      Q_EMIT file_failed(qstring(row.error().message));
      return;
    }
    box_->setCurrentIndex(*row + 1);
    entry_chosen();
  });
}

AttentionSource::AttentionSource(AttentionSession* session, QAction* checkpoint, QWidget* parent)
    : QWidget(parent), session_(session), ui_(std::make_unique<Ui::AttentionSource>()) {
  ui_->setupUi(this);
  ui_->first->offer(&patterns_, tr("The model's own"));
  ui_->second->offer(&patterns_, tr("None"));
  explain_fields(*this);
  static_cast<QVBoxLayout*>(layout())->addStretch();  // in case there are no heads
  ui_->open_checkpoint->setDefaultAction(checkpoint);
  ui_->open_dump->setMenu(new QMenu(ui_->open_dump));
  connect(ui_->open_dump->menu(), &QMenu::aboutToShow, this, &AttentionSource::fill_menu);
  fill_menu();
  ui_->heads->setMinimumHeight(6 * fontMetrics().height());
  for (PatternPicker* picker : {ui_->first, ui_->second}) {
    connect(picker, &PatternPicker::changed, this,
            [this] { session_->set_patterns(ui_->first->choice(), ui_->second->choice()); });
    connect(picker, &PatternPicker::file_failed, this, &AttentionSource::failed);
  }
  connect(ui_->heads, &HeadGrid::chosen, session_, &AttentionSession::choose_head);
  connect(session_, &AttentionSession::opened, this, &AttentionSource::describe);
  connect(session_, &AttentionSession::regions_opened, this, &AttentionSource::describe_regions);
  connect(session_, &AttentionSession::sampled, ui_->heads, &HeadGrid::set_summary);
  connect(session_, &AttentionSession::head_changed, this,
          [this] { ui_->heads->choose(session_->head().layer, session_->head().head); });
}

AttentionSource::~AttentionSource() = default;

PatternPicker* AttentionSource::first() const {
  return ui_->first;
}

PatternPicker* AttentionSource::second() const {
  return ui_->second;
}

HeadGrid* AttentionSource::heads() const {
  return ui_->heads;
}

void AttentionSource::describe() {
  show_parts_of(/*dump=*/true);
  ui_->heads->set_dump(session_->dump());
  const DumpInfo& info = session_->dump()->info();
  ui_->dump_model->setText(qstring(info.model));
  const QString sizes =
      tr("%1, %2 x %3, head dimension %4.")
          .arg(counted(info.layout.tokens(), tr("token"), tr("tokens")),
               counted(static_cast<qint64>(info.layers.size()), tr("layer"), tr("layers")),
               counted(info.heads, tr("head"), tr("heads")), QString::number(info.head_dim));
  ui_->dump_note->setText(info.note.empty() ? sizes
                                            : qstring(info.note) + QLatin1Char('\n') + sizes);
  ui_->dump_note->setToolTip(session_->file());
  QStringList ran;
  for (std::size_t layer = 0; layer < info.layers.size(); ++layer) {
    const QString title = PatternChoice{info.patterns[layer], info.windows[layer]}.title();
    if (!ran.contains(title)) ran.append(title);
  }
  ui_->first->set_no_choice_text(tr("The model's own: %1").arg(ran.join(tr(" or "))));
}

// Regions have neither patterns nor heads.
void AttentionSource::show_parts_of(bool dump) {
  const QList<QWidget*> always{ui_->dump_model, ui_->dump_note, ui_->open_dump,
                               ui_->open_checkpoint};
  for (QWidget* part : findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
    if (!always.contains(part)) part->setVisible(dump);
}

void AttentionSource::describe_regions() {
  const DocumentRegions& regions = *session_->regions();
  show_parts_of(/*dump=*/false);
  ui_->dump_model->setText(qstring(regions.model));
  const QString sizes = tr("%1 and %2.")
                            .arg(counted(static_cast<qint64>(regions.query.size()),
                                         tr("word of the query"), tr("words of the query")),
                                 counted(static_cast<qint64>(regions.document.size()),
                                         tr("word of the document"), tr("words of the document")));
  ui_->dump_note->setText(regions.note.empty() ? sizes
                                               : qstring(regions.note) + QLatin1Char('\n') + sizes);
  ui_->dump_note->setToolTip(session_->file());
}

void AttentionSource::fill_menu() {
  QMenu* menu = ui_->open_dump->menu();
  menu->clear();
  menu->addAction(tr("&Open a file…"), this, &AttentionSource::ask_for_dump);
  menu->addAction(tr("The &example"), session_, &AttentionSession::open_example);
  const QStringList recent = recent_files(FileKind::dump);
  if (!recent.isEmpty()) menu->addSeparator();
  for (const QString& file : recent) {
    menu->addAction(QFileInfo(file).fileName(), this, [this, file] { session_->open(file); })
        ->setToolTip(file);
  }
  menu->setToolTipsVisible(true);
}

void AttentionSource::ask_for_dump() {
  ask_for_file(this, tr("Open a dump"), tr("Dumps (*.safetensors)"),
               [this](const QString& file) { session_->open(file); });
}

namespace {

const auto query_key = QStringLiteral("attention/checkpoint/query");
const auto document_key = QStringLiteral("attention/checkpoint/document");
const auto comparison_key = QStringLiteral("attention/checkpoint/comparison");
const auto pair_key = QStringLiteral("attention/checkpoint/pair");
const auto side_by_side_key = QStringLiteral("attention/checkpoint/beside");
constexpr std::uintmax_t most_document_bytes = 4U << 20U;
constexpr std::uintmax_t most_comparison_bytes = 256U << 20U;
constexpr int most_kept_letters = 20'000;  // of a document, in the settings

}  // namespace

CheckpointDialog::CheckpointDialog(QWidget* parent)
    : QDialog(parent), ui_(std::make_unique<Ui::CheckpointDialog>()) {
  ui_->setupUi(this);
  const QSettings settings;
  ui_->checkpoint_folder->set_text(settings.value(checkpoint_folder_key).toString());
  ui_->checkpoint_query->setText(settings.value(query_key).toString());
  ui_->checkpoint_document->setPlainText(settings.value(document_key).toString());
  ui_->checkpoint_pattern->offer(&patterns_, tr("The checkpoint's own"));
  ui_->checkpoint_compared->offer(&patterns_, tr("None"));
  ui_->checkpoint_compared->restore(settings.value(side_by_side_key).toMap());
  build();
  // The last comparison, if it still exists; the texts stay those that were last used.
  if (const QString file = settings.value(comparison_key).toString(); QFileInfo::exists(file)) {
    if (read_comparison(file))
      ui_->checkpoint_pair->setCurrentIndex(settings.value(pair_key).toInt());
  }
  for (QLineEdit* line : {ui_->checkpoint_folder->line(), ui_->checkpoint_query}) {
    connect(line, &QLineEdit::textChanged, this, &CheckpointDialog::changed);
  }
  connect(ui_->checkpoint_document, &QPlainTextEdit::textChanged, this, &CheckpointDialog::changed);
  connect(ui_->checkpoint_pattern, &PatternPicker::changed, this, &CheckpointDialog::changed);
  connect(ui_->checkpoint_pattern, &PatternPicker::file_failed, ui_->checkpoint_problem,
          &ProblemLabel::set_problem);
  connect(&inspection_, &CheckpointInspection::changed, this, &CheckpointDialog::busy_changed);
  connect(&inspection_, &CheckpointInspection::answered, this, [this] {
    if (!inspection_.problem().isEmpty()) return;
    Q_EMIT written(inspection_.file(), ui_->checkpoint_compared->chosen());
    accept();
  });
  connect(this, &QDialog::rejected, &inspection_, &CheckpointInspection::cancel);
  changed();
}

CheckpointDialog::~CheckpointDialog() {
  inspection_.disconnect(this);
}

void CheckpointDialog::build() {
  ui_->checkpoint_document->setMinimumHeight(8 *
                                             ui_->checkpoint_document->fontMetrics().lineSpacing());
  ui_->buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
  compute_ = ui_->buttons->addButton(tr("&Compute"), QDialogButtonBox::ActionRole);
  compute_->setObjectName(QStringLiteral("compute"));
  compute_->setDefault(true);
  connect(compute_, &QPushButton::clicked, this, &CheckpointDialog::compute);
  connect(ui_->buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(ui_->checkpoint_pair, &QComboBox::activated, this, &CheckpointDialog::take_pair);
  connect(ui_->comparison, &QPushButton::clicked, this, [this] {
    ask_for_file(this, tr("Open a comparison"), tr("Comparisons (*.json)"),
                 [this](const QString& name) { open_comparison(name); });
  });
  connect(ui_->document_file, &QPushButton::clicked, this, [this] {
    ask_for_file(this, tr("Open a document"), tr("Texts (*.txt *.md *.html);;All files (*)"),
                 [this](const QString& name) { read_document(name); });
  });
}

Status CheckpointDialog::read_comparison(const QString& file) {
  const auto text = read_text_file(file.toStdString(), "comparison", most_comparison_bytes);
  if (!text) return tl::unexpected(text.error());
  auto compared = report::parse_differences(*text, file.toStdString());
  if (!compared) return tl::unexpected(compared.error());
  std::vector<std::pair<std::string, std::string>> pairs;
  QStringList entries;
  for (const report::RankingDifference& difference : *compared) {
    for (const report::MovedDocument& moved : difference.moved) {
      if (difference.text.empty() || moved.text.empty()) continue;
      pairs.emplace_back(difference.text, moved.text);
      entries.append(tr("%1: query %2, document %3, rank %4")
                         .arg(qstring(difference.run), qstring(difference.query), qstring(moved.id),
                              qstring(report::ranks_in_words(moved))));
    }
  }
  if (pairs.empty()) {
    return fail(
        "{}: has no texts; write it with evaluate --differences --queries FILE --documents FILE "
        "--format json",
        file.toStdString());
  }
  pairs_ = std::move(pairs);
  ui_->checkpoint_pair->clear();
  ui_->checkpoint_pair->addItems(entries);
  ui_->checkpoint_pair->setCurrentIndex(0);  // with a placeholder, none is selected automatically
  ui_->checkpoint_pair->setEnabled(true);
  return {};
}

void CheckpointDialog::open_comparison(const QString& file) {
  if (const Status read = read_comparison(file); !read)
    return ui_->checkpoint_problem->set_problem(qstring(read.error().message));
  QSettings().setValue(comparison_key, file);
  take_pair(0);
}

void CheckpointDialog::take_pair(int at) {
  const auto& [query, document] = pairs_.at(static_cast<std::size_t>(at));
  ui_->checkpoint_query->setText(qstring(query));
  ui_->checkpoint_document->setPlainText(qstring(document));
}

void CheckpointDialog::read_document(const QString& file) {
  const Result<std::string> text =
      read_text_file(file.toStdString(), "document", most_document_bytes);
  if (!text) return ui_->checkpoint_problem->set_problem(qstring(text.error().message));
  ui_->checkpoint_document->setPlainText(QString::fromStdString(*text));
}

void CheckpointDialog::changed() {
  ui_->checkpoint_problem->set_problem({});
  compute_->setEnabled(!inspection_.is_pending() && !ui_->checkpoint_folder->text().isEmpty() &&
                       !ui_->checkpoint_query->text().trimmed().isEmpty());
}

void CheckpointDialog::busy_changed() {
  const bool busy = inspection_.is_pending();
  ui_->checkpoint_progress->setVisible(busy);
  for (QWidget* input : std::initializer_list<QWidget*>{
           ui_->checkpoint_folder, ui_->checkpoint_query, ui_->checkpoint_document,
           ui_->checkpoint_pattern, ui_->checkpoint_compared}) {
    input->setEnabled(!busy);
  }
  changed();
  ui_->checkpoint_problem->set_problem(inspection_.problem());
}

void CheckpointDialog::compute() {
  QSettings settings;
  settings.setValue(checkpoint_folder_key, ui_->checkpoint_folder->text());
  settings.setValue(pair_key, ui_->checkpoint_pair->currentIndex());
  settings.setValue(side_by_side_key, ui_->checkpoint_compared->chosen());
  settings.setValue(query_key, ui_->checkpoint_query->text());
  settings.setValue(document_key, ui_->checkpoint_document->toPlainText().left(most_kept_letters));
  inspection_.compute({.folder = ui_->checkpoint_folder->text(),
                       .query = ui_->checkpoint_query->text().simplified(),
                       .document = ui_->checkpoint_document->toPlainText(),
                       .attention = ui_->checkpoint_pattern->choice()});
}

}  // namespace attnscope::gui
