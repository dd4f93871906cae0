// SPDX-License-Identifier: Apache-2.0
#include "engine/text/word_list.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/fingerprint.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/text/characters.h"
#include "engine/text/vocabulary.h"

namespace attnscope {
namespace {

constexpr std::string_view unknown_in_list = "@@UNKNOWN@@";
constexpr std::int32_t unknown_id = 1;

/// One iterator per thread, because creating one costs more than processing a query.
icu::BreakIterator& word_boundaries() {
  static thread_local const std::unique_ptr<icu::BreakIterator> boundaries = [] {
    UErrorCode failed = U_ZERO_ERROR;
    std::unique_ptr<icu::BreakIterator> made(
        icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), failed));
    if (U_FAILURE(failed) != 0) throw std::runtime_error(u_errorName(failed));
    return made;
  }();
  return *boundaries;
}

bool is_apostrophe(char16_t c) {
  return c == u'\'' || c == u'\u2019';
}

/// Start of the ending that an apostrophe joins to an English word: "n't", or "'s", "'ll" and
/// similar; the word's length if there is none.
std::int32_t end_of_stem(const icu::UnicodeString& word) {
  const std::int32_t length = word.length();
  if (length > 3 && word.endsWith(u"t") && is_apostrophe(word[length - 2]) &&
      word[length - 3] == u'n') {
    return length - 3;
  }
  constexpr std::array<std::u16string_view, 6> ends{u"s", u"ll", u"re", u"ve", u"d", u"m"};
  for (const std::u16string_view end : ends) {
    const auto own = static_cast<std::int32_t>(end.size());
    if (length > own + 1 && word.endsWith(end.data(), own) &&
        is_apostrophe(word[length - own - 1])) {
      return length - own - 1;
    }
  }
  return length;
}

/// "u.s.a" and "3.14" are one word, "example.org" is three.
bool is_joined_by_dots(const icu::UnicodeString& word) {
  std::int32_t letters = 0, longest = 0;
  bool digits = true;
  for (std::int32_t i = 0; i < word.length(); ++i) {
    if (word[i] == u'.') {
      letters = 0;
      continue;
    }
    longest = std::max(longest, ++letters);
    digits = digits && (u_isdigit(word[i]) != 0 || word[i] == u',');
  }
  return digits || longest == 1;
}

void append_word(const icu::UnicodeString& word, std::vector<std::string>& words) {
  if (!word.isEmpty()) word.toUTF8String(words.emplace_back());
}

/// Appends a word, and separately the ending that an apostrophe joins to it.
void append_stem(const icu::UnicodeString& word, std::vector<std::string>& words) {
  const std::int32_t stem = end_of_stem(word);
  append_word(word.tempSubStringBetween(0, stem), words);
  icu::UnicodeString end(word, stem);
  append_word(end.findAndReplace(u"\u2019", u"'"), words);
}

/// Appends the words between two boundaries. Unicode does not split at a dot, "@" and ":" between
/// letters.
void append_parts(const icu::UnicodeString& word, std::vector<std::string>& words) {
  const bool dots_join = is_joined_by_dots(word);
  std::int32_t begin = 0;
  for (std::int32_t at = 0; at < word.length(); ++at) {
    const char16_t c = word[at];
    const bool splits = c == u'@' || c == u':' || (c == u'.' && !dots_join);
    if (!splits) continue;
    append_stem(word.tempSubStringBetween(begin, at), words);
    append_word(word.tempSubStringBetween(at, at + 1), words);
    begin = at + 1;
  }
  append_stem(word.tempSubStringBetween(begin), words);
}

/// What is wrong with a line of a list; empty if it is a word.
std::string_view no_word(std::string_view line) {
  constexpr std::string_view outside(" \t\r\v\f");
  if (line.empty()) return "is empty, but each line must be a word";
  if (line.find('\0') != std::string_view::npos) return "has a NUL, which no word has";
  if (first_byte_that_is_no_utf8(line)) return "is not UTF-8";
  if (outside.find(line.front()) != std::string_view::npos ||
      outside.find(line.back()) != std::string_view::npos) {
    return "has white space around its word, so no text contains it";
  }
  return {};
}

/// Words in upper case indicate that a list is not lower-cased.
enum class Case : std::uint8_t { none, lower, upper };

Case case_of(std::string_view word) {
  const auto text = icu::UnicodeString::fromUTF8(
      icu::StringPiece(word.data(), static_cast<std::int32_t>(word.size())));
  Case seen = Case::none;
  for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    const UChar32 c = text.char32At(i);
    if (u_isUUppercase(c) != 0) return Case::upper;
    if (u_isULowercase(c) != 0) seen = Case::lower;
  }
  return seen;
}

bool cut(std::vector<std::int32_t>& ids, std::int64_t most) {
  if (most <= 0 || static_cast<std::int64_t>(ids.size()) <= most) return false;
  ids.resize(static_cast<std::size_t>(most));
  return true;
}

