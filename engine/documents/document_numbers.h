#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Maps the ids of a cache's documents to their numbers, with 16 bytes per document.
//
//   const DocumentNumbers numbers(cache);   // of a cache that has ids
//   std::optional<std::int64_t> number = numbers.find("D1021");

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/documents/document_cache.h"

namespace attnscope {

class DocumentNumbers {
 public:
  /// The cache must outlive this object.
  explicit DocumentNumbers(const DocumentCache& cache);
  /// The first document with this id.
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view id) const;
  /// A document whose id occurs more than once.
  [[nodiscard]] std::optional<std::int64_t> first_twin() const;

 private:
  struct Entry {
    std::size_t hash = 0;
    std::int64_t number = 0;
  };
  const DocumentCache* cache_;
  std::vector<Entry> entries_;  // ascending by hash, then number
};

}  // namespace attnscope
