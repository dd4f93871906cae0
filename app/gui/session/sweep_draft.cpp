// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/sweep_draft.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/gui/session/sweep_axes.h"
#include "app/gui/session/text.h"
#include "engine/heat/model_row.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/sweep/driver.h"

namespace attnscope::gui {
namespace {

using Json = nlohmann::ordered_json;

QString draft_text(const char* text) {
  return QCoreApplication::translate("SweepDraft", text);
}

QString both_directions() {
  return QStringLiteral("forward, forward-backward");
}

QString list_text(const Json& sweep, const char* key) {
  return axis_text(sweep, QLatin1String(key));
}

/// The window that a contender's text ends in, with its slash: "/64".
QString own_window(const QString& id) {
  static const QRegularExpression window(QStringLiteral("/.+(/(?:\\d+|inf))$"));
  return window.match(id).captured(1);
}

bool has_own_window(const Json& contender) {
  if (contender.is_object()) return contender.contains("window");
  return contender.is_string() && !own_window(words(contender.get<std::string>())).isEmpty();
}

PatternAndImplementation pair_of(const Json& contender) {
  if (contender.is_object()) {
    std::string pattern = contender.value("model", contender.value("pattern", std::string()));
    for (const ModelRowOption& option : model_row_options())
      if (contender.value(option.field, false)) pattern.append(option.ending);
    return {words(pattern), words(contender.value("implementation", std::string()))};
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

/// The parts of a list field as JSON; the first wrong part's sentence goes to `problem`.
Json list_field(const QString& text, bool may_be_infinite, QString& problem) {
  Json list = Json::array();
  const QStringList parts = text.split(QLatin1Char(','), Qt::SkipEmptyParts);
  for (const QString& untrimmed : parts) {
    const std::string part = untrimmed.trimmed().toStdString();
    if (part.empty()) continue;
    if (may_be_infinite && part == "inf") {
      list.push_back(part);
      continue;
    }
    const Result<std::vector<std::int64_t>> numbers = parse_range(part);
    if (!numbers) {
      problem = words(numbers.error().message);
      return list;
    }
    if (part.find(':') != std::string::npos) {
      list.push_back(part);
    } else {
      for (const std::int64_t number : *numbers) list.push_back(number);
    }
  }
  return list;
}

Json documents_field(const QString& text, QString& problem) {
  Json list = list_field(text, false, problem);
  const bool numbers = std::all_of(list.begin(), list.end(),
                                   [](const Json& part) { return part.is_number() && part >= 1; });
  if (problem.isEmpty() && (list.empty() || !numbers)) {
    problem = draft_text("Give how many documents an item has: 1, or a list such as 1, 4.");
  }
  return list;
}

bool takes_window(const QString& pattern) {
  const Result<ModelRow> row = parse_model_row(pattern.toStdString());
  const Result<AttentionPattern> found = find_pattern(row ? row->pattern : pattern.toStdString());
  return found && found->has_window();
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

/// One word, or a list of them.
Json words_json(const QString& text) {
  Json list = Json::array();
  for (const QString& part : text.split(QLatin1Char(',')))
    list.push_back(part.trimmed().toStdString());
  return list.size() == 1 ? list.front() : list;
}

/// "this form, line 5: 'batch.max' must be ..." goes beside the field that it names.
void place_problem(const QString& sentence, CheckedDraft& checked) {
  static const QRegularExpression place(
      QStringLiteral("^this form, line \\d+: ('([a-z_.]+)[^']*' .*)$"),
      QRegularExpression::DotMatchesEverythingOption);
  const QRegularExpressionMatch found = place.match(sentence);
  const QString key = found.captured(2);
  QString* field = &checked.other_problem;
  if (key == QLatin1String("sequence_tokens")) field = &checked.lengths_problem;
  if (key == QLatin1String("windows")) field = &checked.windows_problem;
  if (key == QLatin1String("contenders")) field = &checked.contenders_problem;
  if (key == QLatin1String("documents")) field = &checked.documents_problem;
  for (const SweepAxis& axis : sweep_axes()) {
    if (axis.key == key) field = &checked.axis_problems[key];
  }
  *field = field == &checked.other_problem ? sentence : found.captured(1);
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
  draft.windows = list_text(sweep, "windows");
  draft.lengths = list_text(sweep, "sequence_tokens");
  draft.documents = list_text(sweep, "documents");
  if (draft.documents.isEmpty()) draft.documents = QStringLiteral("1");
  draft.direction = list_text(sweep, "direction");
  if (draft.direction.isEmpty()) draft.direction = QStringLiteral("forward");
  if (draft.direction.contains(QLatin1Char(','))) draft.direction = both_directions();
  draft.device = list_text(sweep, "device");
  if (draft.device.isEmpty()) draft.device = QStringLiteral("cpu");
  for (const SweepAxis& axis : sweep_axes()) draft.axes[axis.key] = axis_text(sweep, axis.key);
  return draft;
}

CheckedDraft check(const SweepDraft& draft) {
  CheckedDraft checked;
  if (draft == draft_of({draft.name.toStdString(), draft.base_text})) {
    checked.sweep_text = draft.base_text;
    measure(checked, "this form");
    return checked;
  }
  Json sweep = parse(draft.base_text);
  if (!sweep.is_object()) sweep = Json::object();

  if (draft.contenders.empty())
    checked.contenders_problem = draft_text("Choose at least one contender.");
  const Json windows = list_field(draft.windows, true, checked.windows_problem);
  const Json contenders = contenders_json(draft, sweep);
  const bool window_needed =
      std::any_of(contenders.begin(), contenders.end(), [](const Json& contender) {
        return !has_own_window(contender) && takes_window(pair_of(contender).first);
      });
  if (window_needed && windows.empty() && checked.windows_problem.isEmpty()) {
    checked.windows_problem =
        draft_text("A chosen pattern has a window: give at least one, such as 4.");
  }
  const Json lengths = list_field(draft.lengths, false, checked.lengths_problem);
  if (lengths.empty() && checked.lengths_problem.isEmpty()) {
    checked.lengths_problem = draft_text("Give at least one length, such as 64:2048:*2.");
  }
  const Json documents = documents_field(draft.documents, checked.documents_problem);
  if (!checked.ok()) return checked;

  sweep["name"] = draft.name.toStdString();
  sweep["contenders"] = contenders;
  if (windows.empty()) {
    sweep.erase("windows");
  } else {
    sweep["windows"] = windows;
  }
  sweep["sequence_tokens"] = lengths;
  if (documents == Json::array({1})) {
    sweep.erase("documents");
  } else {
    sweep["documents"] = documents;
  }
  sweep["direction"] = words_json(draft.direction);
  sweep["device"] = words_json(draft.device);
  for (const auto& [key, text] : draft.axes) {
    if (text.trimmed() != axis_text(sweep, key)) set_axis(sweep, key, text);
  }
  checked.sweep_text = sweep.dump(2) + "\n";
  measure(checked, "this form");
  return checked;
}

CheckedDraft check_text(const std::string& sweep_text) {
  CheckedDraft checked;
  checked.sweep_text = sweep_text;
  measure(checked, "The sweep");
  return checked;
}

QString CheckedDraft::problem() const {
  for (const QString& one :
       {contenders_problem, windows_problem, lengths_problem, documents_problem, other_problem}) {
    if (!one.isEmpty()) return one;
  }
  return axis_problems.empty() ? QString() : axis_problems.begin()->second;
}

QString duration_words(double seconds) {
  const auto minutes = static_cast<qint64>(std::ceil(seconds / 60));
  if (seconds < 60) return QStringLiteral("%1 s").arg(static_cast<qint64>(std::ceil(seconds)));
  if (minutes < 60) return QStringLiteral("%1 min").arg(minutes);
  return QStringLiteral("%1 h %2 min").arg(minutes / 60).arg(minutes % 60);
}

}  // namespace attnscope::gui
