// SPDX-License-Identifier: Apache-2.0
#include "engine/text/multi_vector_tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/fingerprint.h"
#include "base/sentences.h"
#include "engine/text/characters.h"
#include "engine/text/subword_file.h"
#include "engine/text/tokenizer_folder.h"

namespace attnscope {

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
          "{} is left, so that expansions precede queries, which is not computed here; set "
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
          "{} {}, and queries are expanded with it; name a token of the vocabulary, such as [MASK]",
          field,
          named ? fmt::format("is '{}', which is no token of the vocabulary",
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
          "{} is '{}', which is \"normalized\": true and then '{}', by which versions of PyLate's "
          "libraries expand queries with other tokens; write \"normalized\": false",
          field, in_a_sentence(token(expansion_)), in_a_sentence(normal));
    }
    if (expansion_ == ids_.separator) {
      return fail(
          "{} {} '{}', which ends queries, too: where an expansion begins could not be told; name "
          "another token, such as [MASK]",
          field, named ? "is" : "is not there, so that queries are expanded with",
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
    return fail("a limit of {} tokens leaves no room for a text; allow more", most + 1);
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
