// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

constexpr std::size_t max_depth = 64;     // far beyond any file of ours, far below the stack
constexpr std::size_t max_fields = 1000;  // in one object; keeps the search for twins quick

/// How far the parser has read, and the line there.
struct ReadPosition {
  std::int64_t lines_before_last = 1;  // line of the character read last
  std::int64_t next_line = 1;
};

/// Feeds the parser and counts lines as it reads.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, ReadPosition* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    position_->lines_before_last = position_->next_line;
    if (*at_ == '\n') ++position_->next_line;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  ReadPosition* position_;
};

/// The parser's own words, without its prefix and position. They may quote broken UTF-8, which must
/// not travel on into messages that become JSON themselves.
std::string reason_of(const std::string& what) {
  std::size_t begin = what.find("] ");
  begin = begin == std::string::npos ? 0 : begin + 2;
  const std::size_t column = what.find(", column ", begin);
  if (column != std::string::npos) {
    const std::size_t colon = what.find(": ", column);
    if (colon != std::string::npos) begin = colon + 2;
  }
  constexpr std::size_t longest = 200;
  std::string reason = in_a_sentence(what.substr(begin), longest);
  return reason;
}

/// Builds JsonValues from the parser's events. The parser reports a key, string or bracket when it
/// has just read its last character; of a number, it has read at most the one character after it.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, std::string_view source, const ReadPosition& position)
      : text_(text), source_(source), position_(position) {}

  bool null() override { return put({}) != nullptr; }
  bool boolean(bool value) override {
    return put({.kind = JsonValue::Kind::boolean, .boolean = value, .members = {}}) != nullptr;
  }
  bool number_integer(number_integer_t value) override {
    return put({.kind = JsonValue::Kind::integer,
                .integer = value,
                .real = static_cast<double>(value),
                .text = fmt::format("{}", value),
                .members = {}}) != nullptr;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return number_integer(static_cast<number_integer_t>(value));
    }
    return number_float(static_cast<double>(value), fmt::format("{}", value));
  }
  bool number_float(number_float_t value, const string_t& written) override {
    return put({.kind = JsonValue::Kind::real, .real = value, .text = written, .members = {}}) !=
           nullptr;
  }
  bool string(string_t& value) override {
    return put({.kind = JsonValue::Kind::text, .text = std::move(value), .members = {}}) != nullptr;
  }
  bool binary(binary_t& /*value*/) override { return false; }  // never in JSON text
  bool start_object(std::size_t /*elements*/) override { return open(JsonValue::Kind::object); }
  bool start_array(std::size_t /*elements*/) override { return open(JsonValue::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    JsonValue& object = *open_.back();
    const std::int64_t line = position_.lines_before_last;
    for (const JsonMember& member : object.members) {
      if (member.key != key) continue;
      return stop(fmt::format("{}, line {}: field '{}' is given twice, first in line {}", source_,
                              line, in_a_sentence(key), member.line));
    }
    if (object.members.size() == max_fields) {
      return stop(
          fmt::format("{}, line {}: more than {} fields in one object", source_, line, max_fields));
    }
    object.members.push_back({.key = std::move(key), .line = line, .value = {}});
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::detail::exception& error) override {
    // `position` counts the characters read, the offending one included.
    const std::string_view read =
        text_.substr(0, std::min(position > 0 ? position - 1 : 0, text_.size()));
    const auto line = std::count(read.begin(), read.end(), '\n') + 1;
    const std::size_t line_begin = read.rfind('\n') + 1;  // npos + 1 is 0
    return stop(fmt::format("{}, line {}, column {}: not valid JSON: {}", source_, line,
                            read.size() - line_begin + 1, reason_of(error.what())));
  }

  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] JsonValue take() { return std::move(root_); }

 private:
  JsonValue* put(JsonValue value) {
    // A number's lookahead is never a line's first character, so its line is the last one's.
    value.line = position_.lines_before_last;
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    JsonValue& parent = *open_.back();
    if (parent.kind == JsonValue::Kind::object) {
      parent.members.back().value = std::move(value);
      return &parent.members.back().value;
    }
    parent.elements.push_back(std::move(value));
    return &parent.elements.back();
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() == max_depth) {
      return stop(fmt::format("{}, line {}: nested deeper than {} levels", source_,
                              position_.lines_before_last, max_depth));
    }
    open_.push_back(put({.kind = kind, .members = {}}));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool stop(std::string message) {
    error_ = std::move(message);
    return false;
  }

  std::string_view text_;
  std::string_view source_;
  const ReadPosition& position_;
  JsonValue root_;
  std::vector<JsonValue*> open_;  // the way from the root; only the last one's children still move
  std::string error_;
};

