// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_masks.h"

#include <QAction>
#include <QButtonGroup>
#include <QComboBox>
#include <QEvent>
#include <QGridLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QTableView>
#include <algorithm>
#include <utility>

#include "app/gui/models/pattern_counts.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/theme.h"
#include "views/ui_pattern_costs.h"
#include "views/ui_pattern_masks.h"

namespace attnscope::gui {
namespace {

using charts::DifferencePart;

/// A sample of the colour and hatching of a part.
class Swatch : public QWidget {
 public:
  explicit Swatch(DifferencePart part) : part_(part) {
    const int side = fontMetrics().height();
    setFixedSize(2 * side, side);
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    charts::paint_part(painter, rect(), part_, charts::theme_of(palette()), height());
  }

 private:
  DifferencePart part_;
};

}  // namespace

PatternMasks::PatternMasks(PatternEditor& editor, QWidget* parent)
    : QWidget(parent),
      editor_(editor),
      styles_(new QButtonGroup(this)),
      ui_(std::make_unique<Ui::PatternMasks>()) {
  ui_->setupUi(this);
  views_ = {ui_->mask, ui_->partner_mask, ui_->difference_mask};
  captions_ = {ui_->a_caption, ui_->b_caption, ui_->difference_caption};
  part_counts_ = {ui_->only_a, ui_->only_b, ui_->both};
  explain_fields(*this);
  set_text(ui_->pattern_heading, TextSize::title);
  // Reserved, so that the mask does not jump while the pointer moves over it.
  ui_->explanation->setMinimumHeight(2 * ui_->explanation->fontMetrics().lineSpacing());
  new FlowLayout(ui_->choices);
  const std::pair<QToolButton*, charts::MaskStyle> all[] = {
      {ui_->schematic, charts::MaskStyle::schematic},
      {ui_->true_scale, charts::MaskStyle::true_scale}};
  for (const auto& [button, style] : all) {
    button->setChecked(style == mask()->style());
    styles_->addButton(button, static_cast<int>(style));
  }
  connect(styles_, &QButtonGroup::idClicked, this,
          [this](int id) { set_style(static_cast<charts::MaskStyle>(id)); });
  connect(ui_->partner, &QComboBox::activated, this, &PatternMasks::choose_partner);
  add_action(this, tr("Side by side"), QKeySequence(tr("Ctrl+D")),
             std::function<void()>([this] { set_split(!split_); }));
  connect(ui_->side_by_side, &QToolButton::clicked, this, &PatternMasks::set_split);
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 2; ++column) {
      if (QLayout* cell = ui_->grid->itemAtPosition(row, column)->layout())
        cell->setSpacing(space::hair);
    }
  }
  constexpr int parts = charts::difference_part_count;
  for (int part = 0; part < parts; ++part) {
    auto* swatch = new Swatch(static_cast<DifferencePart>(part));
    ui_->legend_grid->addWidget(swatch, part, 0, Qt::AlignTop);
  }
  ui_->legend_grid->setColumnStretch(1, 1);
  ui_->legend_grid->setRowStretch(parts, 1);
  for (charts::MaskView* view : views_) wire(view);
  connect(&counter_, &LatestJob::failed, this,
          [this](const QString& sentence) { set_counts({}, sentence); });
  connect(&editor_, &PatternEditor::changed, this, &PatternMasks::refresh);
  refresh();
}

PatternMasks::~PatternMasks() = default;

void PatternMasks::wire(charts::MaskView* view) {
  connect(view, &charts::MaskView::hovered, this, [this](qint64 query, qint64 key) {
    hovered_.reset();
    if (query >= 0) hovered_ = {query, key};
    explain();
  });
  connect(view, &charts::MaskView::pinned, this, [this, view](qint64 query, qint64 key) {
    for (charts::MaskView* other : views_) {
      if (other != view && other->isVisible()) other->pin(query, key);
    }
    explain();
  });
  connect(view, &charts::MaskView::focus_moved, this, [this, view](const charts::MapFocus& focus) {
    for (charts::MaskView* other : views_) {
      if (other != view && other->isVisible()) other->set_focus(focus);
    }
  });
  connect(view, &charts::MaskView::settled, this, &PatternMasks::explain);
}