bool is_blank(const icu::UnicodeString& text) {
  for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    const UChar32 c = text.char32At(i);
    if (u_isUWhiteSpace(c) == 0 && u_iscntrl(c) == 0) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> words_of_text(std::string_view utf8) {
  icu::UnicodeString text = icu::UnicodeString::fromUTF8(
      icu::StringPiece(utf8.data(), static_cast<std::int32_t>(utf8.size())));
  text.toLower(icu::Locale::getRoot());
  icu::BreakIterator& boundaries = word_boundaries();
  boundaries.setText(text);
  std::vector<std::string> words;
  std::int32_t begin = boundaries.first();
  for (std::int32_t end = boundaries.next(); end != icu::BreakIterator::DONE;
       begin = end, end = boundaries.next()) {
    const icu::UnicodeString part = text.tempSubStringBetween(begin, end);
    if (!is_blank(part)) append_parts(part, words);
  }
  return words;
}

struct WordList::Parts {
  Vocabulary words;  // ids from 1 on
};

WordList::WordList(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
WordList::WordList(WordList&&) noexcept = default;
WordList& WordList::operator=(WordList&&) noexcept = default;
WordList::~WordList() = default;

Result<WordList> WordList::open(const std::filesystem::path& folder) {
  constexpr std::uintmax_t most_bytes = 256U << 20U;
  const std::filesystem::path path = folder / file;
  const Result<std::string> text = read_text_file(path, "list of words", most_bytes);
  if (!text) return tl::unexpected(text.error());
  return parse(*text, path.string());
}

Result<WordList> WordList::parse(std::string_view list, std::string_view source) {
  auto parts = std::make_unique<Parts>();
  std::int32_t line = 0, in_upper_case = 0;  // the first such line
  bool some_in_lower_case = false;
  while (!list.empty()) {
    const std::size_t end = list.find('\n');
    std::string_view word = list.substr(0, end);
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    if (word.ends_with('\r')) word.remove_suffix(1);
    ++line;
    if (line == 1 && word != unknown_in_list) {
      return fail("{}, line 1: is '{}', but the first line of a list must be '{}'", source,
                  in_a_sentence(word), unknown_in_list);
    }
    if (const std::string_view wrong = no_word(word); !wrong.empty()) {
      return fail("{}, line {}: {}; copy the file again", source, line, wrong);
    }
    if (line > 1 && !some_in_lower_case) {
      const Case own = case_of(word);
      some_in_lower_case = own == Case::lower;
      if (own == Case::upper && in_upper_case == 0) in_upper_case = line;
    }
    if (line == Vocabulary::most_pieces) {
      return fail("{}: has more than {} lines, too many for a list of words", source,
                  Vocabulary::most_pieces);
    }
    if (parts->words.id(word) >= 0) {
      return fail("{}, line {}: the word '{}' is given twice, first in line {}", source, line,
                  in_a_sentence(word), parts->words.id(word));
    }
    parts->words.add(std::string(word), line);
  }
  if (line == 0) return fail("{}: has no words; copy the file again", source);
  if (in_upper_case > 0 && !some_in_lower_case) {
    return fail(
        "{}, line {}: is '{}', but texts are lower-cased and no word of the list is in lower case; "
        "use the list that the checkpoint was trained with",
        source, in_upper_case, in_a_sentence(parts->words.piece(in_upper_case)));
  }
  return WordList(std::move(parts));
}

std::vector<std::int32_t> WordList::tokenize(std::string_view utf8) const {
  std::vector<std::int32_t> ids;
  for (const std::string& word : words_of_text(utf8)) {
    const std::int32_t id = parts_->words.id(word);
    ids.push_back(id < 0 ? unknown_id : id);
  }
  return ids;
}

Result<TokenPair> WordList::encode(std::string_view query, std::string_view document,
                                   const PairLimits& limits) const {
  TokenPair pair{.query = tokenize(query), .document = tokenize(document)};
  if (pair.query.empty()) return fail("the query has no words");
  pair.query_cut = cut(pair.query, limits.most_query_tokens);
  pair.document_cut = cut(pair.document, limits.most_document_tokens);
  return pair;
}

Result<TokenPair> WordList::encode_document(std::string_view document, std::int64_t most) const {
  TokenPair alone{.query = {}, .document = tokenize(document)};
  alone.document_cut = cut(alone.document, most);
  return alone;
}

std::uint64_t WordList::fingerprint() const {
  RunningSum sum;
  sum.add(unknown_in_list);
  for (std::int64_t id = 0; id < size(); ++id) sum.add(token(static_cast<std::int32_t>(id)));
  return sum.value();
}

std::string_view WordList::token(std::int32_t id) const {
  return parts_->words.piece(id);
}

std::int64_t WordList::size() const {
  return parts_->words.size();
}

}  // namespace attnscope
