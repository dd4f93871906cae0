// SPDX-License-Identifier: Apache-2.0
#include "engine/report/repeat_command.h"

#include <fmt/format.h>

#include <vector>

#include "base/spawn.h"
#include "engine/report/axes_in_words.h"
#include "engine/report/provenance.h"

namespace attnscope::report {
namespace {

/// The key of an axis in `run --only`; empty if it has none.
std::optional<std::string> key_of_run(std::string_view axis) {
  if (axis == "batch_max") return "batch";
  if (axis == "batch_memory_mb") return std::nullopt;
  return std::string(axis);
}

/// --only separates its terms with commas.
bool can_be_stated(const std::string& value) {
  return !value.empty() && value.find(',') == std::string::npos;
}

}  // namespace

RepeatCommand repeat_command(const Table& table, const Row& row,
                             std::optional<std::string> alongside) {
  RepeatCommand command;
  std::vector<std::string> terms;
  const auto add = [&](const std::string& key, const std::string& value, const char* what) {
    if (can_be_stated(value)) {
      terms.push_back(fmt::format("{}={}", key, value));
    } else {
      command.beyond =
          fmt::format("It measures every {} of the run: --only has no words for this.", what);
    }
  };
  const std::string contender = row.cell.cell.contender.id();
  add("contender", contender, "contender");
  if (alongside && *alongside != contender && command.beyond.empty()) {
    add("contender", *alongside, "contender");
  }
  const std::vector<bool> varying = varying_axes(table.rows);
  const std::vector<AxisValue> axes = axes_of(row.cell.point);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!varying[i]) continue;
    if (const auto key = key_of_run(axes[i].key)) {
      add(*key, axes[i].value, "setting");
    } else {
      command.beyond = "It measures every limit of the batch's memory: --only has no words for it.";
    }
  }
  std::string only;
  for (const std::string& term : terms) only += (only.empty() ? "" : ",") + term;
  command.text =
      command_on(table.run, "run --again", only.empty() ? only : "--only " + shell_word(only));
  return command;
}

}  // namespace attnscope::report
