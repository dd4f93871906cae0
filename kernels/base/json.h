#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The one reader of JSON: of people's files and of other processes' messages. What is wrong is one
// sentence that names the field by its path and, of a file, by its line.
//
//   Result<Thing> thing = read_json(text, "my.json", [](const JsonField& root) {
//     root.only({"name", "window"});
//     return Thing{root["name"].text(), root["window"].whole(0, 100)};
//   });
//
// Fields answer what does not fit by throwing a JsonProblem, so that readers are plain code;
// read_json turns it into its Result's error, and nothing else may let it pass.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

struct JsonProblem {
  Error error;
};

/// Where values come from: a file's name and text, or what messages call themselves.
struct JsonSource {
  std::string_view name;  // "my.json"; "the protocol message"
  std::string_view text;  // of a file, to find lines in; empty: it has none
  std::string_view root;  // what the root is called in paths; empty: nothing
  const nlohmann::json* value = nullptr;
};

/// A value of a document and the way to it, for as long as read_json reads.
class JsonField {
 public:
  explicit JsonField(const JsonSource& source) : source_(&source), value_(source.value) {}

  [[nodiscard]] const nlohmann::json& value() const { return *value_; }
  /// The way from the root, e.g. "items[2].query".
  [[nodiscard]] std::string path() const;
  /// In the source's text: a member's is that of its key. 0 where there is no text.
  [[nodiscard]] std::int64_t line() const;
  /// The last part of the path: the key of a member.
  [[nodiscard]] std::string_view key() const { return key_; }

  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_text() const;
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] bool is_object() const;

  /// A field of an object; an error where it is missing.
  [[nodiscard]] JsonField operator[](std::string_view key) const;
  [[nodiscard]] std::optional<JsonField> member(std::string_view key) const;
  [[nodiscard]] std::vector<JsonField> members() const;   // of an object, sorted by key
  [[nodiscard]] std::vector<JsonField> elements() const;  // of a list
  /// The list's elements, or the value itself when it is no list; an empty list is an error.
  [[nodiscard]] std::vector<JsonField> one_or_more() const;
  /// The value is an object that has no other fields than these.
  void only(std::span<const std::string_view> known) const;
  void only(std::initializer_list<std::string_view> known) const {
    only(std::span(known.begin(), known.size()));
  }

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string text_or(std::string_view key, std::string otherwise) const;
  [[nodiscard]] bool truth() const;
  [[nodiscard]] bool truth_or(std::string_view key, bool otherwise) const;
  [[nodiscard]] double number() const;
  template <typename Int = std::int64_t>
  [[nodiscard]] Int whole(std::int64_t least = std::numeric_limits<Int>::min(),
                          std::int64_t most = std::numeric_limits<Int>::max()) const {
    return static_cast<Int>(whole_number(least, most));
  }
  /// The place of its text among these; `what` they are: "token group".
  [[nodiscard]] std::size_t one_of(std::span<const std::string_view> words,
                                   std::string_view what) const;

  /// "SOURCE, line N: 'PATH' " before `what`, or "'PATH' in SOURCE " of a message.
  [[noreturn]] void wrong(std::string_view what) const;
  /// "must be EXPECTED, not ...".
  [[noreturn]] void must_be(std::string_view expected) const;
  /// What was made of the value elsewhere; its error gets this field's place.
  template <typename T>
  [[nodiscard]] T take(Result<T> result) const {
    if (!result) wrong("cannot be used: " + result.error().message);
    return std::move(*result);
  }

 private:
  [[nodiscard]] JsonField below(const nlohmann::json& value, std::string_view key) const;
  [[nodiscard]] std::int64_t whole_number(std::int64_t least, std::int64_t most) const;

  const JsonSource* source_;
  const nlohmann::json* value_;
  std::string_view key_;
};

/// Objects that may have a field twice, of which the last counts: those in fields of this name, or
/// with "" the root.
using RepeatedIn = std::optional<std::string_view>;

/// Parses a file's text, or takes a value that was parsed, and has its root read. Broken JSON,
/// fields given twice (but `repeated_in` some objects) and deep nesting are errors of a file:
/// "SOURCE, line 3, column 7: ...".
[[nodiscard]] Status with_json(std::string_view text, std::string_view source,
                               const std::function<void(const JsonField&)>& read,
                               RepeatedIn repeated_in = {});
[[nodiscard]] Status with_json(const nlohmann::json& value, std::string_view root,
                               const std::function<void(const JsonField&)>& read);
/// A value that was put together from a file: messages name the file, without a line.
[[nodiscard]] Status with_json_of_file(const nlohmann::json& value, std::string_view file,
                                       const std::function<void(const JsonField&)>& read);

/// `more`: RepeatedIn of a text.
template <typename Json, typename Read, typename... More>
[[nodiscard]] auto read_json(const Json& json, std::string_view name, Read read, More... more)
    -> Result<decltype(read(std::declval<const JsonField&>()))> {
  std::optional<decltype(read(std::declval<const JsonField&>()))> made;
  Status done = with_json(
      json, name, [&](const JsonField& root) { made.emplace(read(root)); }, more...);
  if (!done) return tl::unexpected(done.error());
  return std::move(*made);
}

/// Brackets in brackets: far beyond any text of ours and far below the stack, which many functions
/// of the JSON library follow.
inline constexpr std::size_t most_json_depth = 64;
/// A value takes some fifty times the memory of its text, "[],", and no text of ours comes near.
inline constexpr std::size_t most_json_values = 8'000'000;
/// Nothing, or "is nested deeper than 64 levels", "has more than 8000000 values": a text that is
/// not to be parsed.
[[nodiscard]] Status check_json_size(std::string_view text);
/// Of a text that may be anything: `discarded` where it is no JSON or is not to be parsed.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);
/// Why such a text is discarded: "column 12: invalid literal; ...".
[[nodiscard]] std::string json_problem(std::string_view text);
/// A key that an object of `text` has twice with different values, of which `parsed` has the last.
[[nodiscard]] std::optional<std::string> key_with_two_values(std::string_view text,
                                                             const nlohmann::json& parsed);
[[nodiscard]] nlohmann::ordered_json parse_ordered_json(std::string_view text);

}  // namespace attnscope
