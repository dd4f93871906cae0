// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/worker_lists.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace attnscope::gui {

void DeviceList::ask() {
  if (!problem().isEmpty()) return;
  put({.arguments = {QStringLiteral("list"), QStringLiteral("devices"), QStringLiteral("--json")}});
}

bool DeviceList::read(const QByteArray& printed) {
  const QJsonArray array = QJsonDocument::fromJson(printed).array();
  for (const auto& value : array) {
    const QJsonObject object = value.toObject();
    const QString kind = object.value(QLatin1String("kind")).toString();
    if (kind.isEmpty()) continue;
    known_.append({kind, object.value(QLatin1String("name")).toString(),
                   object.value(QLatin1String("available")).toBool(),
                   object.value(QLatin1String("reason")).toString()});
  }
  return !known_.isEmpty();
}

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
