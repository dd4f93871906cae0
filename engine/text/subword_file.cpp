// SPDX-License-Identifier: Apache-2.0
#include "engine/text/subword_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/fingerprint.h"
#include "base/json.h"
#include "base/sentences.h"
#include "engine/text/characters.h"

namespace attnscope {
namespace {

using nlohmann::json;

std::int32_t read_id(const JsonField& field) {
  return field.whole<std::int32_t>(0, Vocabulary::most_pieces - 1);
}

/// Reads an object of pieces and ids, or Unigram's list of pieces and scores.
Vocabulary read_pieces(const JsonField& vocab) {
  Vocabulary vocabulary;
  if (!vocab.is_list()) {
    for (const JsonField& field : vocab.members())
      vocabulary.add(std::string(field.key()), read_id(field));
    return vocabulary;
  }
  std::int32_t id = 0;
  for (const JsonField& field : vocab.elements()) {
    const std::vector<JsonField> piece = field.elements();
    if (piece.size() != 2) field.must_be("a piece and its score");
    if (id == Vocabulary::most_pieces) vocab.wrong("has too many pieces for a cross-encoder");
    vocabulary.add(piece[0].text(), id++);
  }
  return vocabulary;
}

/// Valid characters unchanged, other bytes as \x80.
std::string shown_bytes(std::string_view bytes) {
  std::string shown;
  while (const auto broken = first_byte_that_is_no_utf8(bytes)) {
    const auto at = static_cast<std::size_t>(*broken);
    shown += fmt::format("{}\\x{:02X}", bytes.substr(0, at), static_cast<unsigned char>(bytes[at]));
    bytes.remove_prefix(at + 1);
  }
  return shown.append(bytes);
}

std::string with_spaces(std::string_view piece) {
  constexpr std::string_view mark = "\u2581";
  std::string shown;
  for (std::size_t at = piece.find(mark); at != std::string_view::npos; at = piece.find(mark)) {
    shown.append(piece.substr(0, at)) += ' ';
    piece.remove_prefix(at + mark.size());
  }
  return shown.append(piece);
}

std::vector<std::string> shown_pieces(const Vocabulary& vocabulary, bool of_bytes) {
  std::vector<std::string> shown;
  shown.reserve(static_cast<std::size_t>(vocabulary.size()));
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view piece = vocabulary.piece(id);
    const std::string bytes = of_bytes ? bytes_of_piece(piece) : "";
    shown.push_back(bytes.empty() ? with_spaces(piece) : shown_bytes(bytes));
  }
  return shown;
}

constexpr std::array<std::string_view, 4> model_types{"BPE", "WordPiece", "WordLevel", "Unigram"};

/// If no type is stated, the first model whose fields are present counts, as in `tokenizers`.
std::string_view model_type(const JsonField& object) {
  if (const auto type = object.member("type"))
    return model_types[type->one_of(model_types, "model")];
  const auto has = [&](const char* field) { return object.member(field).has_value(); };
  if (object["vocab"].is_list()) return "Unigram";
  if (has("merges")) return "BPE";
  if (!has("unk_token"))
    object.wrong("has no 'type', and neither 'merges' nor 'unk_token' to infer it from");
  return has("continuing_subword_prefix") && has("max_input_chars_per_word") ? "WordPiece"
                                                                             : "WordLevel";
}

void read_model(const JsonField& object, SubwordParts& parts) {
  const std::string_view type = model_type(object);
  const JsonField vocabulary = object["vocab"];
  if (vocabulary.is_list() != (type == "Unigram")) {
    vocabulary.must_be(type == "Unigram" ? "a list of pieces with their scores"
                                         : "an object of pieces with their ids");
  }
  parts.vocabulary = read_pieces(vocabulary);
  const bool of_bytes = parts.pre_tokenizer.gives_bytes();
  if (type == "BPE") {
    parts.model = read_byte_pairs(object, parts.vocabulary, parts.pre_tokenizer);
  } else {
    parts.pre_tokenizer.spell_bytes();
    if (type == "Unigram") {
      parts.model = read_unigram(object, parts.vocabulary);
    } else {
      parts.model = type == "WordPiece" ? read_word_piece(object, parts.vocabulary)
                                        : read_word_level(object, parts.vocabulary);
    }
  }
  if (of_bytes || type == "BPE" || type == "Unigram")
    parts.shown = shown_pieces(parts.vocabulary, of_bytes);
}

AddedToken read_added_token(const JsonField& object) {
  AddedToken token;
  token.text = token.found_by = object["content"].text();
  static_cast<void>(object["id"].whole<std::uint32_t>());
  token.single_word = object.truth_or("single_word", false);
  token.lstrip = object.truth_or("lstrip", false);
  token.rstrip = object.truth_or("rstrip", false);
  token.normalized = object.truth_or("normalized", false);
  token.special = object.truth_or("special", false);
  return token;
}

/// Ids as in `tokenizers`, ignoring the ids in the file: an existing piece keeps its id, others get
/// consecutive ids from `next` on, in order. If several tokens have one id, the last one is used.
std::vector<AddedToken> read_added_tokens(const JsonField& list, std::int64_t next,
                                          SubwordParts& parts) {
  std::vector<AddedToken> tokens;
  std::unordered_map<std::int32_t, std::size_t> places;  // by id
  for (const JsonField& field : list.elements()) {
    AddedToken token = read_added_token(field);
    if (token.text.empty()) continue;
    const std::int32_t known = parts.vocabulary.id(token.text);
    if (known < 0 && next >= Vocabulary::most_pieces)
      field.wrong("exceeds the largest number of pieces");
    token.id = known < 0 ? static_cast<std::int32_t>(next++) : known;
    if (known < 0) parts.vocabulary.add(token.text, token.id);
    if (token.normalized) static_cast<void>(field.take(parts.normalizer.apply(token.found_by)));
    if (token.found_by.empty()) field.wrong("is a token that the normalizer removes completely");
    const auto [place, fresh] = places.emplace(token.id, tokens.size());
    if (fresh) tokens.emplace_back();
    tokens[place->second] = std::move(token);
  }
  std::set<std::pair<bool, std::string_view>> seen;
  for (const AddedToken& token : tokens) {
    if (!seen.emplace(token.normalized, token.found_by).second) {
      list.wrong(
          fmt::format("has several tokens that are '{}' when normalized, of which `tokenizers` "
                      "uses an arbitrary one; keep only one",
                      in_a_sentence(token.found_by)));
    }
    if (parts.shown.empty()) continue;
    parts.shown.resize(static_cast<std::size_t>(parts.vocabulary.size()));
    parts.shown[static_cast<std::size_t>(token.id)] = token.text;
  }
  return tokens;
}

/// Adds texts as transformers' add_tokens does: an existing added token then has the flags of a
/// plain text token.
void add_markers(const std::vector<std::string>& markers, const JsonField& object,
                 SubwordParts& parts, std::vector<AddedToken>& added) {
  for (const std::string& marker : markers) {
    AddedToken token{.text = marker, .id = parts.vocabulary.id(marker)};
    if (const auto known = std::ranges::find(added, marker, &AddedToken::text);
        known != added.end()) {
      token.special = known->special;
      added.erase(known);
    }
    if (token.id < 0) {
      throw JsonProblem{{fmt::format(
          "the tokenizer has no token '{}', which marks queries or documents; copy the tokenizer's "
          "files that belong to the checkpoint",
          in_a_sentence(marker))}};
    }
    token.normalized = true;
    token.found_by = marker;
    static_cast<void>(object.take(parts.normalizer.apply(token.found_by)));
    added.push_back(std::move(token));
  }
}

void place_added(SubwordParts& parts, std::vector<AddedToken> tokens) {
  const auto after = std::stable_partition(
      tokens.begin(), tokens.end(), [](const AddedToken& token) { return !token.normalized; });
  parts.normalized = AddedTokens(std::vector<AddedToken>(after, tokens.end()));
  tokens.erase(after, tokens.end());
  parts.raw = AddedTokens(std::move(tokens));
}

/// An element of a post-processor's template, from left to right.
struct Placed {
  enum class What : std::uint8_t { special, query, document } what = What::special;
  std::int32_t id = 0;
  std::int64_t type = 0;
};

PairTemplate template_of(const std::vector<Placed>& placed, const JsonField& object,
                         bool gives_types) {
  using What = Placed::What;
  const auto place_of = [&](What what) {
    return static_cast<std::size_t>(std::ranges::find(placed, what, &Placed::what) -
                                    placed.begin());
  };
  const std::size_t query = place_of(What::query), document = place_of(What::document);
  const auto texts =
      std::ranges::count_if(placed, [](const Placed& part) { return part.what != What::special; });
  if (texts != 2 || query != 1 || document < 3 || document + 2 != placed.size())
    object.wrong("is not '[CLS] query [SEP] document [SEP]', the only supported form of a pair");
  PairTemplate pair{.cls = placed.front().id,
                    .between = {},
                    .after = placed.back().id,
                    .document_type = static_cast<std::int32_t>(placed.back().type)};
  pair.between.reserve(document - query - 1);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const std::int64_t type = i < document ? 0 : placed.back().type;
    if (gives_types && (placed[i].type != type || type < 0 || type > 1))
      object.wrong("has other token types than 0 for the query and 0 or 1 for the document");
    if (i > query && i < document) pair.between.push_back(placed[i].id);
  }
  return pair;
}

