// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/tag_bar.h"

#include <QToolButton>

#include "app/gui/views/flow_layout.h"

namespace attnscope::gui {

TagBar::TagBar(QWidget* parent) : QWidget(parent) {
  setLayout(new FlowLayout);
  // Not fixed: that would hold it to the height of one line.
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  hide();
}

void TagBar::set_tags(const QStringList& tags) {
  if (tags == tags_) return;
  const QStringList before = chosen();
  tags_ = tags;
  qDeleteAll(findChildren<QToolButton*>(QString(), Qt::FindDirectChildrenOnly));
  for (const QString& tag : tags) {
    auto* button = new QToolButton;
    button->setText(tag);
    button->setObjectName(QStringLiteral("tag_") + tag);
    button->setCheckable(true);
    button->setChecked(before.contains(tag));
    button->setFocusPolicy(Qt::StrongFocus);
    button->setAccessibleName(tr("Tag %1").arg(tag));
    button->setToolTip(tr("Show only runs tagged %1").arg(tag));
    layout()->addWidget(button);
    connect(button, &QToolButton::toggled, this, [this] { Q_EMIT chosen_changed(chosen()); });
  }
  setVisible(!tags.isEmpty());
  if (chosen() != before) Q_EMIT chosen_changed(chosen());
}

QStringList TagBar::chosen() const {
  QStringList tags;
  for (const auto* button : findChildren<QToolButton*>(QString(), Qt::FindDirectChildrenOnly))
    if (button->isChecked()) tags.append(button->text());
  return tags;
}

}  // namespace attnscope::gui
