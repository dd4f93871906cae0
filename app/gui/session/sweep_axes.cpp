// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/sweep_axes.h"

#include <QCoreApplication>

#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

using Json = nlohmann::ordered_json;

QString tr(const char* text) {
  return QCoreApplication::translate("SweepAxes", text);
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

}  // namespace

const QList<SweepAxis>& sweep_axes() {
  static const QList<SweepAxis> axes{
      {QStringLiteral("operation"),
       tr("Operation"),
       tr("With softmax, or the two products of a window alone; or whole cross-encoders"),
       QStringLiteral("attention"),
       {QStringLiteral("attention"), QStringLiteral("windowed-matmul"),
        QStringLiteral("attention, windowed-matmul"), QStringLiteral("model")}},
      {QStringLiteral("layers"), tr("Layers"), tr("Of models"), QStringLiteral("6")},
      {QStringLiteral("feed_forward"), tr("Feed-forward width"),
       tr("Of models, between the two feed-forward layers"),
       QStringLiteral("4 x heads x head dimension")},
      {QStringLiteral("query_tokens"), tr("Query tokens"),
       tr("The query's own words, without its [SEP]"), QStringLiteral("10")},
      {QStringLiteral("shared_query"),
       tr("Shared query"),
       tr("true: one query with many documents; false: every item has its own"),
       QStringLiteral("false"),
       {QStringLiteral("false"), QStringLiteral("true"), QStringLiteral("false, true")}},
      {QStringLiteral("batch.max"), tr("Batch, at most"), tr("Items measured together at most"),
       QStringLiteral("1")},
      {QStringLiteral("batch.memory_mb"), tr("Memory of a batch (MB)"),
       tr("Fewer items are taken where they would need more"), QStringLiteral("4096")},
      {QStringLiteral("batch.per_contender"),
       tr("Batch of its own"),
       tr("Of models: each takes the largest batch that fits it; where batches differ, ratios are "
          "unpaired"),
       QStringLiteral("false"),
       {QStringLiteral("false"), QStringLiteral("true")}},
      {QStringLiteral("heads"), tr("Heads"), tr("Attention heads"), QStringLiteral("12")},
      {QStringLiteral("head_dim"), tr("Head dimension"), tr("Numbers in a head's vector"),
       QStringLiteral("32")},
      {QStringLiteral("dtype"),
       tr("Number format"),
       tr("Of queries, keys, values and outputs"),
       QStringLiteral("float32"),
       {QStringLiteral("float32"), QStringLiteral("float16"), QStringLiteral("bfloat16")}},
      {QStringLiteral("memory_order"),
       tr("Memory order"),
       tr("head-major [batch, heads, tokens, dim] or token-major [tokens, heads, dim]"),
       QStringLiteral("head-major"),
       {QStringLiteral("head-major"), QStringLiteral("token-major"),
        QStringLiteral("head-major, token-major")}},
      {QStringLiteral("cache"),
       tr("Caches"),
       tr("What a call finds of its inputs there"),
       QStringLiteral("warm"),
       {QStringLiteral("warm"), QStringLiteral("cold"), QStringLiteral("warm, cold")}},
      {QStringLiteral("threads"), tr("Threads"), tr("0: every core that may be used"),
       QStringLiteral("0")},
      {QStringLiteral("seed"), tr("Seed"), tr("Of the inputs"), QStringLiteral("1")},
      {QStringLiteral("stop.relative_interval"), tr("Interval to reach"),
       tr("A cell is done when its interval's half-width is at most this part of the median"),
       QStringLiteral("0.02")},
      {QStringLiteral("stop.max_seconds"), tr("Seconds of a cell, at most"),
       tr("It ends then, settled or not"), QStringLiteral("3")},
      {QStringLiteral("stop.min_samples"), tr("Samples of a cell, at least"),
       tr("Before its interval is believed"), QStringLiteral("10")},
      {QStringLiteral("stop.placements"), tr("Placements"), tr("Buffers allocated anew so often"),
       QStringLiteral("5")},
      {QStringLiteral("stop.processes"), tr("Processes"),
       tr("Worker processes that the placements are spread over"), QStringLiteral("2")},
  };
  return axes;
}

QString axis_text(const Json& sweep, const QString& key) {
  const Json* found = find(sweep, key);
  if (found == nullptr) return {};
  QStringList parts;
  for (const Json& part : found->is_array() ? *found : Json::array({*found}))
    parts.append(words(part.is_string() ? part.get<std::string>() : part.dump()));
  return parts.join(QStringLiteral(", "));
}

void set_axis(Json& sweep, const QString& key, const QString& text) {
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
