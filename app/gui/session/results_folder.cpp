// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/results_folder.h"

namespace attnscope::gui {
namespace {

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

}  // namespace

std::filesystem::path results_folder(const std::filesystem::path& program_folder) {
  const auto installed = program_folder.parent_path() / "share/attnscope/results";
  if (is_folder(installed)) return installed;
  // A build lies at most three folders below its sources: build/release/tests.
  constexpr int most_levels = 3;
  std::filesystem::path folder = program_folder;
  for (int level = 0; level <= most_levels && folder.has_relative_path(); ++level) {
    if (is_folder(folder / "results") && is_folder(folder / "resources/reference"))
      return folder / "results";
    folder = folder.parent_path();
  }
  return {};
}

}  // namespace attnscope::gui
