// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_costs.h"

#include <QHeaderView>
#include <QLabel>
#include <QScrollBar>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/problem_label.h"

namespace attnscope::gui {
namespace {

CostQuestion question_of(const TitledMask& mask, const LayoutItem& item, int heads, int head_dim) {
  return {.pattern = mask.source.pattern,
          .window = mask.source.window,
          .item = item,
          .heads = heads,
          .head_dim = head_dim};
}

}  // namespace

PatternCosts::PatternCosts(QWidget* parent)
    : QWidget(parent),
      table_(new QTableView),
      problem_(new ProblemLabel("costs_problem")),
      note_(new QLabel(tr("Run a sweep once to see the limit of this machine."))) {
  build();
  for (ImplementationCosts* costs : {&a_implementations_, &b_implementations_}) {
    connect(costs, &ImplementationCosts::changed, this, &PatternCosts::refresh);
  }
  connect(table_->horizontalScrollBar(), &QScrollBar::rangeChanged, this, &PatternCosts::fit);
  connect(&counter_, &charts::LatestJob::failed, this, [this](const QString& sentence) {
    take({.a = tl::unexpected(Error{sentence.toStdString()}), .b = {}});
  });
}

void PatternCosts::build() {
  auto* title = heading(tr("Cost of one forward call"), table_);
  table_->setModel(&model_);
  table_->setObjectName(QStringLiteral("costs"));
  table_->setAccessibleName(tr("Costs of the patterns"));
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setTabKeyNavigation(false);
  table_->setShowGrid(false);
  table_->setAlternatingRowColors(true);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->horizontalHeader()->setSectionsClickable(false);
  table_->verticalHeader()->setSectionsClickable(false);
  table_->verticalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  note_->setObjectName(QStringLiteral("costs_note"));
  note_->setWordWrap(true);
  note_->setTextFormat(Qt::PlainText);

  auto* layout = new QVBoxLayout(this);
  layout->addWidget(title);
  layout->addWidget(problem_);
  layout->addWidget(table_);
  layout->addWidget(note_);
}

double PatternCosts::density() const {
  return counted_.a ? counted_.a->density : 0;
}

QStringList PatternCosts::implementations() const {
  QStringList ids;
  for (const ForeseenCost& cost : a_implementations_.costs()) {
    if (cost.reason.isEmpty()) ids.append(cost.id);
  }
  return ids;
}

QString PatternCosts::implementations_problem() const {
  if (is_measuring_) {
    return tr("Implementations are asked when the measurement is over.");
  }
  if (a_implementations_.is_asking()) return tr("Asking the implementations…");
  if (!may_be_asked()) return tr("Implementations are asked for 1 to 1,000,000 tokens.");
  return a_implementations_.problem();
}

void PatternCosts::show_costs(const TitledMask& a, const std::optional<TitledMask>& b,
                              const LayoutItem& item, int heads, int head_dim) {
  a_ = a;
  b_ = b;
  item_ = item;
  heads_ = heads;
  head_dim_ = head_dim;
  recount();
}

void PatternCosts::set_machine(const std::optional<MachineCeilings>& machine) {
  machine_ = machine;
  refresh();
}

void PatternCosts::set_measuring(bool measuring) {
  if (measuring == is_measuring_) return;
  is_measuring_ = measuring;
  ask();
  refresh();
}

void PatternCosts::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  ask();
}

void PatternCosts::recount() {
  if (!a_) return;
  counter_.drop();
  const bool quick =
      is_quickly_counted(a_->source, item_) && (!b_ || is_quickly_counted(b_->source, item_));
  const auto count = [a = *a_, b = b_, item = item_, heads = heads_, dim = head_dim_] {
    Counted counted{.a = count_pattern(a.source, item, heads, dim), .b = {}};
    if (b) counted.b = count_pattern(b->source, item, heads, dim);
    return counted;
  };
  if (quick) {
    take(count());
  } else {
    counter_.start([this, count](const charts::LatestJob::Token& token) {
      token.deliver([this, counted = count()] { take(counted); });
    });
  }
  ask();
}

void PatternCosts::take(Counted counted) {
  counted_ = std::move(counted);
  refresh();
}

void PatternCosts::ask() {
  if (!a_ || is_measuring_ || !isVisible()) {
    if (is_measuring_) {
      a_implementations_.forget();
      b_implementations_.forget();
    }
    return;
  }
  if (!may_be_asked()) {
    a_implementations_.forget();
    b_implementations_.forget();
    return;
  }
  a_implementations_.ask(question_of(*a_, item_, heads_, head_dim_));
  if (b_) {
    b_implementations_.ask(question_of(*b_, item_, heads_, head_dim_));
  } else {
    b_implementations_.forget();
  }
}

bool PatternCosts::may_be_asked() const {
  const Result<SequenceLayout> layout = SequenceLayout::make({item_});
  return layout && layout->tokens() > 0 && layout->tokens() <= charts::MaskProblem::largest;
}

// As high as its rows: no empty ground.
void PatternCosts::fit() {
  const QHeaderView* rows = table_->verticalHeader();
  const bool scrolls = table_->horizontalScrollBar()->maximum() > 0;
  table_->setFixedHeight(table_->horizontalHeader()->sizeHint().height() +
                         model_.rowCount() * rows->defaultSectionSize() + 2 +
                         (scrolls ? table_->horizontalScrollBar()->sizeHint().height() : 0));
}

void PatternCosts::refresh() {
  if (!a_) return;
  const auto side = [](const TitledMask& mask, const Result<PatternCounts>& counts,
                       const ImplementationCosts& implementations) {
    PatternCostsModel::Side shown{
        .title = mask.title, .counts = {}, .implementations = implementations.costs()};
    if (counts) shown.counts = *counts;
    return shown;
  };
  std::optional<PatternCostsModel::Side> b;
  if (b_ && counted_.b) b = side(*b_, *counted_.b, b_implementations_);
  model_.show_sides(side(*a_, counted_.a, a_implementations_), b, machine_);
  fit();
  problem_->set_problem(counted_.a ? QString() : words(counted_.a.error().message));
  note_->setVisible(!machine_);
  Q_EMIT changed();
}

}  // namespace attnscope::gui
