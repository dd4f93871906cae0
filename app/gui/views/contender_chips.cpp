// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/contender_chips.h"

#include <QGridLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QTimer>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "engine/heat/model_row.h"
#include "engine/pattern/attention_pattern.h"

namespace attnscope::gui {
namespace {

QString id_of(const PatternAndImplementation& pair) {
  return pair.first + QLatin1Char('/') + pair.second;
}

}  // namespace

ContenderChips::ContenderChips(QWidget* parent)
    : QWidget(parent),
      layout_(new QVBoxLayout(this)),
      add_(new QPushButton),
      more_(new QToolButton),
      reasons_(new QLabel),
      problem_(new ProblemLabel(this, "contenders_problem")),
      kept_(new ProblemLabel(this, "impossible_contenders")),
      unknown_(new ProblemLabel(this, "implementations_problem")) {
  add_->setObjectName(QStringLiteral("add_pattern"));
  add_->setMenu(new QMenu(add_));
  more_->setObjectName(QStringLiteral("more_contenders"));
  more_->setCheckable(true);
  more_->setAutoRaise(true);
  more_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  more_->setFocusPolicy(Qt::StrongFocus);
  auto* foot = new QHBoxLayout;
  foot->addWidget(add_);
  foot->addWidget(more_);
  foot->addStretch();
  layout_->addLayout(foot);
  reasons_->setObjectName(QStringLiteral("contender_reasons"));
  reasons_->setTextFormat(Qt::PlainText);
  reasons_->setWordWrap(true);
  reasons_->setForegroundRole(QPalette::PlaceholderText);
  for (QLabel* label : std::initializer_list<QLabel*>{reasons_, problem_, kept_, unknown_})
    layout_->addWidget(label);
  connect(more_, &QToolButton::toggled, this, &ContenderChips::show_impossible);
  fill();
}

std::vector<ContenderChips::Named> ContenderChips::patterns() const {
  std::vector<Named> names;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    names.push_back({qstring(pattern.name), qstring(pattern.description)});
    if (!of_models_) continue;
    for (const FamilyChoice& row : rows_with_pattern(pattern.name))
      names.push_back({qstring(row.name), qstring(row.summary)});
  }
  if (!of_models_) return names;
  for (const Named& whole : std::vector<Named>(names)) {
    for (const FamilyChoice& option : family_of_row(whole.name.toStdString()).row_options()) {
      names.push_back({QStringLiteral("%1+%2").arg(whole.name, qstring(option.name)),
                       QStringLiteral("%1 %2").arg(whole.tip, qstring(option.summary))});
    }
  }
  return names;
}

void ContenderChips::set_implementations(const QList<ListedImplementation>& implementations,
                                         const QString& problem) {
  if (problem.isEmpty()) listed_ = implementations;  // otherwise keep the known ones
  unknown_->set_problem(problem);
  fill();
}

void ContenderChips::show_models(bool of_models) {
  if (std::exchange(of_models_, of_models) != of_models) fill();
}

void ContenderChips::set_checked(const std::vector<PatternAndImplementation>& pairs) {
  checked_ = pairs;
  shown_.clear();
  for (const auto& [pattern, implementation] : pairs) shown_.append(pattern);
  shown_.removeDuplicates();
  fill();
}

void ContenderChips::add_line(const QString& pattern) {
  shown_.append(pattern);
  fill();
  // Where the user continues.
  const auto chips = lines_->findChildren<ChoiceButton*>();
  const auto first = std::ranges::find_if(
      chips, [&](const QWidget* chip) { return chip->objectName().startsWith(pattern + '/'); });
  if (first != chips.end()) (*first)->setFocus(Qt::OtherFocusReason);
}

void ContenderChips::set_impossible(std::map<PatternAndImplementation, QString> reasons) {
  if (reasons == impossible_) return;
  impossible_ = std::move(reasons);
  fill();
}

void ContenderChips::set_problem(const QString& sentence) {
  problem_->set_problem(sentence);
}

QString ContenderChips::reason_of(const PatternAndImplementation& pair) const {
  auto found = impossible_.find(pair);
  // A model's shortcut does not change the requirements of its layers.
  if (found == impossible_.end())
    found = impossible_.find({pair.first.section(QLatin1Char('+'), 0, 0), pair.second});
  return found == impossible_.end() ? QString() : found->second;
}

void ContenderChips::fill() {
  // Checked implementations that are not listed have chips too, as long as they are checked.
  implementations_ = listed_;
  for (const auto& [pattern, implementation] : checked_) {
    if (std::ranges::find(implementations_, implementation, &ListedImplementation::id) ==
        implementations_.end())
      implementations_.append({implementation, {}});
  }
  const QWidget* focused = lines_ ? lines_->focusWidget() : nullptr;
  const QString focus = focused && focused->hasFocus() ? focused->objectName() : QString();
  delete lines_;
  lines_ = new QWidget;
  auto* grid = new QGridLayout(lines_);
  grid->setColumnStretch(1, 1);
  const std::vector<Named> known = patterns();
  for (const QString& pattern : shown_) {
    auto* name = new QLabel(pattern);
    name->setContentsMargins(0, 5, 4, 0);  // aligned with the chips' text
    const auto found = std::ranges::find(known, pattern, &Named::name);
    if (found != known.end()) name->setToolTip(found->tip);
    grid->addWidget(name, grid->rowCount(), 0, Qt::AlignTop);
    grid->addWidget(make_line(pattern), grid->rowCount() - 1, 1);
  }
  layout_->insertWidget(0, lines_);
  fill_menu(known);
  show_impossible();
  if (auto* again = focus.isEmpty() ? nullptr : lines_->findChild<QWidget*>(focus))
    again->setFocus(Qt::OtherFocusReason);
}

