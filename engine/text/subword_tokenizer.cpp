// SPDX-License-Identifier: Apache-2.0
#include "engine/text/subword_tokenizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "base/fingerprint.h"
#include "base/sentences.h"
#include "engine/text/characters.h"
#include "engine/text/subword_file.h"
#include "engine/text/tokenizer_folder.h"

namespace attnscope {

SubwordTokenizer::SubwordTokenizer(SubwordParts parts)
    : parts_(std::make_unique<const SubwordParts>(std::move(parts))) {}
SubwordTokenizer::SubwordTokenizer(SubwordTokenizer&&) noexcept = default;
SubwordTokenizer& SubwordTokenizer::operator=(SubwordTokenizer&&) noexcept = default;
SubwordTokenizer::~SubwordTokenizer() = default;

Result<SubwordTokenizer> SubwordTokenizer::open(const std::filesystem::path& folder) {
  return open(folder, {});
}

Result<SubwordTokenizer> SubwordTokenizer::open(const std::filesystem::path& folder,
                                                const TokenizerExtras& extras) {
  Result<SubwordParts> parts = read_tokenizer_folder(folder, extras);
  if (!parts) return tl::unexpected(parts.error());
  return SubwordTokenizer(std::move(*parts));
}

Result<std::vector<std::int32_t>> SubwordTokenizer::tokenize(std::string_view text) const {
  std::vector<std::int32_t> ids;
  std::string valid_text;
  if (first_byte_that_is_no_utf8(text)) text = valid_text = as_utf8(text);
  for (const AddedTokens::Part& part : parts_->raw.cut(text)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
    } else if (const Status done = append(part.text, part.text.data() == text.data(), ids); !done) {
      return tl::unexpected(done.error());
    }
  }
  return ids;
}

Status SubwordTokenizer::append(std::string_view text, bool starts,
                                std::vector<std::int32_t>& ids) const {
  std::string normal(text);
  const Result<bool> kept = parts_->normalizer.apply(normal);
  if (!kept) return tl::unexpected(kept.error());
  starts = *kept && starts;
  for (const AddedTokens::Part& part : parts_->normalized.cut(normal)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    const bool first = starts && part.text.data() == normal.data();
    const Result<TextWords> words = parts_->pre_tokenizer.cut(std::string(part.text), first);
    if (!words) return tl::unexpected(words.error());
    for (const TextSpan& span : words->spans) {
      const std::size_t before = ids.size();
      parts_->model->append(words->word(span), ids);
      if (std::find(ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end(), no_piece) !=
          ids.end()) {
        constexpr std::size_t longest = 60;
        return fail("the tokenizer has no piece for '{}' and no unknown token",
                    in_a_sentence(words->word(span), longest));
      }
    }
  }
  return {};
}

bool SubwordTokenizer::cut(std::vector<std::int32_t>& ids, std::int64_t most) const {
  const auto size = static_cast<std::int64_t>(ids.size());
  const std::int64_t gone = size - std::max<std::int64_t>(most, 0);
  if (gone <= 0) return false;
  if (parts_->truncates_left) {
    ids.erase(ids.begin(), ids.begin() + gone);
  } else {
    ids.resize(static_cast<std::size_t>(size - gone));
  }
  return true;
}

Status SubwordTokenizer::may_be_cut(const std::vector<std::int32_t>& ids,
                                    std::int32_t without_position, std::int64_t most) const {
  if (without_position < 0 || std::ranges::find(ids, without_position) == ids.end()) return {};
  return fail(
      "there are more than {} tokens, among them '{}', which takes no position, so transformers "
      "truncates at another place; remove it from the text, or set \"model_max_length\": {} in "
      "tokenizer_config.json",
      most, in_a_sentence(token(without_position)), most);
}

Status SubwordTokenizer::cut_longest_first(TokenPair& pair, std::int64_t room) const {
  const auto query = static_cast<std::int64_t>(pair.query.size());
  const auto document = static_cast<std::int64_t>(pair.document.size());
  if (query + document <= room) return {};
  if (room < 1) {
    return fail("a limit of {} tokens leaves none for a pair; allow more", room + special_tokens());
  }
  const bool query_is_shorter = query <= document;
  std::int64_t shorter = std::min(query, document);
  std::int64_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = room - shorter;
  }
  pair.query_cut = cut(pair.query, query_is_shorter ? shorter : longer) || pair.query_cut;
  pair.document_cut = cut(pair.document, query_is_shorter ? longer : shorter) || pair.document_cut;
  return {};
}

std::int64_t SubwordTokenizer::special_tokens() const {
  return 2 + static_cast<std::int64_t>(parts_->pair.between.size());
}

