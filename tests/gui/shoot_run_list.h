#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pictures of the runs on the left: named, tagged, searched, published, in the trash.

#include <QString>
#include <functional>

#include "app/gui/main_window.h"

namespace attnscope::gui {

/// Saves a widget as FOLDER/NAME-THEME.png; false when it cannot.
using Save = std::function<bool(QWidget&, const QString& name)>;

/// Names, tags and puts away some of the window's runs, takes the pictures, and leaves the window
/// on its first run. Its database is changed.
[[nodiscard]] bool shoot_run_list(MainWindow& window, const Save& save);

}  // namespace attnscope::gui
