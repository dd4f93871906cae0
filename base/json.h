#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The JSON reader for users' files and messages of other processes. Every error is one sentence
// that names the field by its path and, in a file, its line.
//
//   Result<Thing> thing = read_json(text, "my.json", [](const JsonField& root) {
//     root.only({"name", "window"});
//     return Thing{root["name"].text(), root["window"].whole(0, 100)};
//   });
//
// Fields report invalid values by throwing a JsonProblem, which keeps readers simple; read_json
// converts it to the error of its Result, and no other code may let it escape.

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

#include "base/result.h"

namespace attnscope {

struct JsonProblem {
  Error error;
};

/// Where values come from: a file's name and text, or the name of a message.
struct JsonSource {
  std::string_view name;  // "my.json"; "the protocol message"
  std::string_view text;  // a file's text, to find line numbers; empty: none
  std::string_view root;  // name of the root in paths; empty: none
  const nlohmann::json* value = nullptr;
};

/// A value of a document and its path; valid while read_json reads.
class JsonField {
 public:
  explicit JsonField(const JsonSource& source) : source_(&source), value_(source.value) {}

  [[nodiscard]] const nlohmann::json& value() const { return *value_; }
  /// The path from the root, e.g. "items[2].query".
  [[nodiscard]] std::string path() const;
  /// Line in the source's text, for a member that of its key; 0 without a text.
  [[nodiscard]] std::int64_t line() const;
  /// The last part of the path: the key of a member.
  [[nodiscard]] std::string_view key() const { return key_; }

  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_text() const;
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] bool is_object() const;

  /// A field of an object; an error if it is missing.
  [[nodiscard]] JsonField operator[](std::string_view key) const;
  [[nodiscard]] std::optional<JsonField> member(std::string_view key) const;
  /// The same, or nothing if the field is null.
  [[nodiscard]] std::optional<JsonField> present(std::string_view key) const;
  [[nodiscard]] std::vector<JsonField> members() const;   // of an object, sorted by key
  [[nodiscard]] std::vector<JsonField> elements() const;  // of a list
  /// The list's elements, or the value itself if it is not a list; an empty list is an error.
  [[nodiscard]] std::vector<JsonField> one_or_more() const;
  /// Checks that the value is an object with no other fields than these.
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
  /// Index of the value's text in `words`; messages call them `what`: "token group".
  [[nodiscard]] std::size_t one_of(std::span<const std::string_view> words,
                                   std::string_view what) const;

  /// Throws `what` after "SOURCE, line N: 'PATH' ", or after "'PATH' in SOURCE " for a message, of
  /// which the root has no path.
  [[noreturn]] void wrong(std::string_view what) const;
  /// Throws "must be EXPECTED, not ...".
  [[noreturn]] void must_be(std::string_view expected) const;
  /// The value of a result computed elsewhere; its error gets this field's location.
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

/// Objects in which a field may appear twice, the last one counting: those in fields of this name,
/// or with "" the root.
using RepeatedIn = std::optional<std::string_view>;

/// Parses a file's text, or takes a parsed value, and calls the reader on its root. Invalid JSON,
/// duplicate fields (except in objects of `repeated_in`) and deep nesting are errors of a file:
/// "SOURCE, line 3, column 7: ...".
[[nodiscard]] Status with_json(std::string_view text, std::string_view source,
                               const std::function<void(const JsonField&)>& read,
                               RepeatedIn repeated_in = {});
[[nodiscard]] Status with_json(const nlohmann::json& value, std::string_view root,
                               const std::function<void(const JsonField&)>& read);
/// Reads a value assembled from a file: messages name the file, without a line.
[[nodiscard]] Status with_json_of_file(const nlohmann::json& value, std::string_view file,
                                       const std::function<void(const JsonField&)>& read);

/// `more`: the RepeatedIn of a text.
template <typename Json, typename Read, typename... More>
[[nodiscard]] auto read_json(const Json& json, std::string_view name, Read read, More... more)
    -> Result<decltype(read(std::declval<const JsonField&>()))> {
  std::optional<decltype(read(std::declval<const JsonField&>()))> made;
  Status done = with_json(
      json, name, [&](const JsonField& root) { made.emplace(read(root)); }, more...);
  if (!done) return tl::unexpected(done.error());
  return std::move(*made);
}

/// Nesting depth: far beyond any text of ours, and far below what overflows the stack, since many
/// functions of the JSON library recurse.
inline constexpr std::size_t most_json_depth = 64;
/// A value takes about fifty times the memory of its text, "[],"; our texts have far fewer values.
inline constexpr std::size_t most_json_values = 8'000'000;
/// Ok, or "is nested deeper than 64 levels", "has more than 8000000 values": such a text must not
/// be parsed.
[[nodiscard]] Status check_json_size(std::string_view text);
/// Parses an arbitrary text: `discarded` if it is not JSON or must not be parsed.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);
/// Why a text is discarded: "column 12: invalid literal; ...".
[[nodiscard]] std::string json_problem(std::string_view text);
/// A key that an object of `text` has twice with different values; `parsed` has the last value.
[[nodiscard]] std::optional<std::string> key_with_two_values(std::string_view text,
                                                             const nlohmann::json& parsed);
[[nodiscard]] nlohmann::ordered_json parse_ordered_json(std::string_view text);

}  // namespace attnscope
