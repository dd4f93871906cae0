// SPDX-License-Identifier: Apache-2.0
#include "engine/text/subword_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/text/characters.h"
#include "kernels/base/json.h"
#include "kernels/base/running_sum.h"
#include "kernels/base/sentences.h"
#include "kernels/base/text_file.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t most_bytes = 256U << 20U;
constexpr std::string_view cls_piece = "[CLS]", sep_piece = "[SEP]";

/// A value that may be missing or null.
std::optional<JsonField> said_in(const JsonField& of, std::string_view key) {
  const auto field = of.member(key);
  return field && !field->is_null() ? field : std::nullopt;
}

std::int32_t read_id(const JsonField& said) {
  return said.whole<std::int32_t>(0, Vocabulary::most_pieces - 1);
}

void add_piece(Vocabulary& vocabulary, const std::string& piece, std::int32_t id,
               const JsonField& said) {
  if (piece.empty()) said.wrong("is a piece without text");
  if (vocabulary.add(piece, id)) return;
  if (vocabulary.id(piece) >= 0 && vocabulary.piece(id).empty()) said.wrong("is given twice");
  said.wrong(
      fmt::format("has the id {}, which is that of '{}'", id, in_a_sentence(vocabulary.piece(id))));
}

/// An object of pieces and ids, or Unigram's list of pieces and scores.
Vocabulary read_pieces(const JsonField& said) {
  Vocabulary vocabulary;
  if (said.is_list()) {
    std::int32_t id = 0;
    for (const JsonField& field : said.elements()) {
      const std::vector<JsonField> piece = field.elements();
      if (piece.size() != 2) field.must_be("a piece and its score");
      if (id == Vocabulary::most_pieces) said.wrong("has too many pieces for a cross-encoder");
      add_piece(vocabulary, piece[0].text(), id++, field);
    }
    return vocabulary;
  }
  for (const JsonField& field : said.members())
    add_piece(vocabulary, std::string(field.key()), read_id(field), field);
  return vocabulary;
}

/// Bytes as characters where they are some, as \x80 where they are none.
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

constexpr std::array<std::string_view, 3> model_types{"WordPiece", "BPE", "Unigram"};

void read_model(const JsonField& said, SubwordParts& parts) {
  const std::string_view type = model_types[said["type"].one_of(model_types, "model")];
  parts.vocabulary = read_pieces(said["vocab"]);
  const bool of_bytes = parts.pre_tokenizer.gives_bytes();
  if (of_bytes && type != "BPE")
    said["type"].wrong("is no BPE, and only BPE is read behind ByteLevel");
  if (type == "Unigram" && !said["vocab"].is_list())
    said["vocab"].must_be("a list of pieces with their scores");
  if (type == "WordPiece") {
    parts.model = read_word_piece(said, parts.vocabulary);
    return;
  }
  parts.model = type == "BPE" ? read_byte_pairs(said, parts.vocabulary, of_bytes)
                              : read_unigram(said, parts.vocabulary);
  parts.shown = shown_pieces(parts.vocabulary, of_bytes);
}

AddedToken read_added_token(const JsonField& said, SubwordParts& parts) {
  AddedToken token;
  token.text = token.found_by = said["content"].text();
  token.id = read_id(said["id"]);
  token.single_word = said.truth_or("single_word", false);
  token.lstrip = said.truth_or("lstrip", false);
  token.rstrip = said.truth_or("rstrip", false);
  token.normalized = said.truth_or("normalized", false);
  const std::int32_t known = parts.vocabulary.id(token.text);
  if (known >= 0 && known != token.id) {
    said.wrong(
        fmt::format("gives '{}' the id {}, and the vocabulary {}", token.text, token.id, known));
  }
  if (known < 0) add_piece(parts.vocabulary, token.text, token.id, said);
  if (token.normalized) parts.normalizer.apply(token.found_by);
  if (token.found_by.empty()) said.wrong("is a token of which the normalizer leaves nothing");
  if (!parts.shown.empty()) {
    parts.shown.resize(static_cast<std::size_t>(parts.vocabulary.size()));
    parts.shown[static_cast<std::size_t>(token.id)] = token.text;
  }
  return token;
}

