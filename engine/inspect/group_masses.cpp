// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/group_masses.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/sentences.h"
#include "engine/pattern/compile_plan.h"

namespace attnscope {
namespace {

Result<std::shared_ptr<const Mask>> mask_of(const DumpInfo& info, std::size_t layer) {
  Result<AttentionPlan> plan =
      compile_plan(info.patterns.at(layer), info.windows.at(layer), info.layout, info.heads);
  if (!plan) return tl::unexpected(plan.error());
  return std::make_shared<const Mask>(*std::move(plan));
}

Result<std::shared_ptr<const HeadWeights>> weights_of(const Dump& dump, std::size_t layer,
                                                      std::int32_t head,
                                                      std::shared_ptr<const Mask> mask) {
  Result<HeadVectors> vectors = dump.head(layer, head);
  if (!vectors) return tl::unexpected(vectors.error());
  return std::make_shared<const HeadWeights>(
      std::make_shared<const HeadVectors>(*std::move(vectors)), std::move(mask), head,
      dump.info().scale);
}

std::string as_text(const GroupMasses& masses) {
  std::string text = fmt::format("{:>5} {:>4}  {:<10}", "layer", "head", "from");
  for (const TokenGroup to : masses.groups) {
    fmt::format_to(std::back_inserter(text), "{:>11}", name_of(to));
  }
  text += '\n';
  for (const HeadMass& head : masses.heads) {
    for (const TokenGroup from : masses.groups) {
      fmt::format_to(std::back_inserter(text), "{:>5} {:>4}  {:<10}", head.layer, head.head,
                     name_of(from));
      for (const TokenGroup to : masses.groups) {
        const double mass = head.mass[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
        fmt::format_to(std::back_inserter(text), "{:>10.1f}%", 100 * mass);
      }
      text += '\n';
    }
  }
  return text;
}

std::string as_csv(const GroupMasses& masses) {
  std::string text = "layer,head,from,to,mass\n";
  for (const HeadMass& head : masses.heads) {
    for (const TokenGroup from : masses.groups) {
      for (const TokenGroup to : masses.groups) {
        fmt::format_to(std::back_inserter(text), "{},{},{},{},{}\n", head.layer, head.head,
                       name_of(from), name_of(to),
                       head.mass[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]);
      }
    }
  }
  return text;
}

std::string as_json(const GroupMasses& masses) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const HeadMass& head : masses.heads) {
    nlohmann::ordered_json row = {{"layer", head.layer}, {"head", head.head}};
    for (const TokenGroup from : masses.groups) {
      for (const TokenGroup to : masses.groups) {
        row["mass"][std::string(name_of(from))][std::string(name_of(to))] =
            head.mass[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      }
    }
    rows.push_back(std::move(row));
  }
  return rows.dump(1) + "\n";
}

}  // namespace

Result<std::shared_ptr<const HeadWeights>> head_weights(const Dump& dump, std::size_t layer,
                                                        std::int32_t head) {
  auto mask = mask_of(dump.info(), layer);
  if (!mask) return tl::unexpected(mask.error());
  return weights_of(dump, layer, head, std::move(*mask));
}

Result<GroupMasses> group_masses(const Dump& dump) {
  const DumpInfo& info = dump.info();
  GroupMasses masses;
  for (const TokenGroup group : token_groups) {
    if (std::ranges::find(info.groups, group) != info.groups.end()) masses.groups.push_back(group);
  }
  for (std::size_t layer = 0; layer < info.layers.size(); ++layer) {
    const auto mask = mask_of(info, layer);
    if (!mask) return tl::unexpected(mask.error());
    for (std::int32_t head = 0; head < info.heads; ++head) {
      const auto weights = weights_of(dump, layer, head, *mask);
      if (!weights) return tl::unexpected(weights.error());
      const auto summary = summarise(**weights, info.groups, {.map_side = 1}, {});
      masses.heads.push_back(
          {.layer = info.layers[layer], .head = head, .mass = summary->group_mass});
    }
  }
  return masses;
}

Result<MassFormat> parse_mass_format(std::string_view text) {
  if (text == "text") return MassFormat::text;
  if (text == "csv") return MassFormat::csv;
  if (text == "json") return MassFormat::json;
  return fail("'{}' is not a format for masses; known: text, csv, json", in_a_sentence(text));
}

std::string write_masses(const GroupMasses& masses, MassFormat format) {
  if (format == MassFormat::csv) return as_csv(masses);
  return format == MassFormat::json ? as_json(masses) : as_text(masses);
}

}  // namespace attnscope
