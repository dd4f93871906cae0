// SPDX-License-Identifier: Apache-2.0
#include "engine/text/subword_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "engine/text/characters.h"
#include "engine/text/subword_file.h"

namespace attnscope {

SubwordTokenizer::SubwordTokenizer(SubwordParts parts)
    : parts_(std::make_unique<const SubwordParts>(std::move(parts))) {}
SubwordTokenizer::SubwordTokenizer(SubwordTokenizer&&) noexcept = default;
SubwordTokenizer& SubwordTokenizer::operator=(SubwordTokenizer&&) noexcept = default;
SubwordTokenizer::~SubwordTokenizer() = default;

Result<SubwordTokenizer> SubwordTokenizer::open(const std::filesystem::path& folder) {
  Result<SubwordParts> parts = read_tokenizer_folder(folder);
  if (!parts) return tl::unexpected(parts.error());
  return SubwordTokenizer(std::move(*parts));
}

std::vector<std::int32_t> SubwordTokenizer::tokenize(std::string_view text) const {
  std::vector<std::int32_t> ids;
  std::string mended;
  if (first_byte_that_is_no_utf8(text)) text = mended = as_utf8(text);
  for (const AddedTokens::Part& part : parts_->raw.cut(text)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
    } else {
      append(part.text, part.text.data() == text.data(), ids);
    }
  }
  return ids;
}

void SubwordTokenizer::append(std::string_view text, bool starts,
                              std::vector<std::int32_t>& ids) const {
  std::string normal(text);
  starts = parts_->normalizer.apply(normal) && starts;
  for (const AddedTokens::Part& part : parts_->normalized.cut(normal)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    const bool first = starts && part.text.data() == normal.data();
    const TextWords words = parts_->pre_tokenizer.cut(std::string(part.text), first);
    for (const TextSpan& span : words.spans) parts_->model->append(words.word(span), ids);
  }
}

Result<TokenPair> SubwordTokenizer::encode(std::string_view query, std::string_view document,
                                           const PairLimits& limits) const {
  const PairTemplate& around = parts_->pair;
  const auto ends = static_cast<std::int64_t>(around.between.size());
  TokenPair pair{.query = tokenize(query), .document = tokenize(document)};
  const auto cut = [](std::vector<std::int32_t>& ids, std::int64_t most) {
    const bool long_enough = static_cast<std::int64_t>(ids.size()) > most;
    if (long_enough) ids.resize(static_cast<std::size_t>(std::max<std::int64_t>(most, 0)));
    return long_enough;
  };
  if (limits.most_query_tokens > 0)
    pair.query_cut = cut(pair.query, limits.most_query_tokens - ends);
  const std::int64_t query_tokens = static_cast<std::int64_t>(pair.query.size()) + ends;
  constexpr std::int64_t cls_and_end = 2;
  std::int64_t room = limits.most_tokens - cls_and_end - query_tokens;
  if (limits.most_document_tokens > 0) {
    if (query_tokens > limits.most_tokens - 1) {
      return fail("the query has {} tokens with its {}, and the model reads at most {}; limit it",
                  query_tokens, token(around.between.front()), limits.most_tokens - 1);
    }
    room = limits.most_document_tokens - 1;
  }
  if (room < 0 || (room == 0 && !pair.document.empty())) {
    return fail(
        "the query has {} tokens with its {}, which leaves no room for a document within {} "
        "tokens; limit the query's or allow more",
        query_tokens, token(around.between.front()), limits.most_tokens);
  }
  if (limits.most_tokens_of_document > 0) room = std::min(room, limits.most_tokens_of_document - 1);
  pair.document_cut = cut(pair.document, room);
  pair.query.insert(pair.query.end(), around.between.begin(), around.between.end());
  pair.document.push_back(around.behind);
  return pair;
}

std::vector<std::int32_t> SubwordTokenizer::encode_document(std::string_view document,
                                                            std::int64_t most) const {
  std::vector<std::int32_t> ids = tokenize(document);
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(most - 1)));
  ids.push_back(sep());
  return ids;
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

std::int32_t SubwordTokenizer::cls() const {
  return parts_->pair.cls;
}

std::int32_t SubwordTokenizer::sep() const {
  return parts_->pair.behind;
}

std::int32_t SubwordTokenizer::document_type() const {
  return parts_->pair.document_type;
}

}  // namespace attnscope
