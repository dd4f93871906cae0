// SPDX-License-Identifier: Apache-2.0
#include "engine/text/pre_tokenizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/json.h"
#include "engine/text/characters.h"
#include "engine/text/vocabulary.h"

namespace attnscope {
namespace {

/// Treatment of delimiters, with Hugging Face's names and in their order.
enum class Delimiters : std::uint8_t { removed, isolated, with_previous, with_next, contiguous };
constexpr std::array<std::string_view, 5> delimiter_names{
    "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};

/// A span of a word; the parts of a word cover it.
struct Part {
  TextSpan span;
  bool delimiter = false;
};

/// The matches and the spans between them.
std::vector<Part> parts_of(std::size_t size, const std::vector<TextSpan>& matches, bool invert) {
  std::vector<Part> parts;
  parts.reserve(2 * matches.size() + 1);
  std::size_t at = 0;
  for (const TextSpan& match : matches) {
    if (at != match.begin) parts.push_back({{at, match.begin}, invert});
    parts.push_back({match, !invert});
    at = match.end;
  }
  if (at != size) parts.push_back({{at, size}, invert});
  return parts;
}

/// Joins a part to the previous one, if there is one.
void join_or_append(const Part& part, std::vector<TextSpan>& spans, bool join) {
  if (join && !spans.empty()) {
    spans.back().end = part.span.end;
  } else {
    spans.push_back(part.span);
  }
}

/// Appends the words formed from the parts, with positions relative to `begin`.
void append_words(std::vector<Part> parts, Delimiters how, std::size_t begin,
                  std::vector<TextSpan>& words) {
  std::vector<TextSpan> spans;
  spans.reserve(parts.size());
  bool before = false;  // the previous part was a delimiter
  if (how == Delimiters::with_next) {
    // In reverse order: a delimiter joins what follows; of several only the last one does.
    std::ranges::reverse(parts);
    for (const Part& part : parts) {
      if (part.delimiter && !before && !spans.empty()) {
        spans.back().begin = part.span.begin;
      } else {
        spans.push_back(part.span);
      }
      before = part.delimiter;
    }
    std::ranges::reverse(spans);
  } else {
    for (const Part& part : parts) {
      if (how == Delimiters::removed && part.delimiter) continue;
      const bool join = (how == Delimiters::with_previous && part.delimiter && !before) ||
                        (how == Delimiters::contiguous && part.delimiter == before);
      join_or_append(part, spans, join);
      before = part.delimiter;
    }
  }
  for (const TextSpan& span : spans)
    if (span.begin != span.end) words.push_back({begin + span.begin, begin + span.end});
}

/// Replaces every word with those that `cut(word, begin, to)` appends.
template <typename Cut>
void cut_each(TextWords& words, const Cut& cut) {
  std::vector<TextSpan> spans;
  spans.reserve(words.spans.size());
  for (const TextSpan& span : words.spans) cut(words.word(span), span.begin, spans);
  words.spans = std::move(spans);
}

/// Splits at delimiter characters; each one is a separate delimiter.
template <typename IsDelimiter>
void cut_at_characters(TextWords& words, const IsDelimiter& is_delimiter, Delimiters how) {
  cut_each(words, [&](std::string_view word, std::size_t begin, std::vector<TextSpan>& to) {
    std::vector<TextSpan> matches;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t first = at;
      if (is_delimiter(next_character(word, at))) matches.push_back({first, at});
    }
    append_words(parts_of(word.size(), matches, false), how, begin, to);
  });
}

/// Splits into runs of characters of one kind; characters without a kind are in no word.
template <typename KindOf>
void cut_into_runs(TextWords& words, const KindOf& kind_of) {
  cut_each(words, [&](std::string_view word, std::size_t begin, std::vector<TextSpan>& to) {
    std::optional<int> before;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t first = at;
      const std::optional<int> kind = kind_of(next_character(word, at));
      if (kind && kind == before) {
        to.back().end = begin + at;
      } else if (kind) {
        to.push_back({begin + first, begin + at});
      }
      before = kind;
    }
  });
}

/// Splits at white space; each punctuation character is a word.
void cut_as_bert(TextWords& words) {
  cut_each(words, [](std::string_view word, std::size_t begin, std::vector<TextSpan>& to) {
    bool inside = false;  // the last span may continue
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t first = at;
      const char32_t c = next_character(word, at);
      if (c == ' ' || is_white_space(c)) {
        inside = false;
        continue;
      }
      const bool alone = is_punctuation(c);
      if (inside && !alone) {
        to.back().end = begin + at;
      } else {
        to.push_back({begin + first, begin + at});
      }
      inside = !alone;
    }
  });
}

