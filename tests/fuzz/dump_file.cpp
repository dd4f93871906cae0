// SPDX-License-Identifier: Apache-2.0
//
// Dumps of a model's queries and keys: the fields of an accepted one are consistent, and the
// weights of every row of its heads add up to one.
#include <cmath>
#include <memory>
#include <span>

#include "engine/inspect/dump.h"
#include "engine/inspect/head_weights.h"
#include "engine/pattern/compile_plan.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::accepted;
using fuzz::expect;

// Larger dumps are not followed: the cost is the square of their tokens.
constexpr std::int64_t most_tokens = 64;
constexpr std::int32_t most_heads = 4;

void follow_rows(const HeadWeights& weights, std::int64_t tokens) {
  RowWeights row;
  for (std::int64_t query = 0; query < tokens; ++query) {
    weights.row(query, row);
    double sum = 0;
    std::int64_t last = 0;
    for (const TokenRange& keys : row.keys) {
      expect(keys.begin >= last && keys.end <= tokens, "runs of keys ascend within the tokens");
      last = keys.end;
      for (std::int64_t key = keys.begin; key < keys.end; ++key)
        sum += static_cast<double>(row.weights[static_cast<std::size_t>(key)]);
    }
    // The sum is not a number if scores overflow.
    expect(row.keys.empty() || !std::isfinite(sum) || std::abs(sum - 1) < 1e-3,
           "a row's weights add up to one");
  }
}

void follow(const Dump& dump) {
  const DumpInfo& info = dump.info();
  const auto tokens = static_cast<std::size_t>(info.layout.tokens());
  expect(info.layout.item_count() == 1, "a dump has one item");
  expect(info.tokens.size() == tokens && info.groups.size() == tokens, "every token has a text");
  expect(info.heads > 0 && info.head_dim > 0 && !info.layers.empty(), "a dump has heads");
  expect(info.windows.size() == info.layers.size(), "every layer has its window");
  expect(info.patterns.size() == info.layers.size(), "every layer has its pattern");
  if (info.layout.tokens() > most_tokens || info.heads > most_heads) return;
  for (std::size_t layer = 0; layer < info.layers.size(); ++layer) {
    const auto plan =
        compile_plan(info.patterns[layer], info.windows[layer], info.layout, info.heads);
    if (!accepted(plan)) continue;
    const auto mask = std::make_shared<const Mask>(*plan);
    for (std::int32_t head = 0; head < info.heads; ++head) {
      Result<HeadVectors> vectors = dump.head(layer, head);
      if (!accepted(vectors)) continue;
      follow_rows(HeadWeights(std::make_shared<const HeadVectors>(std::move(*vectors)), mask, head,
                              info.scale),
                  info.layout.tokens());
    }
  }
}

}  // namespace

void fuzz::run(std::string_view input) {
  const auto bytes = std::as_bytes(std::span(input));
  const auto dump = Dump::read(ByteSource::of({bytes.begin(), bytes.end()}, "dump"));
  if (accepted(dump)) follow(*dump);
}

}  // namespace attnscope
