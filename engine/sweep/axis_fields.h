#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The values of one axis of a sweep file: a scalar or a list of them, never empty, never twice.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/pattern/window.h"
#include "kernels/base/json.h"

namespace attnscope {

/// "SOURCE, line N: 'PATH': MESSAGE" for an error that came without its place.
[[nodiscard]] tl::unexpected<Error> placed(const JsonField& field, const Error& error);

struct Bounds {
  std::int64_t least = 0, most = 0;
};

/// Numbers, and where `ranges` says so strings like "64:4096:*2".
[[nodiscard]] Result<std::vector<std::int64_t>> read_numbers(const JsonField& field, Bounds bounds,
                                                             bool ranges);
[[nodiscard]] Result<bool> read_truth(const JsonField& field);
[[nodiscard]] Result<std::vector<bool>> read_truths(const JsonField& field);
/// Numbers, ranges and "inf".
[[nodiscard]] Result<std::vector<Window>> read_windows(const JsonField& field);
[[nodiscard]] Result<Window> read_window(const JsonField& field);
[[nodiscard]] Result<double> read_number(const JsonField& field, double above, double most);

/// The field's elements, or the field itself when it is no list; an empty list is an error.
[[nodiscard]] Result<std::vector<JsonField>> one_or_more(const JsonField& field);

/// Words of an enumeration, read by `parse` and written by `name_of`.
template <typename Parse>
[[nodiscard]] auto read_names(const JsonField& field, Parse parse)
    -> Result<std::vector<typename decltype(parse(std::string_view()))::value_type>> {
  std::vector<typename decltype(parse(std::string_view()))::value_type> values;
  auto parts = one_or_more(field);
  if (!parts) return tl::unexpected(parts.error());
  for (const JsonField& part : *parts) {
    auto text = part.text();
    if (!text) return tl::unexpected(text.error());
    auto value = parse(*text);
    if (!value) return placed(part, value.error());
    if (std::ranges::find(values, *value) != values.end()) {
      return part.wrong(fmt::format("gives '{}' a second time; give every value once", *text));
    }
    values.push_back(*value);
  }
  return values;
}

}  // namespace attnscope