/// Special ones first: of two that are found by the same text the first counts.
std::vector<AddedToken> read_added_tokens(const JsonField& said, SubwordParts& parts) {
  std::vector<AddedToken> tokens;
  const std::vector<JsonField> fields = said.elements();
  tokens.reserve(fields.size());
  for (const bool special : {true, false}) {
    for (const JsonField& field : fields) {
      if (field.truth_or("special", false) == special)
        tokens.push_back(read_added_token(field, parts));
    }
  }
  return tokens;
}

void place_added(SubwordParts& parts, std::vector<AddedToken> tokens) {
  const auto behind = std::stable_partition(
      tokens.begin(), tokens.end(), [](const AddedToken& token) { return !token.normalized; });
  parts.normalized = AddedTokens(std::vector<AddedToken>(behind, tokens.end()));
  tokens.erase(behind, tokens.end());
  parts.raw = AddedTokens(std::move(tokens));
}

/// What a post-processor puts together, from left to right.
struct Placed {
  enum class What : std::uint8_t { special, query, document } what = What::special;
  std::int32_t id = 0;
  std::int64_t type = 0;
};

PairTemplate template_of(const std::vector<Placed>& placed, const JsonField& said) {
  using What = Placed::What;
  const auto place_of = [&](What what) {
    return static_cast<std::size_t>(std::ranges::find(placed, what, &Placed::what) -
                                    placed.begin());
  };
  const std::size_t query = place_of(What::query), document = place_of(What::document);
  const auto texts =
      std::ranges::count_if(placed, [](const Placed& part) { return part.what != What::special; });
  if (texts != 2 || query != 1 || document < 3 || document + 2 != placed.size())
    said.wrong("is no '[CLS] query [SEP] document [SEP]', and only such pairs are read here");
  PairTemplate pair{.cls = placed.front().id,
                    .between = {},
                    .behind = placed.back().id,
                    .document_type = static_cast<std::int32_t>(placed.back().type)};
  pair.between.reserve(document - query - 1);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const std::int64_t type = i < document ? 0 : placed.back().type;
    if (placed[i].type != type || type < 0 || type > 1)
      said.wrong("has other token types than 0 of the query and 0 or 1 of the document");
    if (i > query && i < document) pair.between.push_back(placed[i].id);
  }
  return pair;
}

std::int32_t read_special(const JsonField& said, const Vocabulary& vocabulary) {
  const std::int32_t id = read_id(said);
  if (vocabulary.piece(id).empty()) said.wrong(fmt::format("is {}, which no piece has", id));
  return id;
}

PairTemplate read_template(const JsonField& said, const Vocabulary& vocabulary) {
  using What = Placed::What;
  std::vector<Placed> placed;
  for (const JsonField& field : said["pair"].elements()) {
    if (const auto text = field.member("Sequence")) {
      constexpr std::array<std::string_view, 2> names{"A", "B"};
      const bool query = (*text)["id"].one_of(names, "sequence") == 0;
      placed.push_back({query ? What::query : What::document, 0, (*text)["type_id"].whole()});
      continue;
    }
    const JsonField special = field["SpecialToken"];
    const std::int64_t type = special["type_id"].whole();
    for (const JsonField& id : said["special_tokens"][special["id"].text()]["ids"].elements())
      placed.push_back({What::special, read_special(id, vocabulary), type});
  }
  return template_of(placed, said["pair"]);
}

PairTemplate read_processing(const JsonField& said, const Vocabulary& vocabulary, bool roberta) {
  const auto id_of = [&](const char* name) {
    const std::vector<JsonField> both = said[name].elements();
    if (both.size() != 2) said[name].must_be("a token and its id");
    return read_special(both[1], vocabulary);
  };
  const std::int32_t cls = id_of("cls"), sep = id_of("sep");
  return {.cls = cls,
          .between = std::vector<std::int32_t>(roberta ? 2 : 1, sep),
          .behind = sep,
          .document_type = roberta ? 0 : 1};
}

