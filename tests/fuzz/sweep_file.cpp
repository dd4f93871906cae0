// SPDX-License-Identifier: Apache-2.0
//
// Sweep files: an accepted sweep has a bounded number of cells, and every heat is the same after it
// is sent to a worker.
#include "engine/sweep/sweep.h"
#include "engine/worker/protocol.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::expect;

void follow(const Sweep& sweep) {
  constexpr std::size_t most_cells = 100'000;
  expect(!sweep.heats.empty(), "an accepted sweep has heats");
  std::size_t cells = 0;
  for (const Heat& heat : sweep.heats) cells += heat.contenders.size();
  expect(cells > 0 && cells <= most_cells, "an accepted sweep has a bounded number of cells");
  // The heats of a sweep differ only in their points, so it is enough to check the first and the
  // last.
  for (const Heat* heat : {&sweep.heats.front(), &sweep.heats.back()}) {
    const auto sent = protocol::to_json(*heat);
    const auto received = protocol::from_json<Heat>(sent, "heat");
    expect(received.has_value(), "an accepted heat can be sent to a worker", sweep.text);
    expect(protocol::to_json(*received) == sent, "a heat is unchanged after it is sent",
           sweep.text);
  }
  OnlyFilter first;
  first.terms.emplace_back("contender", sweep.heats.front().contenders.front().id());
  expect(only(sweep, first).has_value(), "a contender of the sweep can be selected", sweep.text);
}

}  // namespace

void fuzz::run(std::string_view input) {
  const auto sweep = parse_sweep(input, "/nowhere/fuzz.json");
  if (accepted(sweep)) follow(*sweep);
}

}  // namespace attnscope
