#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A short heat, for tests of the contents of its cells.

#include <string>
#include <vector>

#include "engine/pattern/attention_pattern.h"
#include "engine/worker/machine_messages.h"

namespace attnscope::measure {

inline Contender contender(const std::string& pattern, const std::string& implementation,
                           std::optional<Window> window = std::nullopt) {
  const auto found = find_pattern(pattern);
  return {.pattern = pattern,
          .implementation = implementation,
          .window = window,
          .name = pattern + "/" + implementation,
          .pattern_json = found ? pattern_json(*found) : "{}"};
}

inline protocol::HeatRequest small_heat(std::vector<Contender> contenders,
                                        std::int64_t sequence_tokens = 64) {
  protocol::HeatRequest request;
  request.heat.contenders = std::move(contenders);
  request.heat.point.sequence_tokens = sequence_tokens;
  request.heat.point.query_tokens = 5;
  request.heat.point.batch_max = 2;
  request.heat.point.heads = 2;
  request.heat.point.head_dim = 32;
  request.heat.point.threads = 2;
  request.heat.stop = {.relative_interval = 1e9,
                       .max_seconds = 0.05,
                       .min_samples = 6,
                       .placements = 2,
                       .processes = 1};
  request.placements = {0, 1};
  return request;
}

}  // namespace attnscope::measure
