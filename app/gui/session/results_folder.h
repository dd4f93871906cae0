#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Where the runs that ship with the program lie.

#include <filesystem>

namespace attnscope::gui {

/// `results` of an installation (PREFIX/share/attnscope/results, for a program in PREFIX/bin), else
/// that of the source tree in which the program was built; empty where there is neither.
[[nodiscard]] std::filesystem::path results_folder(const std::filesystem::path& program_folder);

}  // namespace attnscope::gui
