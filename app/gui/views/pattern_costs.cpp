// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_costs.h"

#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <algorithm>
#include <utility>

#include "app/gui/models/pattern_sweep.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "views/ui_pattern_costs.h"

namespace attnscope::gui {
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
  build_table();
  for (ImplementationCosts* costs : {&a_implementations_, &b_implementations_}) {
    connect(costs, &ImplementationCosts::changed, this, &PatternCosts::refresh);
  }
  connect(ui_->new_run, &QPushButton::clicked, this, &PatternCosts::run_requested);
  connect(&counter_, &LatestJob::failed, this, [this](const QString& sentence) {
    take({.a = Result<PatternCounts>(tl::unexpected(Error{sentence.toStdString()})), .b = {}});
  });
}

void PatternCosts::build_table() {
  ui_->costs->setModel(&model_);
  set_up_table(ui_->costs);
  ui_->costs->verticalHeader()->hide();
  connect(ui_->costs->horizontalHeader(), &QHeaderView::sectionResized, this, &PatternCosts::fit);
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
  if (is_measuring_) return fail("Implementations are asked when the measurement is over.");
  if (a_implementations_.is_asking()) return fail("Asking the implementations…");
  if (!may_be_requested()) return fail("Implementations are asked for 1 to 1,000,000 tokens.");
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
  ask();
}

void PatternCosts::set_machine(const std::optional<MachineCeilings>& machine) {
  machine_ = machine;
  refresh();
}

void PatternCosts::set_measuring(bool measuring) {
  is_measuring_ = measuring;
  ask();
  refresh();
}

void PatternCosts::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  ask();
}

void PatternCosts::take(Counted counted) {
  counted_ = std::move(counted);
  refresh();
  Q_EMIT table_changed();
}

void PatternCosts::ask() {
  if (!a_ || !(is_measuring_ || isVisible())) return;
  const bool may_ask = !is_measuring_ && may_be_requested();
  const auto put = [&](ImplementationCosts& costs, const std::optional<TitledMask>& mask) {
    if (!may_ask || !mask) return costs.forget();
    costs.ask({.pattern = mask->source.pattern,
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
  ui_->costs_problem->set_problem(failed ? words(counted_.a->error().message) : QString());
  ui_->costs_note->setText(machine_ ? tr("Limit here: by the rates of %1.").arg(machine_->from)
                                    : tr("Run a sweep once to see the limit of this machine."));
  refresh_run();
}

void PatternCosts::refresh_run() {
  const Result<QString> requested = sweep();
  ui_->new_run->setEnabled(requested.has_value());
  const QString why = requested ? QString() : words(requested.error().message);
  explain(ui_->new_run,
          requested ? tr("Measures it against full attention at lengths around this one") : why);
  ui_->new_run_note->setText(requested ? counted(ids().size(), tr("implementation takes it:"),
                                                 tr("implementations take it:")) +
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
  // Independent of the current numbers, which arrive one after the other.
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

// As high as its rows, without empty space.
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
