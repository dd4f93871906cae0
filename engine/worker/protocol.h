#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker protocol: JSON Lines on the worker's stdin (requests) and its original stdout
// (events). A driver in any language can use it; docs/protocol.md has the grammar with examples.
// This header has its lines and its version, and the JSON of heats and their results, which is also
// stored with runs; machine_messages.h and model_messages.h have the requests and events.
//
// Each request is answered before the next is read, except cancel and quit, which take effect at
// once.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fields.h"
#include "engine/heat/cell.h"
#include "engine/heat/heat.h"

namespace attnscope::protocol {

inline constexpr int version = 8;

// Every struct is unchanged after writing and reading. Readers reject an invalid value with one
// sentence that names the field, and ignore unknown fields.
[[nodiscard]] nlohmann::json to_json(const Contender&);
[[nodiscard]] nlohmann::json to_json(const HeatPoint&);
[[nodiscard]] nlohmann::json to_json(const StopRule&);
[[nodiscard]] nlohmann::json to_json(const Heat&);
[[nodiscard]] nlohmann::json to_json(const std::vector<PartTime>&);
[[nodiscard]] nlohmann::json to_json(const Cell&);
[[nodiscard]] nlohmann::json to_json(const HeatResult&);
[[nodiscard]] nlohmann::json to_json(const Ceilings&);
[[nodiscard]] Result<HeatPoint> read_point(const nlohmann::json&);
[[nodiscard]] Result<std::vector<PartTime>> read_parts(const nlohmann::json&);
[[nodiscard]] Result<Heat> read_heat(const nlohmann::json&);
[[nodiscard]] Result<HeatResult> read_heat_result(const nlohmann::json&);
[[nodiscard]] Result<Ceilings> read_ceilings(const nlohmann::json&);
// The same within another message; they throw a JsonProblem (base/json.h).
[[nodiscard]] Heat heat_in(const JsonField&);
[[nodiscard]] HeatResult heat_result_in(const JsonField&);
[[nodiscard]] Ceilings ceilings_in(const JsonField&);

/// A request or an event as it is sent.
template <HasFields Message>
[[nodiscard]] nlohmann::json as_request(const Message& message) {
  nlohmann::json fields = as_json(message);
  fields["request"] = Message::name;
  return fields;
}
template <HasFields Message>
[[nodiscard]] nlohmann::json as_event(const Message& message) {
  nlohmann::json fields = as_json(message);
  fields["event"] = Message::name;
  return fields;
}
/// A request or an event as it arrives; the error names a missing or malformed field.
template <HasFields Message>
[[nodiscard]] Result<Message> read_message(const nlohmann::json& message) {
  return read_json(message, "", [](const JsonField& root) { return read_fields<Message>(root); });
}

/// One line of the protocol, parsed; an error quotes the start of the line.
[[nodiscard]] Result<nlohmann::json> parse_line(std::string_view line);
/// A message as one line with its line feed; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string write_line(const nlohmann::json& message);

/// The number of cores in a greeting's `device`, or in that stored with a run; nothing if it is
/// missing or impossible.
[[nodiscard]] std::optional<int> cores_of(const nlohmann::json& device);

}  // namespace attnscope::protocol
