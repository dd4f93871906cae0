// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/implementation_costs.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

constexpr std::chrono::milliseconds costs_pause{300};

}  // namespace

ImplementationCosts::ImplementationCosts(QObject* parent) : ProgramQuestion(parent, costs_pause) {}

void ImplementationCosts::ask(const CostQuestion& question) {
  const Result<SequenceLayout> layout = SequenceLayout::make({question.item});
  if (!layout) return fail(words(layout.error().message));
  const QString pattern_file = QStringLiteral("pattern.json");
  const QString layout_file = QStringLiteral("layout.json");
  QStringList arguments{QStringLiteral("costs"),      path_of(pattern_file),
                        QStringLiteral("--layout"),   path_of(layout_file),
                        QStringLiteral("--heads"),    QString::number(question.heads),
                        QStringLiteral("--head-dim"), QString::number(question.head_dim),
                        QStringLiteral("--json")};
  if (question.window) arguments << QStringLiteral("--window") << words(question.window->text());
  put({.arguments = arguments,
       .files = {{pattern_file, pattern_json(question.pattern)},
                 {layout_file, layout_json(*layout)}}});
}

bool ImplementationCosts::read(const QByteArray& printed) {
  const QJsonObject root = QJsonDocument::fromJson(printed).object();
  const QJsonArray rows = root.value(QLatin1String("implementations")).toArray();
  for (const auto& value : rows) {
    const QJsonObject row = value.toObject();
    const QString id = row.value(QLatin1String("id")).toString();
    if (id.isEmpty()) continue;
    costs_.append({id, row.value(QLatin1String("reason")).toString(),
                   row.value(QLatin1String("executed_flop")).toDouble(),
                   row.value(QLatin1String("executed_bytes")).toDouble(),
                   row.value(QLatin1String("peak_bytes")).toDouble()});
  }
  return !costs_.isEmpty();
}

}  // namespace attnscope::gui
