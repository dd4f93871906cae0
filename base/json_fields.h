#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Structs as JSON objects. A struct lists its fields once, and this list writes and reads it:
//
//   struct Document {
//     std::string id;
//     std::int64_t tokens = 0;
//     std::optional<double> score{};
//     template <typename Self, typename Fields>
//     static void list_fields(Self& self, Fields& field) {
//       field("id", self.id);                  // always written; an error if it is missing
//       field.or_default("tokens", self.tokens, 0, 512);   // always written; may be missing
//       field.if_present("score", self.score);             // written only if it has a value
//     }
//   };
//   nlohmann::json object = as_json(document);
//   Document read = read_fields<Document>(field);          // throws a JsonProblem (base/json.h)
//
// Numbers after a value limit an integer, or the integers of a list, when it is read. An object may
// have further fields, which are ignored. JSON has no infinities and no NaN: such a number is the
// string "inf", "-inf" or "nan". A struct whose header has no JSON gets its list from another
// struct:
//
//   template <>
//   struct JsonValue<Document> : ListedJsonValue<Document, DocumentFields> {};

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"

namespace attnscope {

/// How a type is written and read: the static functions `write(value)`, which returns JSON, and
/// `read(JsonField)`, which returns the type or throws a JsonProblem.
template <typename T>
struct JsonValue;

/// Adds a struct's fields to a JSON object.
class FieldWriter {
 public:
  explicit FieldWriter(nlohmann::json& object) : object_(object) {}
  template <typename T, typename... Limits>
  void operator()(const char* key, const T& value, Limits... /*when read*/) {
    object_[key] = JsonValue<T>::write(value);
  }
  template <typename T, typename... Limits>
  void or_default(const char* key, const T& value, Limits... /*when read*/) {
    object_[key] = JsonValue<T>::write(value);
  }
  template <typename T, typename... Limits>
  void if_present(const char* key, const std::optional<T>& value, Limits... /*when read*/) {
    if (value) object_[key] = JsonValue<T>::write(*value);
  }

 private:
  nlohmann::json& object_;
};

/// Reads a struct's fields from a JSON object.
class FieldReader {
 public:
  explicit FieldReader(const JsonField& object) : object_(object) {}
  template <typename T, typename... Limits>
  void operator()(const char* key, T& value, Limits... limits) {
    value = JsonValue<T>::read(object_[key], limits...);
  }
  template <typename T, typename... Limits>
  void or_default(const char* key, T& value, Limits... limits) {
    if (const auto field = object_.member(key)) value = JsonValue<T>::read(*field, limits...);
  }
  template <typename T, typename... Limits>
  void if_present(const char* key, std::optional<T>& value, Limits... limits) {
    if (const auto field = object_.member(key)) value = JsonValue<T>::read(*field, limits...);
  }

