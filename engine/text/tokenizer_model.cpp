// SPDX-License-Identifier: Apache-2.0
//
// tokenizer.json, or vocab.txt and tokenizer_config.json. What they say beside words and pieces
// (padding, truncation, how pairs are put together, decoding) is the model's own here and not read.
#include "engine/text/tokenizer_model.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "kernels/base/json.h"
#include "kernels/base/sentences.h"
#include "kernels/base/text_file.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view blanks = " \t\r\v\f";

std::string_view trimmed(std::string_view line) {
  const std::size_t last = line.find_last_not_of(blanks);
  return last == std::string_view::npos ? std::string_view{} : line.substr(0, last + 1);
}

/// A member of an object; null where there is none.
const json& member(const json& object, const char* name) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// The value, `otherwise` where there is none, an error where it is something else.
Result<bool> flag(const json& object, const char* name, bool otherwise, std::string_view source) {
  const json& value = member(object, name);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) return fail("{}: '{}' is neither true nor false", source, name);
  return value.get<bool>();
}

/// The four rules under the names that a file has for them.
struct RuleNames {
  const char* clean_text;
  const char* handle_chinese_chars;
  const char* lowercase;
};

Result<TextRules> read_rules(const json& object, const RuleNames& names, std::string_view source) {
  TextRules rules;
  const Result<bool> clean = flag(object, names.clean_text, true, source);
  const Result<bool> chinese = flag(object, names.handle_chinese_chars, true, source);
  const Result<bool> lower = flag(object, names.lowercase, true, source);
  for (const Result<bool>* read : {&clean, &chinese, &lower}) {
    if (!*read) return tl::unexpected(read->error());
  }
  // Where nothing is said of accents they go with the capitals.
  const Result<bool> strip = flag(object, "strip_accents", *lower, source);
  if (!strip) return tl::unexpected(strip.error());
  rules.clean_text = *clean;
  rules.handle_chinese_chars = *chinese;
  rules.lowercase = *lower;
  rules.strip_accents = *strip;
  return rules;
}

Result<json> parse_object(std::string_view text, std::string_view source) {
  json value = parse_json(text);
  if (value.is_discarded()) return fail("{}: is no JSON; copy the file anew", source);
  if (!value.is_object()) return fail("{}: is no JSON object; copy the file anew", source);
  return value;
}

/// The kinds that together make BERT's tokenizer.
Status check_kinds(const json& file, std::string_view source) {
  struct Part {
    const char* name;
    const char* type;
  };
  for (const Part part : {Part{"model", "WordPiece"}, Part{"normalizer", "BertNormalizer"},
                          Part{"pre_tokenizer", "BertPreTokenizer"}}) {
    const std::string type = text_of(member(member(file, part.name), "type"));
    if (type != part.type) {
      return fail(
          "{}: its '{}' is {}, and only BERT's tokenizer, with {}, is read here", source, part.name,
          type.empty() ? "of no named type" : fmt::format("'{}'", in_a_sentence(type)), part.type);
    }
  }
  return {};
}

std::optional<std::int32_t> id_of(const json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto id = value.get<std::uint64_t>();
  if (id >= static_cast<std::uint64_t>(Vocabulary::most_pieces)) return std::nullopt;
  return static_cast<std::int32_t>(id);
}

Result<Vocabulary> read_pieces(const json& pieces, std::string_view source) {
  if (!pieces.is_object()) return fail("{}: its model has no 'vocab'", source);
  Vocabulary vocabulary;
  for (const auto& [piece, value] : pieces.items()) {
    const auto id = id_of(value);
    if (!id) {
      return fail("{}: the piece '{}' has no id from 0 to {}", source, in_a_sentence(piece),
                  Vocabulary::most_pieces - 1);
    }
    if (!vocabulary.add(piece, *id)) {
      return fail("{}: the pieces '{}' and '{}' have the same id {}", source,
                  in_a_sentence(vocabulary.piece(*id)), in_a_sentence(piece), *id);
    }
  }
  return vocabulary;
}

Status read_added_token(const json& token, TokenizerModel& model, std::string_view source) {
  const std::string text = text_of(member(token, "content"));
  const auto id = id_of(member(token, "id"));
  if (text.empty() || !id) return fail("{}: an added token has no 'content' or 'id'", source);
  for (const char* name : {"single_word", "lstrip", "rstrip", "normalized"}) {
    const Result<bool> set = flag(token, name, false, source);
    if (!set) return tl::unexpected(set.error());
    if (*set) {
      return fail("{}: the added token '{}' is '{}', which is not supported", source,
                  in_a_sentence(text), name);
    }
  }
  const std::int32_t known = model.vocabulary.id(text);
  if (known != *id && (known >= 0 || !model.vocabulary.add(text, *id))) {
    return fail("{}: the added token '{}' has id {}, and its vocabulary says otherwise", source,
                in_a_sentence(text), *id);
  }
  model.added.push_back({text, *id});
  return {};
}

constexpr std::uintmax_t most_bytes = 256U << 20U;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Beside a vocab.txt: do_lower_case, strip_accents, tokenize_chinese_chars.
Result<TextRules> read_tokenizer_config(std::string_view text, std::string_view source) {
  const Result<json> file = parse_object(text, source);
  if (!file) return tl::unexpected(file.error());
  return read_rules(*file,
                    {.clean_text = "clean_text",
                     .handle_chinese_chars = "tokenize_chinese_chars",
                     .lowercase = "do_lower_case"},
                    source);
}

