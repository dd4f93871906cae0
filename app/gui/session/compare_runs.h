#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Reads two runs, each from its own file, and sets them side by side. Slow for large runs, and not
// for a thread that follows a run.

#include <filesystem>
#include <string>

#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

struct RunInFile {
  std::filesystem::path file;
  QString uuid;
};

/// Where one of them cannot be read, the snapshot's problem says so.
[[nodiscard]] ComparisonPointer compare_runs(const RunInFile& a, const RunInFile& b);

}  // namespace attnscope::gui
