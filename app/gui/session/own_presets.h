#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A person's own presets: sweep files in a folder of the program's data, which the command line
// takes like any other.

#include <QString>
#include <vector>

#include "engine/sweep/sweep.h"

namespace attnscope::gui {

/// By name; files that are no sweeps are left out.
[[nodiscard]] std::vector<NamedSweep> own_presets();
[[nodiscard]] bool is_own_preset(const QString& name);
/// Replaces one of the same name. The file's path, or why it cannot be.
[[nodiscard]] Result<QString> save_own_preset(const QString& name, const std::string& sweep_text);

}  // namespace attnscope::gui