Result<TokenPair> SubwordTokenizer::encode(std::string_view query, std::string_view document,
                                           const PairLimits& limits) const {
  const PairTemplate& around = parts_->pair;
  const auto ends = static_cast<std::int64_t>(around.between.size());
  Result<std::vector<std::int32_t>> query_ids =
      parts_->query_prefix.empty() ? tokenize(query)
                                   : tokenize(parts_->query_prefix + std::string(query));
  Result<std::vector<std::int32_t>> document_ids = tokenize(document);
  if (!query_ids) return fail("the query: {}", query_ids.error().message);
  if (!document_ids) return fail("the document: {}", document_ids.error().message);
  TokenPair pair{.query = std::move(*query_ids), .document = std::move(*document_ids)};
  if (limits.most_query_tokens > 0)
    pair.query_cut = cut(pair.query, limits.most_query_tokens - ends);
  if (limits.most_document_tokens > 0) {
    const std::int64_t query_tokens = static_cast<std::int64_t>(pair.query.size()) + ends;
    if (query_tokens > limits.most_tokens - 1) {
      return fail(
          "the query has {} tokens including {}, but the model reads at most {}; shorten or limit "
          "it",
          query_tokens, token(around.between.front()), limits.most_tokens - 1);
    }
    pair.document_cut = cut(pair.document, limits.most_document_tokens - 1);
  } else {
    if (limits.most_tokens_of_document > 0)
      pair.document_cut = cut(pair.document, limits.most_tokens_of_document - 1);
    const std::int64_t room = limits.most_tokens - special_tokens();
    if (static_cast<std::int64_t>(pair.query.size() + pair.document.size()) > room) {
      for (const auto* ids : {&pair.query, &pair.document}) {
        if (Status may = may_be_cut(*ids, limits.without_position, limits.most_tokens); !may)
          return tl::unexpected(may.error());
      }
    }
    Status fits = cut_longest_first(pair, room);
    if (!fits) return tl::unexpected(fits.error());
  }
  pair.query.insert(pair.query.end(), around.between.begin(), around.between.end());
  pair.document.push_back(around.after);
  return pair;
}

Result<TokenPair> SubwordTokenizer::encode_document(std::string_view document,
                                                    std::int64_t most) const {
  Result<std::vector<std::int32_t>> ids = tokenize(document);
  if (!ids) return fail("the document: {}", ids.error().message);
  TokenPair alone{.query = {}, .document = std::move(*ids)};
  alone.document_cut = cut(alone.document, most - 1);
  alone.document.push_back(sep());
  return alone;
}

std::uint64_t SubwordTokenizer::fingerprint() const {
  return parts_->fingerprint;
}

std::string_view SubwordTokenizer::token(std::int32_t id) const {
  if (parts_->shown.empty() || id < 0 || id >= size()) return parts_->vocabulary.piece(id);
  return parts_->shown[static_cast<std::size_t>(id)];
}

std::int64_t SubwordTokenizer::size() const {
  return parts_->vocabulary.size();
}

std::int64_t SubwordTokenizer::table_rows() const {
  return parts_->model_pieces;
}

std::int32_t SubwordTokenizer::cls() const {
  return parts_->pair.cls;
}

std::int32_t SubwordTokenizer::sep() const {
  return parts_->pair.after;
}

std::int32_t SubwordTokenizer::document_type() const {
  return parts_->pair.document_type;
}

std::string_view name_of(MultiVectorForm form) {
  constexpr std::array<std::string_view, 3> names{"Stanford's ColBERT", "PyLate",
                                                  "MultiVectorEncoder of sentence-transformers"};
  return names.at(static_cast<std::size_t>(form));
}

Result<MultiVectorTokenizer> MultiVectorTokenizer::open(const std::filesystem::path& folder,
                                                        const TokenizerExtras& extras,
                                                        const MultiVectorTexts& texts) {
  TokenizerExtras with_markers = extras;
  for (const MultiVectorTexts::Side* side : {&texts.query, &texts.document})
    if (!side->marker.empty()) with_markers.markers.push_back(side->marker);
  auto pieces = SubwordTokenizer::open(folder, with_markers);
  if (!pieces) return tl::unexpected(pieces.error());
  MultiVectorTokenizer tokenizer(std::move(*pieces), texts);
  if (Status found = tokenizer.find_ids(folder); !found) return tl::unexpected(found.error());
  return tokenizer;
}

