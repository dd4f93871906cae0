// SPDX-License-Identifier: Apache-2.0
#include "engine/text/normalizer.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/utext.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/text/characters.h"
#include "engine/text/text_pattern.h"
#include "engine/text/vocabulary.h"

namespace attnscope {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::size_t group = 4;
  if (text.size() % group != 0) return std::nullopt;
  std::size_t padding = 0;
  for (; !text.empty() && text.back() == '=' && padding < 2; ++padding) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size());
  std::uint32_t bits = 0;
  int waiting = 0;
  for (const char c : text) {
    const std::size_t value = alphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U | static_cast<std::uint32_t>(value)) & 0xFFFFU;
    waiting += 6;
    if (waiting < 8) continue;
    waiting -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned>(waiting));
  }
  return bytes;
}

// Fields of a unit of the trie: its byte, the offset of its children, whether a value ends here.
std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000FFU;
}
std::uint32_t offset(std::uint32_t unit) {
  return (unit >> 10U) << ((unit & 0x200U) >> 6U);
}
bool has_value(std::uint32_t unit) {
  return (unit >> 8U & 1U) != 0;
}
std::uint32_t value_of(std::uint32_t unit) {
  return unit & 0x7FFFFFFFU;
}

/// One iterator per thread, because creating one costs more than processing a text.
icu::BreakIterator& graphemes() {
  static thread_local const std::unique_ptr<icu::BreakIterator> made = [] {
    UErrorCode failed = U_ZERO_ERROR;
    std::unique_ptr<icu::BreakIterator> iterator(
        icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), failed));
    if (U_FAILURE(failed) != 0) throw std::runtime_error(u_errorName(failed));
    return iterator;
  }();
  return *made;
}

/// The end of the range from `begin` that is searched for graphemes: at an ASCII character that is
/// followed by another, since two of them never form one grapheme, except CR LF.
std::size_t end_of_stretch(std::string_view text, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text.size() &&
         (!is_ascii(text.substr(end - 1, 2)) || text.substr(end - 1, 2) == "\r\n")) {
    ++end;
  }
  return end;
}

/// SentencePiece's normalization table (nmt_nfkc and others), as stored in tokenizer.json: base64
/// of the size of a trie, the trie (darts-clone's units) and its replacements. It maps "ﬁ ½" to "fi
/// 1/2".
class Charsmap {
 public:
  [[nodiscard]] static Result<Charsmap> read(std::string_view base64);

  /// Applies the table as Hugging Face does: a grapheme of fewer than six bytes is looked up as a
  /// whole, and the replacement of a prefix replaces all of it; otherwise character by character.
  void apply(std::string& utf8) const;
  /// Length of the longest replacement in bytes.
  [[nodiscard]] std::size_t longest() const;

 private:
  /// The replacement of the shortest prefix in the table.
  [[nodiscard]] std::optional<std::string_view> replacement(std::string_view text) const;
  /// Appends the replacement of a grapheme.
  void append(std::string_view grapheme, std::string& to) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> stays_{};  // ASCII characters without a replacement
};

Result<Charsmap> Charsmap::read(std::string_view base64) {
  const auto bytes = from_base64(base64);
  if (!bytes) return fail("is not base64; copy the file again");
  std::uint32_t size = 0;
  if (bytes->size() < sizeof(size)) return fail("is truncated; copy the file again");
  std::memcpy(&size, bytes->data(), sizeof(size));
  if (size == 0 || size % sizeof(std::uint32_t) != 0 || size > bytes->size() - sizeof(size)) {
    return fail("states a trie of {} bytes, but {} follow; copy the file again", size,
                bytes->size() - sizeof(size));
  }
  Charsmap map;
  map.units_.resize(size / sizeof(std::uint32_t));
  std::memcpy(map.units_.data(), bytes->data() + sizeof(size), size);
  map.replacements_ = bytes->substr(sizeof(size) + size);
  if (first_byte_that_is_no_utf8(map.replacements_)) {
    return fail("has replacements that are not UTF-8; copy the file again");
  }
  for (std::size_t c = 0; c < map.stays_.size(); ++c) {
    const char byte = static_cast<char>(c);
    map.stays_[c] = !map.replacement({&byte, 1});
  }
  return map;
}

