// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/device_list.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <utility>

#include "app/gui/session/program.h"

namespace attnscope::gui {

QList<ListedDevice> read_devices(const QByteArray& json) {
  QList<ListedDevice> all;
  const QJsonArray array = QJsonDocument::fromJson(json).array();
  for (const auto& value : array) {
    const QJsonObject object = value.toObject();
    const QString kind = object.value(QLatin1String("kind")).toString();
    if (kind.isEmpty()) continue;
    all.append({kind, object.value(QLatin1String("name")).toString(),
                object.value(QLatin1String("available")).toBool(),
                object.value(QLatin1String("reason")).toString()});
  }
  return all;
}

DeviceList::DeviceList(QObject* parent) : QObject(parent) {
  connect(&process_, &QProcess::finished, this, [this](int exit_code, QProcess::ExitStatus) {
    if (exit_code == 0) known_ = read_devices(process_.readAllStandardOutput());
    if (!known_.isEmpty()) Q_EMIT changed();
  });
}

DeviceList::~DeviceList() {
  process_.disconnect(this);
  if (process_.state() == QProcess::NotRunning) return;
  process_.kill();
  process_.waitForFinished(patience_ms);
}

void DeviceList::ask() {
  if (std::exchange(asked_, true)) return;
  process_.start(attnscope_program(),
                 {QStringLiteral("list"), QStringLiteral("devices"), QStringLiteral("--json")});
}

}  // namespace attnscope::gui