Result<TokenizerModel> read_vocabulary_folder(const fs::path& folder) {
  const fs::path path = folder / "vocab.txt";
  const Result<std::string> text = read_text_file(path, "vocabulary", most_bytes);
  if (!text) return tl::unexpected(text.error());
  TokenizerModel model;
  Result<Vocabulary> vocabulary = read_vocabulary(*text, path.string());
  if (!vocabulary) return tl::unexpected(vocabulary.error());
  model.vocabulary = std::move(*vocabulary);
  model.added = special_tokens(model.vocabulary);
  const fs::path config = folder / "tokenizer_config.json";
  if (!is_there(config)) return model;
  const Result<std::string> said = read_text_file(config, "tokenizer's configuration", most_bytes);
  if (!said) return tl::unexpected(said.error());
  const Result<TextRules> rules = read_tokenizer_config(*said, config.string());
  if (!rules) return tl::unexpected(rules.error());
  model.rules = *rules;
  return model;
}

}  // namespace

bool Vocabulary::add(std::string piece, std::int32_t id) {
  const auto at = static_cast<std::size_t>(id);
  if (at >= pieces_.size()) pieces_.resize(at + 1);
  if (!pieces_[at].empty()) return false;
  pieces_[at] = piece;
  longest_piece_ = std::max(longest_piece_, piece.size());
  return piece.empty() || ids_.emplace(std::move(piece), id).second;
}

std::int32_t Vocabulary::id(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? -1 : found->second;
}

std::string_view Vocabulary::piece(std::int32_t id) const {
  if (id < 0 || id >= size()) return {};
  return pieces_[static_cast<std::size_t>(id)];
}

std::int64_t Vocabulary::size() const {
  return static_cast<std::int64_t>(pieces_.size());
}

Result<Vocabulary> read_vocabulary(std::string_view text, std::string_view source) {
  Vocabulary vocabulary;
  std::int32_t line = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view piece = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line == Vocabulary::most_pieces) {
      return fail("{}: more than {} lines, so no vocabulary of a cross-encoder", source,
                  Vocabulary::most_pieces);
    }
    if (!vocabulary.add(std::string(piece), line++)) {
      return fail("{}, line {}: the piece '{}' is given twice, first in line {}", source, line,
                  in_a_sentence(piece), vocabulary.id(piece) + 1);
    }
  }
  return vocabulary;
}

std::vector<TokenizerModel::AddedToken> special_tokens(const Vocabulary& vocabulary) {
  constexpr std::array<std::string_view, 5> names{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::vector<TokenizerModel::AddedToken> tokens;
  tokens.reserve(names.size());
  for (const std::string_view name : names) {
    if (const std::int32_t id = vocabulary.id(name); id >= 0) {
      tokens.push_back({std::string(name), id});
    }
  }
  return tokens;
}

Result<TokenizerModel> read_tokenizer_json(std::string_view text, std::string_view source) {
  const Result<json> file = parse_object(text, source);
  if (!file) return tl::unexpected(file.error());
  if (Status kinds = check_kinds(*file, source); !kinds) return tl::unexpected(kinds.error());
  const json& said = member(*file, "model");
  TokenizerModel model;
  Result<TextRules> rules = read_rules(member(*file, "normalizer"),
                                       {.clean_text = "clean_text",
                                        .handle_chinese_chars = "handle_chinese_chars",
                                        .lowercase = "lowercase"},
                                       source);
  if (!rules) return tl::unexpected(rules.error());
  model.rules = *rules;
  Result<Vocabulary> pieces = read_pieces(member(said, "vocab"), source);
  if (!pieces) return tl::unexpected(pieces.error());
  model.vocabulary = std::move(*pieces);
  if (const json& unknown = member(said, "unk_token"); unknown.is_string()) {
    model.unknown_piece = unknown.get<std::string>();
  }
  if (const json& prefix = member(said, "continuing_subword_prefix"); prefix.is_string()) {
    model.continuing_prefix = prefix.get<std::string>();
  }
  if (const json& most = member(said, "max_input_chars_per_word"); !most.is_null()) {
    const auto characters = id_of(most);
    if (!characters) {
      return fail("{}: 'max_input_chars_per_word' is no number from 0 to {}", source,
                  Vocabulary::most_pieces - 1);
    }
    model.most_characters = *characters;
  }
  if (const json& added = member(*file, "added_tokens"); added.is_array()) {
    for (const json& token : added) {
      if (Status read = read_added_token(token, model, source); !read) {
        return tl::unexpected(read.error());
      }
    }
  }
  return model;
}

Result<TokenizerModel> read_tokenizer_folder(const fs::path& folder) {
  const fs::path path = folder / "tokenizer.json";
  if (is_there(path)) {
    const Result<std::string> text = read_text_file(path, "tokenizer", most_bytes);
    if (!text) return tl::unexpected(text.error());
    return read_tokenizer_json(*text, path.string());
  }
  if (is_there(folder / "vocab.txt")) return read_vocabulary_folder(folder);
  constexpr std::size_t longest_path = 400;
  return fail(
      "there is neither tokenizer.json nor vocab.txt in '{}'; copy the one that the checkpoint "
      "came with there",
      in_a_sentence(folder.string(), longest_path));
}

}  // namespace attnscope
