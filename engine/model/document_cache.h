#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Documents encoded before any query is known: for each of them some rows of numbers, whose meaning
// is its family's (one vector, one for each token, keys and values of every layer). In memory, or
// mapped from a file that tells by whom it was made: a safetensors file with the tensors `offsets`
// [documents + 1] and `rows` [offsets.back(), width].
//
//   Result<DocumentCache> cache = model->encode_documents(documents);
//   cache->write("documents.safetensors");
//   auto mapped = DocumentCache::open("documents.safetensors", cache->maker());

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/pattern/axes.h"
#include "engine/safetensors/safetensors.h"
#include "kernels/base/result.h"

namespace attnscope {

class DocumentCache {
 public:
  /// By whom documents were encoded; for others they mean nothing.
  struct Maker {
    std::string family;
    std::uint64_t weights = 0;  // fingerprint
    DType dtype = DType::float32;
    friend bool operator==(const Maker&, const Maker&) = default;
  };

  /// `offsets` [documents + 1], ascending from 0: document i has the rows from offsets[i] to
  /// offsets[i + 1]. `rows` are those of all, of `width` numbers of the maker's dtype.
  DocumentCache(Maker maker, std::int64_t width, std::vector<std::int64_t> offsets,
                std::vector<std::byte> rows);
  DocumentCache(DocumentCache&&) noexcept = default;
  DocumentCache& operator=(DocumentCache&&) noexcept = default;
  ~DocumentCache() = default;

  /// Mapped, and its offsets checked. Errors: no such file, documents that somebody else than
  /// `maker` encoded, offsets that contradict each other.
  [[nodiscard]] static Result<DocumentCache> open(const std::filesystem::path& path,
                                                  const Maker& maker);
  [[nodiscard]] Status write(const std::filesystem::path& path) const;

  [[nodiscard]] const Maker& maker() const { return maker_; }
  /// Ok, or by whom its documents were encoded instead.
  [[nodiscard]] Status fits(const Maker& maker) const;
  [[nodiscard]] std::int64_t documents() const {
    return static_cast<std::int64_t>(offsets_.size()) - 1;
  }
  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t rows_of(std::int64_t document) const;
  /// [rows_of(document), width], aligned for its dtype.
  [[nodiscard]] std::span<const std::byte> document(std::int64_t document) const;
  /// Of all rows: what the offline stage leaves to be kept.
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(rows_.size()); }

 private:
  DocumentCache() = default;
  Maker maker_;
  std::int64_t width_ = 0;
  std::vector<std::int64_t> offsets_;
  std::span<const std::byte> rows_;  // of one of the two
  std::vector<std::byte> own_;       // its address stays when the cache is moved
  std::shared_ptr<const SafetensorsFile> file_;
};

}  // namespace attnscope
