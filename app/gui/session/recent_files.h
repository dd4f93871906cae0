#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The files a person opened last, the newest first, kept over restarts.

#include <QString>
#include <QStringList>

namespace attnscope::gui {

/// Absolute paths, at most ten; those that are gone are left out.
[[nodiscard]] QStringList recent_files();
void remember_file(const QString& file);
void forget_files();

}  // namespace attnscope::gui
