#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pictures of the new-run dialog in its states.

#include "tests/gui/shoot_run_list.h"

namespace attnscope::gui {

[[nodiscard]] bool shoot_new_run(MainWindow& window, const Save& save);

}  // namespace attnscope::gui
