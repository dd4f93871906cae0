// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/preset_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "app/gui/session/own_presets.h"
#include "app/gui/session/text.h"
#include "app/gui/views/problem_label.h"

namespace attnscope::gui {

PresetBar::PresetBar(QWidget* parent)
    : QWidget(parent),
      picker_(new QComboBox),
      save_(new QPushButton(tr("Save as preset"))),
      done_(new QLabel),
      problem_(new ProblemLabel("preset_problem")) {
  picker_->setObjectName(QStringLiteral("preset"));
  picker_->setToolTip(tr("Sweeps that ship, and your own"));
  save_->setObjectName(QStringLiteral("save_preset"));
  save_->setShortcut(QKeySequence(tr("Ctrl+Shift+K")));
  save_->setToolTip(tr("Keep this sweep under its name (%1)").arg(save_->shortcut().toString()));
  done_->setObjectName(QStringLiteral("preset_saved"));
  done_->setTextFormat(Qt::PlainText);
  done_->setWordWrap(true);
  done_->hide();
  auto* label = new QLabel(tr("Pre&set"));
  label->setBuddy(picker_);
  auto* line = new QHBoxLayout;
  line->setSpacing(10);
  line->addWidget(label);
  line->addWidget(picker_, 1);
  line->addWidget(save_);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  layout->addLayout(line);
  layout->addWidget(done_);
  layout->addWidget(problem_);
  fill({});
  connect(picker_, &QComboBox::currentIndexChanged, this, &PresetBar::tell_choice);
  connect(save_, &QPushButton::clicked, this, &PresetBar::save_asked);
}

void PresetBar::fill(const QString& chosen) {
  const QSignalBlocker quiet(picker_);
  presets_ = built_in_sweeps();
  const auto shipped = static_cast<int>(presets_.size());
  for (NamedSweep& own : own_presets()) presets_.push_back(std::move(own));
  picker_->clear();
  for (int i = 0; i < static_cast<int>(presets_.size()); ++i) {
    if (i == shipped) picker_->insertSeparator(i);
    picker_->addItem(words(presets_[static_cast<std::size_t>(i)].name), i);
  }
  picker_->addItem(tr("Custom"));
  const int place = chosen.isEmpty() ? 0 : picker_->findText(chosen);
  picker_->setCurrentIndex(place >= 0 ? place : picker_->count() - 1);
}

void PresetBar::choose(const QString& name) {
  const int place = picker_->findText(name);
  if (place < 0) return;
  if (place == picker_->currentIndex()) return tell_choice();
  picker_->setCurrentIndex(place);
}

void PresetBar::tell_choice() {
  const auto place = static_cast<std::size_t>(picker_->currentData().toInt());
  if (!picker_->currentData().isValid() || place >= presets_.size()) return;
  say({});
  Q_EMIT preset_chosen(presets_[place]);
}

void PresetBar::choose_custom() {
  const QSignalBlocker quiet(picker_);
  picker_->setCurrentIndex(picker_->count() - 1);
  about_to_replace_.clear();
  say({});
}

QString PresetBar::chosen() const {
  return picker_->currentData().isValid() ? picker_->currentText() : QString();
}

void PresetBar::allow_saving(bool possible) {
  save_->setEnabled(possible);
}

void PresetBar::save(const QString& name, const std::string& sweep_text) {
  problem_->set_problem({});
  if (is_own_preset(name) && about_to_replace_ != name) {
    about_to_replace_ = name;
    problem_->set_problem(
        tr("You have a preset %1: save again to replace it, or give another name.").arg(name));
    return;
  }
  about_to_replace_.clear();
  const Result<QString> saved = save_own_preset(name, sweep_text);
  if (!saved) {
    say({});
    problem_->set_problem(words(saved.error().message));
    return;
  }
  fill(name);
  say(tr("Kept as %1.").arg(*saved));
}

void PresetBar::say(const QString& sentence) {
  problem_->set_problem({});
  done_->setText(sentence);
  done_->setVisible(!sentence.isEmpty());
}

}  // namespace attnscope::gui