std::int32_t read_special(const JsonField& field, const Vocabulary& vocabulary) {
  const std::int32_t id = read_id(field);
  if (vocabulary.piece(id).empty())
    field.wrong(fmt::format("is {}, which is not the id of a piece", id));
  return id;
}

PairTemplate read_template(const JsonField& object, const Vocabulary& vocabulary,
                           bool gives_types) {
  using What = Placed::What;
  std::vector<Placed> placed;
  for (const JsonField& field : object["pair"].elements()) {
    if (const auto text = field.member("Sequence")) {
      constexpr std::array<std::string_view, 2> names{"A", "B"};
      const bool query = (*text)["id"].one_of(names, "sequence") == 0;
      placed.push_back({query ? What::query : What::document, 0, (*text)["type_id"].whole()});
      continue;
    }
    const JsonField special = field["SpecialToken"];
    const std::int64_t type = special["type_id"].whole();
    for (const JsonField& id : object["special_tokens"][special["id"].text()]["ids"].elements())
      placed.push_back({What::special, read_special(id, vocabulary), type});
  }
  return template_of(placed, object["pair"], gives_types);
}

PairTemplate read_processing(const JsonField& object, const Vocabulary& vocabulary, bool roberta) {
  const auto id_of = [&](const char* name) {
    const std::vector<JsonField> both = object[name].elements();
    if (both.size() != 2) object[name].must_be("a token and its id");
    return read_special(both[1], vocabulary);
  };
  const std::int32_t cls = id_of("cls"), sep = id_of("sep");
  return {.cls = cls,
          .between = std::vector<std::int32_t>(roberta ? 2 : 1, sep),
          .after = sep,
          .document_type = roberta ? 0 : 1};
}

