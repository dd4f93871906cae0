// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/sweep_draft.h"

#include <QCoreApplication>
#include <QDesktopServices>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStringList>
#include <QUrl>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/program.h"
#include "app/gui/session/text.h"
#include "base/json.h"
#include "base/open_file.h"
#include "base/written_file.h"
#include "engine/heat/axes.h"
#include "engine/heat/model_row.h"
#include "engine/sweep/driver.h"

namespace attnscope::gui {
namespace {

using Json = nlohmann::ordered_json;

QString tr_form(const char* text) {
  return QCoreApplication::translate("SweepDraft", text);
}

const Json* find(const Json& sweep, const QString& key) {
  const Json* at = &sweep;
  for (const QString& part : key.split(QLatin1Char('.'))) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(part.toStdString());
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

/// A number, a boolean, or the text itself.
Json value_of(const QString& part) {
  const Json read = Json::parse(part.toStdString(), nullptr, /*allow_exceptions=*/false);
  if (read.is_number() || read.is_boolean()) return read;
  return part.toStdString();
}

/// A list element or a value in the form's notation. Invalid values are unchanged: the sweep parser
/// reports them.
QString part_text(const Json& part) {
  if (part.is_string()) return qstring(part.get<std::string>());
  if (part.is_object()) {
    const auto lengths = read_json(nlohmann::json(part), "this form", read_lengths);
    if (lengths) return qstring(text_of(*lengths));
  }
  return qstring(part.dump());
}

/// "8, 12"; empty if the sweep does not set the field.
QString field_text(const Json& sweep, const QString& key) {
  const Json* found = find(sweep, key);
  if (found == nullptr) return {};
  QStringList parts;
  for (const Json& part : found->is_array() ? *found : Json::array({*found}))
    parts.append(part_text(part));
  return parts.join(QStringLiteral(", "));
}

/// Empty text removes the field. The sweep parser interprets the text.
void set_field(Json& sweep, const QString& key, const QString& text) {
  const std::string first = key.section(QLatin1Char('.'), 0, 0).toStdString();
  const std::string second = key.section(QLatin1Char('.'), 1).toStdString();
  Json values = Json::array();
  for (const QString& part : text.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    if (!part.trimmed().isEmpty()) values.push_back(value_of(part.trimmed()));
  }
  if (values.empty()) {
    if (second.empty()) {
      sweep.erase(first);
    } else if (sweep.contains(first) && sweep.at(first).is_object()) {
      sweep.at(first).erase(second);
      if (sweep.at(first).empty()) sweep.erase(first);
    }
    return;
  }
  Json& group = second.empty() ? sweep : sweep[first];
  if (!group.is_object()) group = Json::object();
  group[second.empty() ? first : second] = values.size() == 1 ? values.front() : values;
}

/// The possible values of an axis in a sweep: "warm, cold".
QStringList choices_of(const Axis& axis) {
  QStringList choices;
  if (axis.kind == Axis::Kind::number || axis.kind == Axis::Kind::lengths) return choices;
  const std::int64_t count = axis.kind == Axis::Kind::truth ? 2 : axis.words;
  const std::int64_t usual = axis.default_value();
  choices.append(qstring(text_of(axis, usual)));
  for (std::int64_t value = 0; value < count; ++value) {
    if (value != usual) choices.append(qstring(text_of(axis, value)));
  }
  if (axis.takes_lists && count == 2) choices.append(choices.join(QStringLiteral(", ")));
  return choices;
}

SweepField field_of(const Axis& axis) {
  QString tip = qstring(axis.says);
  tip[0] = tip[0].toUpper();
  return {qstring(axis.field), qstring(axis.title), tip,
          axis.otherwise.empty() ? qstring(text_of(axis, axis.default_value()))
                                 : qstring(axis.otherwise),
          choices_of(axis)};
}

/// The window at the end of a contender's text, with its slash: "/64".
QString own_window(const QString& id) {
  static const QRegularExpression window(QStringLiteral("/.+(/(?:\\d+|inf))$"));
  return window.match(id).captured(1);
}

/// A field of a user's file; empty if it is missing or not a string.
std::string text_in(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

PatternAndImplementation pair_of(const Json& contender) {
  if (contender.is_object()) {
    std::string pattern = text_in(contender, contender.contains("model") ? "model" : "pattern");
    for (const ModelRowOption& option : model_row_options()) {
      const auto requested = contender.find(option.field);
      if (requested != contender.end() && *requested == true) pattern.append(option.ending);
    }
    return {qstring(pattern), qstring(text_in(contender, "implementation"))};
  }
  QString id = contender.is_string() ? qstring(contender.get<std::string>()) : QString();
  id.chop(own_window(id).size());
  // A pattern may be a path, so the implementation follows the last slash.
  const qsizetype slash = id.lastIndexOf(QLatin1Char('/'));
  return {id.left(slash), id.mid(slash + 1)};
}

Json parse(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
}

/// The selected contenders; those in the preset keep its display names and other fields.
Json contenders_json(const SweepDraft& draft, const Json& base) {
  Json list = Json::array();
  for (const PatternAndImplementation& chosen : draft.contenders) {
    bool from_base = false;
    for (const Json& contender : base.value("contenders", Json::array())) {
      if (pair_of(contender) != chosen) continue;
      list.push_back(contender);
      from_base = true;
    }
    if (!from_base) list.push_back((chosen.first + QLatin1Char('/') + chosen.second).toStdString());
  }
  return list;
}

/// "this form, line 5: 'batch.max' must be ..." is assigned to the field that it names.
void place_problem(const QString& sentence, CheckedDraft& checked) {
  static const QRegularExpression place(
      QStringLiteral("^this form, line \\d+: ('([a-z_.]+)[^']*' .*)$"),
      QRegularExpression::DotMatchesEverythingOption);
  const QRegularExpressionMatch found = place.match(sentence);
  const QString key = found.captured(2);
  const auto& fields = sweep_fields();
  const bool has_place = key == QLatin1String("contenders") ||
                         std::ranges::find(fields, key, &SweepField::key) != fields.end();
  checked.problems[has_place ? key : QString()] = has_place ? found.captured(1) : sentence;
}

void measure(CheckedDraft& checked, std::string_view source) {
  const Result<Sweep> sweep = parse_sweep(checked.sweep_text, source);
  if (!sweep) return place_problem(qstring(sweep.error().message), checked);
  checked.heats = static_cast<int>(sweep->heats.size());
  for (const Heat& heat : sweep->heats) checked.cells += static_cast<int>(heat.contenders.size());
  checked.longest_seconds = longest_seconds(*sweep);
}

}  // namespace

const QList<SweepField>& sweep_fields() {
  static const QList<SweepField> fields = [] {
    const QList<SweepField> first{
        {QStringLiteral("windows"),
         tr_form("&Windows"),
         tr_form("One-sided window widths: numbers, ranges such as 1:64:*2, and inf"),
         QStringLiteral("4, 64, inf"),
         {},
         true},
        {QStringLiteral("sequence_tokens"),
         tr_form("Len&gths (tokens)"),
         tr_form("Tokens of a whole sequence: 64, or a range 64:2048:*2 (doubling) or 64:512:+64 "
                 "(steps)"),
         QStringLiteral("64:4096:*2"),
         {},
         true},
        {QStringLiteral("device"),
         tr_form("Dev&ice"),
         tr_form("The device that the run is measured on"),
         {},
         {},
         true}};
    QList<SweepField> all = first;
    for (const Axis& axis : heat_axes) {
      const SweepField field = field_of(axis);
      if (std::ranges::find(first, field.key, &SweepField::key) == first.end()) all.append(field);
    }
    all.append(
        {{QStringLiteral("stop.relative_interval"), tr_form("Interval to reach"),
          tr_form("A cell is finished when the half-width of its interval is at most this fraction "
                  "of the median"),
          QStringLiteral("0.02")},
         {QStringLiteral("stop.max_seconds"), tr_form("Maximum seconds per cell"),
          tr_form("Measuring the cell stops then, even if the interval is not reached"),
          QStringLiteral("3")},
         {QStringLiteral("stop.min_samples"), tr_form("Minimum samples per cell"),
          tr_form("Number of samples before the interval is checked"), QStringLiteral("10")},
         {QStringLiteral("stop.placements"), tr_form("Placements"),
          tr_form("Number of times that the buffers are reallocated"), QStringLiteral("5")},
         {QStringLiteral("stop.processes"), tr_form("Processes"),
          tr_form("Number of worker processes that share the placements"), QStringLiteral("2")}});
    return all;
  }();
  return fields;
}

SweepDraft draft_of(const NamedSweep& preset) {
  SweepDraft draft;
  draft.base_text = preset.text;
  draft.name = qstring(preset.name);
  const Json sweep = parse(preset.text);
  if (!sweep.is_object()) return draft;
  if (sweep.contains("name") && sweep.at("name").is_string())
    draft.name = qstring(sweep.at("name").get<std::string>());
  for (const Json& contender : sweep.value("contenders", Json::array())) {
    const PatternAndImplementation pair = pair_of(contender);
    if (std::find(draft.contenders.begin(), draft.contenders.end(), pair) == draft.contenders.end())
      draft.contenders.push_back(pair);
  }
  for (const SweepField& field : sweep_fields())
    draft.fields[field.key] = field_text(sweep, field.key);
  QString& device = draft.fields[QStringLiteral("device")];
  if (device.isEmpty()) device = QStringLiteral("cpu");
  return draft;
}

CheckedDraft check(const SweepDraft& draft) {
  CheckedDraft checked;
  if (draft == draft_of({draft.name.toStdString(), draft.base_text})) {
    checked.sweep_text = draft.base_text;
    measure(checked, "this form");
    return checked;
  }
  const QString lengths = QStringLiteral("sequence_tokens");
  Json sweep = parse(draft.base_text);
  if (!sweep.is_object()) sweep = Json::object();
  if (draft.contenders.empty())
    checked.problems[QStringLiteral("contenders")] = tr_form("Choose at least one contender.");
  const auto is_empty = [&](const QString& key) {
    return !draft.fields.contains(key) || draft.fields.at(key).trimmed().isEmpty();
  };
  if (is_empty(lengths) && is_empty(qstring(find_axis("document_lengths")->field)))
    checked.problems[lengths] = tr_form("Enter at least one length, such as 64:2048:*2.");
  if (!checked.ok()) return checked;

  sweep["contenders"] = contenders_json(draft, sweep);
  sweep["name"] = draft.name.toStdString();
  for (const auto& [key, text] : draft.fields) {
    if (text.trimmed() != field_text(sweep, key)) set_field(sweep, key, text);
  }
  checked.sweep_text = sweep.dump(2) + "\n";
  measure(checked, "this form");
  return checked;
}

CheckedDraft check_text(const std::string& sweep_text) {
  CheckedDraft checked;
  checked.sweep_text = sweep_text;
  measure(checked, "The sweep file");
  return checked;
}

QString duration_text(double seconds) {
  const auto minutes = static_cast<qint64>(std::ceil(seconds / 60));
  if (seconds < 60) return QStringLiteral("%1 s").arg(static_cast<qint64>(std::ceil(seconds)));
  if (minutes < 60) return QStringLiteral("%1 min").arg(minutes);
  return QStringLiteral("%1 h %2 min").arg(minutes / 60).arg(minutes % 60);
}

namespace {

QString own_presets_folder() {
  return data_folder() + QStringLiteral("/sweeps");
}

QString file_of(const QString& name) {
  static const QRegularExpression unsafe(QStringLiteral("[^\\w .-]"));
  QString stem = name;
  stem.replace(unsafe, QStringLiteral("-"));
  return own_presets_folder() + QLatin1Char('/') + stem + QStringLiteral(".json");
}

nlohmann::ordered_json parsed(const std::string& text) {
  if (!check_json_size(text)) return {};
  return nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false,
                                       /*ignore_comments=*/true);
}

constexpr int saving_ms = 100;

}  // namespace

std::vector<NamedSweep> own_presets() {
  std::vector<NamedSweep> presets;
  const QDir folder(own_presets_folder());
  const QStringList files =
      folder.entryList({QStringLiteral("*.json")}, QDir::Files | QDir::Readable, QDir::Name);
  presets.reserve(static_cast<std::size_t>(files.size()));
  for (const QString& name : files) {
    QFile file(folder.filePath(name));
    if (static_cast<std::uintmax_t>(file.size()) > largest_sweep || !file.open(QIODevice::ReadOnly))
      continue;
    std::string text = file.readAll().toStdString();
    const auto sweep = parsed(text);
    if (!sweep.is_object() || !sweep.contains("name") || !sweep.at("name").is_string()) continue;
    presets.push_back({sweep.at("name").get<std::string>(), std::move(text)});
  }
  return presets;
}

bool is_own_preset(const QString& name) {
  return QFile::exists(file_of(name));
}

Result<QString> save_own_preset(const QString& name, const std::string& sweep_text) {
  if (name.trimmed().isEmpty()) return fail("a preset needs a name; enter one in the field Name.");
  const auto& shipped = built_in_sweeps();
  if (std::ranges::find(shipped, name.toStdString(), &NamedSweep::name) != shipped.end()) {
    return fail("{} is a built-in preset; enter another name in the field Name.",
                name.toStdString());
  }
  auto sweep = parsed(sweep_text);
  std::string text = sweep_text;
  if (sweep.is_object() && sweep.value("name", std::string()) != name.toStdString()) {
    sweep["name"] = name.toStdString();
    text = sweep.dump(2) + "\n";
  }
  const QString path = file_of(name);
  // If the folder cannot be created, writing the file reports the error.
  QDir().mkpath(own_presets_folder());
  if (Status written = write_file(path.toStdString(), text); !written)
    return tl::unexpected(written.error());
  return path;
}

SweepFile::SweepFile(QObject* parent) : QObject(parent) {
  pause_.setSingleShot(true);
  pause_.setInterval(saving_ms);
  connect(&pause_, &QTimer::timeout, this, &SweepFile::read);
  for (const auto changed :
       {&QFileSystemWatcher::fileChanged, &QFileSystemWatcher::directoryChanged})
    connect(&watcher_, changed, &pause_, qOverload<>(&QTimer::start));
}

QString SweepFile::open(const std::string& sweep_text) {
  if (!sweep_text.empty()) {
    known_ = sweep_text;
    if (const Status written = write_file(path().toStdString(), sweep_text); !written)
      return qstring(written.error().message);
  }
  watcher_.addPaths({folder_.path(), path()});
  if (QDesktopServices::openUrl(QUrl::fromLocalFile(path()))) return {};
  return tr("This desktop has no editor for %1: open it in an editor of your choice.").arg(path());
}

void SweepFile::follow(const std::string& sweep_text) {
  if (!is_open() || sweep_text == known_) return;
  known_ = sweep_text;
  // If the editor's folder is gone, writing fails; the form does not depend on the file.
  static_cast<void>(write_file(path().toStdString(), sweep_text));
}

void SweepFile::read() {
  pause_.stop();
  if (!is_open()) return;
  // Add it again: it may be a new file, while another process still holds the old one.
  watcher_.removePath(path());
  if (QFileInfo::exists(path())) watcher_.addPath(path());
  const Result<std::string> text =
      read_text_file(path().toStdString(), "sweep file", largest_sweep);
  if (!text) {
    if (std::exchange(known_, std::nullopt)) Q_EMIT unreadable(qstring(text.error().message));
    return;
  }
  if (known_ && *text == *known_) return;
  known_ = *text;
  Q_EMIT edited(*text);
}

}  // namespace attnscope::gui
