#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later

#include <QString>
#include <string_view>

namespace attnscope::gui {

/// The engine's UTF-8 words as Qt's.
[[nodiscard]] inline QString words(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// "1 cell", "3 cells": Qt's own plurals need a translation file even in English.
[[nodiscard]] inline QString counted(qint64 count, const QString& one, const QString& many) {
  return QStringLiteral("%1 %2").arg(count).arg(count == 1 ? one : many);
}

[[nodiscard]] inline QString counted_runs(qint64 count) {
  return counted(count, QStringLiteral("run"), QStringLiteral("runs"));
}

}  // namespace attnscope::gui
