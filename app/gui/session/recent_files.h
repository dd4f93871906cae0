#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The files a person opened last, the newest first, kept over restarts.

#include <QString>
#include <QStringList>

#include "app/gui/session/file_kind.h"

namespace attnscope::gui {

/// Absolute paths, at most ten; those that are gone are left out.
[[nodiscard]] QStringList recent_files();
[[nodiscard]] QStringList recent_files(FileKind kind);
void remember_file(const QString& file);
void forget_files();

}  // namespace attnscope::gui
