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

using fuzz::expect;
using fuzz::expect_sentence;

void filter(std::string_view text) {
  static const Sweep sweep = *load_sweep("quick");
  const auto terms = parse_only(text);
  if (!terms) return expect_sentence(terms.error().message);
  const auto kept = only(sweep, *terms);
  if (!kept) return expect_sentence(kept.error().message);
  expect(!kept->heats.empty() && kept->heats.size() <= sweep.heats.size(),
         "a filter keeps some heats and makes none", text);
}

void range(std::string_view text) {
  constexpr std::size_t most_values = 100'000;
  const auto values = parse_range(text);
  if (!values) return expect_sentence(values.error().message);
  expect(!values->empty() && values->size() <= most_values, "a range is bounded", text);
  for (std::size_t i = 0; i < values->size(); ++i) {
    expect((*values)[i] >= 0, "a range holds no negative number", text);
    expect(i == 0 || (*values)[i] > (*values)[i - 1], "a range ascends", text);
  }
}

void names(std::string_view text) {
  if (const auto window = parse_window(text); !window) {
    expect_sentence(window.error().message);
  } else {
    expect(*parse_window(window->text()) == *window, "a window survives being written", text);
  }
  if (const auto y = report::parse_ys(text); !y) expect_sentence(y.error().message);
  if (const auto x = report::parse_x(text); !x) expect_sentence(x.error().message);
  if (const auto f = report::parse_table_format(text); !f) expect_sentence(f.error().message);
}

}  // namespace
}  // namespace attnscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = attnscope::fuzz::text_of(data, size);
  attnscope::filter(text);
  attnscope::range(text);
  attnscope::names(text);
  return 0;
}
