// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/sweep_forecast.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"
#include "engine/report/table.h"
#include "kernels/base/json.h"
#include "kernels/base/written_file.h"

namespace attnscope::gui {
namespace {

constexpr int forecast_pause_ms = 400;

/// What of a sweep the answer hangs on.
std::string question_of(const std::string& sweep_text) {
  if (!check_json_size(sweep_text)) return {};
  auto sweep = nlohmann::json::parse(sweep_text, nullptr, /*allow_exceptions=*/false,
                                     /*ignore_comments=*/true);
  if (!sweep.is_object()) return {};
  for (const char* other : {"name", "stop", "contenders", "seed", "cache"}) sweep.erase(other);
  return sweep.dump();
}

}  // namespace

QString memory_words(const Forecast& forecast,
                     const std::vector<PatternAndImplementation>& contenders) {
  double most = 0;
  QString whose;
  for (const PatternAndImplementation& contender : contenders) {
    const auto found = forecast.pairs.find(contender);
    if (found == forecast.pairs.end() || found->second.item_bytes.value_or(0) <= most) continue;
    most = *found->second.item_bytes;
    whose = contender.first + QLatin1Char('/') + contender.second;
  }
  if (most <= 0) return {};
  // The largest batch that fits the sweep's memory is taken, and one item even where it does not.
  const double bytes = std::max(most, std::min(forecast.batch_bytes, most * forecast.batch_max));
  return SweepForecast::tr("about %1 of memory at most (an item of %2 tokens takes %3 with %4)")
      .arg(words(report::format_bytes(bytes)))
      .arg(forecast.largest_tokens)
      .arg(words(report::format_bytes(most)), whose);
}

Forecast read_forecast(const QByteArray& json) {
  Forecast forecast;
  const QJsonObject root = QJsonDocument::fromJson(json).object();
  const QJsonArray pairs = root.value(QLatin1String("pairs")).toArray();
  for (const auto& value : pairs) {
    const QJsonObject pair = value.toObject();
    const QJsonValue bytes = pair.value(QLatin1String("item_bytes"));
    Forecast::Pair read{pair.value(QLatin1String("reason")).toString(), std::nullopt};
    if (bytes.isDouble()) read.item_bytes = bytes.toDouble();
    forecast.pairs.insert_or_assign({pair.value(QLatin1String("pattern")).toString(),
                                     pair.value(QLatin1String("implementation")).toString()},
                                    std::move(read));
  }
  constexpr double mebibyte = 1 << 20;
  forecast.largest_tokens = root.value(QLatin1String("largest_tokens")).toInteger();
  forecast.batch_max = root.value(QLatin1String("batch_max")).toDouble(1);
  forecast.batch_bytes = root.value(QLatin1String("batch_memory_mb")).toDouble() * mebibyte;
  return forecast;
}

SweepForecast::SweepForecast(QObject* parent) : QObject(parent) {
  pause_.setSingleShot(true);
  pause_.setInterval(forecast_pause_ms);
  connect(&pause_, &QTimer::timeout, this, &SweepForecast::start);
  connect(&process_, &QProcess::finished, this,
          [this](int exit_code, QProcess::ExitStatus) { read(exit_code); });
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    Forecast none;
    none.problem = tr("Cannot start %1: %2.").arg(process_.program(), process_.errorString());
    finish(std::move(none));
  });
}

SweepForecast::~SweepForecast() {
  process_.disconnect(this);
  if (process_.state() == QProcess::NotRunning) return;
  process_.kill();
  process_.waitForFinished(patience_ms);
}

void SweepForecast::ask(const std::string& sweep_text) {
  sweep_ = sweep_text;
  std::string question = question_of(sweep_text);
  if (question.empty() || question == question_) return;
  question_ = std::move(question);
  if (process_.state() != QProcess::NotRunning) process_.kill();
  pause_.start();
}

void SweepForecast::set_measuring(bool measuring) {
  const bool was = std::exchange(measuring_, measuring);
  if (was && !measuring && question_ != answered_) pause_.start();
}

void SweepForecast::start() {
  if (question_ == answered_) return;
  if (measuring_) {
    forecast_.problem = tr("a run is being measured, which asking would disturb.");
    Q_EMIT changed();
    return;
  }
  if (process_.state() != QProcess::NotRunning)
    return pause_.start();  // one killed is not yet gone
  const QString file_name = folder_.filePath(QStringLiteral("sweep.json"));
  if (Status written = write_file(file_name.toStdString(), sweep_); !written) {
    Forecast none;
    none.problem = words(written.error().message);
    return finish(std::move(none));
  }
  process_.start(attnscope_program(),
                 {QStringLiteral("foresee"), file_name, QStringLiteral("--json")});
}

void SweepForecast::read(int exit_code) {
  if (pause_.isActive()) return;  // of a question that is no longer asked
  Forecast answer = read_forecast(process_.readAllStandardOutput());
  if (exit_code != 0 || process_.exitStatus() == QProcess::CrashExit || answer.pairs.empty()) {
    answer.problem = last_sentence(process_.readAllStandardError());
    if (answer.problem.isEmpty()) {
      answer.problem =
          tr("The worker did not say what it can measure (exit code %1).").arg(exit_code);
    }
  }
  finish(std::move(answer));
}

void SweepForecast::finish(Forecast forecast) {
  answered_ = question_;
  forecast_ = std::move(forecast);
  Q_EMIT changed();
}

}  // namespace attnscope::gui
