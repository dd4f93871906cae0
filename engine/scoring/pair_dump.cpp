// SPDX-License-Identifier: Apache-2.0
#include "engine/scoring/pair_dump.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace attnscope {
namespace {

std::int64_t size_of(const std::vector<std::int32_t>& ids) {
  return static_cast<std::int64_t>(ids.size());
}

std::string tokens_json(const WordPiece& pieces, const TokenPair& pair) {
  nlohmann::json tokens = nlohmann::json::array();
  tokens.push_back(pieces.token(pieces.cls()));
  for (const auto* part : {&pair.query, &pair.document}) {
    for (const std::int32_t id : *part) tokens.push_back(pieces.token(id));
  }
  return tokens.dump();
}

std::string layout_of(const TokenPair& pair) {
  const nlohmann::json item = {
      {"cls", 1}, {"query", size_of(pair.query)}, {"document", size_of(pair.document)}};
  return nlohmann::json{{"items", {item}}}.dump();
}

}  // namespace

std::map<std::string, std::string> dump_metadata(const ScoringModel& model, const TokenPair& pair,
                                                 const std::string& note) {
  bool built_in = false;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    built_in = built_in || pattern == model.pattern;
  }
  std::map<std::string, std::string> metadata = {
      {"attnscope_dump", "1"},
      {"model", model.name},
      {"layout", layout_of(pair)},
      {"tokens", tokens_json(model.pieces, pair)},
      {"pattern", built_in ? model.pattern.name : pattern_json(model.pattern)},
      {"scale", fmt::format("{}", 1 / std::sqrt(static_cast<double>(model.shape.head_dim())))}};
  if (!note.empty()) metadata["note"] = note;
  if (model.window) metadata["window"] = model.window->text();
  if (model.global_projections) {
    // [CLS] and query, as Longformer's global tokens are.
    std::vector<std::int64_t> rows(static_cast<std::size_t>(1 + size_of(pair.query)));
    std::iota(rows.begin(), rows.end(), 0);
    metadata["global_rows"] = nlohmann::json(rows).dump();
  }
  return metadata;
}

}  // namespace attnscope
