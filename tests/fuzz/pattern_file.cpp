// SPDX-License-Identifier: Apache-2.0
//
// Pattern files: an accepted pattern is the same after it is written and read again, and its plan
// on a small layout agrees with the oracle row by row.
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/compile_plan.h"
#include "engine/pattern/mask.h"
#include "engine/pattern/oracle.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::expect;

void compile(const AttentionPattern& pattern, const std::string& text) {
  const Result<SequenceLayout> layout = SequenceLayout::make(
      {LayoutItem{.cls = 1, .query = 3, .documents = {9}}, LayoutItem{.cls = 1,
                                                                      .query = 2,
                                                                      .documents = {4, 5},
                                                                      .sentences = {0, 6},
                                                                      .sentences_given = true}});
  const std::optional<Window> window = Window::of(2);
  const Result<AttentionPlan> plan = compile_plan(pattern, window, *layout, /*heads=*/2);
  if (!fuzz::accepted(plan)) return;
  const Oracle oracle(pattern, window, *layout);
  const Mask mask(*plan);
  for (std::int64_t i = 0; i < layout->item_count(); ++i) {
    const TokenRange own = layout->item_tokens(i);
    for (std::int64_t row = own.begin; row < own.end; ++row) {
      std::int64_t seen = 0, allowed = 0;
      for (const TokenRange& keys : mask.intervals(1, row)) seen += keys.end - keys.begin;
      for (std::int64_t key = own.begin; key < own.end; ++key) {
        allowed += oracle.allowed(1, row, key) ? 1 : 0;
      }
      expect(seen == allowed, "a row of the plan sees as many keys as the pattern allows", text);
    }
  }
}

}  // namespace

void fuzz::run(std::string_view input) {
  const auto pattern = parse_pattern(input, "fuzz.json");
  if (!accepted(pattern)) return;
  const std::string text = pattern_json(*pattern);
  const auto again = parse_pattern(text, "written.json");
  expect(again.has_value() && *again == *pattern, "a pattern survives being written", text);
  compile(*pattern, text);
}

}  // namespace attnscope
