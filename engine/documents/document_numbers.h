#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of a cache's documents by their ids, in 16 bytes a document.
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
  /// Of a cache that lives at least as long.
  explicit DocumentNumbers(const DocumentCache& cache);
  /// The first with this id.
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view id) const;
  /// A document whose id another one has, too.
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
