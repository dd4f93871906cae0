// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <sstream>

#include "attnscope/built_in_sweeps.h"
#include "engine/pattern/nearest_name.h"
#include "engine/sweep/sweep.h"

namespace attnscope {
namespace {

Result<std::string> read_file(const std::filesystem::path& path) {
  std::error_code failed;
  std::stringstream text;
  std::ifstream file(path, std::ios::binary);
  // A folder can be opened, and an empty file makes << fail.
  const bool readable = file.is_open() && !std::filesystem::is_directory(path, failed);
  if (!readable || (file.peek() != std::ifstream::traits_type::eof() && !(text << file.rdbuf()))) {
    return fail("the sweep file '{}' cannot be read; is it a readable file?", path.string());
  }
  return text.str();
}

}  // namespace

const std::vector<NamedSweep>& built_in_sweeps() {
  static const std::vector<NamedSweep> sweeps = [] {
    std::vector<NamedSweep> all;
    for (const auto& [name, text] : generated::built_in_sweeps) {
      all.push_back({std::string(name), std::string(text)});
    }
    return all;
  }();
  return sweeps;
}

Result<Sweep> load_sweep(std::string_view name_or_path) {
  for (const NamedSweep& sweep : built_in_sweeps()) {
    if (sweep.name == name_or_path) return parse_sweep(sweep.text, sweep.name);
  }
  std::error_code failed;
  if (std::filesystem::exists(name_or_path, failed)) {
    auto text = read_file(name_or_path);
    if (!text) return tl::unexpected(text.error());
    return parse_sweep(*text, name_or_path);
  }
  std::vector<std::string_view> names;
  for (const NamedSweep& sweep : built_in_sweeps()) names.push_back(sweep.name);
  return fail("there is no sweep and no file '{}'; {}", name_or_path, suggest(name_or_path, names));
}

}  // namespace attnscope
