// SPDX-License-Identifier: Apache-2.0
#include "engine/text/text_pattern.h"

#include <fmt/format.h>

// Oniguruma's UChar conflicts with ICU's if both are compiled into one file.
#define ONIG_ESCAPE_UCHAR_COLLISION
#include <oniguruma.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/sentences.h"
#include "engine/text/characters.h"

namespace attnscope {

struct TextPattern::Regex {
  Regex() = default;
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;
  ~Regex() { onig_free(compiled); }

  std::string expression;
  regex_t* compiled = nullptr;
};

namespace {

// `tokenizers` has the first limit as well, and aborts there; it has no other limit. A step is a
// position to which the match backtracks.
constexpr unsigned long most_steps_of_match = 10'000'000, most_steps_of_search = 100'000'000;
constexpr unsigned most_backtrack_positions = 8'000'000;  // some 40 bytes each

const OnigUChar* bytes_of(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

/// Code points in Oniguruma's layout of a class: first and last of each range.
struct CodePointRanges {
  std::vector<OnigCodePoint> bounds{0};  // preceded by the number of ranges

  void add(OnigCodePoint first, OnigCodePoint last) {
    bounds.push_back(first);
    bounds.push_back(last);
  }
  /// Sorts and merges the ranges.
  void sort() {
    std::vector<std::pair<OnigCodePoint, OnigCodePoint>> ranges;
    for (std::size_t i = 1; i < bounds.size(); i += 2)
      ranges.emplace_back(bounds[i], bounds[i + 1]);
    std::ranges::sort(ranges);
    bounds.assign(1, 0);
    for (const auto& [first, last] : ranges) {
      if (bounds.size() > 1 && first <= bounds.back() + 1) {
        bounds.back() = std::max(bounds.back(), last);
      } else {
        add(first, last);
      }
    }
    bounds.front() = static_cast<OnigCodePoint>(bounds.size() / 2);
  }
  /// Removes ranges; both sets are sorted and disjoint.
  void remove(const CodePointRanges& others) {
    CodePointRanges left;
    std::size_t next = 1;
    for (std::size_t i = 1; i < bounds.size(); i += 2) {
      OnigCodePoint first = bounds[i];
      const OnigCodePoint last = bounds[i + 1];
      for (; next < others.bounds.size() && others.bounds[next] <= last; next += 2) {
        if (others.bounds[next] > first) left.add(first, others.bounds[next] - 1);
        first = others.bounds[next + 1] + 1;
      }
      if (first <= last) left.add(first, last);
    }
    left.bounds.front() = static_cast<OnigCodePoint>(left.bounds.size() / 2);
    bounds = std::move(left.bounds);
  }
  [[nodiscard]] bool hold(OnigCodePoint c) const {
    const auto after = std::upper_bound(bounds.begin() + 1, bounds.end(), c);
    const auto before = after - (bounds.begin() + 1);  // number of bounds up to c
    return before % 2 == 1 || (before > 0 && *(after - 1) == c);
  }
};

/// Classes for which older releases of Oniguruma follow another Unicode version than `tokenizers`,
/// extended by what they lack: characters up to Unicode 16, and symbols as punctuation.
class Classes {
 public:
  static const Classes& all() {
    static const Classes classes;
    return classes;
  }
  [[nodiscard]] const CodePointRanges* find(OnigCtype type) const {
    const auto found = classes_.find(type);
    return found == classes_.end() ? nullptr : &found->second;
  }

  static OnigCtype type_of(std::string_view name) {
    // The function only reads the name.
    auto* begin = const_cast<OnigUChar*>(bytes_of(name));
    return static_cast<OnigCtype>(
        ONIG_ENCODING_UTF8->property_name_to_ctype(ONIG_ENCODING_UTF8, begin, begin + name.size()));
  }

 private:
  Classes() {
    append(type_of("S"), of(ONIGENC_CTYPE_PUNCT));
    const OnigCtype unassigned = type_of("Cn");
    CodePointRanges young;
    constexpr OnigCodePoint end = 0x40000;  // beyond it are only tags and private use
    for (OnigCodePoint c = 0x80; c < end; ++c) {
      if (ONIG_ENCODING_UTF8->is_code_ctype(c, unassigned) == 0) continue;
      const std::string_view category = attnscope::category(c);
      if (category == "Cn") continue;
      young.add(c, c);
      const auto add = [&](auto... types) { (of(types).add(c, c), ...); };
      add(type_of(category), type_of(category.substr(0, 1)));
      add(ONIGENC_CTYPE_GRAPH, ONIGENC_CTYPE_PRINT);
      const char kind = category.front();
      const bool letter = kind == 'L' || category == "Nl", digit = category == "Nd";
      if (letter || digit || kind == 'M' || category == "Pc") add(ONIGENC_CTYPE_WORD);
      if (letter || digit) add(ONIGENC_CTYPE_ALNUM);
      if (letter) add(ONIGENC_CTYPE_ALPHA, type_of("Alphabetic"));
      if (digit) add(ONIGENC_CTYPE_DIGIT);
      if (kind == 'P' || kind == 'S') add(ONIGENC_CTYPE_PUNCT);
      if (category == "Lu") add(ONIGENC_CTYPE_UPPER, type_of("Uppercase"), type_of("LC"));
      if (category == "Ll") add(ONIGENC_CTYPE_LOWER, type_of("Lowercase"), type_of("LC"));
    }
    for (auto& [type, ranges] : classes_) ranges.sort();
    young.sort();
    for (const OnigCtype type : {unassigned, type_of("C")}) of(type).remove(young);
  }
  /// The class, initialised from the library's own.
  CodePointRanges& of(OnigCtype type) {
    const auto [at, fresh] = classes_.try_emplace(type);
    if (fresh) append(type, at->second);
    return at->second;
  }
  static void append(OnigCtype type, CodePointRanges& to) {
    OnigCodePoint ignored = 0;
    const OnigCodePoint* ranges = nullptr;
    ONIG_ENCODING_UTF8->get_ctype_code_range(type, &ignored, &ranges);
    if (ranges == nullptr) return;
    for (OnigCodePoint i = 0; i < ranges[0]; ++i) to.add(ranges[2 * i + 1], ranges[2 * i + 2]);
  }

  std::map<OnigCtype, CodePointRanges> classes_;
};

int is_of_class(OnigCodePoint c, OnigCtype type) {
  constexpr OnigCodePoint latin = 0x100;  // the library has a separate table below it
  const CodePointRanges* ranges = c < latin ? nullptr : Classes::all().find(type);
  if (ranges == nullptr) return ONIG_ENCODING_UTF8->is_code_ctype(c, type);
  return ranges->hold(c) ? 1 : 0;
}

int ranges_of_class(OnigCtype type, OnigCodePoint* end_of_single_bytes,
                    const OnigCodePoint* found[]) {
  const int done = ONIG_ENCODING_UTF8->get_ctype_code_range(type, end_of_single_bytes, found);
  const CodePointRanges* ranges = Classes::all().find(type);
  if (ranges != nullptr) *found = ranges->bounds.data();
  return done;
}

int class_of_name(OnigEncodingType* /*encoding*/, OnigUChar* begin, OnigUChar* end) {
  const int type = ONIG_ENCODING_UTF8->property_name_to_ctype(ONIG_ENCODING_UTF8, begin, end);
  // \p{Punct} does not include symbols, unlike [[:punct:]].
  return type == ONIGENC_CTYPE_PUNCT ? static_cast<int>(Classes::type_of("P")) : type;
}

/// Oniguruma's UTF-8 with these classes.
OnigEncodingType* encoding() {
  static OnigEncodingType made = [] {
    std::array<OnigEncoding, 1> utf8{ONIG_ENCODING_UTF8};
    onig_initialize(utf8.data(), static_cast<int>(utf8.size()));
    OnigEncodingType with_classes = *ONIG_ENCODING_UTF8;
    with_classes.is_code_ctype = is_of_class;
    with_classes.get_ctype_code_range = ranges_of_class;
    with_classes.property_name_to_ctype = class_of_name;
    with_classes.init = nullptr;  // already initialised
    with_classes.is_initialized = nullptr;
    return with_classes;
  }();
  return &made;
}

std::string sentence_of(int code, OnigErrorInfo* info = nullptr) {
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> text{};
  const int size = onig_error_code_to_str(text.data(), code, info);
  return in_a_sentence(
      as_utf8({reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(size)}));
}

/// Output buffers of a search, freed by C functions.
struct Search {
  Search() {
    onig_set_retry_limit_in_match_of_match_param(limits, most_steps_of_match);
    onig_set_retry_limit_in_search_of_match_param(limits, most_steps_of_search);
    onig_set_match_stack_limit_size_of_match_param(limits, most_backtrack_positions);
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  ~Search() {
    onig_region_free(region, 1);
    onig_free_match_param(limits);
  }

  OnigRegion* region = onig_region_new();
  OnigMatchParam* limits = onig_new_match_param();
};

Result<std::vector<TextSpan>> matches_of(regex_t* compiled, std::string_view expression,
                                         std::string_view utf8) {
  std::vector<TextSpan> found;
  const Search search;
  const OnigUChar *begin = bytes_of(utf8), *end = begin + utf8.size();
  for (std::size_t at = 0; at <= utf8.size();) {
    const int done = onig_search_with_param(compiled, begin, end, begin + at, end, search.region,
                                            ONIG_OPTION_NONE, search.limits);
    if (done == ONIG_MISMATCH) break;
    if (done < 0) {
      constexpr std::size_t longest = 200;
      return fail(
          "the tokenizer's regular expression '{}' exceeds its limits on the text ({}); shorten "
          "the text",
          in_a_sentence(expression, longest), sentence_of(done));
    }
    const TextSpan span{static_cast<std::size_t>(search.region->beg[0]),
                        static_cast<std::size_t>(search.region->end[0])};
    at = span.end;
    // An empty match directly after another match is ignored.
    if (span.begin == span.end && !found.empty() && found.back().end == span.begin) {
      if (at == utf8.size()) break;
      static_cast<void>(next_character(utf8, at));
      continue;
    }
    found.push_back(span);
  }
  return found;
}

}  // namespace

TextPattern TextPattern::read(const JsonField& object) {
  TextPattern pattern;
  if (object.members().size() != 1) object.must_be("either {\"String\": ...} or {\"Regex\": ...}");
  const auto text = object.member("String");
  if (text) pattern.string_ = text->text();
  if (!pattern.string_.empty()) return pattern;
  // An empty string matches as an empty expression does.
  const JsonField regex = text ? *text : object["Regex"];
  auto made = std::make_shared<Regex>();
  made->expression = regex.text();
  OnigErrorInfo info{};
  const OnigUChar* begin = bytes_of(made->expression);
  const int done = onig_new(&made->compiled, begin, begin + made->expression.size(),
                            ONIG_OPTION_NONE, encoding(), ONIG_SYNTAX_DEFAULT, &info);
  if (done != ONIG_NORMAL) {
    regex.wrong(
        fmt::format("is a regular expression that is not supported: {}", sentence_of(done, &info)));
  }
  pattern.regex_ = std::move(made);
  return pattern;
}

Result<std::vector<TextSpan>> TextPattern::matches(std::string_view utf8) const {
  if (utf8.empty()) return {};
  if (regex_) return matches_of(regex_->compiled, regex_->expression, utf8);
  std::vector<TextSpan> found;
  for (std::size_t at = utf8.find(string_); at != std::string_view::npos;
       at = utf8.find(string_, at + string_.size())) {
    found.push_back({at, at + string_.size()});
  }
  return found;
}

}  // namespace attnscope
