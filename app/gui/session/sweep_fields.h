#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The fields of a sweep as the new-run form has them, each a line of text: one value, or a list of
// them, which then makes the field an axis.

#include <QList>
#include <QString>
#include <QStringList>
#include <nlohmann/json.hpp>

namespace attnscope::gui {

struct SweepField {
  QString key;   // the way to the field in a sweep: "heads", "batch.max"
  QString name;  // for people
  QString tip;
  QString fallback;          // what holds where the field is empty
  QStringList choices = {};  // the values there are, where they can be named
  bool first = false;        // not behind "Advanced"
};

/// In the order of the form.
[[nodiscard]] const QList<SweepField>& sweep_fields();

/// "8, 12"; empty where the sweep does not say.
[[nodiscard]] QString field_text(const nlohmann::ordered_json& sweep, const QString& key);
/// Empty text: the field goes. What the words mean is the sweep's reader to say.
void set_field(nlohmann::ordered_json& sweep, const QString& key, const QString& text);

}  // namespace attnscope::gui
