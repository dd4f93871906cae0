// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/axis_fields.h"

#include <set>

#include "engine/sweep/sweep.h"

namespace attnscope {
namespace {

constexpr std::int64_t widest_window = 1'000'000'000;
constexpr std::size_t most_windows = 1000;  // each is a contender, and a heat has no more

template <typename Value>
Status add_once(const JsonField& part, const Value& value, std::string_view text,
                std::vector<Value>& values) {
  if (std::ranges::find(values, value) != values.end()) {
    return part.wrong(fmt::format("gives {} a second time; give every value once", text));
  }
  values.push_back(value);
  return {};
}

Result<std::vector<std::int64_t>> numbers_of(const JsonField& part, Bounds bounds, bool ranges) {
  if (!ranges || part.value().kind != JsonValue::Kind::text) {
    auto single = part.whole_number(bounds.least, bounds.most);
    if (!single) return tl::unexpected(single.error());
    return std::vector<std::int64_t>{*single};
  }
  auto values = parse_range(part.value().text);
  if (!values) return placed(part, values.error());
  for (const std::int64_t value : *values) {
    if (value < bounds.least || value > bounds.most) {
      return part.wrong(
          fmt::format("holds {}, but must stay from {} to {}", value, bounds.least, bounds.most));
    }
  }
  return values;
}

}  // namespace

tl::unexpected<Error> placed(const JsonField& field, const Error& error) {
  // wrong() sets the place before its words; here they are a sentence of their own.
  return field.wrong(fmt::format("cannot be used: {}", error.message));
}

Result<std::vector<JsonField>> one_or_more(const JsonField& field) {
  if (field.value().kind != JsonValue::Kind::list) return std::vector<JsonField>{field};
  auto parts = field.elements();
  if (parts.empty()) return field.wrong("is an empty list; give at least one value");
  return parts;
}

Result<std::vector<std::int64_t>> read_numbers(const JsonField& field, Bounds bounds, bool ranges) {
  auto parts = one_or_more(field);
  if (!parts) return tl::unexpected(parts.error());
  std::vector<std::int64_t> all;
  std::set<std::int64_t> seen;
  for (const JsonField& part : *parts) {
    auto values = numbers_of(part, bounds, ranges);
    if (!values) return values;
    for (const std::int64_t value : *values) {
      if (!seen.insert(value).second) {
        return part.wrong(fmt::format("gives {} a second time; give every value once", value));
      }
      all.push_back(value);
    }
  }
  return all;
}

Result<bool> read_truth(const JsonField& field) {
  if (field.value().kind != JsonValue::Kind::boolean) return field.wrong("must be true or false");
  return field.value().boolean;
}

Result<std::vector<bool>> read_truths(const JsonField& field) {
  auto parts = one_or_more(field);
  if (!parts) return tl::unexpected(parts.error());
  std::vector<bool> values;
  for (const JsonField& part : *parts) {
    const Result<bool> value = read_truth(part);
    if (!value) return tl::unexpected(value.error());
    if (Status added = add_once(part, *value, *value ? "true" : "false", values); !added) {
      return tl::unexpected(added.error());
    }
  }
  return values;
}

Result<Window> read_window(const JsonField& field) {
  if (field.value().kind == JsonValue::Kind::text) {
    auto window = parse_window(field.value().text);
    if (!window) return placed(field, window.error());
    return window;
  }
  auto tokens = field.whole_number(0, widest_window);
  if (!tokens) return tl::unexpected(tokens.error());
  return Window::of(*tokens);
}

Result<std::vector<Window>> read_windows(const JsonField& field) {
  auto parts = one_or_more(field);
  if (!parts) return tl::unexpected(parts.error());
  std::vector<Window> windows;
  std::set<std::string> seen;
  for (const JsonField& part : *parts) {
    std::vector<Window> found;
    if (part.value().kind == JsonValue::Kind::text && part.value().text == "inf") {
      found.push_back(Window::infinite());
    } else {
      auto values = numbers_of(part, {0, widest_window}, /*ranges=*/true);
      if (!values) return tl::unexpected(values.error());
      for (const std::int64_t tokens : *values) found.push_back(Window::of(tokens));
    }
    for (const Window& window : found) {
      if (!seen.insert(window.text()).second) {
        return part.wrong(
            fmt::format("gives {} a second time; give every value once", window.text()));
      }
      if (windows.size() == most_windows) {
        return part.wrong(fmt::format(
            "brings more than {} windows, and a heat may have at most {} contenders; take a larger "
            "step",
            most_windows, most_windows));
      }
      windows.push_back(window);
    }
  }
  return windows;
}

Result<double> read_number(const JsonField& field, double above, double most) {
  const JsonValue& value = field.value();
  const bool number = value.kind == JsonValue::Kind::integer || value.kind == JsonValue::Kind::real;
  if (!number || !(value.real > above) || !(value.real <= most)) {
    return field.wrong(fmt::format("must be a number above {} and at most {}", above, most));
  }
  return value.real;
}

}  // namespace attnscope
