// SPDX-License-Identifier: Apache-2.0
//
// Lines of the worker protocol, in both directions: a message that is accepted is the same after it
// is written and read again, and an error is one sentence.
#include <nlohmann/json.hpp>

#include "engine/worker/messages.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::expect;
using nlohmann::json;

template <typename Read, typename Write>
void journey(const json& message, Read read, Write write) {
  const auto value = read(message);
  if (!fuzz::accepted(value)) return;
  const std::string line = protocol::write_line(write(*value));
  expect(line.find('\n') == line.size() - 1, "a message is one line", line);
  const auto parsed = protocol::parse_line(std::string_view(line).substr(0, line.size() - 1));
  expect(parsed.has_value(), "a written message can be parsed", line);
  const auto again = read(*parsed);
  expect(again.has_value(), "a written message can be read", line);
  expect(protocol::write_line(write(*again)) == line, "it is the same message", line);
}

template <typename... Messages>
void read_each(const json& message, const std::tuple<Messages...>* /*types*/) {
  (journey(message, protocol::read_message<Messages>, as_json<Messages>), ...);
}

template <typename T>
void read_value(const json& message) {
  const auto read = [](const json& value) { return protocol::from_json<T>(value, "value"); };
  journey(message, read, protocol::to_json<T>);
}

void read_all(const json& message) {
  read_value<HeatPoint>(message);
  read_value<Heat>(message);
  read_value<HeatResult>(message);
  read_value<Ceilings>(message);
  read_each(message, static_cast<const protocol::AnsweredRequests*>(nullptr));
  read_each(message, static_cast<const protocol::Events*>(nullptr));
}

}  // namespace

void fuzz::run(std::string_view input) {
  const auto message = protocol::parse_line(input);
  if (!accepted(message)) return;
  const std::string line = protocol::write_line(*message);
  expect(line.find('\n') == line.size() - 1, "a message is one line", line);
  read_all(*message);
  for (const char* part : {"heat", "result", "point", "ceilings"}) {
    if (message->contains(part)) read_all((*message)[part]);
  }
}

}  // namespace attnscope