enum class Class : std::uint8_t { space, letter, number, other };

Class class_of_character(char32_t c) {
  if (is_white_space(c)) return Class::space;
  if (is_letter(c)) return Class::letter;
  return is_number(c) ? Class::number : Class::other;
}

Class class_of(char32_t c) {
  static const std::array<Class, 128> of_ascii = [] {
    std::array<Class, 128> classes{};
    for (std::size_t i = 0; i < classes.size(); ++i)
      classes[i] = class_of_character(static_cast<char32_t>(i));
    return classes;
  }();
  return is_ascii(c) ? of_ascii[c] : class_of_character(c);
}

/// Length of the lower-case English ending ("'s", "'ll") at the beginning of the text; 0: none.
std::size_t ending(std::string_view text) {
  constexpr std::array<std::string_view, 7> endings{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  const auto* found = std::ranges::find_if(
      endings, [&](std::string_view ending) { return text.starts_with(ending); });
  return found == endings.end() ? 0 : found->size();
}

/// The end of the run of class `of` that continues at `at`.
std::size_t end_of_run(std::string_view text, std::size_t at, Class of) {
  while (at < text.size()) {
    std::size_t next = at;
    if (class_of(next_character(text, next)) != of) break;
    at = next;
  }
  return at;
}

/// The end of a run of white space without its last character, which joins the following word, if
/// there is one and the run has at least two characters.
std::size_t end_of_spaces(std::string_view text, std::size_t at) {
  const std::size_t end = end_of_run(text, at, Class::space);
  if (end == text.size()) return end;
  std::size_t last = end - 1;
  while (continues_character(text[last])) --last;
  return last > at ? last : end;
}

/// The words of GPT-2:
/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
void cut_as_gpt2(TextWords& words) {
  cut_each(words, [](std::string_view word, std::size_t begin, std::vector<TextSpan>& to) {
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t first = at;
      at += ending(word.substr(at));
      if (at == first) {
        std::size_t after = first + (word[first] == ' ' ? 1U : 0U);
        std::size_t next = after;
        const Class of = after < word.size() ? class_of(next_character(word, next)) : Class::space;
        at = of == Class::space ? end_of_spaces(word, first) : end_of_run(word, after, of);
      }
      to.push_back({begin + first, begin + at});
    }
  });
}

/// Words of `length` characters; the last one may be shorter.
void cut_into_lengths(TextWords& words, std::int64_t length) {
  cut_each(words, [&](std::string_view word, std::size_t begin, std::vector<TextSpan>& to) {
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t first = at;
      for (std::int64_t i = 0; i < length && at < word.size(); ++i)
        static_cast<void>(next_character(word, at));
      to.push_back({begin + first, begin + at});
    }
  });
}

/// Splits where the script changes. Spaces and characters without a script join the preceding text;
/// at the beginning they are in no word, as in `tokenizers`.
void cut_at_scripts(TextWords& words) {
  cut_each(words, [](std::string_view word, std::size_t begin, std::vector<TextSpan>& to) {
    std::optional<int> before;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t first = at;
      const char32_t c = next_character(word, at);
      const int own = c == ' ' ? -1 : script(c);
      if (own >= 0 && own != before) {
        to.push_back({begin + first, begin + at});
      } else if (before) {
        to.back().end = begin + at;
      }
      if (own >= 0) before = own;
    }
  });
}

