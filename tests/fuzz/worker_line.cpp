// SPDX-License-Identifier: Apache-2.0
//
// Lines of the worker protocol, in both directions: a message that is accepted is the same after it
// is written and read again, and an error is one sentence.
#include <nlohmann/json.hpp>

#include "engine/worker/protocol.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::expect;
using nlohmann::json;

template <typename Read>
void journey(const json& message, Read read) {
  const auto value = read(message);
  if (!value) return fuzz::expect_sentence(value.error().message);
  const std::string line = protocol::write_line(protocol::to_json(*value));
  expect(line.find('\n') == line.size() - 1, "a message is one line", line);
  const auto parsed = protocol::parse_line(std::string_view(line).substr(0, line.size() - 1));
  expect(parsed.has_value(), "a written message can be parsed", line);
  const auto again = read(*parsed);
  expect(again.has_value(), "a written message can be read", line);
  expect(protocol::write_line(protocol::to_json(*again)) == line, "it is the same message", line);
}

void read_all(const json& message) {
  journey(message, protocol::read_point);
  journey(message, protocol::read_heat);
  journey(message, protocol::read_heat_request);
  journey(message, protocol::read_heat_result);
  journey(message, protocol::read_ceilings);
}

}  // namespace
}  // namespace attnscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attnscope;
  const auto message = protocol::parse_line(fuzz::text_of(data, size));
  if (!message) {
    fuzz::expect_sentence(message.error().message);
    return 0;
  }
  const std::string line = protocol::write_line(*message);
  fuzz::expect(line.find('\n') == line.size() - 1, "a message is one line", line);
  read_all(*message);
  for (const char* part : {"heat", "result", "point", "ceilings"}) {
    if (message->contains(part)) read_all((*message)[part]);
  }
  return 0;
}
