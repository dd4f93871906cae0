// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/implementation_list.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace attnscope::gui {

void ImplementationList::ask() {
  put({.arguments = {QStringLiteral("list"), QStringLiteral("implementations"),
                     QStringLiteral("--json")}});
}

bool ImplementationList::read(const QByteArray& printed) {
  const QJsonArray array = QJsonDocument::fromJson(printed).array();
  for (const auto& value : array) {
    const QJsonObject object = value.toObject();
    const QString id = object.value(QLatin1String("id")).toString();
    if (!id.isEmpty()) known_.append({id, object.value(QLatin1String("summary")).toString()});
  }
  return !known_.isEmpty();
}

}  // namespace attnscope::gui
