// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/sweep_fields.h"

#include <QCoreApplication>
#include <algorithm>

#include "app/gui/session/text.h"
#include "engine/heat/axes.h"

namespace attnscope::gui {
namespace {

using Json = nlohmann::ordered_json;

QString in_form(const char* text) {
  return QCoreApplication::translate("SweepFields", text);
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

/// A number, a truth, or the text itself.
Json value_of(const QString& part) {
  const Json read = Json::parse(part.toStdString(), nullptr, /*allow_exceptions=*/false);
  if (read.is_number() || read.is_boolean()) return read;
  return part.toStdString();
}

/// A value that a sweep may give, or all of them: "warm, cold".
QStringList choices_of(const Axis& axis) {
  QStringList choices;
  if (axis.kind == Axis::Kind::number) return choices;
  const std::int64_t count = axis.kind == Axis::Kind::truth ? 2 : axis.words;
  const std::int64_t usual = axis.default_value();
  choices.append(words(text_of(axis, usual)));
  for (std::int64_t value = 0; value < count; ++value) {
    if (value != usual) choices.append(words(text_of(axis, value)));
  }
  if (axis.takes_lists && count == 2) choices.append(choices.join(QStringLiteral(", ")));
  return choices;
}

QString text(std::string_view words_of_axis) {
  return words(std::string(words_of_axis));
}

SweepField field_of(const Axis& axis) {
  QString tip = text(axis.says);
  tip[0] = tip[0].toUpper();
  return {
      text(axis.field), text(axis.title), tip,
      axis.otherwise.empty() ? words(text_of(axis, axis.default_value())) : text(axis.otherwise),
      choices_of(axis)};
}

}  // namespace

const QList<SweepField>& sweep_fields() {
  static const QList<SweepField> fields = [] {
    const QList<SweepField> first{
        {QStringLiteral("windows"),
         in_form("&Windows"),
         in_form("One-sided window widths: numbers, ranges such as 1:64:*2, and inf"),
         QStringLiteral("4, 64, inf"),
         {},
         true},
        {QStringLiteral("sequence_tokens"),
         in_form("Len&gths (tokens)"),
         in_form("Tokens of a whole sequence: 64, or a range 64:2048:*2 (doubling) or 64:512:+64 "
                 "(steps)"),
         QStringLiteral("64:4096:*2"),
         {},
         true},
        {QStringLiteral("device"),
         in_form("Dev&ice"),
         in_form("What the run is measured on"),
         {},
         {},
         true}};
    QList<SweepField> all = first;
    for (const Axis& axis : heat_axes) {
      const SweepField field = field_of(axis);
      if (std::ranges::find(first, field.key, &SweepField::key) == first.end()) all.append(field);
    }
    all.append(
        {{QStringLiteral("stop.relative_interval"), in_form("Interval to reach"),
          in_form(
              "A cell is done when its interval's half-width is at most this part of the median"),
          QStringLiteral("0.02")},
         {QStringLiteral("stop.max_seconds"), in_form("Seconds of a cell, at most"),
          in_form("It ends then, settled or not"), QStringLiteral("3")},
         {QStringLiteral("stop.min_samples"), in_form("Samples of a cell, at least"),
          in_form("Before its interval is believed"), QStringLiteral("10")},
         {QStringLiteral("stop.placements"), in_form("Placements"),
          in_form("Buffers allocated anew so often"), QStringLiteral("5")},
         {QStringLiteral("stop.processes"), in_form("Processes"),
          in_form("Worker processes that the placements are spread over"), QStringLiteral("2")}});
    return all;
  }();
  return fields;
}

QString field_text(const Json& sweep, const QString& key) {
  const Json* found = find(sweep, key);
  if (found == nullptr) return {};
  QStringList parts;
  for (const Json& part : found->is_array() ? *found : Json::array({*found}))
    parts.append(words(part.is_string() ? part.get<std::string>() : part.dump()));
  return parts.join(QStringLiteral(", "));
}

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

}  // namespace attnscope::gui