std::string_view word_of(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::null:
      return "null";
    case JsonValue::Kind::boolean:
      return "true or false";
    case JsonValue::Kind::integer:
    case JsonValue::Kind::real:
      return "a number";
    case JsonValue::Kind::text:
      return "a string";
    case JsonValue::Kind::list:
      return "a list";
    case JsonValue::Kind::object:
      return "an object";
  }
  return "";
}

}  // namespace

Result<JsonValue> parse_json(std::string_view text, std::string_view source) {
  ReadPosition position;
  TreeBuilder builder(text, source, position);
  const CountingIterator begin(text.data(), &position);
  const CountingIterator end(text.data() + text.size(), &position);
  if (!nlohmann::json::sax_parse(begin, end, &builder)) {
    return tl::unexpected(Error{builder.error()});
  }
  return builder.take();
}

std::optional<JsonField> JsonField::member(std::string_view key) const {
  for (const JsonMember& member : value_->members) {
    if (member.key != key) continue;
    JsonField field = *this;
    field.value_ = &member.value;
    field.line_ = member.line;
    if (!path_.empty()) field.path_ += '.';
    field.path_.append(in_a_sentence(member.key));
    field.key_ = member.key;
    return field;
  }
  return std::nullopt;
}

std::vector<JsonField> JsonField::members() const {
  std::vector<JsonField> fields;
  for (const JsonMember& member : value_->members) fields.push_back(*this->member(member.key));
  return fields;
}

std::vector<JsonField> JsonField::elements() const {
  std::vector<JsonField> fields;
  for (std::size_t i = 0; i < value_->elements.size(); ++i) {
    JsonField field = *this;
    field.value_ = &value_->elements[i];
    field.line_ = field.value_->line;
    field.path_ += fmt::format("[{}]", i);
    fields.push_back(std::move(field));
  }
  return fields;
}

tl::unexpected<Error> JsonField::wrong(std::string_view what) const {
  constexpr std::size_t longest = 1000;
  const std::string words = in_a_sentence(what, longest);
  if (path_.empty()) return fail("{}, line {}: the file {}", source_, line_, words);
  return fail("{}, line {}: '{}' {}", source_, line_, path_, words);
}

Status JsonField::object() const {
  if (value_->kind == JsonValue::Kind::object) return {};
  return wrong(fmt::format("must be an object {{...}}, not {}", word_of(value_->kind)));
}

Status JsonField::list() const {
  if (value_->kind == JsonValue::Kind::list) return {};
  return wrong(fmt::format("must be a list [...], not {}", word_of(value_->kind)));
}

Status JsonField::only(std::span<const std::string_view> known) const {
  if (Status is_object = object(); !is_object) return is_object;
  for (const JsonMember& member : value_->members) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    return this->member(member.key)
        ->wrong(fmt::format("is an unknown field; {}", suggest(in_a_sentence(member.key), known)));
  }
  return {};
}

Result<std::string> JsonField::text() const {
  if (value_->kind == JsonValue::Kind::text) return value_->text;
  return wrong(fmt::format("must be a string \"...\", not {}", word_of(value_->kind)));
}

Result<std::int64_t> JsonField::whole_number(std::int64_t least, std::int64_t most) const {
  const bool number =
      value_->kind == JsonValue::Kind::integer || value_->kind == JsonValue::Kind::real;
  if (!number) {
    return wrong(fmt::format("must be a whole number from {} to {}, not {}", least, most,
                             word_of(value_->kind)));
  }
  if (value_->kind == JsonValue::Kind::real || value_->integer < least || value_->integer > most) {
    return wrong(fmt::format("must be a whole number from {} to {}, not {}", least, most,
                             in_a_sentence(value_->text)));
  }
  return value_->integer;
}

}  // namespace attnscope
