// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/implementation_list.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "app/gui/session/program.h"

namespace attnscope::gui {

QList<ListedImplementation> read_implementations(const QByteArray& json) {
  QList<ListedImplementation> all;
  const QJsonArray array = QJsonDocument::fromJson(json).array();
  for (const auto& value : array) {
    const QJsonObject object = value.toObject();
    const QString id = object.value(QLatin1String("id")).toString();
    if (!id.isEmpty()) all.append({id, object.value(QLatin1String("summary")).toString()});
  }
  return all;
}

ImplementationList::ImplementationList(QObject* parent) : QObject(parent) {
  connect(&process_, &QProcess::finished, this,
          [this](int exit_code, QProcess::ExitStatus) { read(exit_code); });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      fail(tr("Cannot start %1: %2.").arg(process_.program(), process_.errorString()));
  });
}

void ImplementationList::ask() {
  if (process_.state() != QProcess::NotRunning || !known_.isEmpty()) return;
  problem_.clear();
  process_.start(attnscope_program(), {QStringLiteral("list"), QStringLiteral("implementations"),
                                       QStringLiteral("--json")});
}

void ImplementationList::read(int exit_code) {
  if (exit_code != 0) {
    const QString sentence = last_sentence(process_.readAllStandardError());
    fail(sentence.isEmpty()
             ? tr("The list of implementations ended with exit code %1.").arg(exit_code)
             : sentence);
    return;
  }
  known_ = read_implementations(process_.readAllStandardOutput());
  if (known_.isEmpty()) {
    fail(tr("The list of implementations is empty: attnscope-worker is of another version."));
    return;
  }
  Q_EMIT changed();
}

void ImplementationList::fail(const QString& sentence) {
  problem_ = sentence;
  Q_EMIT changed();
}

}  // namespace attnscope::gui