/// Replaces each word of a text with what `change(word, text)` appends.
template <typename Change>
void rewrite_words(TextWords& words, const Change& change) {
  TextWords changed{.text = {}, .spans = {}, .starts = words.starts};
  changed.text.reserve(2 * words.text.size());
  changed.spans.reserve(words.spans.size());
  for (const std::string_view word : words.words()) {
    const std::size_t begin = changed.text.size();
    change(word, changed.text);
    changed.spans.push_back({begin, changed.text.size()});
  }
  words = std::move(changed);
}

constexpr std::array<std::string_view, 12> pre_tokenizer_types{
    "ByteLevel",      "Metaspace",   "WhitespaceSplit",    "Whitespace",
    "Split",          "Digits",      "Punctuation",        "BertPreTokenizer",
    "UnicodeScripts", "FixedLength", "CharDelimiterSplit", "Sequence"};

/// A text of one character.
std::string read_character(const JsonField& field) {
  std::string text = field.text();
  std::size_t end = 0;
  if (!text.empty()) static_cast<void>(next_character(text, end));
  if (end == 0 || end != text.size()) field.must_be("one character");
  return text;
}

}  // namespace

std::vector<std::string_view> TextWords::words() const {
  std::vector<std::string_view> all;
  all.reserve(spans.size());
  for (const TextSpan& span : spans) all.push_back(word(span));
  return all;
}

PreTokenizer PreTokenizer::read(const JsonField& object) {
  PreTokenizer made;
  if (!object.is_null()) made.add(object);
  return made;
}

void PreTokenizer::grows(std::size_t times, const JsonField& object) {
  constexpr std::size_t most = 10'000;
  growth_ *= times;
  if (growth_ > most) object.wrong("would make texts thousands of times as long");
}

template <typename Change>
void PreTokenizer::add_step(Change change) {
  if constexpr (std::is_void_v<std::invoke_result_t<Change, TextWords&>>) {
    steps_.emplace_back([change = std::move(change)](TextWords& words) {
      change(words);
      return Status();
    });
  } else {
    steps_.emplace_back(std::move(change));
  }
}

PreTokenizer PreTokenizer::bert() {
  PreTokenizer made;
  made.add_step(cut_as_bert);
  return made;
}

void PreTokenizer::spell_bytes() {
  if (!std::exchange(gives_bytes_, false)) return;
  add_step([](TextWords& words) {
    rewrite_words(words, [](std::string_view word, std::string& to) { to += spelled_bytes(word); });
  });
}

void PreTokenizer::add(const JsonField& object) {
  const std::string_view type =
      pre_tokenizer_types[object["type"].one_of(pre_tokenizer_types, "pre-tokenizer")];
  if (type != "Sequence") spell_bytes();
  if (type == "Sequence") {
    for (const JsonField& step : object["pretokenizers"].elements()) add(step);
  } else if (type == "ByteLevel") {
    add_byte_level(object);
  } else if (type == "Metaspace") {
    add_metaspace(object);
  } else if (type == "WhitespaceSplit") {
    add_step([](TextWords& words) {
      cut_into_runs(words, [](char32_t c) {
        return is_white_space(c) ? std::nullopt : std::optional<int>(0);
      });
    });
  } else if (type == "Whitespace") {
    add_step([](TextWords& words) {
      cut_into_runs(words, [](char32_t c) -> std::optional<int> {
        if (is_white_space(c)) return std::nullopt;
        return is_word_character(c) ? 1 : 0;
      });
    });
  } else if (type == "Split") {
    const TextPattern pattern = TextPattern::read(object["pattern"]);
    const auto how =
        static_cast<Delimiters>(object["behavior"].one_of(delimiter_names, "behaviour"));
    const bool invert = object["invert"].truth();
    add_step([=](TextWords& words) {
      Status done;
      cut_each(words, [&](std::string_view word, std::size_t begin, std::vector<TextSpan>& to) {
        if (!done) return;
        const auto matches = pattern.matches(word);
        if (matches) {
          append_words(parts_of(word.size(), *matches, invert), how, begin, to);
        } else {
          done = tl::unexpected(matches.error());
        }
      });
      return done;
    });
  } else if (type == "Digits") {
    const auto how =
        object["individual_digits"].truth() ? Delimiters::isolated : Delimiters::contiguous;
    add_step([how](TextWords& words) { cut_at_characters(words, is_numeric, how); });
  } else if (type == "Punctuation") {
    const auto behavior = object.member("behavior");
    const auto how = behavior
                         ? static_cast<Delimiters>(behavior->one_of(delimiter_names, "behaviour"))
                         : Delimiters::isolated;
    add_step([how](TextWords& words) { cut_at_characters(words, is_punctuation, how); });
  } else if (type == "UnicodeScripts") {
    add_step(cut_at_scripts);
  } else if (type == "FixedLength") {
    constexpr std::int64_t by_default = 5;
    const auto own = object.member("length");
    const std::int64_t length = own ? own->whole(1) : by_default;
    add_step([length](TextWords& words) { cut_into_lengths(words, length); });
  } else if (type == "CharDelimiterSplit") {
    std::size_t begin = 0;
    const char32_t delimiter = next_character(read_character(object["delimiter"]), begin);
    add_step([delimiter](TextWords& words) {
      cut_at_characters(
          words, [=](char32_t c) { return c == delimiter; }, Delimiters::removed);
    });
  } else {
    add_step(cut_as_bert);
  }
}