Status MultiVectorTokenizer::find_ids(const std::filesystem::path& folder) {
  const SubwordParts& parts = pieces_.parts();
  if (!parts.gives_mask) {
    return fail(
        "{}: 'model_input_names' has no 'attention_mask', which late interaction needs; add it",
        (folder / "tokenizer_config.json").string());
  }
  ids_.separator = pieces_.sep();
  for (const std::string& word : texts_.skipped_words) {
    std::int32_t id = parts.vocabulary.id(word);
    if (id < 0 && texts_.skips_unknown) id = parts.named.unknown;
    if (id >= 0) ids_.skipped.push_back(id);
  }
  std::ranges::sort(ids_.skipped);
  ids_.skipped.erase(std::unique(ids_.skipped.begin(), ids_.skipped.end()), ids_.skipped.end());
  if (texts_.expansion_length > 0) {
    if (!texts_.expansion_token.empty()) {
      expansion_ = parts.vocabulary.id(texts_.expansion_token);
    } else {
      expansion_ = parts.named.mask >= 0 ? parts.named.mask : parts.named.end;
    }
    if (expansion_ < 0 && texts_.expansion_token.empty()) expansion_ = parts.named.padding;
    if (!parts.pads_left_by.empty()) {
      return fail(
          "{} is left, so queries would be expanded on the left, which is not supported; set "
          "\"padding_side\": \"right\" in tokenizer_config.json",
          parts.pads_left_by);
    }
    const bool named = !texts_.expansion_token.empty();
    const std::string field =
        named ? fmt::format("{}: 'query_expansion.token'",
                            (folder / "sentence_bert_config.json").string())
              : fmt::format("{}: 'mask_token'", (folder / "tokenizer_config.json").string());
    if (expansion_ < 0) {
      return fail(
          "{} {}, but queries are expanded with it; name a token of the vocabulary, such as [MASK]",
          field,
          named ? fmt::format("is '{}', which is not a token of the vocabulary",
                              in_a_sentence(texts_.expansion_token))
                : "names no token of the vocabulary, nor do 'eos_token' and 'pad_token'");
    }
    // Newer `tokenizers` find such a token only by its normalized text, which PyLate requests.
    std::string normal(parts.vocabulary.piece(expansion_));
    const bool changes = texts_.form != MultiVectorForm::sentence_transformers &&
                         parts.normalizer.apply(normal) && normal != token(expansion_);
    const auto found = parts.normalized.cut(normal);
    if (changes && found.size() == 1 && found.front().id == expansion_) {
      return fail(
          "{} is '{}', which is \"normalized\": true and then '{}', so some versions of PyLate's "
          "libraries expand queries with other tokens; set \"normalized\": false",
          field, in_a_sentence(token(expansion_)), in_a_sentence(normal));
    }
    if (expansion_ == ids_.separator) {
      return fail(
          "{} {} '{}', which also ends queries, so the start of an expansion would be ambiguous; "
          "name another token, such as [MASK]",
          field, named ? "is" : "is missing, so queries are expanded with",
          in_a_sentence(token(expansion_)));
    }
  }
  RunningSum sum;
  sum.add(parts.fingerprint);
  for (const MultiVectorTexts::Side* side : {&texts_.query, &texts_.document}) {
    sum.add(std::string_view(side->marker));
    sum.add(std::string_view(side->prompt));
  }
  fingerprint_ = sum.value();
  return {};
}

std::string MultiVectorTokenizer::prepared(std::string_view text, const std::string& prompt) const {
  std::string all = prompt + std::string(text);
  if (texts_.strips) {
    std::size_t begin = all.size(), end = 0;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t first = at;
      // Python's strip() also removes the four information separators.
      const char32_t c = next_character(all, at);
      if (is_white_space(c) || (c >= 0x1C && c <= 0x1F)) continue;
      begin = std::min(begin, first);
      end = at;
    }
    all = begin < end ? all.substr(begin, end - begin) : "";
  }
  if (!texts_.lower_case) return all;
  std::string lower;
  for (std::size_t at = 0; at < all.size();) append_lower_case(lower, next_character(all, at));
  return lower;
}

Result<bool> MultiVectorTokenizer::append(std::string_view text, const MultiVectorTexts::Side& side,
                                          std::int64_t most, std::vector<std::int32_t>& ids) const {
  auto content = pieces_.tokenize(prepared(text, side.prompt));
  if (!content) return tl::unexpected(content.error());
  const std::int64_t others = side.marker.empty() ? 1 : 2;
  if (most < others) {
    return fail("a limit of {} tokens leaves none for a text; allow more", most + 1);
  }
  if (static_cast<std::int64_t>(content->size()) > most - others) {
    if (Status may = pieces_.may_be_cut(*content, without_position_, most + 1); !may)
      return tl::unexpected(may.error());
  }
  const bool is_cut = pieces_.cut(*content, most - others);
  if (!side.marker.empty()) ids.push_back(pieces_.parts().vocabulary.id(side.marker));
  ids.insert(ids.end(), content->begin(), content->end());
  ids.push_back(ids_.separator);
  return is_cut;
}

Result<TokenPair> MultiVectorTokenizer::encode(std::string_view query, std::string_view document,
                                               const PairLimits& limits) const {
  TokenPair pair;
  const auto query_cut = append(query, texts_.query, limits.most_query_tokens, pair.query);
  if (!query_cut) return fail("the query: {}", query_cut.error().message);
  const auto document_cut =
      append(document, texts_.document, limits.most_document_tokens, pair.document);
  if (!document_cut) return fail("the document: {}", document_cut.error().message);
  pair.query_cut = *query_cut;
  pair.document_cut = *document_cut;
  const auto whole = static_cast<std::size_t>(texts_.expansion_length - 1);  // without [CLS]
  if (texts_.expansion_length > 0 && pair.query.size() < whole)
    pair.query.resize(whole, expansion_);
  return pair;
}

Result<TokenPair> MultiVectorTokenizer::encode_document(std::string_view document,
                                                        std::int64_t most) const {
  TokenPair alone;
  const auto cut = append(document, texts_.document, most, alone.document);
  if (!cut) return fail("the document: {}", cut.error().message);
  alone.document_cut = *cut;
  return alone;
}

}  // namespace attnscope
