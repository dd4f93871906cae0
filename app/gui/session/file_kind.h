#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a file is that a person opens, drops on the window or names on the command line.
//
//   Result<FileKind> kind = kind_of("mine.json");   // sweep

#include <cstdint>
#include <filesystem>

#include "kernels/base/result.h"

namespace attnscope::gui {

enum class FileKind : std::uint8_t { database, exported_runs, sweep, pattern, dump };

/// By its extension and, where that leaves a choice, by its first bytes or fields. An error says
/// what would open.
[[nodiscard]] Result<FileKind> kind_of(const std::filesystem::path& file);

}  // namespace attnscope::gui
