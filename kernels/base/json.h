#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// JSON that remembers its lines, so that messages about a file's meaning can name the line as well
// as the field. Broken JSON, fields given twice and deep nesting are errors here already.
//
//   Result<JsonValue> root = parse_json(text, "my.json");
//   JsonField field("my.json", *root);
//   if (Status known = field.only({"name", "window"}); !known) return
//   tl::unexpected(known.error()); Result<std::int64_t> window =
//   field.member("window")->whole_number(0, 100);

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope {

struct JsonMember;

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, list, object };
  Kind kind = Kind::null;
  std::int64_t line = 0;  // from 1
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;     // an integer beyond 64 bits is a real
  std::string text{};  // a string's content; a number as written
  std::vector<JsonValue> elements{};
  std::vector<JsonMember> members;  // in the order of the file; {} here would need the whole type
};

struct JsonMember {
  std::string key;
  std::int64_t line = 0;  // of the key
  JsonValue value;
};

/// `source` names the file in messages, which read "SOURCE, line 3, column 7: ...".
[[nodiscard]] Result<JsonValue> parse_json(std::string_view text, std::string_view source);

/// A value with the way to it, for checks whose messages read "SOURCE, line 3: 'a.b[2]' ...". Views
/// the source name and the value, which must outlive it.
class JsonField {
 public:
  JsonField(std::string_view source, const JsonValue& root)
      : source_(source), value_(&root), line_(root.line) {}

  [[nodiscard]] const JsonValue& value() const { return *value_; }
  /// The way from the root, e.g. "items[2].query"; empty for the root.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::int64_t line() const { return line_; }

  [[nodiscard]] std::optional<JsonField> member(std::string_view key) const;
  [[nodiscard]] std::vector<JsonField> members() const;   // of an object
  [[nodiscard]] std::vector<JsonField> elements() const;  // of a list
  /// The last part of the path: the key of a member.
  [[nodiscard]] std::string_view key() const { return key_; }

  /// The value is an object (or list).
  [[nodiscard]] Status object() const;
  [[nodiscard]] Status list() const;
  /// The value is an object that has no other fields than these.
  [[nodiscard]] Status only(std::span<const std::string_view> known) const;
  [[nodiscard]] Result<std::string> text() const;
  [[nodiscard]] Result<std::int64_t> whole_number(std::int64_t least, std::int64_t most) const;

  /// "SOURCE, line N: 'PATH' " before `what`.
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view what) const;

 private:
  std::string_view source_;
  const JsonValue* value_;
  std::int64_t line_;
  std::string path_;
  std::string_view key_;
};

}  // namespace attnscope
