// SPDX-License-Identifier: Apache-2.0
#include "engine/report/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attnscope::report {
namespace {

double keys_of(std::int64_t window) {
  return 2 * static_cast<double>(window) + 1;
}

double document_keys(const Row& row) {
  const auto documents = static_cast<double>(std::max<std::int64_t>(row.cell.point.documents, 1));
  const auto tokens =
      static_cast<double>(row.cell.cell.document_tokens > 0 ? row.cell.cell.document_tokens
                                                            : row.cell.point.sequence_tokens);
  return std::ceil(tokens / documents);
}

}  // namespace

Places::Places(const std::vector<const Row*>& rows, XAxis x) : x_(x) {
  for (const Row* row : rows) {
    const auto& window = row->cell.cell.contender.window;
    if (!window) continue;
    infinite_ = std::max(
        infinite_, window->is_infinite() ? document_keys(*row) : keys_of(window->tokens()) + 1);
  }
}

double Places::of(const Row& row) const {
  if (x_ == XAxis::length) return static_cast<double>(row.cell.point.sequence_tokens);
  const auto& window = row.cell.cell.contender.window;
  return !window || window->is_infinite() ? infinite_ : keys_of(window->tokens());
}

std::string Places::number(double place, Round round) const {
  if (x_ == XAxis::window && place >= infinite_) return "inf";
  const double bare = x_ == XAxis::window ? (place - 1) / 2 : place;
  switch (round) {
    case Round::down:
      return fmt::format("{:.0f}", std::floor(bare));
    case Round::up:
      return fmt::format("{:.0f}", std::ceil(bare));
    case Round::nearest:
      break;
  }
  return fmt::format("{:.0f}", std::round(bare));
}

std::string Places::words(double place) const {
  return x_ == XAxis::window ? fmt::format("w = {}", number(place))
                             : fmt::format("{} tokens", number(place));
}

std::string Places::words(double first, double last) const {
  if (first == last) return words(first);
  return x_ == XAxis::window ? fmt::format("w = {} to {}", number(first), number(last))
                             : fmt::format("{} to {} tokens", number(first), number(last));
}

std::string_view Places::noun() const {
  return x_ == XAxis::window ? "window" : "length";
}

std::string contender_along(const Contender& contender, XAxis x) {
  return x == XAxis::length ? contender.id() : contender.id_without_window();
}

std::string name_along(const Contender& contender, XAxis x) {
  return x == XAxis::length ? contender.name : base_name(contender);
}

}  // namespace attnscope::report
