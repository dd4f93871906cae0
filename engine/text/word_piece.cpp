// SPDX-License-Identifier: Apache-2.0
#include "engine/text/word_piece.h"

#include <algorithm>
#include <array>

#include "engine/text/tokenizer_model.h"
#include "kernels/base/running_sum.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

std::int64_t characters(std::string_view utf8) {
  std::int64_t count = 0;
  for (const char byte : utf8) count += continues_character(byte) ? 0 : 1;
  return count;
}

void drop_last_character(std::string& text) {
  while (!text.empty() && continues_character(text.back())) text.pop_back();
  if (!text.empty()) text.pop_back();
}

/// Shortens `candidate` from its end until it is a piece with a character behind the prefix; -1
/// when there is none.
std::int32_t longest_piece(std::string& candidate, std::size_t prefix,
                           const Vocabulary& vocabulary) {
  std::int32_t id = vocabulary.id(candidate);
  while (id < 0) {
    drop_last_character(candidate);
    if (candidate.size() <= prefix) return -1;
    id = vocabulary.id(candidate);
  }
  return id;
}

/// Appends the pieces of one word, the longest first from its start, or the unknown piece.
void append_pieces(std::string_view word, const TokenizerModel& model, std::int32_t unknown,
                   std::vector<std::int32_t>& ids) {
  const std::size_t before = ids.size();
  if (characters(word) > model.most_characters) {
    ids.push_back(unknown);
    return;
  }
  std::string candidate;
  for (std::size_t begin = 0; begin < word.size();) {
    candidate = begin == 0 ? "" : model.continuing_prefix;
    const std::size_t prefix = candidate.size();
    // Longer than any piece is not worth looking up.
    candidate += word.substr(begin, model.vocabulary.longest_piece());
    const std::int32_t id = longest_piece(candidate, prefix, model.vocabulary);
    if (id < 0) {
      ids.resize(before);
      ids.push_back(unknown);
      return;
    }
    ids.push_back(id);
    begin += candidate.size() - prefix;
  }
}

}  // namespace

struct WordPiece::Parts {
  TokenizerModel model;
  std::int32_t cls = 0, sep = 0, unknown = 0;
  std::array<bool, 256> begins_added{};  // first bytes of added tokens

  /// The longest added token that the text begins with; null when it begins with none.
  [[nodiscard]] const TokenizerModel::AddedToken* added_at(std::string_view text) const;
  void append_words(std::string_view utf8, std::vector<std::int32_t>& ids) const;
};

const TokenizerModel::AddedToken* WordPiece::Parts::added_at(std::string_view text) const {
  const TokenizerModel::AddedToken* longest = nullptr;
  for (const auto& token : model.added) {
    if (!text.starts_with(token.text)) continue;
    if (longest == nullptr || token.text.size() > longest->text.size()) longest = &token;
  }
  return longest;
}

void WordPiece::Parts::append_words(std::string_view utf8, std::vector<std::int32_t>& ids) const {
  const std::string words = split_into_words(utf8, model.rules);
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    append_pieces(std::string_view(words).substr(begin, end - begin), model, unknown, ids);
    begin = end + 1;
  }
}

WordPiece::WordPiece(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
WordPiece::WordPiece(WordPiece&&) noexcept = default;
WordPiece& WordPiece::operator=(WordPiece&&) noexcept = default;
WordPiece::~WordPiece() = default;

Result<WordPiece> WordPiece::of(TokenizerModel model, std::string_view source) {
  auto parts = std::make_unique<Parts>();
  parts->model = std::move(model);
  const Vocabulary& vocabulary = parts->model.vocabulary;
  struct Special {
    std::string_view piece;
    std::int32_t* id;
  };
  for (const Special special : {Special{"[CLS]", &parts->cls}, Special{"[SEP]", &parts->sep},
                                Special{parts->model.unknown_piece, &parts->unknown}}) {
    *special.id = vocabulary.id(special.piece);
    if (*special.id < 0) {
      return fail("{}: '{}' is not among its {} pieces, and a cross-encoder needs it", source,
                  in_a_sentence(special.piece), vocabulary.size());
    }
  }
  for (const auto& token : parts->model.added) {
    parts->begins_added[static_cast<unsigned char>(token.text.front())] = true;
  }
  return WordPiece(std::move(parts));
}

Result<WordPiece> WordPiece::open(const std::filesystem::path& folder) {
  Result<TokenizerModel> model = read_tokenizer_folder(folder);
  if (!model) return tl::unexpected(model.error());
  return of(std::move(*model), folder.string());
}

Result<WordPiece> WordPiece::parse(std::string_view vocabulary, std::string_view source) {
  Result<Vocabulary> read = read_vocabulary(vocabulary, source);
  if (!read) return tl::unexpected(read.error());
  TokenizerModel model;
  model.vocabulary = std::move(*read);
  model.added = special_tokens(model.vocabulary);
  return of(std::move(model), source);
}

std::vector<std::int32_t> WordPiece::tokenize(std::string_view utf8) const {
  std::vector<std::int32_t> ids;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < utf8.size();) {
    const auto* added = parts_->begins_added[static_cast<unsigned char>(utf8[at])]
                            ? parts_->added_at(utf8.substr(at))
                            : nullptr;
    if (added == nullptr) {
      ++at;
      continue;
    }
    parts_->append_words(utf8.substr(begin, at - begin), ids);
    ids.push_back(added->id);
    at += added->text.size();
    begin = at;
  }
  parts_->append_words(utf8.substr(begin), ids);
  return ids;
}

