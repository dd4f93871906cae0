// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/slice_fields.h"

#include <QComboBox>
#include <QEvent>
#include <QFormLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/models/terms.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
SliceFields::SliceFields(QWidget* parent)
    : QWidget(parent), form_(new QFormLayout), moved_(new QLabel) {
  moved_->setObjectName(QStringLiteral("slice_moved"));
  moved_->setTextFormat(Qt::PlainText);
  moved_->setWordWrap(true);
  moved_->setAccessibleName(tr("What the choice moved"));
  moved_->hide();
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(form_);
  layout->addWidget(moved_);
}

void SliceFields::add_leading(const QString& label, QComboBox* control) {
  form_->addRow(label, control);
}

void SliceFields::set_shown(QComboBox* control, bool shown) {
  form_->setRowVisible(control, shown);
}

QStringList SliceFields::in_words() const {
  QStringList all;
  for (const report::SliceAxis& axis : slice_.axes) {
    all.append(words(axis.name).toLower() + QLatin1Char(' ') +
               words(axis.values[axis.chosen].words));
  }
  return all;
}

void SliceFields::show_slice(const report::Slice& slice) {
  const bool same_axes =
      std::equal(slice.axes.begin(), slice.axes.end(), slice_.axes.begin(), slice_.axes.end(),
                 [](const auto& a, const auto& b) { return a.key == b.key; });
  const bool same_values = slice.axes == slice_.axes;
  slice_ = slice;
  // An unchanged selector keeps the focus and its open list.
  if (!same_axes) rebuild();
  if (!same_values) fill();
  moved_->setText(words(slice_.moved));
  moved_->setVisible(!slice_.moved.empty());
}

void SliceFields::rebuild() {
  for (QComboBox* selector : selectors_) form_->removeRow(selector);
  selectors_.clear();
  for (const report::SliceAxis& axis : slice_.axes) {
    QComboBox* selector = picker(QStringLiteral("slice_") + words(axis.key), words(axis.name),
                                 tr("The charts show one value of this axis"));
    if (axis.key == "window") explain(selector, explained(QStringLiteral("w")));
    connect(selector, &QComboBox::activated, this, [this, selector, key = words(axis.key)](int at) {
      Q_EMIT chosen(key, selector->itemData(at).toString());
    });
    selectors_.append(selector);
    form_->addRow(words(axis.name), selector);
  }
}

void SliceFields::fill() {
  for (std::size_t i = 0; i < slice_.axes.size(); ++i) {
    const report::SliceAxis& axis = slice_.axes[i];
    QComboBox* selector = selectors_.at(static_cast<int>(i));
    selector->clear();
    for (const report::SliceValue& value : axis.values) {
      const QString text = words(value.words);
      selector->addItem(value.together ? text : QStringLiteral("(%1)").arg(text),
                        words(value.value));
      if (value.together) continue;
      const int last = selector->count() - 1;
      selector->setItemData(last, faint_text(palette()), Qt::ForegroundRole);
      selector->setItemData(last, tr("%1, not measured with the other choices").arg(text),
                            Qt::AccessibleTextRole);
      selector->setItemData(
          last, tr("Not measured with the other choices: choosing it moves them to the nearest"),
          Qt::ToolTipRole);
    }
    selector->setCurrentIndex(static_cast<int>(axis.chosen));
  }
}

void SliceFields::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) fill();
}

}  // namespace attnscope::gui
