// SPDX-License-Identifier: Apache-2.0
#include "engine/text/normalizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "engine/text/characters.h"
#include "engine/text/charsmap.h"
#include "engine/text/subword_model.h"
#include "engine/text/text_pattern.h"

namespace attnscope {
namespace {

// Without its own setting, BERT's accent stripping follows `lowercase`.
bool strips_accents(const JsonField& object, bool lowercase) {
  const auto strip = object.member("strip_accents");
  return strip && !strip->is_null() ? strip->truth() : lowercase;
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

/// As in `tokenizers`: by the type's name, or else by its fields.
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
      // If the first match has several characters, the replacement stands for the last of them.
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
