// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/fields.h"

#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>
#include <algorithm>
#include <utility>

#include "app/gui/views/theme.h"

namespace attnscope::gui {

QLabel* heading(const QString& text, QWidget* buddy) {
  auto* label = new QLabel(text);
  set_text(label, TextSize::heading);
  label->setBuddy(buddy);
  label->setWordWrap(true);
  return label;
}

QComboBox* picker(const QString& name, const QString& accessible_name, const QString& tip) {
  auto* box = new QComboBox;
  box->setObjectName(name);
  box->setAccessibleName(accessible_name);
  box->setToolTip(tip);
  box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  return box;
}

QSpinBox* number_box(int least, int most, const QString& tip, const char* name) {
  auto* box = new QSpinBox;
  box->setRange(least, most);
  box->setGroupSeparatorShown(true);
  box->setAlignment(Qt::AlignRight);
  box->setToolTip(tip);
  box->setAccessibleName(tip);
  box->setObjectName(QLatin1String(name));
  return box;
}

QAction* add_action(QWidget* where, const QString& text, const QKeySequence& keys,
                    std::function<void()> act) {
  auto* action = new QAction(text, where);
  action->setShortcut(keys);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  QObject::connect(action, &QAction::triggered, where, std::move(act));
  where->addAction(action);
  return action;
}

void set_quietly(QSpinBox* box, std::int64_t value) {
  const QSignalBlocker quiet(box);
  box->setValue(static_cast<int>(std::min<std::int64_t>(value, box->maximum())));
}

}  // namespace attnscope::gui