std::optional<PairTemplate> read_post_processor(const JsonField& object,
                                                const Vocabulary& vocabulary, bool gives_types) {
  constexpr std::array<std::string_view, 5> types{"TemplateProcessing", "RobertaProcessing",
                                                  "BertProcessing", "ByteLevel", "Sequence"};
  const auto has = [&](std::initializer_list<std::string_view> fields) {
    return std::ranges::all_of(fields,
                               [&](auto field) { return object.member(field).has_value(); });
  };
  // The fields decide and not the type, as in `tokenizers`.
  std::string_view type;
  if (has({"sep", "cls"})) {
    type = has({"trim_offsets", "add_prefix_space"}) ? "RobertaProcessing" : "BertProcessing";
  } else if (has({"single", "pair", "special_tokens"})) {
    type = "TemplateProcessing";
  } else {
    type = types[object["type"].one_of(types, "post-processor")];
  }
  if (type == "TemplateProcessing") return read_template(object, vocabulary, gives_types);
  if (type == "ByteLevel") return std::nullopt;  // affects offsets only
  if (type != "Sequence") return read_processing(object, vocabulary, type == "RobertaProcessing");
  std::optional<PairTemplate> pair;
  for (const JsonField& field : object["processors"].elements()) {
    auto read = read_post_processor(field, vocabulary, gives_types);
    if (read && pair)
      field.wrong("is a second processor that assembles pairs; only one is supported");
    if (read) pair = std::move(read);
  }
  return pair;
}

