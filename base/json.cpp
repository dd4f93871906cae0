// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/sentences.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::size_t shown = 80;  // of a value, in a message

/// A step from a value to one below it.
struct Step {
  std::string key;  // of a member
  std::size_t at = 0;
  bool is_member = false;
};

/// The parser's position and its line.
struct ReadPosition {
  std::int64_t line = 1;  // line of the last character read
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
    position_->line = position_->next_line;
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

/// The parser's message, without its prefix and position. It may quote invalid UTF-8, which must
/// not be passed on into messages that become JSON themselves.
std::string reason_of(const std::string& what) {
  std::size_t begin = what.find("] ");
  begin = begin == std::string::npos ? 0 : begin + 2;
  const std::size_t column = what.find(", column ", begin);
  if (column != std::string::npos) {
    const std::size_t colon = what.find(": ", column);
    if (colon != std::string::npos) begin = colon + 2;
  }
  constexpr std::size_t longest = 200;
  return in_a_sentence(what.substr(begin), longest);
}

/// Traverses a text: finds what a file must not contain, and the line of the value at the end of a
/// path. Lines are needed only for errors, so parsed values do not carry them. The parser reports a
/// key, text or bracket when it has just read its last character; after a number, it has read at
/// most one further character, which is never the first of a line.
class Walk : public nlohmann::json_sax<json> {
 public:
  Walk(std::string_view text, std::string_view source, RepeatedIn repeated_in)
      : text_(text), source_(source), repeated_in_(repeated_in) {}
  /// For a text without errors.
  Walk(std::string_view text, const std::vector<Step>& way) : text_(text), way_(&way) {}

  bool run() {
    const CountingIterator begin(text_.data(), &position_);
    const CountingIterator end(text_.data() + text_.size(), &position_);
    return json::sax_parse(begin, end, this);
  }
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] std::int64_t found() const { return found_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return false; }  // never in JSON text
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    Open& object = open_.back();
    const auto [first, fresh] = object.lines.emplace(key, position_.line);
    if (!fresh && !object.may_repeat) {
      return stop(fmt::format("{}, line {}: field '{}' is given twice, first in line {}", source_,
                              position_.line, in_a_sentence(key), first->second));
    }
    object.key = std::move(key);
    object.line = position_.line;
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

 private:
  struct Open {
    bool on_the_way = false, may_repeat = false;
    std::size_t count = 0;
    std::string key{};  // the last key and its line
    std::int64_t line = 0;
    std::unordered_map<std::string, std::int64_t> lines{};  // of all keys
  };

  /// Whether the value that begins now is on the path; false stops at its end.
  bool begins(bool& on_the_way) {
    on_the_way = way_ != nullptr;
    std::int64_t line = position_.line;
    if (!open_.empty()) {
      Open& parent = open_.back();
      on_the_way = on_the_way && parent.on_the_way;
      if (on_the_way) {
        const Step& step = (*way_)[open_.size() - 1];
        on_the_way = step.is_member ? !parent.lines.empty() && parent.key == step.key
                                    : parent.count == step.at;
        if (step.is_member && on_the_way) line = parent.line;
      }
      ++parent.count;
    }
    if (!on_the_way || open_.size() != way_->size()) return true;
    found_ = line;
    return false;
  }
  bool value() {
    bool on_the_way = false;
    return begins(on_the_way);
  }
  bool open() {
    bool on_the_way = false;
    if (!begins(on_the_way)) return false;
    if (open_.size() == most_json_depth) {
      return stop(fmt::format("{}, line {}: nested deeper than {} levels", source_, position_.line,
                              most_json_depth));
    }
    const bool may_repeat =
        way_ != nullptr ||
        (repeated_in_ && (open_.empty() ? "" : open_.back().key) == *repeated_in_ &&
         open_.empty() == repeated_in_->empty());
    open_.push_back({.on_the_way = on_the_way, .may_repeat = may_repeat});
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

  std::string_view text_, source_;
  const std::vector<Step>* way_ = nullptr;
  RepeatedIn repeated_in_;
  ReadPosition position_;
  std::vector<Open> open_;
  std::int64_t found_ = 0;
  std::string error_;
};

/// The path from `from` to the identical value `to`; computed only for an error.
bool find_way(const json& from, const json& to, std::vector<Step>& way) {
  if (&from == &to) return true;
  if (!from.is_structured()) return false;
  std::size_t at = 0;
  for (auto below = from.begin(); below != from.end(); ++below, ++at) {
    way.push_back(from.is_object() ? Step{below.key(), at, true} : Step{{}, at, false});
    if (find_way(*below, to, way)) return true;
    way.pop_back();
  }
  return false;
}

std::vector<Step> way_to(const JsonSource& source, const json& value) {
  std::vector<Step> way;
  find_way(*source.value, value, way);
  return way;
}

std::size_t members_in(const json& value) {
  std::size_t count = value.is_object() ? value.size() : 0;
  if (value.is_structured())
    for (const json& child : value) count += members_in(child);
  return count;
}

std::size_t colons_in(std::string_view text) {
  std::size_t count = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_text && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      in_text = !in_text;
    } else if (text[i] == ':' && !in_text) {
      ++count;
    }
  }
  return count;
}

