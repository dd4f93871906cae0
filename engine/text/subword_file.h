#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The parts of a subword tokenizer as a tokenizer.json describes them. What a checkpoint's folder
// makes of its files is tokenizer_folder.h.

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
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

/// Ids of special tokens that have a name; -1: there is none.
struct NamedTokens {
  std::int32_t mask = -1, end = -1, padding = -1, unknown = -1;
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
  std::int64_t model_pieces = 0;  // rows of embeddings that the model's own pieces need
  // What a checkpoint's folder decides (tokenizer_folder.h).
  std::string class_name = "TokenizersBackend";  // of transformers
  std::string chosen_by{};                       // the field that decided for the class
  std::string source = "tokenizer.json";         // the file with the vocabulary
  bool gives_types = true;      // token types reach the model; else every token has type 0
  std::string types_source{};   // the field that decided it
  std::int64_t max_tokens = 0;  // limit of a pair; 0: none
  bool truncates_left = false;  // texts that are too long lose their first tokens
  std::string query_prefix{};   // precedes every query
  NamedTokens named{};
  std::string pads_left_by{};   // the file and field that say so; empty: padding is at the right
  bool gives_mask = true;       // the model is told which tokens are padding
  bool last_is_special = true;  // the last token of a text is a special token by its name
};

/// What the files next to a tokenizer.json change of it.
struct TokenizerChoices {
  bool lower_case = false;     // texts are lower-cased before they are normalized
  bool split_special = false;  // special tokens in texts are text
  bool gives_types = true;
  bool usual_template = false;  // without a post_processor pairs are BERT's; else that is an error
  std::vector<AddedToken> added{};     // further tokens; their ids are looked up or assigned
  std::vector<std::string> markers{};  // tokens that have an id and are found in texts
};

/// `padding` and the lengths of `truncation` are not read. Everything else that would make other
/// tokens and is not known is an error with its place.
[[nodiscard]] Result<SubwordParts> read_tokenizer_json(std::string_view text,
                                                       std::string_view source);
/// The same of a file's root. Throws a JsonProblem.
[[nodiscard]] SubwordParts read_tokenizer_root(const JsonField& root,
                                               const TokenizerChoices& choices);
/// The same of a value that was put together from the files of a folder.
[[nodiscard]] Result<SubwordParts> read_tokenizer_value(const nlohmann::json& tokenizer,
                                                        std::string_view source,
                                                        const TokenizerChoices& choices);

/// A vocabulary's text, a piece a line, as the `vocab` of a tokenizer.json.
[[nodiscard]] Result<nlohmann::json> vocabulary_json(std::string_view text,
                                                     std::string_view source);

}  // namespace attnscope
