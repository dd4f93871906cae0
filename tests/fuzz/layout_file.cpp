// SPDX-License-Identifier: Apache-2.0
//
// Layout files: an accepted layout is the same after it is written and read again, its ranges are
// valid, and small ones compile.
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/compile_plan.h"
#include "engine/pattern/sequence_layout.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::expect;

void follow(const SequenceLayout& layout) {
  const std::string text = layout_json(layout);
  const auto again = parse_layout(text, "written.json");
  expect(again.has_value() && layout_json(*again) == text, "a layout survives being written", text);
  expect(layout.tokens() >= 0 && layout.tokens() <= SequenceLayout::max_tokens,
         "a layout's tokens are bounded", text);
  std::int64_t at = layout.shared_query();
  for (std::int64_t i = 0; i < layout.item_count(); ++i) {
    const TokenRange own = layout.item_tokens(i);
    expect(own.begin == at && own.end >= own.begin, "items are consecutive", text);
    const TokenRange documents = layout.documents(i);
    expect(documents.begin >= own.begin && documents.end <= own.end, "documents are the item's own",
           text);
    at = own.end;
  }
  expect(at == layout.tokens(), "items fill the layout", text);
  constexpr std::int64_t small = 2000;
  if (layout.tokens() > small || layout.item_count() > small) return;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    fuzz::accepted(compile_plan(pattern, Window::of(2), layout, /*heads=*/2));
  }
}

}  // namespace

void fuzz::run(std::string_view input) {
  const auto layout = parse_layout(input, "fuzz.json");
  if (accepted(layout)) follow(*layout);
}

}  // namespace attnscope