std::string in_words(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return in_a_sentence(value.dump(-1, ' ', false, json::error_handler_t::replace), shown);
}

Status read_root(const JsonSource& source, const std::function<void(const JsonField&)>& read) {
  try {
    read(JsonField(source));
  } catch (const JsonProblem& problem) {
    return tl::unexpected(problem.error);
  }
  return {};
}

}  // namespace

std::string JsonField::path() const {
  std::string path(source_->root);
  for (const Step& step : way_to(*source_, *value_)) {
    if (!step.is_member) {
      path += fmt::format("[{}]", step.at);
    } else {
      path += fmt::format("{}{}", path.empty() ? "" : ".", in_a_sentence(step.key));
    }
  }
  return path;
}

std::int64_t JsonField::line() const {
  if (source_->text.empty()) return 0;
  const std::vector<Step> way = way_to(*source_, *value_);
  Walk walk(source_->text, way);
  walk.run();
  return walk.found();
}

bool JsonField::is_null() const {
  return value_->is_null();
}
bool JsonField::is_text() const {
  return value_->is_string();
}
bool JsonField::is_list() const {
  return value_->is_array();
}
bool JsonField::is_object() const {
  return value_->is_object();
}

JsonField JsonField::below(const json& value, std::string_view key) const {
  JsonField field = *this;
  field.value_ = &value;
  field.key_ = key;
  return field;
}

JsonField JsonField::operator[](std::string_view key) const {
  if (const auto field = member(key)) return *field;
  if (!is_object()) must_be("an object {...}");
  wrong(fmt::format("needs the field '{}'", key));
}

std::optional<JsonField> JsonField::member(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return below(*found, found.key());
}

std::optional<JsonField> JsonField::present(std::string_view key) const {
  auto field = member(key);
  if (field && field->is_null()) field.reset();
  return field;
}

std::vector<JsonField> JsonField::members() const {
  if (!is_object()) must_be("an object {...}");
  std::vector<JsonField> fields;
  for (auto at = value_->begin(); at != value_->end(); ++at) fields.push_back(below(*at, at.key()));
  return fields;
}

std::vector<JsonField> JsonField::elements() const {
  if (!is_list()) must_be("a list [...]");
  std::vector<JsonField> fields;
  fields.reserve(value_->size());
  for (const json& element : *value_) fields.push_back(below(element, {}));
  return fields;
}

std::vector<JsonField> JsonField::one_or_more() const {
  if (!is_list()) return {*this};
  if (value_->empty()) wrong("is an empty list; give at least one value");
  return elements();
}

void JsonField::only(std::span<const std::string_view> known) const {
  for (const JsonField& field : members()) {
    if (std::ranges::find(known, field.key()) != known.end()) continue;
    field.wrong(fmt::format("is an unknown field; {}", suggest(in_a_sentence(field.key()), known)));
  }
}

std::string JsonField::text() const {
  if (!is_text()) must_be("a string \"...\"");
  return value_->get<std::string>();
}

std::string JsonField::text_or(std::string_view key, std::string otherwise) const {
  const auto field = member(key);
  return field ? field->text() : std::move(otherwise);
}

bool JsonField::truth() const {
  if (!value_->is_boolean()) must_be("true or false");
  return value_->get<bool>();
}

bool JsonField::truth_or(std::string_view key, bool otherwise) const {
  const auto field = member(key);
  return field ? field->truth() : otherwise;
}

double JsonField::number() const {
  if (!value_->is_number()) must_be("a number");
  return value_->get<double>();
}

std::int64_t JsonField::whole_number(std::int64_t least, std::int64_t most) const {
  const bool fits = value_->is_number_unsigned()
                        ? std::in_range<std::int64_t>(value_->get<std::uint64_t>())
                        : value_->is_number_integer();
  const std::int64_t number = fits ? value_->get<std::int64_t>() : 0;
  if (!fits || number < least || number > most) {
    must_be(fmt::format("a whole number from {} to {}", least, most));
  }
  return number;
}

