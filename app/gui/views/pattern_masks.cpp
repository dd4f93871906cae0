// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_masks.h"

#include <QAction>
#include <QButtonGroup>
#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "app/gui/views/choice_button.h"
#include "app/gui/views/difference_legend.h"
#include "app/gui/views/flow_layout.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

/// Its name and the choice, kept together where lines break.
QWidget* named_choice(const QString& name, QWidget* choice) {
  auto* pair = new QWidget;
  auto* layout = new QHBoxLayout(pair);
  auto* label = new QLabel(name);
  label->setBuddy(choice);
  layout->addWidget(label);
  layout->addWidget(choice);
  return pair;
}

QLabel* caption(const char* name) {
  auto* label = new QLabel;
  label->setObjectName(QLatin1String(name));
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  return label;
}

}  // namespace

PatternMasks::PatternMasks(QWidget* parent)
    : QWidget(parent),
      title_(new QLabel),
      explanation_(new QLabel),
      styles_(new QButtonGroup(this)),
      partner_(new QComboBox),
      split_button_(new ChoiceButton(tr("Side by side"),
                                     tr("A, B and their difference side by side (Ctrl+D)"))),
      split_action_(new QAction(tr("Side by side"), this)),
      a_(new charts::MaskView),
      b_(new charts::MaskView),
      difference_(new charts::MaskView),
      a_caption_(caption("a_caption")),
      b_caption_(caption("b_caption")),
      difference_caption_(caption("difference_caption")),
      legend_(new DifferenceLegend) {
  a_->setObjectName(QStringLiteral("mask"));
  b_->setObjectName(QStringLiteral("partner_mask"));
  difference_->setObjectName(QStringLiteral("difference_mask"));
  b_->setAccessibleName(tr("Attention mask of B"));
  difference_->setAccessibleName(tr("Difference of the masks of A and B"));
  explanation_->setObjectName(QStringLiteral("explanation"));
  explanation_->setAccessibleName(tr("Why the pair is allowed"));
  explanation_->setWordWrap(true);
  explanation_->setTextFormat(Qt::PlainText);
  explanation_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  // Reserved, so that the mask does not jump while the pointer moves over it.
  explanation_->setMinimumHeight(2 * explanation_->fontMetrics().lineSpacing());
  auto* grid_box = new QWidget;
  build_grid(grid_box);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(build_heading());
  layout->addWidget(build_choices());
  layout->addWidget(grid_box, 1);
  layout->addWidget(explanation_);
  for (charts::MaskView* view : {a_, b_, difference_}) wire(view);
  connect(&counter_, &charts::LatestJob::failed, this,
          [this](const QString& sentence) { legend_->set_counts({}, sentence); });
  arrange();
}

QWidget* PatternMasks::build_heading() {
  set_text(title_, TextSize::title);
  title_->setObjectName(QStringLiteral("pattern_heading"));
  title_->setTextFormat(Qt::PlainText);
  title_->setWordWrap(true);
  return title_;
}

QWidget* PatternMasks::build_choices() {
  struct Style {
    charts::MaskStyle style;
    QString name, tip;
  };
  const Style all[] = {{charts::MaskStyle::schematic, tr("Schematic"),
                        tr("A small stand-in, as in the paper's figure (Alt+1)")},
                       {charts::MaskStyle::equal_groups, tr("Equal groups"),
                        tr("Every token group equally large (Alt+2)")},
                       {charts::MaskStyle::true_scale, tr("True scale"),
                        tr("Every token equally large; wheel or + and - zoom (Alt+3)")}};
  auto* style_box = new QWidget;
  auto* styles = new QHBoxLayout(style_box);
  styles->setSpacing(0);
  for (const Style& style : all) {
    auto* button = new ChoiceButton(style.name, style.tip);
    const int number = static_cast<int>(style.style);
    button->setChecked(style.style == a_->style());
    button->setShortcut(QKeySequence(QStringLiteral("Alt+%1").arg(number + 1)));
    styles_->addButton(button, number);
    styles->addWidget(button);
  }
  connect(styles_, &QButtonGroup::idClicked, this,
          [this](int id) { set_style(static_cast<charts::MaskStyle>(id)); });

  partner_->setObjectName(QStringLiteral("partner"));
  partner_->setAccessibleName(tr("Pattern B"));
  partner_->setToolTip(tr("What the pattern is compared with"));
  partner_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  partner_->setMinimumContentsLength(7);
  connect(partner_, &QComboBox::activated, this, &PatternMasks::partner_chosen);
  split_button_->setObjectName(QStringLiteral("side_by_side"));
  split_action_->setShortcut(QKeySequence(tr("Ctrl+D")));
  split_action_->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  addAction(split_action_);
  connect(split_action_, &QAction::triggered, this, [this] { set_split(!split_); });
  connect(split_button_, &QToolButton::clicked, this, &PatternMasks::set_split);

  auto* box = new QWidget;
  auto* layout = new FlowLayout(box);
  layout->addWidget(style_box);
  layout->addWidget(named_choice(tr("Compare with"), partner_));
  layout->addWidget(split_button_);
  return box;
}

