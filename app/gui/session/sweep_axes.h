#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The axes of a sweep that the new-run form keeps behind "Advanced", each as a line of text: one
// value, or a list of them, which then makes the field an axis.

#include <QList>
#include <QString>
#include <QStringList>
#include <nlohmann/json.hpp>

namespace attnscope::gui {

struct SweepAxis {
  QString key;   // the way to the field in a sweep: "heads", "batch.max"
  QString name;  // for people
  QString tip;
  QString fallback;          // what holds where the field is empty
  QStringList choices = {};  // the values there are, where they can be named
};

/// In the order of the form.
[[nodiscard]] const QList<SweepAxis>& sweep_axes();

/// "8, 12"; empty where the sweep does not say.
[[nodiscard]] QString axis_text(const nlohmann::ordered_json& sweep, const QString& key);
/// Empty text: the field goes. What the words mean is the sweep's reader to say.
void set_axis(nlohmann::ordered_json& sweep, const QString& key, const QString& text);

}  // namespace attnscope::gui