std::optional<PairTemplate> read_post_processor(const JsonField& said,
                                                const Vocabulary& vocabulary) {
  constexpr std::array<std::string_view, 5> types{"TemplateProcessing", "RobertaProcessing",
                                                  "BertProcessing", "ByteLevel", "Sequence"};
  const std::string_view type = types[said["type"].one_of(types, "post-processor")];
  if (type == "TemplateProcessing") return read_template(said, vocabulary);
  if (type == "ByteLevel") return std::nullopt;  // of offsets alone
  if (type != "Sequence") return read_processing(said, vocabulary, type == "RobertaProcessing");
  std::optional<PairTemplate> pair;
  for (const JsonField& field : said["processors"].elements()) {
    auto read = read_post_processor(field, vocabulary);
    if (read && pair) field.wrong("puts pairs together, and another did so before");
    if (read) pair = std::move(read);
  }
  return pair;
}

/// BERT's; an error when a special token is missing.
Result<PairTemplate> bert_pair(const Vocabulary& vocabulary) {
  for (const std::string_view piece : {cls_piece, sep_piece}) {
    if (vocabulary.id(piece) < 0)
      return fail("'{}' is not among its {} pieces", piece, vocabulary.size());
  }
  const std::int32_t sep = vocabulary.id(sep_piece);
  return PairTemplate{.cls = vocabulary.id(cls_piece), .between = {sep}, .behind = sep};
}

bool is_type(const JsonField& said, std::string_view part, std::string_view type) {
  const auto field = said_in(said, part);
  return field && field->text_or("type", "") == type;
}

void add_rules(RunningSum& sum, const TextRules& rules) {
  for (const bool rule :
       {rules.clean_text, rules.handle_chinese_chars, rules.strip_accents, rules.lowercase}) {
    sum.add(static_cast<std::uint64_t>(rule));
  }
}

void add_pieces(RunningSum& sum, const Vocabulary& vocabulary) {
  for (std::int32_t id = 0; id < vocabulary.size(); ++id) sum.add(vocabulary.piece(id));
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

SubwordParts read_parts(const JsonField& said) {
  SubwordParts parts;
  const auto normalizer = said_in(said, "normalizer");
  if (normalizer) parts.normalizer = Normalizer::read(*normalizer);
  if (const auto cut = said_in(said, "pre_tokenizer"))
    parts.pre_tokenizer = PreTokenizer::read(*cut);
  read_model(said["model"], parts);
  std::vector<AddedToken> added;
  if (const auto tokens = said_in(said, "added_tokens")) added = read_added_tokens(*tokens, parts);
  std::optional<PairTemplate> pair;
  if (const auto post = said_in(said, "post_processor"))
    pair = read_post_processor(*post, parts.vocabulary);
  parts.pair = pair ? *pair : said.take(bert_pair(parts.vocabulary));
  RunningSum sum;
  add_pieces(sum, parts.vocabulary);
  const bool bert = is_type(said, "normalizer", "BertNormalizer") &&
                    is_type(said, "pre_tokenizer", "BertPreTokenizer");
  if (bert) {
    add_rules(sum, read_text_rules(*normalizer, "handle_chinese_chars", "lowercase"));
  } else {
    for (const char* part : {"normalizer", "pre_tokenizer", "post_processor"})
      if (const auto field = said_in(said, part)) sum.add(std::string_view(field->value().dump()));
  }
  parts.model->add_to(sum);
  add_tokens(sum, added);
  parts.fingerprint = sum.value();
  place_added(parts, std::move(added));
  return parts;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// What is read of a folder's tokenizer_config.json; of an empty one where there is none.
template <typename Read>
auto read_config(const fs::path& folder, const Read& read)
    -> decltype(read_json(std::string_view(), "", read)) {
  const fs::path path = folder / "tokenizer_config.json";
  if (!is_there(path)) return read_json(std::string_view("{}"), path.string(), read);
  const Result<std::string> text = read_text_file(path, "tokenizer's configuration", most_bytes);
  if (!text) return tl::unexpected(text.error());
  return read_json(std::string_view(*text), path.string(), read);
}

Result<SubwordParts> read_bert_folder(const fs::path& folder) {
  const fs::path path = folder / "vocab.txt";
  const Result<std::string> text = read_text_file(path, "vocabulary", most_bytes);
  if (!text) return tl::unexpected(text.error());
  const auto rules = read_config(folder, [](const JsonField& said) {
    return read_text_rules(said, "tokenize_chinese_chars", "do_lower_case");
  });
  if (!rules) return tl::unexpected(rules.error());
  return read_bert_vocabulary(*text, path.string(), *rules);
}

/// merges.txt but for its first line, "#version: 0.2".
json merges_of(std::string_view text) {
  json merges = json::array();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(std::string(line));
  }
  return merges;
}

/// RoBERTa's, as its tokenizer.json would say it.
Result<SubwordParts> read_roberta_folder(const fs::path& folder) {
  const fs::path path = folder / "vocab.json";
  const Result<std::string> text = read_text_file(path, "vocabulary", most_bytes);
  if (!text) return tl::unexpected(text.error());
  const Result<std::string> merges = read_text_file(folder / "merges.txt", "merges", most_bytes);
  if (!merges) return tl::unexpected(merges.error());
  const Result<bool> space = read_config(
      folder, [](const JsonField& said) { return said.truth_or("add_prefix_space", false); });
  if (!space) return tl::unexpected(space.error());
  const Result<json> whole =
      read_json(std::string_view(*text), path.string(), [&](const JsonField& said) -> json {
        json added = json::array(), ids;
        for (const char* name : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}) {
          ids[name] = read_id(said[name]);
          added.push_back({{"content", name},
                           {"id", ids[name]},
                           {"special", true},
                           {"lstrip", std::string_view(name) == "<mask>"}});
        }
        return {
            {"added_tokens", added},
            {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", *space}}},
            {"post_processor",
             {{"type", "RobertaProcessing"},
              {"cls", json::array({"<s>", ids["<s>"]})},
              {"sep", json::array({"</s>", ids["</s>"]})}}},
            {"model", {{"type", "BPE"}, {"vocab", said.value()}, {"merges", merges_of(*merges)}}}};
      });
  if (!whole) return tl::unexpected(whole.error());
  return read_json(std::string_view(whole->dump()),
                   fmt::format("{} with its merges.txt", path.string()), read_parts);
}

}  // namespace

