// SPDX-License-Identifier: Apache-2.0
//
// Texts in one argument of the command line: --only filters, ranges and windows.
#include "engine/pattern/axes.h"
#include "engine/report/figure.h"
#include "engine/report/sheet.h"
#include "engine/sweep/sweep.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::accepted;
using fuzz::expect;

void filter(std::string_view text) {
  static const Sweep sweep = *load_sweep("quick");
  const auto terms = parse_only(text);
  if (!accepted(terms)) return;
  const auto kept = only(sweep, *terms);
  if (!accepted(kept)) return;
  expect(!kept->heats.empty() && kept->heats.size() <= sweep.heats.size(),
         "a filter keeps some heats and makes none", text);
}

void range(std::string_view text) {
  constexpr std::size_t most_values = 100'000;
  const auto values = parse_range(text);
  if (!accepted(values)) return;
  expect(!values->empty() && values->size() <= most_values, "a range is bounded", text);
  for (std::size_t i = 0; i < values->size(); ++i) {
    expect((*values)[i] >= 0, "a range has no negative number", text);
    expect(i == 0 || (*values)[i] > (*values)[i - 1], "a range ascends", text);
  }
}

void names(std::string_view text) {
  const auto window = parse_window(text);
  if (accepted(window)) {
    expect(*parse_window(window->text()) == *window, "a window survives being written", text);
  }
  accepted(report::parse_ys(text));
  accepted(report::parse_x(text));
  accepted(report::parse_table_format(text));
}

}  // namespace

void fuzz::run(std::string_view input) {
  filter(input);
  range(input);
  names(input);
}

}  // namespace attnscope
