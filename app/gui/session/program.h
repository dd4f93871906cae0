#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The program that the window starts for runs and lists: this executable itself, or
// $ATTNSCOPE_PROGRAM, by which tests put another in its place. And the folders where the window
// keeps what is neither a run nor a setting, and where the runs lie that ship with it.

#include <QString>
#include <filesystem>

namespace attnscope::gui {

[[nodiscard]] QString attnscope_program();

/// That of the default database.
[[nodiscard]] QString data_folder();

/// `results` of an installation (PREFIX/share/attnscope/results, for a program in PREFIX/bin), else
/// that of the source tree in which the program was built; empty where there is neither.
[[nodiscard]] std::filesystem::path results_folder(const std::filesystem::path& program_folder);

/// The last line a child printed that says something, without its "error: " prefix.
[[nodiscard]] QString last_sentence(const QByteArray& printed);

/// False for a process that ended, also when nobody has waited for it yet.
[[nodiscard]] bool is_running(qint64 process_id);

}  // namespace attnscope::gui
