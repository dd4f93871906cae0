#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The worker protocol: JSON Lines on the worker's stdin (requests) and its original stdout
// (events). A driver in any language can speak it; docs/protocol.md has the grammar with examples.
//
//   -> {"request":"hello","protocol":8,"version":"0.1.0"}
//   <- {"event":"hello","protocol":8,"version":"0.1.0","build":{...},"device":{...}}
//   -> {"request":"heat","heat":{...},"process":0,"placements":[0,1,2]}
//   <- {"event":"progress","contender":2,"phase":"check"}        (never inside timed rounds)
//   <- {"event":"alive","contender":2,"calls":117}               (every 2 s: which one runs)
//   <- {"event":"heat","result":{...}}
//   <- {"event":"ended","signal":11,"contender":2}    (from the process that watches the worker)
//   -> {"request":"cancel"}    {"request":"describe"}    {"request":"ceilings","threads":2}
//   -> {"request":"ceilings","device":"cuda"}
//   -> {"request":"hold","devices":["cpu"],"what":"run 'mine'","process":1234}
//   <- {"event":"waiting","device":"cpu","by":{"what":"run 'other'",...}}    (until no other
//   measurement runs)
//   <- {"event":"held","problem":""}
//   -> {"request":"attend",...}    {"request":"check","device":"cpu"}    {"request":"quit"}
//   <- {"event":"error","message":"..."}
//
// Each request is answered before the next is read, except cancel and quit, which take effect at
// once.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/heat/cell.h"
#include "engine/heat/heat.h"

namespace attnscope::protocol {

inline constexpr int version = 8;

/// The placements this worker process measures.
struct HeatRequest {
  Heat heat;
  int process = 0;
  std::vector<int> placements;
};

// Every struct is unchanged after writing and reading. Readers reject an invalid value with one
// sentence that names the field, and ignore unknown fields.
[[nodiscard]] nlohmann::json to_json(const Contender&);
[[nodiscard]] nlohmann::json to_json(const HeatPoint&);
[[nodiscard]] nlohmann::json to_json(const StopRule&);
[[nodiscard]] nlohmann::json to_json(const Heat&);
[[nodiscard]] nlohmann::json to_json(const HeatRequest&);
[[nodiscard]] nlohmann::json to_json(const std::vector<PartTime>&);
[[nodiscard]] nlohmann::json to_json(const Cell&);
[[nodiscard]] nlohmann::json to_json(const HeatResult&);
[[nodiscard]] nlohmann::json to_json(const Ceilings&);
[[nodiscard]] Result<HeatPoint> read_point(const nlohmann::json&);
[[nodiscard]] Result<std::vector<PartTime>> read_parts(const nlohmann::json&);
[[nodiscard]] Result<Heat> read_heat(const nlohmann::json&);
[[nodiscard]] Result<HeatRequest> read_heat_request(const nlohmann::json&);
[[nodiscard]] Result<HeatResult> read_heat_result(const nlohmann::json&);
[[nodiscard]] Result<Ceilings> read_ceilings(const nlohmann::json&);

/// One line of the protocol, parsed; an error quotes the start of the line.
[[nodiscard]] Result<nlohmann::json> parse_line(std::string_view line);
/// A message as one line with its line feed; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string write_line(const nlohmann::json& message);

/// The number of cores in a greeting's `device`, or in that stored with a run; nothing if it is
/// missing or impossible.
[[nodiscard]] std::optional<int> cores_of(const nlohmann::json& device);

}  // namespace attnscope::protocol