std::optional<std::string_view> Charsmap::replacement(std::string_view text) const {
  std::size_t at = offset(units_.front());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || label(units_[at]) != byte) return std::nullopt;
    const bool ends = has_value(units_[at]);
    at ^= offset(units_[at]);
    if (!ends) continue;
    if (at >= units_.size()) return std::nullopt;
    const std::size_t begin = value_of(units_[at]);
    const std::string_view all = replacements_;
    if (begin >= all.size() || continues_character(all[begin])) return std::nullopt;
    return all.substr(begin, all.find('\0', begin) - begin);
  }
  return std::nullopt;
}

std::size_t Charsmap::longest() const {
  std::size_t longest = 0, length = 0;
  for (const char byte : replacements_) {
    length = byte == '\0' ? 0 : length + 1;
    longest = std::max(longest, length);
  }
  return longest;
}

void Charsmap::append(std::string_view grapheme, std::string& to) const {
  constexpr std::size_t looked_up_whole = 6;  // fewer bytes than this
  if (grapheme.size() < looked_up_whole) {
    if (const auto whole = replacement(grapheme)) {
      to += *whole;
      return;
    }
  }
  for (std::size_t at = 0; at < grapheme.size();) {
    const std::size_t begin = at;
    static_cast<void>(next_character(grapheme, at));
    const std::string_view character = grapheme.substr(begin, at - begin);
    to += replacement(character).value_or(character);
  }
}

void Charsmap::apply(std::string& utf8) const {
  const std::string_view text = utf8;
  std::string applied;
  applied.reserve(text.size() + text.size() / 8);
  icu::LocalUTextPointer opened;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t end = end_of_stretch(text, at);
    if (end == at + 1) {  // a single ASCII character
      if (stays_[byte]) {
        applied += text[at];
      } else {
        append(text.substr(at, 1), applied);
      }
      at = end;
      continue;
    }
    UErrorCode status = U_ZERO_ERROR;
    opened.adoptInstead(
        utext_openUTF8(nullptr, text.data() + at, static_cast<std::int64_t>(end - at), &status));
    icu::BreakIterator& iterator = graphemes();
    iterator.setText(opened.getAlias(), status);
    if (U_FAILURE(status) != 0) throw std::runtime_error(u_errorName(status));
    for (std::int32_t from = iterator.first(), to = iterator.next(); to != icu::BreakIterator::DONE;
         from = to, to = iterator.next()) {
      append(text.substr(at + static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)),
             applied);
    }
    at = end;
  }
  utf8 = std::move(applied);
}

// Without its own setting, BERT's accent stripping follows `lowercase`.
bool strips_accents(const JsonField& object, bool lowercase) {
  const auto strip = object.present("strip_accents");
  return strip ? strip->truth() : lowercase;
}

/// Replaces each character with what `becomes` appends; returns whether the first character has
/// left something.
template <typename Becomes>
bool rewrite(std::string& utf8, const Becomes& becomes) {
  std::string rewritten;
  rewritten.reserve(utf8.size() + utf8.size() / 8);
  bool starts = true;
  for (std::size_t at = 0; at < utf8.size();) {
    const bool first = at == 0;
    becomes(next_character(utf8, at), rewritten);
    if (first) starts = !rewritten.empty();
  }
  utf8 = std::move(rewritten);
  return starts;
}

/// ASCII only: BERT's cleaning and lower case byte by byte.
bool clean_ascii(std::string& text, const TextRules& rules) {
  std::size_t kept = 0;
  bool starts = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char byte = text[at];
    if (rules.clean_text) {
      const bool space = byte == ' ' || (byte >= '\t' && byte <= '\r');
      if (space && byte != '\v' && byte != '\f') {
        byte = ' ';
      } else if (byte < ' ' || byte == 0x7F) {
        starts = starts && at > 0;
        continue;
      }
    }
    if (rules.lowercase && byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte + ('a' - 'A'));
    text[kept++] = byte;
  }
  text.resize(kept);
  return starts;
}