bool is_type(const JsonField& object, std::string_view part, std::string_view type) {
  const auto field = object.present(part);
  return field && field->text_or("type", "") == type;
}

void add_rules(RunningSum& sum, const TextRules& rules) {
  for (const bool rule :
       {rules.clean_text, rules.handle_chinese_chars, rules.strip_accents, rules.lowercase}) {
    sum.add(static_cast<std::uint64_t>(rule));
  }
}

void add_pieces(RunningSum& sum, const Vocabulary& vocabulary) {
  std::int64_t added = 0;
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view piece = vocabulary.piece(id);
    sum.add(piece);
    if (vocabulary.id(piece) == id) ++added;
  }
  if (added == vocabulary.count()) return;
  // Several pieces have the same id.
  for (const auto& [piece, id] : vocabulary.pieces()) {
    if (vocabulary.piece(id) == piece) continue;
    sum.add(piece);
    sum.add(static_cast<std::uint64_t>(id));
  }
}

void add_tokens(RunningSum& sum, const std::vector<AddedToken>& tokens) {
  for (const AddedToken& token : tokens) {
    sum.add(token.text);
    sum.add(static_cast<std::uint64_t>(token.id));
    const std::string flags = fmt::format("{:d}{:d}{:d}{:d}", token.single_word, token.lstrip,
                                          token.rstrip, token.normalized);
    if (flags != "0000") sum.add(flags);
  }
}

/// [CLS] query [SEP] document [SEP].
PairTemplate bert_pair(const JsonField& object, const Vocabulary& vocabulary) {
  const std::int32_t cls = vocabulary.id("[CLS]"), sep = vocabulary.id("[SEP]");
  if (cls < 0 || sep < 0) {
    object.wrong(fmt::format("has no post_processor, and '{}' is not among its {} pieces",
                             cls < 0 ? "[CLS]" : "[SEP]", vocabulary.size()));
  }
  return {.cls = cls, .between = {sep}, .after = sep, .document_type = 1};
}

/// Lowercase, then the file's normalizer.
Normalizer lower_case_first(const json& normalizer) {
  json steps = json::array({{{"type", "Lowercase"}}});
  if (!normalizer.is_null()) steps.push_back(normalizer);
  std::optional<Normalizer> made;
  const Status read =
      with_json(json{{"type", "Sequence"}, {"normalizers", std::move(steps)}}, "the normalizer",
                [&](const JsonField& field) { made.emplace(Normalizer::read(field)); });
  if (!read) throw JsonProblem{read.error()};
  return std::move(*made);
}

/// Further tokens: existing ones get these flags, others the next free id.
void overlay(const std::vector<AddedToken>& further, SubwordParts& parts,
             std::vector<AddedToken>& added) {
  for (AddedToken token : further) {
    token.id = parts.vocabulary.id(token.text);
    if (token.id < 0) {
      token.id = static_cast<std::int32_t>(parts.vocabulary.size());
      parts.vocabulary.add(token.text, token.id);
    }
    token.found_by = token.text;
    if (token.normalized) {
      const Result<bool> applied = parts.normalizer.apply(token.found_by);
      if (!applied) throw JsonProblem{applied.error()};
    }
    if (!parts.shown.empty()) {
      parts.shown.resize(static_cast<std::size_t>(parts.vocabulary.size()));
      parts.shown[static_cast<std::size_t>(token.id)] = token.text;
    }
    std::erase_if(added, [&](const AddedToken& known) { return known.text == token.text; });
    added.push_back(std::move(token));
  }
}

