#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Pictures of the answer above a run: asked, with a contender open, with limits, with a field that
// cannot be read.

#include <QString>
#include <functional>

#include "app/gui/main_window.h"

namespace attnscope::gui {

/// `save` takes a picture's name; false when it cannot write it. The question is put back.
[[nodiscard]] bool shoot_answer(MainWindow& window,
                                const std::function<bool(const QString& name)>& save);

}  // namespace attnscope::gui