Result<TokenPair> WordPiece::encode(std::string_view query, std::string_view document,
                                    const PairLimits& limits) const {
  constexpr std::int64_t around = 3;  // [CLS] and a [SEP] behind each part
  TokenPair pair{.query = tokenize(query), .document = tokenize(document)};
  const auto size_of = [](const std::vector<std::int32_t>& ids) {
    return static_cast<std::int64_t>(ids.size());
  };
  if (limits.most_query_tokens > 0 && size_of(pair.query) >= limits.most_query_tokens) {
    pair.query_cut = size_of(pair.query) > limits.most_query_tokens - 1;
    pair.query.resize(static_cast<std::size_t>(limits.most_query_tokens - 1));
  }
  const bool apart = limits.most_document_tokens > 0;
  std::int64_t room = limits.most_tokens - around - size_of(pair.query);
  if (apart) {
    if (room + 1 < 0) {
      return fail(
          "the query has {} tokens with its [SEP], and the model reads at most {}; limit it",
          size_of(pair.query) + 1, limits.most_tokens - 1);
    }
    room = limits.most_document_tokens - 1;
  }
  if (room < 0 || (room == 0 && !pair.document.empty())) {
    return fail(
        "the query has {} tokens with its [SEP], which leaves no room for a document within {} "
        "tokens; limit the query's or allow more",
        size_of(pair.query) + 1, limits.most_tokens);
  }
  if (size_of(pair.document) > room) {
    pair.document_cut = true;
    pair.document.resize(static_cast<std::size_t>(room));
  }
  pair.query.push_back(sep());
  pair.document.push_back(sep());
  return pair;
}

std::vector<std::int32_t> WordPiece::encode_document(std::string_view document,
                                                     std::int64_t most) const {
  std::vector<std::int32_t> ids = tokenize(document);
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(most - 1)));
  ids.push_back(sep());
  return ids;
}

std::string_view WordPiece::token(std::int32_t id) const {
  return parts_->model.vocabulary.piece(id);
}

std::uint64_t WordPiece::fingerprint() const {
  const TokenizerModel& model = parts_->model;
  RunningSum sum;
  for (std::int64_t id = 0; id < model.vocabulary.size(); ++id)
    sum.add(model.vocabulary.piece(static_cast<std::int32_t>(id)));
  for (const bool rule : {model.rules.clean_text, model.rules.handle_chinese_chars,
                          model.rules.strip_accents, model.rules.lowercase})
    sum.add(static_cast<std::uint64_t>(rule));
  sum.add(model.unknown_piece);
  sum.add(model.continuing_prefix);
  sum.add(static_cast<std::uint64_t>(model.most_characters));
  for (const TokenizerModel::AddedToken& token : model.added) {
    sum.add(token.text);
    sum.add(static_cast<std::uint64_t>(token.id));
  }
  return sum.value();
}

std::int64_t WordPiece::size() const {
  return parts_->model.vocabulary.size();
}

std::int32_t WordPiece::cls() const {
  return parts_->cls;
}

std::int32_t WordPiece::sep() const {
  return parts_->sep;
}

std::int32_t WordPiece::unknown() const {
  return parts_->unknown;
}

}  // namespace attnscope
