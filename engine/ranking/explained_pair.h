#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What determines the score of a pair, with the file and field it comes from: the model, the
// tokenizer, the limit, the prompt, the head, and the tokens with their ids, types and positions.
//
//   for (const Explained& line : explain_model(model)) print(line.what, line.value, line.source);

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ranking/scoring_model.h"
#include "engine/text/tokenizer.h"

namespace attnscope {

struct Explained {
  std::string what;    // "token types"
  std::string value;   // "not given to the model"
  std::string source;  // "model_input_names of tokenizer_config.json"; empty: no source
};
[[nodiscard]] std::vector<Explained> explain_model(const ScoringModel& model,
                                                   const std::string& activation = "none");

struct ExplainedToken {
  std::int32_t id = 0;
  std::string_view text;
  std::int64_t type = 0;      // row of the token types; queries have 0
  std::int64_t position = 0;  // row of the position embeddings
  std::string_view part;      // "[CLS]", "query", "document"
};
/// The tokens in the model's order, [CLS] first. The model must outlive the result.
[[nodiscard]] std::vector<ExplainedToken> explain_tokens(const ScoringModel& model,
                                                         const TokenPair& pair);

}  // namespace attnscope