void PatternMasks::set_style(charts::MaskStyle style) {
  styles_->button(static_cast<int>(style))->setChecked(true);
  for (charts::MaskView* view : views_) view->set_style(style);
  explain();
}

std::vector<PatternMasks::Partner> PatternMasks::partners() const {
  std::vector<Partner> all;
  const PatternEntry& chosen = editor_.entry();
  if (chosen.is_modified()) all.push_back({chosen.id, true});
  for (int row = 0; row < editor_.patterns().rowCount(); ++row) {
    const int id = editor_.patterns().entry(row).id;
    if (id != chosen.id) all.push_back({id, false});
  }
  return all;
}

QString PatternMasks::title_of(const Partner& partner) const {
  if (partner.before) return tr("Before the edits");
  return editor_.patterns().title(editor_.patterns().row_of(partner.id));
}

TitledMask PatternMasks::titled(const QString& title, const AttentionPattern& pattern) const {
  const std::optional<Window> window = editor_.window_of(pattern);
  QString with_window = title;
  if (window) {
    const QString width = window->is_infinite() ? QStringLiteral("∞") : qstring(window->text());
    with_window += QStringLiteral(", w%1=%1%2").arg(QChar(QChar::Nbsp)).arg(width);
  }
  return {with_window, {pattern, window}};
}

void PatternMasks::choose_partner(int choice) {
  const std::vector<Partner> all = partners();
  partner_.reset();
  if (choice > 0) partner_ = all.at(static_cast<std::size_t>(choice) - 1);
  split_ = partner_.has_value();
  refresh();
}

void PatternMasks::compare_with(const QString& title) {
  choose_partner(std::max(0, ui_->partner->findText(title)));
}

QString PatternMasks::compared_with() const {
  return partner_ ? title_of(*partner_) : QString();
}

void PatternMasks::set_split(bool split) {
  // Without a B there is nothing to compare with: take the first one.
  if (split && !b_ && ui_->partner->count() > 1) return choose_partner(1);
  split_ = split;
  show_masks();
}

void PatternMasks::refresh() {
  const std::vector<Partner> all = partners();
  const auto chosen = partner_ ? std::ranges::find(all, *partner_) : all.end();
  if (chosen == all.end()) partner_.reset();
  ui_->partner->clear();
  ui_->partner->addItem(tr("none"));
  for (const Partner& partner : all) ui_->partner->addItem(title_of(partner));
  ui_->partner->setCurrentIndex(partner_ ? static_cast<int>(chosen - all.begin()) + 1 : 0);

  a_ = titled(editor_.patterns().title(editor_.row()), editor_.pattern());
  b_.reset();
  if (partner_) {
    const PatternEntry& entry = editor_.patterns().entry(editor_.patterns().row_of(partner_->id));
    b_ = titled(title_of(*partner_), partner_->before ? entry.before : entry.pattern);
  }
  if (!b_) split_ = false;
  show_masks();
  Q_EMIT changed();
}

void PatternMasks::arrange() {
  const bool split = is_split();
  ui_->side_by_side->setChecked(split);
  for (charts::MaskView* view : views_) view->set_compact(split || view != mask());
  for (QWidget* widget :
       std::initializer_list<QWidget*>{captions_[0], captions_[1], captions_[2], views_[1],
                                       views_[2], ui_->difference_legend}) {
    widget->setVisible(split);
  }
  ui_->pattern_heading->setVisible(!split);
  QGridLayout* grid = ui_->grid;
  for (int section = 0; section < 2; ++section) {
    grid->setColumnStretch(section, section == 0 || split ? 1 : 0);
    grid->setRowStretch(section, section == 0 || split ? 1 : 0);
  }
  // The inner layouts cache size hints from when other parts were shown, and the surrounding area
  // queries their height before they are invalidated.
  grid->activate();
}

