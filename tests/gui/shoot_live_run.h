#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a live run with its heats, which is made up: the database knows nothing of it.

#include <QString>
#include <functional>

#include "app/gui/main_window.h"

namespace attnscope::gui {

/// Saves the window as FOLDER/NAME-THEME.png; false when it cannot.
using SaveWindow = std::function<bool(const QString& name)>;

[[nodiscard]] bool shoot_live_run(MainWindow& window, const SaveWindow& save);

}  // namespace attnscope::gui