void PreTokenizer::add_byte_level(const JsonField& object) {
  grows(3, object);  // a space before each word, two bytes for one
  if (object["add_prefix_space"].truth()) {
    add_step([](TextWords& words) {
      rewrite_words(words, [](std::string_view word, std::string& to) {
        if (!word.starts_with(' ')) to += ' ';
        to += word;
      });
    });
  }
  if (object.truth_or("use_regex", true)) add_step(cut_as_gpt2);
  gives_bytes_ = true;
}

void PreTokenizer::add_metaspace(const JsonField& object) {
  enum class Prepend : std::uint8_t { always, first, never };
  constexpr std::array<std::string_view, 3> schemes{"always", "first", "never"};
  const std::string mark = read_character(object["replacement"]);
  grows(1 + mark.size(), object);
  const auto scheme = object.member("prepend_scheme");
  const auto prepend =
      scheme ? static_cast<Prepend>(scheme->one_of(schemes, "scheme")) : Prepend::always;
  const auto prefix = object.present("add_prefix_space");
  if (prefix && !prefix->truth() && prepend != Prepend::never)
    prefix->wrong("is false without a 'prepend_scheme' of \"never\"");
  const auto splits = object.present("split");
  const bool split = !splits || splits->truth();
  add_step([=](TextWords& words) {
    TextWords marked{.text = {}, .spans = {}, .starts = words.starts};
    marked.text.reserve(words.text.size() + (mark.size() + 1) * words.spans.size());
    for (const TextSpan& span : words.spans) {
      const std::string_view word = words.word(span);
      std::size_t begin = marked.text.size();
      const bool first = words.starts && span.begin == 0;
      if ((prepend == Prepend::always || (prepend == Prepend::first && first)) &&
          !word.starts_with(' ') && !word.starts_with(mark)) {
        marked.text += mark;
      }
      // Every mark starts a word.
      for (std::size_t at = 0; at < word.size(); ++at) {
        const bool is_mark = word[at] == ' ' || word.substr(at).starts_with(mark);
        if (is_mark && split && marked.text.size() > begin) {
          marked.spans.push_back({begin, marked.text.size()});
          begin = marked.text.size();
        }
        if (word[at] == ' ') {
          marked.text += mark;
        } else {
          marked.text += word[at];
        }
      }
      marked.spans.push_back({begin, marked.text.size()});
    }
    words = std::move(marked);
  });
}

Result<TextWords> PreTokenizer::cut(std::string utf8, bool starts) const {
  TextWords words{.text = std::move(utf8), .spans = {}, .starts = starts};
  if (!words.text.empty()) words.spans.push_back({0, words.text.size()});
  for (const Step& step : steps_)
    if (const Status done = step(words); !done) return tl::unexpected(done.error());
  return words;
}

}  // namespace attnscope
