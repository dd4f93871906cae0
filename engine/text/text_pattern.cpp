// SPDX-License-Identifier: Apache-2.0
#include "engine/text/text_pattern.h"

#include <fmt/format.h>
#include <unicode/regex.h>
#include <unicode/unistr.h>
#include <unicode/utext.h>

#include <utility>

#include "engine/text/characters.h"
#include "kernels/base/json.h"

namespace attnscope {

struct TextPattern::Regex {
  std::unique_ptr<const icu::RegexPattern> pattern;
};

namespace {

// Expressions may take time and memory without end. A step of ICU's is 10,000 turns that a match
// could have taken and did not.
constexpr std::int32_t most_steps = 20, bytes_for_a_step = 50;
constexpr std::int32_t most_memory = 256 << 20;  // bytes

/// With the letters and numbers that the expression's own engine knows.
std::string for_icu(std::string_view expression) {
  std::string made;
  for (std::size_t at = 0; at < expression.size();) {
    const std::string_view rest = expression.substr(at);
    const bool letters = rest.starts_with("\\p{L}");
    if (letters || rest.starts_with("\\p{N}")) {
      made += letters ? letter_class() : number_class();
      at += std::string_view("\\p{L}").size();
      continue;
    }
    const std::size_t taken = rest.front() == '\\' && rest.size() > 1 ? 2 : 1;
    made += rest.substr(0, taken);
    at += taken;
  }
  return made;
}

std::vector<TextSpan> matches_of(const icu::RegexPattern& pattern, std::string_view utf8) {
  std::vector<TextSpan> found;
  UErrorCode status = U_ZERO_ERROR;
  const icu::LocalUTextPointer text(
      utext_openUTF8(nullptr, utf8.data(), static_cast<std::int64_t>(utf8.size()), &status));
  const std::unique_ptr<icu::RegexMatcher> matcher(pattern.matcher(status));
  if (U_FAILURE(status) != 0) return found;
  matcher->setTimeLimit(most_steps + static_cast<std::int32_t>(utf8.size() / bytes_for_a_step),
                        status);
  matcher->setStackLimit(most_memory, status);
  matcher->reset(text.getAlias());
  while (matcher->find(status) != 0 && U_SUCCESS(status) != 0) {
    const TextSpan span{static_cast<std::size_t>(matcher->start64(status)),
                        static_cast<std::size_t>(matcher->end64(status))};
    // An empty match right behind another is none.
    if (span.begin == span.end && !found.empty() && found.back().end == span.begin) continue;
    found.push_back(span);
  }
  return found;
}

}  // namespace

TextPattern TextPattern::read(const JsonField& said) {
  TextPattern pattern;
  if (const auto text = said.member("String")) {
    pattern.string_ = text->text();
    if (pattern.string_.empty()) text->wrong("is empty, and nothing is found by it");
    return pattern;
  }
  const JsonField regex = said["Regex"];
  UErrorCode status = U_ZERO_ERROR;
  UParseError place{};
  auto compiled = std::make_shared<Regex>();
  compiled->pattern.reset(icu::RegexPattern::compile(
      icu::UnicodeString::fromUTF8(for_icu(regex.text())), 0, place, status));
  if (U_FAILURE(status) != 0 || compiled->pattern == nullptr) {
    regex.wrong(
        fmt::format("is a regular expression that is not read here: {}", u_errorName(status)));
  }
  pattern.regex_ = std::move(compiled);
  return pattern;
}

std::vector<TextSpan> TextPattern::matches(std::string_view utf8) const {
  if (is_regex()) return matches_of(*regex_->pattern, utf8);
  std::vector<TextSpan> found;
  for (std::size_t at = utf8.find(string_); at != std::string_view::npos;
       at = utf8.find(string_, at + string_.size())) {
    found.push_back({at, at + string_.size()});
  }
  return found;
}

}  // namespace attnscope
