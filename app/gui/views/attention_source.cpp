// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/attention_source.h"

#include <QAction>
#include <QComboBox>
#include <QEvent>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QScopedValueRollback>
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
#include "views/ui_attention_source.h"

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

}  // namespace attnscope::gui