void PatternMasks::build_grid(QWidget* box) {
  grid_ = new QGridLayout(box);
  const auto place = [this](QLabel* caption, QWidget* view, int row, int column) {
    auto* cell = new QVBoxLayout;
    cell->setSpacing(space::hair);
    cell->addWidget(caption);
    cell->addWidget(view, 1);
    grid_->addLayout(cell, row, column);
  };
  place(a_caption_, a_, 0, 0);
  place(b_caption_, b_, 0, 1);
  place(difference_caption_, difference_, 1, 0);
  grid_->addWidget(legend_, 1, 1);
  difference_caption_->setText(tr("Difference"));
}

void PatternMasks::wire(charts::MaskView* view) {
  connect(view, &charts::MaskView::hovered, this, [this](qint64 query, qint64 key) {
    hovered_.reset();
    if (query >= 0) hovered_ = {query, key};
    explain();
  });
  connect(view, &charts::MaskView::pinned, this, [this, view](qint64 query, qint64 key) {
    for (charts::MaskView* other : {a_, b_, difference_}) {
      if (other != view && other->isVisible()) other->pin(query, key);
    }
    explain();
  });
  connect(view, &charts::MaskView::focus_moved, this, [this, view](const charts::MapFocus& focus) {
    for (charts::MaskView* other : {a_, b_, difference_}) {
      if (other != view && other->isVisible()) other->set_focus(focus);
    }
  });
  connect(view, &charts::MaskView::settled, this, &PatternMasks::explain);
}

void PatternMasks::set_style(charts::MaskStyle style) {
  styles_->button(static_cast<int>(style))->setChecked(true);
  for (charts::MaskView* view : {a_, b_, difference_}) view->set_style(style);
  explain();
}

void PatternMasks::set_choices(const QStringList& titles, int chosen) {
  const QSignalBlocker quiet(partner_);
  partner_->clear();
  partner_->addItems(titles);
  partner_->setCurrentIndex(chosen);
}

void PatternMasks::set_split(bool split) {
  if (split == split_ && split == is_split()) return arrange();  // the button, too, says so
  split_ = split;
  // Without a B there is nothing to set beside: the first one will do.
  if (split && !b_mask_ && partner_->count() > 1) {
    partner_->setCurrentIndex(1);
    Q_EMIT partner_chosen(1);
  }
  arrange();
  refresh();
}

void PatternMasks::arrange() {
  const bool split = is_split();
  split_button_->setChecked(split);
  a_->set_compact(split);
  b_->set_compact(true);
  difference_->set_compact(true);
  for (QWidget* widget : std::initializer_list<QWidget*>{
           a_caption_, b_caption_, difference_caption_, b_, difference_, legend_}) {
    widget->setVisible(split);
  }
  title_->setVisible(!split);
  for (int section = 0; section < 2; ++section) {
    grid_->setColumnStretch(section, section == 0 || split ? 1 : 0);
    grid_->setRowStretch(section, section == 0 || split ? 1 : 0);
  }
}

void PatternMasks::show_masks(const TitledMask& a, const std::optional<TitledMask>& b,
                              const LayoutItem& item) {
  a_mask_ = a;
  b_mask_ = b;
  item_ = item;
  if (!b) split_ = false;
  arrange();
  refresh();
}

void PatternMasks::refresh() {
  title_->setText(a_mask_.title);
  title_->setToolTip(QString::fromStdString(a_mask_.source.pattern.description));
  // The views show what is wrong with a problem that they cannot draw.
  (void)a_->show_mask(a_mask_.source.pattern, a_mask_.source.window, item_);
  counter_.drop();
  if (is_split()) {
    a_caption_->setText(tr("A: %1").arg(a_mask_.title));
    b_caption_->setText(tr("B: %1").arg(b_mask_->title));
    (void)b_->show_mask(b_mask_->source.pattern, b_mask_->source.window, item_);
    (void)difference_->show_difference(a_mask_.source, b_mask_->source, item_);
    count();
    const charts::MapFocus focus = a_->focus();
    for (charts::MaskView* view : {b_, difference_}) {
      view->set_focus(focus);
      if (const auto pair = a_->pinned_pair()) view->pin(pair->first, pair->second);
    }
  }
  explain();
}

// Of the true sizes, whatever the style shows.
void PatternMasks::count() {
  legend_->set_counts({}, tr("counting…"));
  counter_.start([this, a = a_mask_.source, b = b_mask_->source,
                  item = item_](const charts::LatestJob::Token& token) {
    const auto make = [&item](const charts::MaskSource& source) {
      return charts::MaskProblem::make(source.pattern, source.window, item,
                                       charts::MaskStyle::true_scale);
    };
    const auto problem_a = make(a);
    const auto problem_b = make(b);
    std::optional<charts::DifferenceCounts> counts;
    if (problem_a && problem_b) {
      counts = charts::count_difference(**problem_a, **problem_b,
                                        [&token] { return token.superseded(); });
    }
    token.deliver([this, counts] { legend_->set_counts(counts, tr("too many to count")); });
  });
}

void PatternMasks::explain() {
  const auto pair = hovered_ ? hovered_ : a_->pinned_pair();
  if (!pair) {
    explanation_->setText(
        tr("Rows attend, columns are attended to. Point at a pair; a click keeps it."));
    return;
  }
  const charts::MaskView* view = is_split() ? difference_ : a_;
  explanation_->setText(view->explain(pair->first, pair->second));
}

}  // namespace attnscope::gui
