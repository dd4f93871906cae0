// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_masks.h"

#include <QAction>
#include <QButtonGroup>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <algorithm>

#include "app/gui/models/pattern_counts.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/flow_layout.h"
#include "app/gui/views/theme.h"
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
  build_choices();
  build_grid();
  for (charts::MaskView* view : views_) wire(view);
  connect(&counter_, &LatestJob::failed, this,
          [this](const QString& sentence) { set_counts({}, sentence); });
  connect(&editor_, &PatternEditor::changed, this, &PatternMasks::refresh);
  refresh();
}

PatternMasks::~PatternMasks() = default;

void PatternMasks::build_choices() {
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
}

void PatternMasks::build_grid() {
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
}

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
    const QString width = window->is_infinite() ? QStringLiteral("∞") : words(window->text());
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
  ui_->pattern_heading->setToolTip(words(a_.source.pattern.description));
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

// For the true sizes, independent of the style.
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
          pairs == 1 ? tr("1 pair") : tr("%1 pairs").arg(count_words(static_cast<double>(pairs)));
    }
    part_counts_[p]->setText(QStringLiteral("%1\n%2").arg(names[p], count));
  }
}

void PatternMasks::explain() {
  const auto pair = hovered_ ? hovered_ : mask()->pinned_pair();
  ui_->explanation->setText(
      pair ? unbroken((is_split() ? difference() : mask())->explain(pair->first, pair->second))
           : tr("Rows attend, columns are attended to. Point at a pair; a click keeps it."));
}

}  // namespace attnscope::gui