void PatternMasks::show_masks() {
  arrange();
  ui_->pattern_heading->setText(a_.title);
  ui_->pattern_heading->setToolTip(qstring(a_.source.pattern.description));
  // The views show the error of a problem that they cannot draw.
  const LayoutItem& item = editor_.item();
  (void)mask()->show_mask(a_.source.pattern, a_.source.window, item);
  counter_.drop();
  if (is_split()) {
    captions_[0]->setText(tr("A: %1").arg(a_.title));
    captions_[1]->setText(tr("B: %1").arg(b_->title));
    (void)views_[1]->show_mask(b_->source.pattern, b_->source.window, item);
    (void)difference()->show_difference(a_.source, b_->source, item);
    count();
    for (charts::MaskView* view : {views_[1], difference()}) {
      view->set_focus(mask()->focus());
      if (const auto pair = mask()->pinned_pair()) view->pin(pair->first, pair->second);
    }
  }
  explain();
}

// Counts the pairs of the true sizes in every style.
void PatternMasks::count() {
  set_counts({}, tr("counting…"));
  counter_.start([this, a = a_.source, b = b_->source,
                  item = editor_.item()](const LatestJob::Token& token) {
    const auto masks = charts::make_masks(a, b, item, charts::MaskStyle::true_scale);
    std::optional<charts::DifferenceCounts> counts;
    if (masks) {
      counts =
          charts::count_difference(*masks->a, *masks->b, [&token] { return token.superseded(); });
    }
    token.deliver([this, counts] { set_counts(counts, tr("too many to count")); });
  });
}

void PatternMasks::set_counts(const std::optional<charts::DifferenceCounts>& counts,
                              const QString& otherwise) {
  const QString names[] = {tr("only A"), tr("only B"), tr("both")};
  for (std::size_t p = 0; p < part_counts_.size(); ++p) {
    QString count = otherwise;
    if (counts) {
      const std::int64_t pairs = (*counts)[p];
      count =
          pairs == 1 ? tr("1 pair") : tr("%1 pairs").arg(count_text(static_cast<double>(pairs)));
    }
    part_counts_[p]->setText(QStringLiteral("%1\n%2").arg(names[p], count));
  }
}

void PatternMasks::explain() {
  const auto pair = hovered_ ? hovered_ : mask()->pinned_pair();
  ui_->explanation->setText(
      pair ? unbroken((is_split() ? difference() : mask())->explain(pair->first, pair->second))
           : tr("Rows attend, columns are attended to. Point at a pair to see its rule; click to "
                "pin it."));
}

namespace {

constexpr int cell_margin = 12;  // around a cell's text, both sides together

const CostRow::Value& value_of(const CostRow& row, qsizetype value) {
  return value == 0 ? row.a : value == 1 ? row.b : row.ratio;
}

const char* const value_names[] = {"A", "B", "A / B"};

}  // namespace

void CostsModel::show_rows(const std::vector<CostRow>& rows, const QStringList& values,
                           bool stacked) {
  rows_ = rows;
  std::vector<Column> columns;
  if (stacked) {
    const auto lines = [values](const CostRow& row) {
      QString text = row.title;
      for (qsizetype i = 0; i < values.size(); ++i) {
        text +=
            QStringLiteral("\n%1: %2").arg(QLatin1String(value_names[i]), value_of(row, i).text);
      }
      return text;
    };
    columns = {{.title = PatternCosts::tr("Quantity"), .text = lines}};
  } else {
    columns = {{.title = PatternCosts::tr("Quantity"),
                .text = [](const CostRow& row) { return row.title; }}};
    for (qsizetype i = 0; i < values.size(); ++i) {
      columns.push_back({.title = QLatin1String(value_names[i]),
                         .tip = values[i],
                         .is_number = true,
                         .text = [i](const CostRow& row) { return value_of(row, i).text; }});
    }
  }
  set_table(std::move(columns), rows);
}