std::size_t JsonField::one_of(std::span<const std::string_view> words,
                              std::string_view what) const {
  const std::string word = text();
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::string shown = in_a_sentence(word);
  wrong(fmt::format("is the unknown {} '{}'; {}", what, shown, suggest(shown, words)));
}

void JsonField::wrong(std::string_view what) const {
  constexpr std::size_t longest = 1000;
  const std::string words = in_a_sentence(what, longest);
  const std::string path = this->path();
  if (source_->text.empty()) {
    if (path.empty()) throw JsonProblem{{fmt::format("{} {}", source_->name, words)}};
    throw JsonProblem{{fmt::format("'{}' in {} {}", path, source_->name, words)}};
  }
  throw JsonProblem{{fmt::format("{}, line {}: {} {}", source_->name, line(),
                                 path.empty() ? "the file" : "'" + path + "'", words)}};
}

void JsonField::must_be(std::string_view expected) const {
  wrong(fmt::format("must be {}, not {}", expected, in_words(*value_)));
}

Status with_json(std::string_view text, std::string_view source,
                 const std::function<void(const JsonField&)>& read, RepeatedIn repeated_in) {
  Walk walk(text, source, repeated_in);
  if (!walk.run()) return tl::unexpected(Error{walk.error()});
  if (Status bounded = check_json_size(text); !bounded)
    return fail("{}: {}", source, bounded.error().message);
  const json root = json::parse(text.begin(), text.end());
  return read_root({.name = source, .text = text, .root = {}, .value = &root}, read);
}

Status with_json(const json& value, std::string_view root,
                 const std::function<void(const JsonField&)>& read) {
  return read_root({.name = "the protocol message", .text = {}, .root = root, .value = &value},
                   read);
}

Status with_json_of_file(const json& value, std::string_view file,
                         const std::function<void(const JsonField&)>& read) {
  return read_root({.name = file, .text = {}, .root = {}, .value = &value}, read);
}

Status check_json_size(std::string_view text) {
  std::size_t depth = 0, values = 1;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      ++values;
      if (++depth > most_json_depth)
        return fail("is nested deeper than {} levels", most_json_depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    } else if (c == ',' && ++values > most_json_values) {
      return fail("has more than {} values", most_json_values);
    }
  }
  return {};
}

json parse_json(std::string_view text) {
  if (!check_json_size(text)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string json_problem(std::string_view text) {
  if (const Status size = check_json_size(text); !size) return size.error().message;
  try {
    [[maybe_unused]] const json parsed = json::parse(text);
  } catch (const json::parse_error& error) {
    const std::string_view read = text.substr(0, std::min(error.byte, text.size()));
    const std::size_t line_begin = read.rfind('\n') + 1;  // npos + 1 is 0
    const auto line = std::count(read.begin(), read.end(), '\n') + 1;
    std::string reason = reason_of(error.what());
    // "syntax error while parsing value - ..."
    if (const std::size_t dash = reason.find(" - "); dash != reason.npos) reason.erase(0, dash + 3);
    return fmt::format("{}column {}: {}", line > 1 ? fmt::format("line {} of it, ", line) : "",
                       std::max(error.byte, line_begin + 1) - line_begin, reason);
  }
  return {};
}

std::optional<std::string> key_with_two_values(std::string_view text, const json& parsed) {
  if (colons_in(text) == members_in(parsed)) return std::nullopt;
  struct Open {
    bool is_object = false;
    std::string key{};
    std::map<std::string, json> values{};
  };
  std::vector<Open> open;
  std::optional<std::string> found;
  const auto ends = [&](const json& value) {
    if (open.empty() || !open.back().is_object) return;
    const auto [first, is_new] = open.back().values.emplace(open.back().key, value);
    if (!is_new && first->second != value && !found) found = first->first;
  };
  using Event = json::parse_event_t;
  [[maybe_unused]] const json again = json::parse(text, [&](int, Event event, json& value) {
    if (event == Event::object_start || event == Event::array_start)
      open.push_back({.is_object = event == Event::object_start});
    if (event == Event::key) open.back().key = value.get<std::string>();
    if (event == Event::object_end || event == Event::array_end) open.pop_back();
    if (event == Event::object_end || event == Event::array_end || event == Event::value)
      ends(value);
    return true;
  });
  return found;
}

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
  using nlohmann::ordered_json;
  if (!check_json_size(text)) return ordered_json(ordered_json::value_t::discarded);
  return ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace attnscope