/// Fields that affect no token, but that `tokenizers` validates.
void check_others(const JsonField& root) {
  root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
             "post_processor", "decoder", "model"});
  constexpr std::array<std::string_view, 1> versions{"1.0"};
  if (const auto version = root.member("version"))
    static_cast<void>(version->one_of(versions, "version"));
  constexpr std::array<std::string_view, 10> decoders{
      "BPEDecoder", "ByteLevel", "WordPiece", "Metaspace", "CTC",
      "Sequence",   "Replace",   "Fuse",      "Strip",     "ByteFallback"};
  const auto decoder = root.present("decoder");
  const auto type = decoder ? decoder->member("type") : std::nullopt;
  if (type) static_cast<void>(type->one_of(decoders, "decoder"));
}

SubwordParts read_parts(const JsonField& root, const TokenizerChoices& choices) {
  SubwordParts parts;
  check_others(root);
  const auto normalizer = root.present("normalizer");
  if (choices.lower_case) {
    parts.normalizer = lower_case_first(normalizer ? normalizer->value() : json());
  } else if (normalizer) {
    parts.normalizer = Normalizer::read(*normalizer);
  }
  if (const auto cut = root.present("pre_tokenizer"))
    parts.pre_tokenizer = PreTokenizer::read(*cut);
  read_model(root["model"], parts);
  parts.model_pieces = parts.vocabulary.size();
  std::vector<AddedToken> added;
  if (const auto tokens = root.present("added_tokens")) {
    const Vocabulary& known = parts.vocabulary;
    const bool listed = root["model"]["vocab"].is_list();
    added = read_added_tokens(*tokens, listed ? known.size() : known.count(), parts);
  }
  overlay(choices.added, parts, added);
  add_markers(choices.markers, root, parts, added);
  std::optional<PairTemplate> pair;
  if (const auto post = root.present("post_processor"))
    pair = read_post_processor(*post, parts.vocabulary, choices.gives_types);
  if (!pair && choices.usual_template) pair = bert_pair(root, parts.vocabulary);
  if (!pair) {
    root.wrong(
        "has no post_processor, so pairs have no [CLS] and no [SEP]; add the pair template of the "
        "tokenizer that the checkpoint was trained with");
  }
  parts.pair = std::move(*pair);
  if (!choices.gives_types) parts.pair.document_type = 0;
  parts.gives_types = choices.gives_types;
  RunningSum sum;
  add_pieces(sum, parts.vocabulary);
  const bool bert = is_type(root, "normalizer", "BertNormalizer") &&
                    is_type(root, "pre_tokenizer", "BertPreTokenizer");
  if (bert) {
    add_rules(sum, read_text_rules(*normalizer, "handle_chinese_chars", "lowercase"));
  } else {
    for (const char* part : {"normalizer", "pre_tokenizer", "post_processor"})
      if (const auto field = root.present(part)) sum.add(std::string_view(field->value().dump()));
  }
  parts.model->add_to(sum);
  add_tokens(sum, added);
  if (choices.lower_case) sum.add("lower case first");
  if (choices.split_special) sum.add("special tokens are text");
  parts.fingerprint = sum.value();
  if (choices.split_special)
    std::erase_if(added, [](const AddedToken& token) { return token.special; });
  place_added(parts, std::move(added));
  return parts;
}

}  // namespace

Result<SubwordParts> read_tokenizer_json(std::string_view text, std::string_view source) {
  return read_json(
      text, source,
      [](const JsonField& root) { return read_parts(root, {.usual_template = true}); },
      RepeatedIn("vocab"));
}

SubwordParts read_tokenizer_root(const JsonField& root, const TokenizerChoices& choices) {
  return read_parts(root, choices);
}

Result<SubwordParts> read_tokenizer_value(const json& tokenizer, std::string_view source,
                                          const TokenizerChoices& choices) {
  std::optional<SubwordParts> parts;
  const Status read = with_json_of_file(
      tokenizer, source, [&](const JsonField& root) { parts.emplace(read_parts(root, choices)); });
  if (!read) return tl::unexpected(read.error());
  return std::move(*parts);
}

Result<json> vocabulary_json(std::string_view text, std::string_view source) {
  const Result<Vocabulary> vocabulary = read_vocabulary(text, source);
  if (!vocabulary) return tl::unexpected(vocabulary.error());
  json::object_t pieces;
  for (const auto& [piece, id] : vocabulary->pieces()) pieces.emplace_hint(pieces.end(), piece, id);
  return pieces;
}

}  // namespace attnscope