QVariant CostsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || (role != Qt::ToolTipRole && role != Qt::AccessibleTextRole)) {
    return RowsModel::data(index, role);
  }
  const CostRow& row = rows_.at(static_cast<std::size_t>(index.row()));
  if (role == Qt::AccessibleTextRole) {
    if (index.column() == 0) return RowsModel::data(index, Qt::DisplayRole);
    return QStringLiteral("%1, %2: %3")
        .arg(row.title, QLatin1String(value_names[index.column() - 1]),
             value_of(row, index.column() - 1).text);
  }
  const QString note = index.column() == 0 ? QString() : value_of(row, index.column() - 1).note;
  return note.isEmpty() ? row.meaning : note;
}

PatternCosts::PatternCosts(QWidget* parent)
    : QWidget(parent), ui_(std::make_unique<Ui::PatternCosts>()) {
  ui_->setupUi(this);
  ui_->costs->setModel(&model_);
  set_up_table(ui_->costs);
  ui_->costs->verticalHeader()->hide();
  connect(ui_->costs->horizontalHeader(), &QHeaderView::sectionResized, this, &PatternCosts::fit);
  for (ImplementationCosts* costs : {&a_implementations_, &b_implementations_}) {
    connect(costs, &ImplementationCosts::changed, this, &PatternCosts::refresh);
  }
  connect(ui_->new_run, &QPushButton::clicked, this, &PatternCosts::run_requested);
  connect(&counter_, &LatestJob::failed, this, [this](const QString& sentence) {
    take({.a = Result<PatternCounts>(tl::unexpected(Error{sentence.toStdString()})), .b = {}});
  });
}

PatternCosts::~PatternCosts() = default;

QStringList PatternCosts::ids() const {
  QStringList ids;
  for (const EstimatedCost& cost : a_implementations_.answer()) {
    if (cost.reason.isEmpty()) ids.append(cost.id);
  }
  return ids;
}

Result<QString> PatternCosts::sweep() const {
  if (is_measuring_) return fail("Implementations are queried after the measurement.");
  if (a_implementations_.is_pending()) return fail("Querying the implementations…");
  if (!may_be_requested()) return fail("Implementations are queried for 1 to 1,000,000 tokens.");
  if (const QString problem = a_implementations_.problem(); !problem.isEmpty()) {
    return fail("{}", problem.toStdString());
  }
  return sweep_of({.name = "pattern-" + a_->source.pattern.name,
                   .sources = {a_->source},
                   .item = item_,
                   .heads = heads_,
                   .head_dim = head_dim_,
                   .implementations = ids()});
}

report::Sheet PatternCosts::sheet() const {
  QString corner = tr("A: %1").arg(a_->title);
  if (b_) corner += tr("; B: %1").arg(b_->title);
  return sheet_of(rows_, corner, b_.has_value());
}

void PatternCosts::show_costs(const TitledMask& a, const std::optional<TitledMask>& b,
                              const LayoutItem& item, int heads, int head_dim) {
  a_ = a;
  b_ = b;
  item_ = item;
  heads_ = heads;
  head_dim_ = head_dim;
  counter_.start([this, a, b, item, heads, head_dim](const LatestJob::Token& token) {
    Counted counted{.a = count_pattern(a.source, item, heads, head_dim), .b = {}};
    if (b) counted.b = count_pattern(b->source, item, heads, head_dim);
    token.deliver([this, counted] { take(counted); });
  });
  request_costs();
}

void PatternCosts::set_machine(const std::optional<MachineCeilings>& machine) {
  machine_ = machine;
  refresh();
}

void PatternCosts::set_measuring(bool measuring) {
  is_measuring_ = measuring;
  request_costs();
  refresh();
}

void PatternCosts::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  request_costs();
}

void PatternCosts::take(Counted counted) {
  counted_ = std::move(counted);
  refresh();
  Q_EMIT table_changed();
}

void PatternCosts::request_costs() {
  if (!a_ || !(is_measuring_ || isVisible())) return;
  const bool may_ask = !is_measuring_ && may_be_requested();
  const auto put = [&](ImplementationCosts& costs, const std::optional<TitledMask>& mask) {
    if (!may_ask || !mask) return costs.cancel();
    costs.request({.pattern = mask->source.pattern,
                   .window = mask->source.window,
                   .item = item_,
                   .heads = heads_,
                   .head_dim = head_dim_});
  };
  put(a_implementations_, a_);
  put(b_implementations_, b_);
}

