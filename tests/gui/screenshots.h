#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Screenshots of the pages in their states. `save` writes FOLDER/NAME-THEME.png; a function returns
// false if one was not written.

#include <QString>
#include <QWidget>
#include <filesystem>
#include <functional>

#include "app/gui/main_window.h"

namespace attnscope::gui {

using Save = std::function<bool(QWidget&, const QString& name)>;
using SaveWindow = std::function<bool(const QString& name)>;

/// Reports a file that cannot be written on stderr.
[[nodiscard]] bool save(QWidget& widget, const QString& file);

[[nodiscard]] bool shoot_answer(MainWindow& window, const SaveWindow& save);
[[nodiscard]] bool shoot_live_run(MainWindow& window, const SaveWindow& save);
[[nodiscard]] bool shoot_new_run(MainWindow& window, const Save& save);
/// Changes names, tags and the trash in the database of the window.
[[nodiscard]] bool shoot_run_list(MainWindow& window, const Save& save);

void shoot_attention(MainWindow& window,
                     const std::function<void(QWidget& shown, const QString& name)>& save);
[[nodiscard]] bool shoot_patterns(PatternsPage& page, const SaveWindow& save);
/// Screenshots of the charts of a database's last run; `suffix` ends the name of every file.
[[nodiscard]] bool shoot_charts(const std::filesystem::path& database, const QString& folder,
                                const QString& suffix);

}  // namespace attnscope::gui