Result<SubwordParts> read_tokenizer_json(std::string_view text, std::string_view source) {
  return read_json(text, source, read_parts);
}

Result<SubwordParts> read_bert_vocabulary(std::string_view text, std::string_view source,
                                          const TextRules& rules) {
  Result<Vocabulary> vocabulary = read_vocabulary(text, source);
  if (!vocabulary) return tl::unexpected(vocabulary.error());
  Result<PairTemplate> pair = bert_pair(*vocabulary);
  if (!pair) return fail("{}: {}", source, pair.error().message);
  const WordPieceRules pieces;
  if (vocabulary->id(pieces.unknown) < 0)
    return fail("{}: '{}' is not among its {} pieces", source, pieces.unknown, vocabulary->size());
  SubwordParts parts;
  parts.vocabulary = std::move(*vocabulary);
  parts.pair = std::move(*pair);
  parts.normalizer = Normalizer::bert(rules);
  parts.pre_tokenizer = PreTokenizer::bert();
  parts.model = word_piece(pieces, parts.vocabulary);
  std::vector<AddedToken> added;
  for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    if (const std::int32_t id = parts.vocabulary.id(name); id >= 0)
      added.push_back({.text = name, .id = id, .found_by = name});
  }
  RunningSum sum;
  add_pieces(sum, parts.vocabulary);
  add_rules(sum, rules);
  parts.model->add_to(sum);
  add_tokens(sum, added);
  parts.fingerprint = sum.value();
  place_added(parts, std::move(added));
  return parts;
}

Result<SubwordParts> read_tokenizer_folder(const fs::path& folder) {
  const fs::path path = folder / "tokenizer.json";
  if (is_there(path)) {
    const Result<std::string> text = read_text_file(path, "tokenizer", most_bytes);
    if (!text) return tl::unexpected(text.error());
    return read_tokenizer_json(*text, path.string());
  }
  if (is_there(folder / "vocab.txt")) return read_bert_folder(folder);
  if (is_there(folder / "vocab.json")) return read_roberta_folder(folder);
  constexpr std::size_t longest_path = 400;
  return fail(
      "there is none of tokenizer.json, vocab.txt and vocab.json in '{}'; copy the one that the "
      "checkpoint came with there",
      in_a_sentence(folder.string(), longest_path));
}

}  // namespace attnscope
