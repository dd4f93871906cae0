#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pictures of what stands around a run's charts: every view, panels, the numbers behind a chart,
// the export dialog.

#include <QString>
#include <QWidget>
#include <filesystem>

namespace attnscope::gui {

/// Of the database's last run, in the application's theme; `suffix` ends every file's name.
[[nodiscard]] bool shoot_charts(const std::filesystem::path& database, const QString& folder,
                                const QString& suffix);

/// A widget as it looks now; says so on stderr where the file cannot be written.
[[nodiscard]] bool save(QWidget& widget, const QString& file);

}  // namespace attnscope::gui