QWidget* ContenderChips::make_line(const QString& pattern) {
  auto* line = new QWidget;
  auto* flow = new FlowLayout(line);
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  line->setSizePolicy(policy);
  for (const ListedImplementation& listed : implementations_) {
    const PatternAndImplementation pair{pattern, listed.id};
    const bool checked = std::ranges::find(checked_, pair) != checked_.end();
    const QString reason = reason_of(pair);
    if (!checked && !reason.isEmpty()) continue;
    const QString tip =
        reason.isEmpty() ? listed.summary : tr("Cannot be measured: %1").arg(reason);
    auto* chip = new ChoiceButton;
    chip->setText(listed.id);
    chip->setAccessibleName(listed.id);
    chip->setToolTip(QStringLiteral("%1\n%2").arg(id_of(pair), tip));
    chip->setObjectName(id_of(pair));
    chip->setAccessibleName(id_of(pair));
    chip->setChecked(checked);
    QFont font = chip->font();
    font.setStrikeOut(!reason.isEmpty());
    chip->setFont(font);
    connect(chip, &ChoiceButton::toggled, this, [this, pair](bool on) { toggle_pair(pair, on); });
    flow->addWidget(chip);
  }
  return line;
}

void ContenderChips::fill_menu(const std::vector<Named>& patterns) {
  add_->setText(of_models_ ? tr("Add a model") : tr("Add a pattern"));
  add_->menu()->clear();
  add_->menu()->setToolTipsVisible(true);
  // Re-rankers, grouped by what they store per document.
  std::map<Kept, QMenu*> parts;
  for (const auto& [name, tip] : patterns) {
    if (shown_.contains(name)) continue;
    QMenu* menu = add_->menu();
    if (of_models_) {
      QMenu*& part = parts[family_of_row(name.toStdString()).keeps()];
      if (part == nullptr) part = new QMenu(menu);
      menu = part;
      menu->setToolTipsVisible(true);
    }
    QAction* action = menu->addAction(name, this, [this, name = name] { add_line(name); });
    action->setToolTip(tip);
  }
  for (const auto& [kept, part] : parts) {
    part->setTitle(tr("Stores %1 of a document").arg(qstring(name_of(kept))));
    add_->menu()->addMenu(part);
  }
  add_->setEnabled(!add_->menu()->isEmpty());
}

QString ContenderChips::problem() const {
  if (listed_.isEmpty()) return {};  // the list is not known
  for (const auto& [pattern, implementation] : checked_) {
    if (std::ranges::find(listed_, implementation, &ListedImplementation::id) == listed_.end())
      return tr("There is no implementation %1.").arg(id_of({pattern, implementation}));
  }
  return {};
}

void ContenderChips::toggle_pair(const PatternAndImplementation& pair, bool on) {
  std::erase(checked_, pair);
  if (on) checked_.push_back(pair);
  show_impossible();
  // A contender that cannot be checked again is removed, but not during its own click.
  if (!on && !reason_of(pair).isEmpty()) QTimer::singleShot(0, this, &ContenderChips::fill);
  Q_EMIT edited();
}

void ContenderChips::show_impossible() {
  QStringList kept;
  std::map<QString, QStringList> hidden;  // by reason
  int count = 0;
  for (const QString& pattern : shown_) {
    for (const ListedImplementation& listed : implementations_) {
      const PatternAndImplementation pair{pattern, listed.id};
      const QString reason = reason_of(pair);
      if (reason.isEmpty()) continue;
      if (std::ranges::find(checked_, pair) != checked_.end()) {
        kept.append(QStringLiteral("%1: %2").arg(id_of(pair), reason));
      } else {
        hidden[reason].append(id_of(pair));
        ++count;
      }
    }
  }
  kept_->set_problem(
      kept.isEmpty()
          ? QString()
          : tr("Will be stored as unsupported: %1").arg(kept.join(QStringLiteral("; "))));
  more_->setText(tr("%1 more that cannot run here").arg(count));
  more_->setVisible(count > 0);
  more_->setArrowType(more_->isChecked() ? Qt::DownArrow : Qt::RightArrow);
  QStringList lines;
  for (const auto& [reason, pairs] : hidden)
    lines.append(QStringLiteral("%1: %2").arg(pairs.join(QStringLiteral(", ")), reason));
  reasons_->setText(lines.join(QLatin1Char('\n')));
  reasons_->setVisible(count > 0 && more_->isChecked());
}

}  // namespace attnscope::gui