bool apply_bert(std::string& text, const TextRules& rules) {
  if (is_ascii(text)) return clean_ascii(text, rules);
  constexpr char32_t replacement = 0xFFFD;
  bool starts = true;
  if (rules.clean_text || rules.handle_chinese_chars) {
    starts = rewrite(text, [&](char32_t c, std::string& to) {
      if (rules.clean_text) {
        if (c == 0 || c == replacement || is_control(c)) return;
        if (is_white_space(c)) c = ' ';
      }
      const bool apart = rules.handle_chinese_chars && is_ideograph(c);
      if (apart) to += ' ';
      append_character(to, c);
      if (apart) to += ' ';
    });
  }
  if (rules.strip_accents) {
    text = normal_form(NormalForm::nfd, std::move(text));
    starts = rewrite(text,
                     [](char32_t c, std::string& to) {
                       if (is_ascii(c) || !is_nonspacing_mark(c)) append_character(to, c);
                     }) &&
             starts;
  }
  if (rules.lowercase) {
    rewrite(text, [](char32_t c, std::string& to) { append_lower_case(to, c); });
  }
  return starts;
}

bool strip(std::string& text, bool left, bool right) {
  std::size_t begin = 0, end = 0;  // of the text without outer white space
  bool some = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t first = at;
    if (is_white_space(next_character(text, at))) continue;
    if (!some) begin = first;
    some = true;
    end = at;
  }
  if (!some) begin = end = left ? text.size() : 0;
  if (right) text.resize(std::max(begin, end));
  if (!left) return true;
  text.erase(0, begin);
  return begin == 0;
}

void replace(std::string& text, const std::vector<TextSpan>& found, std::string_view content) {
  if (found.empty()) return;
  std::string replaced;
  replaced.reserve(text.size());
  std::size_t at = 0;
  for (const TextSpan& span : found) {
    replaced.append(text, at, span.begin - at).append(content);
    at = span.end;
  }
  replaced.append(text, at);
  text = std::move(replaced);
}

/// SentencePiece's Nmt: removes some control characters, and replaces others and some spaces with a
/// space.
bool apply_nmt(std::string& text) {
  return rewrite(text, [](char32_t c, std::string& to) {
    constexpr std::u32string_view gone = U"\x0B\x7F\x8F\x9F";
    constexpr std::u32string_view spaces =
        U"\x09\x0A\x0C\x0D\u1680\u200B\u200C\u200D\u200E\u200F\u2028\u2029\u2581\uFEFF\uFFFD";
    const bool control = (c >= 0x01 && c <= 0x08) || (c >= 0x0E && c <= 0x1F);
    if (control || gone.find(c) != gone.npos) return;
    append_character(to, spaces.find(c) != spaces.npos ? U' ' : c);
  });
}

constexpr std::array<std::string_view, 15> normalizer_types{
    "NFC",          "NFD",         "NFKC",           "NFKD",  "Lowercase",
    "StripAccents", "Nmt",         "ByteLevel",      "Strip", "Replace",
    "Prepend",      "Precompiled", "BertNormalizer", "Bert",  "Sequence"};

/// Finds the type by its name or else by its fields, as `tokenizers` does.
std::string_view type_of(const JsonField& object) {
  const auto type = object.member("type");
  const std::string name = type && type->is_text() ? type->text() : "";
  const auto* known = std::ranges::find(normalizer_types, name);
  if (known != normalizer_types.end() && name != "BertNormalizer") return *known;
  const auto has = [&](std::initializer_list<std::string_view> fields) {
    return std::ranges::all_of(fields,
                               [&](auto field) { return object.member(field).has_value(); });
  };
  if (has({"clean_text", "handle_chinese_chars", "lowercase"})) return "Bert";
  if (has({"strip_left", "strip_right"})) return "Strip";
  if (has({"normalizers"})) return "Sequence";
  if (has({"pattern", "content"})) return "Replace";
  if (has({"prepend"})) return "Prepend";
  return normalizer_types[object["type"].one_of(normalizer_types, "normalizer")];
}

}  // namespace

TextRules read_text_rules(const JsonField& object, const char* handle_chinese_chars,
                          const char* lowercase) {
  TextRules rules;
  rules.clean_text = object.truth_or("clean_text", true);
  rules.handle_chinese_chars = object.truth_or(handle_chinese_chars, true);
  rules.lowercase = object.truth_or(lowercase, true);
  rules.strip_accents = strips_accents(object, rules.lowercase);
  return rules;
}

