// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/kept.h"

#include <QComboBox>
#include <QSettings>
#include <QSplitter>

namespace attnscope::gui {
namespace {

QString key_of(const QObject& widget) {
  return QStringLiteral("kept/") + widget.objectName();
}

}  // namespace

void keep_sizes(QSplitter& splitter) {
  const QString key = key_of(splitter);
  QList<int> sizes;
  for (const QVariant& size : QSettings().value(key).toList()) sizes.append(size.toInt());
  if (sizes.size() == splitter.count()) splitter.setSizes(sizes);
  QObject::connect(&splitter, &QSplitter::splitterMoved, &splitter, [&splitter, key] {
    QVariantList all;
    for (const int size : splitter.sizes()) all.append(size);
    QSettings().setValue(key, all);
  });
}

void keep_choice(QComboBox& box) {
  const QString key = key_of(box);
  const int kept = QSettings().value(key, -1).toInt();
  if (kept >= 0 && kept < box.count()) box.setCurrentIndex(kept);
  QObject::connect(&box, &QComboBox::activated, &box,
                   [key](int chosen) { QSettings().setValue(key, chosen); });
}

}  // namespace attnscope::gui
