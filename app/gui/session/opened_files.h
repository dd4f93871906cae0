#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The files that the user opens, drops on the window or names on the command line: the kind of
// each, and the recently opened files, which are kept across restarts.
//
//   Result<FileKind> kind = kind_of("mine.json");   // sweep

#include <QString>
#include <QStringList>
#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace attnscope::gui {

enum class FileKind : std::uint8_t { database, exported_runs, sweep, pattern, dump, training };

/// Determined from the extension and, if that is ambiguous, the first bytes or fields; for a
/// folder, from its contents. An error lists what can be opened.
[[nodiscard]] Result<FileKind> kind_of(const std::filesystem::path& file);

/// Absolute paths, at most ten; missing files are omitted.
[[nodiscard]] QStringList recent_files();
[[nodiscard]] QStringList recent_files(FileKind kind);
void remember_file(const QString& file);
void forget_files();

}  // namespace attnscope::gui
