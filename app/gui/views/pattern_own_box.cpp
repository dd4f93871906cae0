// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_own_box.h"

#include <QCheckBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>

#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/problem_label.h"

namespace attnscope::gui {
namespace {

QLineEdit* text_box(const QString& tip, const char* name) {
  auto* box = new QLineEdit;
  box->setToolTip(tip);
  box->setObjectName(QLatin1String(name));
  return box;
}

QFormLayout* plain_form(QWidget* parent) {
  auto* form = new QFormLayout(parent);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->setRowWrapPolicy(QFormLayout::WrapLongRows);
  return form;
}

void set_quietly(QLineEdit* box, const std::string& text) {
  if (box->hasFocus() && box->isModified()) return;  // somebody is typing
  if (box->text() == words(text)) return;
  box->setText(words(text));
  box->setCursorPosition(0);
}

}  // namespace

PatternOwnBox::PatternOwnBox(PatternEditor& editor, QWidget* parent)
    : QWidget(parent),
      editor_(editor),
      has_blocks_(new QCheckBox(tr("Bloc&ks, some of them random"))),
      block_fields_(new QWidget),
      length_(number_box(1, 1'000'000, tr("Tokens of a block"), "block_length")),
      random_(number_box(0, static_cast<int>(BlockRule::most_random),
                         tr("Random blocks that a block sees"), "block_random")),
      seed_(number_box(0, std::numeric_limits<int>::max(), tr("Seed of the draw"), "block_seed")),
      name_(
          text_box(tr("As contenders write it: letters, digits, - and _ (Enter)"), "pattern_name")),
      title_(text_box(tr("As figures show it (Enter)"), "pattern_title")),
      description_(text_box(tr("One sentence, with its source (Enter)"), "pattern_description")),
      name_problem_(new ProblemLabel("name_problem")) {
  has_blocks_->setObjectName(QStringLiteral("has_blocks"));
  has_blocks_->setToolTip(
      tr("BigBird: outer blocks see all, others themselves, their neighbours and random ones"));
  name_->setMaxLength(100);
  QFormLayout* blocks = plain_form(block_fields_);
  blocks->addRow(tr("Block len&gth"), length_);
  blocks->addRow(tr("Rando&m blocks"), random_);
  blocks->addRow(tr("Seed"), seed_);
  auto* name = new QWidget;
  plain_form(name)->addRow(tr("N&ame"), name_);
  auto* words_of_it = new QWidget;
  QFormLayout* form = plain_form(words_of_it);
  form->addRow(tr("Title"), title_);
  form->addRow(tr("Des&cription"), description_);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(has_blocks_);
  layout->addWidget(block_fields_);
  layout->addWidget(name);
  layout->addWidget(name_problem_);
  layout->addWidget(words_of_it);

  connect(&editor_, &PatternEditor::changed, this, &PatternOwnBox::refresh);
  connect(has_blocks_, &QCheckBox::clicked, this, [this](bool on) {
    editor_.end_gesture();
    (void)editor_.set_blocks(on ? std::optional(BlockRule{}) : std::nullopt);
    editor_.end_gesture();
  });
  for (QSpinBox* box : {length_, random_, seed_}) {
    connect(box, &QSpinBox::valueChanged, this, &PatternOwnBox::set_blocks);
    connect(box, &QSpinBox::editingFinished, this, [this] { editor_.end_gesture(); });
  }
  connect(name_, &QLineEdit::editingFinished, this, &PatternOwnBox::name_typed);
  connect(title_, &QLineEdit::editingFinished, this, [this] {
    if (!title_->isModified()) return;
    title_->setModified(false);
    editor_.end_gesture();
    editor_.set_title(title_->text().trimmed().toStdString());
  });
  connect(description_, &QLineEdit::editingFinished, this, [this] {
    if (!description_->isModified()) return;
    description_->setModified(false);
    editor_.end_gesture();
    editor_.set_description(description_->text().trimmed().toStdString());
  });
  refresh();
}

void PatternOwnBox::refresh() {
  const AttentionPattern& pattern = editor_.pattern();
  has_blocks_->setChecked(pattern.blocks.has_value());
  block_fields_->setVisible(pattern.blocks.has_value());
  if (pattern.blocks) {
    set_quietly(length_, pattern.blocks->length);
    set_quietly(random_, pattern.blocks->random);
    set_quietly(seed_, pattern.blocks->seed);
  }
  set_quietly(name_, pattern.name);
  set_quietly(title_, pattern.title);
  set_quietly(description_, pattern.description);
  if (!name_->isModified()) name_problem_->set_problem({});
}

void PatternOwnBox::set_blocks() {
  (void)editor_.set_blocks(
      BlockRule{.length = length_->value(), .random = random_->value(), .seed = seed_->value()});
}

void PatternOwnBox::name_typed() {
  if (!name_->isModified()) return;
  editor_.end_gesture();
  const Status done = editor_.set_name(name_->text().trimmed().toStdString());
  if (!done) return name_problem_->set_problem(words(done.error().message));
  name_->setModified(false);
  refresh();
}

}  // namespace attnscope::gui