Normalizer Normalizer::bert(const TextRules& rules) {
  Normalizer normalizer;
  normalizer.steps_.emplace_back([rules](std::string& text) { return apply_bert(text, rules); });
  return normalizer;
}

Normalizer Normalizer::read(const JsonField& object) {
  Normalizer normalizer;
  if (!object.is_null()) normalizer.add(object);
  return normalizer;
}

void Normalizer::grows(std::size_t times, const JsonField& object) {
  constexpr std::size_t most = 10'000;
  growth_ *= std::max<std::size_t>(times, 1);
  if (growth_ > most) object.wrong("would make texts thousands of times as long");
}

void Normalizer::add(const JsonField& object) {
  const std::string_view type = type_of(object);
  if (type == "Sequence") {
    for (const JsonField& step : object["normalizers"].elements()) add(step);
    return;
  }
  constexpr std::array<std::string_view, 4> forms{"NFC", "NFD", "NFKC", "NFKD"};
  if (const auto* form = std::ranges::find(forms, type); form != forms.end()) {
    const auto of = static_cast<NormalForm>(form - forms.begin());
    steps_.emplace_back([of](std::string& text) {
      text = normal_form(of, std::move(text));
      return true;
    });
  } else if (type == "Lowercase") {
    steps_.emplace_back([](std::string& text) {
      return rewrite(text, [](char32_t c, std::string& to) { append_lower_case(to, c); });
    });
  } else if (type == "StripAccents") {
    steps_.emplace_back([](std::string& text) {
      return rewrite(text, [](char32_t c, std::string& to) {
        if (!is_combining_mark(c)) append_character(to, c);
      });
    });
  } else if (type == "Nmt") {
    steps_.emplace_back(apply_nmt);
  } else if (type == "ByteLevel") {
    grows(2, object);
    steps_.emplace_back([](std::string& text) {
      text = spelled_bytes(text);
      return true;
    });
  } else if (type == "Strip") {
    const bool left = object["strip_left"].truth(), right = object["strip_right"].truth();
    steps_.emplace_back([left, right](std::string& text) { return strip(text, left, right); });
  } else if (type == "Replace") {
    const TextPattern pattern = TextPattern::read(object["pattern"]);
    const std::string content = object["content"].text();
    grows(1 + content.size(), object);
    steps_.emplace_back([pattern, content](std::string& text) -> Result<bool> {
      const auto found = pattern.matches(text);
      if (!found) return tl::unexpected(found.error());
      // If the first match has several characters, the replacement has the position of the last
      // one.
      const TextSpan first = found->empty() ? TextSpan{} : found->front();
      std::size_t second = 0;
      if (!text.empty()) static_cast<void>(next_character(text, second));
      const bool starts =
          first.begin != 0 || first.end == 0 || (first.end == second && !content.empty());
      replace(text, *found, content);
      return starts;
    });
  } else if (type == "Prepend") {
    const std::string begin = object["prepend"].text();
    grows(1 + begin.size(), object);
    steps_.emplace_back([begin](std::string& text) {
      if (!text.empty()) text.insert(0, begin);
      return true;
    });
  } else if (type == "Precompiled") {
    const JsonField table = object["precompiled_charsmap"];
    const auto map = std::make_shared<const Charsmap>(table.take(Charsmap::read(table.text())));
    grows(map->longest(), object);
    steps_.emplace_back([map](std::string& text) {
      map->apply(text);
      return true;
    });
  } else {
    for (const char* field : {"clean_text", "handle_chinese_chars", "lowercase"})
      static_cast<void>(object[field].truth());
    const TextRules rules = read_text_rules(object, "handle_chinese_chars", "lowercase");
    steps_.emplace_back([rules](std::string& text) { return apply_bert(text, rules); });
  }
}

Result<bool> Normalizer::apply(std::string& utf8) const {
  bool starts = true;
  for (const Step& step : steps_) {
    const Result<bool> kept = step(utf8);
    if (!kept) return kept;
    starts = *kept && starts;
  }
  return starts;
}

}  // namespace attnscope
