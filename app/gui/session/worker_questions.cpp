// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/worker_questions.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/text.h"
#include "base/json.h"
#include "base/written_file.h"
#include "engine/report/text_statistics.h"

namespace attnscope::gui {
namespace {

constexpr std::chrono::milliseconds costs_pause{300}, forecast_pause{400};

QString text_at(const QJsonObject& object, const char* field) {
  return object.value(QLatin1String(field)).toString();
}

double number_at(const QJsonObject& object, const char* field, double otherwise = 0) {
  return object.value(QLatin1String(field)).toDouble(otherwise);
}

/// The part of a sweep that the answer depends on.
std::string question_of(const std::string& sweep_text) {
  if (!check_json_size(sweep_text)) return {};
  auto sweep = nlohmann::json::parse(sweep_text, nullptr, /*allow_exceptions=*/false,
                                     /*ignore_comments=*/true);
  if (!sweep.is_object()) return {};
  for (const char* other : {"name", "stop", "contenders", "seed", "cache"}) sweep.erase(other);
  return sweep.dump();
}

}  // namespace

QList<QJsonObject> printed_objects(const QByteArray& printed, const QString& field) {
  const QJsonDocument document = QJsonDocument::fromJson(printed);
  const QJsonArray array =
      field.isEmpty() ? document.array() : document.object().value(field).toArray();
  QList<QJsonObject> objects;
  for (const auto& value : array) objects.append(value.toObject());
  return objects;
}

void DeviceList::request() {
  if (!problem().isEmpty()) return;
  send(
      {.arguments = {QStringLiteral("list"), QStringLiteral("devices"), QStringLiteral("--json")}});
}

bool DeviceList::read(const QByteArray& printed) {
  for (const QJsonObject& device : printed_objects(printed)) {
    const QString kind = text_at(device, "kind");
    if (kind.isEmpty()) continue;
    answer_.append({kind, text_at(device, "name"),
                    device.value(QLatin1String("available")).toBool(), text_at(device, "reason")});
  }
  return !answer_.isEmpty();
}

void ImplementationList::request() {
  send({.arguments = QStringList{QStringLiteral("list"), QStringLiteral("implementations"),
                                 QStringLiteral("--json")} +
                     with_options(programs_)});
}

bool ImplementationList::read(const QByteArray& printed) {
  for (const QJsonObject& implementation : printed_objects(printed)) {
    const QString id = text_at(implementation, "id");
    if (!id.isEmpty()) answer_.append({id, text_at(implementation, "summary")});
  }
  return !answer_.isEmpty();
}

ImplementationCosts::ImplementationCosts(QObject* parent) : ListQuestion(parent, costs_pause) {}

void ImplementationCosts::request(const CostQuestion& question) {
  const Result<SequenceLayout> layout = SequenceLayout::make({question.item});
  if (!layout) return fail(qstring(layout.error().message));
  const QString pattern_file = QStringLiteral("pattern.json");
  const QString layout_file = QStringLiteral("layout.json");
  QStringList arguments{QStringLiteral("costs"),      path_of(pattern_file),
                        QStringLiteral("--layout"),   path_of(layout_file),
                        QStringLiteral("--heads"),    QString::number(question.heads),
                        QStringLiteral("--head-dim"), QString::number(question.head_dim),
                        QStringLiteral("--json")};
  if (question.window) arguments << QStringLiteral("--window") << qstring(question.window->text());
  send({.arguments = arguments,
        .files = {{pattern_file, pattern_json(question.pattern)},
                  {layout_file, layout_json(*layout)}}});
}

bool ImplementationCosts::read(const QByteArray& printed) {
  for (const QJsonObject& cost : printed_objects(printed, QStringLiteral("implementations"))) {
    const QString id = text_at(cost, "id");
    if (id.isEmpty()) continue;
    answer_.append({id, text_at(cost, "reason"), number_at(cost, "executed_flop"),
                    number_at(cost, "executed_bytes"), number_at(cost, "peak_bytes")});
  }
  return !answer_.isEmpty();
}

SweepForecast::SweepForecast(QObject* parent) : ProgramQuestion(parent, forecast_pause) {}

void SweepForecast::request(const std::string& sweep_text) {
  std::string question = question_of(sweep_text);
  if (!question.empty()) question += programs_.join(QLatin1Char('\n')).toStdString();
  const bool was_answered = problem().isEmpty();
  if (question == question_ && (was_answered || question.empty())) return;
  question_ = std::move(question);
  if (question_.empty()) {
    sweep_.clear();
    waits_ = false;
    return cancel();
  }
  sweep_ = sweep_text;
  waits_ = measuring_;
  if (measuring_) return fail(tr("a check would disturb the run that is being measured."));
  const QString file = QStringLiteral("sweep.json");
  send({.arguments = QStringList{QStringLiteral("estimate"), path_of(file),
                                 QStringLiteral("--no-trial"), QStringLiteral("--json")} +
                     with_options(programs_),
        .files = {{file, sweep_text}}});
}

void SweepForecast::set_measuring(bool measuring) {
  measuring_ = measuring;
  if (measuring ? !is_pending() : !waits_) return;
  question_.clear();
  request(sweep_);
}

Forecast SweepForecast::forecast() const {
  if (problem().isEmpty()) return forecast_;
  Forecast none;
  none.problem = problem();
  return none;
}

bool SweepForecast::read(const QByteArray& printed) {
  forecast_ = {};
  for (const QJsonObject& pair : printed_objects(printed, QStringLiteral("pairs"))) {
    const QJsonValue bytes = pair.value(QLatin1String("item_bytes"));
    Forecast::Pair read{text_at(pair, "reason"), std::nullopt, number_at(pair, "least_seconds"),
                        pair.value(QLatin1String("tokens")).toInteger(),
                        pair.value(QLatin1String("is_least")).toBool()};
    if (bytes.isDouble()) read.item_bytes = bytes.toDouble();
    forecast_.pairs.insert_or_assign({text_at(pair, "pattern"), text_at(pair, "implementation")},
                                     std::move(read));
  }
  constexpr double mebibyte = 1 << 20;
  const QJsonObject root = QJsonDocument::fromJson(printed).object();
  forecast_.batch_max = number_at(root, "batch_max", 1);
  forecast_.batch_bytes = number_at(root, "batch_memory_mb") * mebibyte;
  if (root.contains(QLatin1String("available_bytes")))
    forecast_.free_bytes = number_at(root, "available_bytes");
  return !forecast_.pairs.empty();
}

namespace {

/// Removes files, the first in this order, until at most `most` are there.
void remove_oldest(const QDir& folder, const QString& names, QDir::SortFlags oldest_first,
                   int most) {
  QStringList files = folder.entryList({names}, QDir::Files, oldest_first);
  while (files.size() > most) QFile::remove(folder.filePath(files.takeFirst()));
}

}  // namespace

CheckpointInspection::CheckpointInspection(QObject* parent) : ProgramQuestion(parent) {
  set_timeout({});
}

QString CheckpointInspection::folder() {
  return data_folder() + QStringLiteral("/dumps");
}

void CheckpointInspection::compute(const CheckpointQuestion& question) {
  const QString stamp =
      QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-HHmmss-zzz"));
  const QString name = QDir(question.folder).dirName();
  file_ = QStringLiteral("%1/%2-%3.safetensors").arg(folder(), stamp, name);
  // If the folder cannot be created, the program reports that it cannot write into it.
  QDir().mkpath(folder());
  const QString document = QStringLiteral("document.txt");
  const QString pattern = QStringLiteral("pattern.json");
  Question requested{
      .arguments = {QStringLiteral("inspect"), QStringLiteral("--checkpoint=") + question.folder,
                    QStringLiteral("--query=") + question.query,
                    QStringLiteral("--document-file=") + path_of(document),
                    QStringLiteral("--output=") + file_},
      .files = {{document, question.document.toStdString()}}};
  if (question.attention) {
    requested.files.emplace(pattern, pattern_json(question.attention->pattern));
    requested.arguments.append(QStringLiteral("--pattern=") + path_of(pattern));
    if (question.attention->window) {
      requested.arguments.append(QStringLiteral("--window=") +
                                 qstring(question.attention->window->text()));
    }
  }
  send(std::move(requested));
}

bool CheckpointInspection::read(const QByteArray&) {
  if (!QFile::exists(file_)) return false;
  // Names begin with the time.
  remove_oldest(folder(), QStringLiteral("*.safetensors"), QDir::Name, most_dumps);
  return true;
}

TextLengths::TextLengths(QObject* parent) : ProgramQuestion(parent) {
  set_timeout({});
}

QString TextLengths::folder() {
  return data_folder() + QStringLiteral("/lengths");
}

void TextLengths::count(const QString& checkpoint, const QString& pairs) {
  name_ = QFileInfo(pairs).completeBaseName() + QLatin1Char('-') + QDir(checkpoint).dirName() +
          QStringLiteral(".json");
  send({.arguments = {QStringLiteral("lengths"), QStringLiteral("--checkpoint=") + checkpoint,
                      QStringLiteral("--pairs=") + pairs, QStringLiteral("--format=json")}});
}

bool TextLengths::read(const QByteArray& printed) {
  if (!report::parse_document_lengths(printed.toStdString())) return false;
  // If the folder cannot be created, writing the file reports the error.
  QDir().mkpath(folder());
  const QDir dir(folder());
  remove_oldest(dir, QStringLiteral("*.json"), QDir::Time | QDir::Reversed, most_files - 1);
  file_ = dir.filePath(name_);
  return write_file(file_.toStdString(), printed.toStdString()).has_value();
}

}  // namespace attnscope::gui
