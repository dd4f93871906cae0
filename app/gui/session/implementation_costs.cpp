// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/implementation_costs.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"
#include "kernels/base/written_file.h"

namespace attnscope::gui {
namespace {

constexpr int costs_pause_ms = 300;

}  // namespace

QList<ForeseenCost> read_costs(const QByteArray& json) {
  QList<ForeseenCost> costs;
  const QJsonObject root = QJsonDocument::fromJson(json).object();
  const QJsonArray rows = root.value(QLatin1String("implementations")).toArray();
  for (const auto& value : rows) {
    const QJsonObject row = value.toObject();
    const QString id = row.value(QLatin1String("id")).toString();
    if (id.isEmpty()) continue;
    costs.append({id, row.value(QLatin1String("reason")).toString(),
                  row.value(QLatin1String("executed_flop")).toDouble(),
                  row.value(QLatin1String("executed_bytes")).toDouble(),
                  row.value(QLatin1String("peak_bytes")).toDouble()});
  }
  return costs;
}

ImplementationCosts::ImplementationCosts(QObject* parent) : QObject(parent) {
  pause_.setSingleShot(true);
  pause_.setInterval(costs_pause_ms);
  connect(&pause_, &QTimer::timeout, this, &ImplementationCosts::start);
  connect(&process_, &QProcess::finished, this,
          [this](int exit_code, QProcess::ExitStatus) { read(exit_code); });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      finish(tr("Cannot start %1: %2.").arg(process_.program(), process_.errorString()));
  });
}

ImplementationCosts::~ImplementationCosts() {
  process_.disconnect(this);
  if (process_.state() == QProcess::NotRunning) return;
  process_.kill();
  process_.waitForFinished(patience_ms);
}

void ImplementationCosts::ask(const CostQuestion& question) {
  if (is_asking_ && question == question_) return;
  if (!is_asking_ && answered_ == question) return;
  question_ = question;
  answered_.reset();
  costs_.clear();
  problem_.clear();
  is_asking_ = true;
  stop();
  pause_.start();
  Q_EMIT changed();
}

void ImplementationCosts::forget() {
  pause_.stop();
  stop();
  const bool was_known = is_asking_ || answered_;
  answered_.reset();
  costs_.clear();
  problem_.clear();
  is_asking_ = false;
  if (was_known) Q_EMIT changed();
}

void ImplementationCosts::stop() {
  if (process_.state() != QProcess::NotRunning) process_.kill();
}

void ImplementationCosts::start() {
  if (process_.state() != QProcess::NotRunning)
    return pause_.start();  // one killed is not yet gone
  const QString pattern = folder_.filePath(QStringLiteral("pattern.json"));
  const QString layout = folder_.filePath(QStringLiteral("layout.json"));
  const Result<SequenceLayout> made = SequenceLayout::make({question_.item});
  if (!made) return finish(words(made.error().message));
  if (!write_file(pattern.toStdString(), pattern_json(question_.pattern)) ||
      !write_file(layout.toStdString(), layout_json(*made))) {
    return finish(tr("Cannot write to the folder for temporary files, %1.").arg(folder_.path()));
  }
  QStringList arguments{QStringLiteral("costs"),      pattern,
                        QStringLiteral("--layout"),   layout,
                        QStringLiteral("--heads"),    QString::number(question_.heads),
                        QStringLiteral("--head-dim"), QString::number(question_.head_dim),
                        QStringLiteral("--json")};
  if (question_.window) arguments << QStringLiteral("--window") << words(question_.window->text());
  process_.start(attnscope_program(), arguments);
}

void ImplementationCosts::read(int exit_code) {
  if (!is_asking_ || pause_.isActive()) {  // of a question that is no longer asked
    process_.close();
    return;
  }
  if (exit_code != 0 || process_.exitStatus() == QProcess::CrashExit) {
    const QString sentence = last_sentence(process_.readAllStandardError());
    return finish(sentence.isEmpty()
                      ? tr("The worker did not answer (exit code %1).").arg(exit_code)
                      : sentence);
  }
  costs_ = read_costs(process_.readAllStandardOutput());
  finish(costs_.isEmpty() ? tr("The worker named no implementation: it is of another version.")
                          : QString());
}

void ImplementationCosts::finish(const QString& problem) {
  problem_ = problem;
  answered_ = question_;
  is_asking_ = false;
  Q_EMIT changed();
}

}  // namespace attnscope::gui
