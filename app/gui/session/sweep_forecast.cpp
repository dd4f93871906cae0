// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/sweep_forecast.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/text.h"
#include "engine/report/table.h"
#include "kernels/base/json.h"

namespace attnscope::gui {
namespace {

constexpr std::chrono::milliseconds forecast_pause{400};

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
  return SweepForecast::tr("about %1 of memory (%2 at %3 tokens)")
      .arg(words(report::format_bytes(bytes)), whose)
      .arg(forecast.largest_tokens);
}

SweepForecast::SweepForecast(QObject* parent) : ProgramQuestion(parent, forecast_pause) {}

void SweepForecast::ask(const std::string& sweep_text) {
  std::string question = question_of(sweep_text);
  if (question.empty() || question == question_) return;
  question_ = std::move(question);
  sweep_ = sweep_text;
  waits_ = measuring_;
  if (measuring_) return fail(tr("a run is being measured, which asking would disturb."));
  const QString file = QStringLiteral("sweep.json");
  put({.arguments = {QStringLiteral("foresee"), path_of(file), QStringLiteral("--json")},
       .files = {{file, sweep_text}}});
}

void SweepForecast::set_measuring(bool measuring) {
  measuring_ = measuring;
  if (measuring ? !is_asking() : !waits_) return;
  question_.clear();
  ask(sweep_);
}

Forecast SweepForecast::forecast() const {
  if (problem().isEmpty()) return forecast_;
  Forecast none;
  none.problem = problem();
  return none;
}

bool SweepForecast::read(const QByteArray& printed) {
  forecast_ = {};
  const QJsonObject root = QJsonDocument::fromJson(printed).object();
  const QJsonArray pairs = root.value(QLatin1String("pairs")).toArray();
  for (const auto& value : pairs) {
    const QJsonObject pair = value.toObject();
    const QJsonValue bytes = pair.value(QLatin1String("item_bytes"));
    Forecast::Pair read{pair.value(QLatin1String("reason")).toString(), std::nullopt};
    if (bytes.isDouble()) read.item_bytes = bytes.toDouble();
    forecast_.pairs.insert_or_assign({pair.value(QLatin1String("pattern")).toString(),
                                      pair.value(QLatin1String("implementation")).toString()},
                                     std::move(read));
  }
  constexpr double mebibyte = 1 << 20;
  forecast_.largest_tokens = root.value(QLatin1String("largest_tokens")).toInteger();
  forecast_.batch_max = root.value(QLatin1String("batch_max")).toDouble(1);
  forecast_.batch_bytes = root.value(QLatin1String("batch_memory_mb")).toDouble() * mebibyte;
  return !forecast_.pairs.empty();
}

}  // namespace attnscope::gui
