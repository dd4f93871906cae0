#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The attention mass of every head of a dump, by token group, under the pattern that the model ran
// with.
//
//   Result<GroupMasses> masses = group_masses(dump);
//   write(write_masses(*masses, MassFormat::csv));

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/inspect/dump.h"
#include "engine/inspect/head_summary.h"
#include "engine/inspect/head_weights.h"

namespace attnscope {

/// A head's weights as the model computed them. `layer` is an index into info().layers. Errors:
/// those of Dump::head and compile_plan.
[[nodiscard]] Result<std::shared_ptr<const HeadWeights>> head_weights(const Dump& dump,
                                                                      std::size_t layer,
                                                                      std::int32_t head);

struct HeadMass {
  std::int64_t layer = 0;  // the model's number
  std::int32_t head = 0;
  MassTable mass{};
};

struct GroupMasses {
  std::vector<TokenGroup> groups;  // groups that have tokens
  std::vector<HeadMass> heads;     // by layer, then head
};

[[nodiscard]] Result<GroupMasses> group_masses(const Dump& dump);

enum class MassFormat : std::uint8_t { text, csv, json };
/// Errors name the formats.
[[nodiscard]] Result<MassFormat> parse_mass_format(std::string_view text);
/// One row for each head and attending group, one column for each attended group; csv and json have
/// the unscaled masses, text has percent.
[[nodiscard]] std::string write_masses(const GroupMasses& masses, MassFormat format);

}  // namespace attnscope
