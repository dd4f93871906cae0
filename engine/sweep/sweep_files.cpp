// SPDX-License-Identifier: Apache-2.0
#include "attnscope/built_in_sweeps.h"
#include "engine/sweep/sweep.h"
#include "kernels/base/sentences.h"
#include "kernels/base/text_file.h"

namespace attnscope {
namespace {

constexpr std::uintmax_t max_file_bytes = 1 << 20;

}  // namespace

const std::vector<NamedSweep>& built_in_sweeps() {
  static const std::vector<NamedSweep> sweeps = [] {
    std::vector<NamedSweep> all;
    all.reserve(std::size(generated::built_in_sweeps));
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
    auto text = read_text_file(name_or_path, "sweep file", max_file_bytes);
    if (!text) return tl::unexpected(text.error());
    return parse_sweep(*text, name_or_path);
  }
  std::vector<std::string_view> names;
  for (const NamedSweep& sweep : built_in_sweeps()) names.push_back(sweep.name);
  return fail("there is no sweep and no file '{}'; {}", in_a_sentence(name_or_path),
              suggest(in_a_sentence(name_or_path), names));
}

}  // namespace attnscope
