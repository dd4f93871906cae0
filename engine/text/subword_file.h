#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the files of a subword tokenizer say: tokenizer.json, or vocab.txt (BERT) or vocab.json and
// merges.txt (RoBERTa) with a tokenizer_config.json.

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/added_tokens.h"
#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/subword_model.h"
#include "engine/text/vocabulary.h"
#include "kernels/base/result.h"

namespace attnscope {

/// [CLS] query [SEP] document [SEP], or <s> query </s> </s> document </s>.
struct PairTemplate {
  std::int32_t cls = 0;
  std::vector<std::int32_t> between;
  std::int32_t behind = 0;
  std::int32_t document_type = 1;  // token type; the query's is 0
};

struct SubwordParts {
  Vocabulary vocabulary;           // with the added tokens
  std::vector<std::string> shown;  // how tokens are shown; empty: as the vocabulary has them
  AddedTokens raw, normalized;     // added tokens that are looked for before and behind
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const SubwordModel> model;
  PairTemplate pair;
  std::uint64_t fingerprint = 0;
};

/// What it says of padding and truncation is the caller's own and not read. Everything else that
/// would make other tokens and is not known is an error with its place.
[[nodiscard]] Result<SubwordParts> read_tokenizer_json(std::string_view text,
                                                       std::string_view source);

/// BERT's, from a vocabulary's text, one piece a line; `source` names it in messages.
[[nodiscard]] Result<SubwordParts> read_bert_vocabulary(std::string_view text,
                                                        std::string_view source,
                                                        const TextRules& rules);

inline constexpr std::array tokenizer_files{"tokenizer.json", "vocab.txt", "vocab.json",
                                            "merges.txt", "tokenizer_config.json"};

/// The first of a folder that is there, in the order above.
[[nodiscard]] Result<SubwordParts> read_tokenizer_folder(const std::filesystem::path& folder);

}  // namespace attnscope