 private:
  const JsonField& object_;
};

/// The names of a struct's fields, in the order of its list.
class FieldNames {
 public:
  struct Name {
    std::string key;
    bool may_be_missing = false;
  };
  template <typename T, typename... Limits>
  void operator()(const char* key, const T& /*value*/, Limits... /*limits*/) {
    names.push_back({key, false});
  }
  template <typename T, typename... Limits>
  void or_default(const char* key, const T& /*value*/, Limits... /*limits*/) {
    names.push_back({key, true});
  }
  template <typename T, typename... Limits>
  void if_present(const char* key, const T& /*value*/, Limits... /*limits*/) {
    names.push_back({key, true});
  }
  std::vector<Name> names;
};

template <typename T>
concept HasFields = requires(T& value, FieldReader& reader) {
  T::list_fields(value, reader);
};

template <typename T, typename List = T>
[[nodiscard]] nlohmann::json as_json(const T& value) {
  nlohmann::json object = nlohmann::json::object();
  FieldWriter writer(object);
  List::list_fields(value, writer);
  return object;
}

/// Throws a JsonProblem for a missing or malformed field, and for anything but an object.
template <typename T, typename List = T>
[[nodiscard]] T read_fields(const JsonField& object) {
  if (!object.is_object()) object.must_be("an object {...}");
  T value{};
  FieldReader reader(object);
  List::list_fields(value, reader);
  return value;
}

template <HasFields T>
[[nodiscard]] std::vector<FieldNames::Name> listed_fields() {
  FieldNames names;
  const T value{};
  T::list_fields(value, names);
  return names.names;
}

template <typename T, typename List>
struct ListedJsonValue {
  static nlohmann::json write(const T& value) { return as_json<T, List>(value); }
  static T read(const JsonField& field) { return read_fields<T, List>(field); }
};
template <HasFields T>
struct JsonValue<T> : ListedJsonValue<T, T> {};

template <>
struct JsonValue<nlohmann::json> {
  static nlohmann::json write(const nlohmann::json& value) { return value; }
  static nlohmann::json read(const JsonField& field) { return field.value(); }
};

template <>
struct JsonValue<std::string> {
  static nlohmann::json write(const std::string& value) { return value; }
  static std::string read(const JsonField& field) { return field.text(); }
};

template <>
struct JsonValue<bool> {
  static nlohmann::json write(bool value) { return value; }
  static bool read(const JsonField& field) { return field.truth(); }
};

template <std::signed_integral T>
struct JsonValue<T> {
  static nlohmann::json write(T value) { return value; }
  static T read(const JsonField& field, std::int64_t least = std::numeric_limits<T>::min(),
                std::int64_t most = std::numeric_limits<T>::max()) {
    return field.whole<T>(least, most);
  }
};

template <std::floating_point T>
struct JsonValue<T> {
  static nlohmann::json write(T value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
  }
  static T read(const JsonField& field) {
    if (field.value() == "nan") return std::numeric_limits<T>::quiet_NaN();
    if (field.value() == "inf") return std::numeric_limits<T>::infinity();
    if (field.value() == "-inf") return -std::numeric_limits<T>::infinity();
    const double number = field.number();
    if (std::abs(number) > std::numeric_limits<T>::max())
      return number > 0 ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
    return static_cast<T>(number);
  }
};

/// null if there is no value.
template <typename T>
struct JsonValue<std::optional<T>> {
  static nlohmann::json write(const std::optional<T>& value) {
    return value ? JsonValue<T>::write(*value) : nlohmann::json();
  }
  template <typename... Limits>
  static std::optional<T> read(const JsonField& field, Limits... limits) {
    if (field.is_null()) return std::nullopt;
    return JsonValue<T>::read(field, limits...);
  }
};

/// A list.
template <typename T>
struct JsonValue<std::vector<T>> {
  static nlohmann::json write(const std::vector<T>& values) {
    nlohmann::json list = nlohmann::json::array();
    for (const T& value : values) list.push_back(JsonValue<T>::write(value));
    return list;
  }
  template <typename... Limits>
  static std::vector<T> read(const JsonField& field, Limits... limits) {
    std::vector<T> values;
    for (const JsonField& element : field.elements())
      values.push_back(JsonValue<T>::read(element, limits...));
    return values;
  }
};

/// A list, sorted when written.
template <typename T, typename Less>
struct JsonValue<std::set<T, Less>> {
  static nlohmann::json write(const std::set<T, Less>& values) {
    nlohmann::json list = nlohmann::json::array();
    for (const T& value : values) list.push_back(JsonValue<T>::write(value));
    return list;
  }
  static std::set<T, Less> read(const JsonField& field) {
    std::set<T, Less> values;
    for (const JsonField& element : field.elements()) values.insert(JsonValue<T>::read(element));
    return values;
  }
};

/// A type with a name (name_of): JSON has the name.
template <typename T, Result<T> (*parse)(std::string_view)>
struct NamedJsonValue {
  static nlohmann::json write(T value) { return std::string(name_of(value)); }
  static T read(const JsonField& field) { return field.take(parse(field.text())); }
};

/// A list of two values.
template <typename A, typename B>
struct JsonValue<std::pair<A, B>> {
  static nlohmann::json write(const std::pair<A, B>& pair) {
    return nlohmann::json::array(
        {JsonValue<A>::write(pair.first), JsonValue<B>::write(pair.second)});
  }
  static std::pair<A, B> read(const JsonField& field) {
    const std::vector<JsonField> both = field.elements();
    if (both.size() != 2) field.must_be("a list of 2 values");
    return {JsonValue<A>::read(both[0]), JsonValue<B>::read(both[1])};
  }
};

/// An object with a string in each field.
template <>
struct JsonValue<std::map<std::string, std::string>> {
  static nlohmann::json write(const std::map<std::string, std::string>& texts) { return texts; }
  static std::map<std::string, std::string> read(const JsonField& field) {
    std::map<std::string, std::string> texts;
    for (const JsonField& text : field.members()) texts.emplace(text.key(), text.text());
    return texts;
  }
};

}  // namespace attnscope