bool PatternCosts::may_be_requested() const {
  const Result<SequenceLayout> layout = SequenceLayout::make({item_});
  return layout && layout->tokens() > 0 && layout->tokens() <= charts::MaskProblem::largest;
}

void PatternCosts::refresh() {
  if (!a_) return;
  const auto side = [](const TitledMask& mask, const std::optional<Result<PatternCounts>>& counts,
                       const ImplementationCosts& implementations) {
    return CountedPattern{.title = mask.title,
                          .counts = counts && *counts ? std::optional(**counts) : std::nullopt,
                          .implementations = implementations.answer()};
  };
  std::optional<CountedPattern> b;
  if (b_) b = side(*b_, counted_.b, b_implementations_);
  rows_ = cost_rows(side(*a_, counted_.a, a_implementations_), b, machine_);
  arrange();
  const bool failed = counted_.a && !*counted_.a;
  ui_->costs_problem->set_problem(failed ? qstring(counted_.a->error().message) : QString());
  ui_->costs_note->setText(machine_ ? tr("Machine limit: by the rates of %1.").arg(machine_->from)
                                    : tr("Run a sweep once to see the limit of this machine."));
  const Result<QString> requested = sweep();
  ui_->new_run->setEnabled(requested.has_value());
  const QString why = requested ? QString() : qstring(requested.error().message);
  explain(
      ui_->new_run,
      requested ? tr("Measures the pattern and full attention at lengths around this one") : why);
  ui_->new_run_note->setText(requested ? counted(ids().size(), tr("implementation supports it:"),
                                                 tr("implementations support it:")) +
                                             QLatin1Char(' ') + ids().join(QStringLiteral(", "))
                                       : why);
}

int PatternCosts::longest_word() const {
  int longest = 0;
  for (const CostRow& row : rows_) {
    for (const QString& word : row.title.split(QLatin1Char(' '))) {
      longest = std::max(longest, fontMetrics().horizontalAdvance(word));
    }
  }
  return longest + cell_margin;
}

// If the values do not fit next to the titles, they are placed below: nothing is cut.
void PatternCosts::arrange() {
  if (!a_) return;
  // This width does not depend on the current numbers, which arrive one after the other.
  const int usual = fontMetrics().horizontalAdvance(QStringLiteral("88.88×"));
  QStringList values{a_->title};
  if (b_) values << b_->title << tr("A over B");
  int needed = longest_word();
  for (qsizetype i = 0; i < values.size(); ++i) {
    int widest = std::max(usual, fontMetrics().horizontalAdvance(QLatin1String(value_names[i])));
    for (const CostRow& row : rows_) {
      widest = std::max(widest, fontMetrics().horizontalAdvance(value_of(row, i).text));
    }
    needed += widest + cell_margin;
  }
  model_.show_rows(rows_, values, needed > width());
  QHeaderView* header = ui_->costs->horizontalHeader();
  header->setSectionResizeMode(QHeaderView::ResizeToContents);
  header->setSectionResizeMode(0, QHeaderView::Stretch);
  ui_->costs->setMinimumWidth(longest_word());
  fit();
}

// Makes the table as high as its rows.
void PatternCosts::fit() {
  ui_->costs->resizeRowsToContents();
  ui_->costs->setFixedHeight(ui_->costs->horizontalHeader()->sizeHint().height() +
                             ui_->costs->verticalHeader()->length() + 2);
}

void PatternCosts::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const QString whole = tr("New r&un with this pattern…");
  const QString broken = tr("New r&un with\nthis pattern…");
  ui_->new_run->setText(fontMetrics().horizontalAdvance(whole) + 4 * cell_margin > width() ? broken
                                                                                           : whole);
  arrange();
}

void PatternCosts::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) arrange();
}

}  // namespace attnscope::gui
