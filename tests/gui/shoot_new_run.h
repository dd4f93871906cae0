#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pictures of the new-run drawer in its states.

#include <QString>
#include <functional>

#include "app/gui/main_window.h"

namespace attnscope::gui {

/// Saves the window as FOLDER/NAME-THEME.png; false when it cannot.
using SaveWindow = std::function<bool(const QString& name)>;

[[nodiscard]] bool shoot_new_run(MainWindow& window, const SaveWindow& save);

}  // namespace attnscope::gui
