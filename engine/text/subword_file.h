#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads the parts of a subword tokenizer from a tokenizer.json. For the tokenizer of a checkpoint's
// folder, see tokenizer_folder.h.

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/subword_model.h"
#include "engine/text/vocabulary.h"

namespace attnscope {

/// [CLS] query [SEP] document [SEP], or <s> query </s> </s> document </s>.
struct PairTemplate {
  std::int32_t cls = 0;
  std::vector<std::int32_t> between;
  std::int32_t after = 0;
  std::int32_t document_type = 1;  // token type; the query's is 0
};

/// Ids of named special tokens; -1: there is none.
struct NamedTokens {
  std::int32_t mask = -1, end = -1, padding = -1, unknown = -1;
};

struct SubwordParts {
  Vocabulary vocabulary;           // includes the added tokens
  std::vector<std::string> shown;  // display text of tokens; empty: as in the vocabulary
  AddedTokens raw, normalized;     // added tokens matched before and after normalization
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const SubwordModel> model;
  PairTemplate pair;
  std::uint64_t fingerprint = 0;
  std::int64_t model_pieces = 0;  // embedding rows that the model's own pieces need
  // Settings from a checkpoint's folder (tokenizer_folder.h).
  std::string class_name = "TokenizersBackend";  // of transformers
  std::string chosen_by{};                       // the field that determined the class
  std::string source = "tokenizer.json";         // the file with the vocabulary
  bool gives_types = true;                       // the model receives token types; else all are 0
  std::string types_source{};                    // the field that determined gives_types
  std::int64_t max_tokens = 0;                   // limit of a pair; 0: none
  bool truncates_left = false;                   // truncation removes the first tokens
  std::string query_prefix{};                    // precedes every query
  NamedTokens named{};
  std::string pads_left_by{};   // file and field of left padding; empty: padding is at the right
  bool gives_mask = true;       // the model receives the mask of padding tokens
  bool last_is_special = true;  // the last token of a text is a special token by its name
};

/// Changes from the files next to a tokenizer.json.
struct TokenizerChoices {
  bool lower_case = false;     // texts are lower-cased before they are normalized
  bool split_special = false;  // special tokens in texts are text
  bool gives_types = true;
  bool usual_template = false;         // without a post_processor use BERT's pairs; else an error
  std::vector<AddedToken> added{};     // further tokens; their ids are looked up or assigned
  std::vector<std::string> markers{};  // tokens that have an id and are found in texts
};

/// `padding` and the lengths of `truncation` are ignored. Any other unknown setting that would
/// change the tokens is an error with its location.
[[nodiscard]] Result<SubwordParts> read_tokenizer_json(std::string_view text,
                                                       std::string_view source);
/// The same for the root of a file. Throws a JsonProblem.
[[nodiscard]] SubwordParts read_tokenizer_root(const JsonField& root,
                                               const TokenizerChoices& choices);
/// The same for a value that was assembled from the files of a folder.
[[nodiscard]] Result<SubwordParts> read_tokenizer_value(const nlohmann::json& tokenizer,
                                                        std::string_view source,
                                                        const TokenizerChoices& choices);

/// Converts a vocabulary text, one piece per line, to the `vocab` of a tokenizer.json.
[[nodiscard]] Result<nlohmann::json> vocabulary_json(std::string_view text,
                                                     std::string_view source);

}  // namespace attnscope
