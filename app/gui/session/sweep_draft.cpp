// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/sweep_draft.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/gui/session/sweep_fields.h"
#include "app/gui/session/text.h"
#include "engine/heat/model_row.h"
#include "engine/sweep/driver.h"

namespace attnscope::gui {
namespace {

using Json = nlohmann::ordered_json;

QString draft_text(const char* text) {
  return QCoreApplication::translate("SweepDraft", text);
}

/// The window that a contender's text ends in, with its slash: "/64".
QString own_window(const QString& id) {
  static const QRegularExpression window(QStringLiteral("/.+(/(?:\\d+|inf))$"));
  return window.match(id).captured(1);
}

/// A field of somebody's own file; empty where it is missing or no text.
std::string text_in(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

PatternAndImplementation pair_of(const Json& contender) {
  if (contender.is_object()) {
    std::string pattern = text_in(contender, contender.contains("model") ? "model" : "pattern");
    for (const ModelRowOption& option : model_row_options()) {
      const auto asked = contender.find(option.field);
      if (asked != contender.end() && *asked == true) pattern.append(option.ending);
    }
    return {words(pattern), words(text_in(contender, "implementation"))};
  }
  QString id = contender.is_string() ? words(contender.get<std::string>()) : QString();
  id.chop(own_window(id).size());
  // A pattern may be a path, so the implementation follows the last slash.
  const qsizetype slash = id.lastIndexOf(QLatin1Char('/'));
  return {id.left(slash), id.mid(slash + 1)};
}

Json parse(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
}

/// The chosen contenders; those the preset names keep its display names and other fields.
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

/// "this form, line 5: 'batch.max' must be ..." goes beside the field that it names.
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
  if (!sweep) return place_problem(words(sweep.error().message), checked);
  checked.heats = static_cast<int>(sweep->heats.size());
  for (const Heat& heat : sweep->heats) checked.cells += static_cast<int>(heat.contenders.size());
  checked.longest_seconds = longest_seconds(*sweep);
}

}  // namespace

SweepDraft draft_of(const NamedSweep& preset) {
  SweepDraft draft;
  draft.base_text = preset.text;
  draft.name = words(preset.name);
  const Json sweep = parse(preset.text);
  if (!sweep.is_object()) return draft;
  if (sweep.contains("name") && sweep.at("name").is_string())
    draft.name = words(sweep.at("name").get<std::string>());
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
    checked.problems[QStringLiteral("contenders")] = draft_text("Choose at least one contender.");
  if (!draft.fields.contains(lengths) || draft.fields.at(lengths).trimmed().isEmpty())
    checked.problems[lengths] = draft_text("Give at least one length, such as 64:2048:*2.");
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

QString duration_words(double seconds) {
  const auto minutes = static_cast<qint64>(std::ceil(seconds / 60));
  if (seconds < 60) return QStringLiteral("%1 s").arg(static_cast<qint64>(std::ceil(seconds)));
  if (minutes < 60) return QStringLiteral("%1 min").arg(minutes);
  return QStringLiteral("%1 h %2 min").arg(minutes / 60).arg(minutes % 60);
}

}  // namespace attnscope::gui
