#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The files that a person opens, drops on the window or names on the command line: what each is,
// and which were opened last, kept over restarts.
//
//   Result<FileKind> kind = kind_of("mine.json");   // sweep

#include <QString>
#include <QStringList>
#include <cstdint>
#include <filesystem>

#include "kernels/base/result.h"

namespace attnscope::gui {

enum class FileKind : std::uint8_t { database, exported_runs, sweep, pattern, dump, training };

/// By its extension and, where that leaves a choice, by its first bytes or fields; a folder by what
/// is in it. An error says what would open.
[[nodiscard]] Result<FileKind> kind_of(const std::filesystem::path& file);

/// Absolute paths, at most ten; those that are gone are left out.
[[nodiscard]] QStringList recent_files();
[[nodiscard]] QStringList recent_files(FileKind kind);
void remember_file(const QString& file);
void forget_files();

}  // namespace attnscope::gui
