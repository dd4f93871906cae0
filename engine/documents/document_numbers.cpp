// SPDX-License-Identifier: Apache-2.0
#include "engine/documents/document_numbers.h"

#include <algorithm>
#include <functional>

namespace attnscope {

DocumentNumbers::DocumentNumbers(const DocumentCache& cache) : cache_(&cache) {
  entries_.reserve(static_cast<std::size_t>(cache.documents()));
  for (std::int64_t number = 0; number < cache.documents(); ++number)
    entries_.push_back({std::hash<std::string_view>{}(cache.id(number)), number});
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.number < b.number;
  });
}

std::optional<std::int64_t> DocumentNumbers::find(std::string_view id) const {
  const std::size_t hash = std::hash<std::string_view>{}(id);
  for (auto entry = std::ranges::lower_bound(entries_, hash, {}, &Entry::hash);
       entry != entries_.end() && entry->hash == hash; ++entry) {
    if (cache_->id(entry->number) == id) return entry->number;
  }
  return std::nullopt;
}

std::optional<std::int64_t> DocumentNumbers::first_twin() const {
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    const Entry& before = entries_[i - 1];
    const bool is_alike = before.hash == entries_[i].hash;
    if (is_alike && cache_->id(before.number) == cache_->id(entries_[i].number))
      return before.number;
  }
  return std::nullopt;
}

}  // namespace attnscope
