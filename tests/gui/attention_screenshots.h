#pragma once
// SPDX-License-Identifier: Apache-2.0

#include <QString>
#include <functional>

#include "app/gui/main_window.h"

namespace attnscope::gui {

/// Page Attention in its states: the example, two patterns, 4096 tokens, a checkpoint
/// asked for, a broken dump. `save`
/// takes what is shown and a name.
void shoot_attention(MainWindow& window,
                     const std::function<void(QWidget& shown, const QString& name)>& save);

}  // namespace attnscope::gui
