// SPDX-License-Identifier: Apache-2.0
#include "engine/text/subword_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

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
  std::string mended;
  if (first_byte_that_is_no_utf8(text)) text = mended = as_utf8(text);
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
        return fail("the tokenizer has no piece for '{}', and no unknown one to stand for it",
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
      "there are more than {} tokens and '{}' among them, which takes no position, so that "
      "transformers cuts elsewhere; remove it from the text, or write \"model_max_length\": {} to "
      "tokenizer_config.json",
      most, in_a_sentence(token(without_position)), most);
}

Status SubwordTokenizer::cut_longest_first(TokenPair& pair, std::int64_t room) const {
  const auto query = static_cast<std::int64_t>(pair.query.size());
  const auto document = static_cast<std::int64_t>(pair.document.size());
  if (query + document <= room) return {};
  if (room < 1) {
    return fail("a limit of {} tokens leaves no room for a pair; allow more",
                room + special_tokens());
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
      return fail("the query has {} tokens with its {}, and the model reads at most {}; limit it",
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

}  // namespace attnscope
