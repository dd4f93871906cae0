#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Documents encoded before any query is known: for each of them some rows of numbers, whose meaning
// is its family's (one vector, one for each token, keys and values of every layer). In memory, or
// mapped from a file that tells by whom it was made (cache_file.h). One that is too large for
// memory is written by a DocumentCacheWriter.
//
//   Result<DocumentCache> cache = model->encode_documents(documents, cls);
//   Result<DocumentCache> smaller = cache->narrowed(VectorFormat::int8);
//   smaller->write("documents.safetensors");
//   auto mapped = DocumentCache::open("documents.safetensors", cache->maker());

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/documents/cache_file.h"
#include "engine/safetensors/safetensors.h"
#include "kernels/base/result.h"
#include "kernels/base/running_sum.h"
#include "kernels/cpu/document_vectors.h"
#include "kernels/plan/vector_format.h"

namespace attnscope {

class DocumentCache {
 public:
  using Maker = CacheMaker;
  using RowError = CacheRowError;

  /// `offsets` [documents + 1], ascending from 0: document i has the rows from offsets[i] to
  /// offsets[i + 1]. `rows` are those of all, of `width` numbers of the maker's dtype.
  DocumentCache(Maker maker, std::int64_t width, std::vector<std::int64_t> offsets,
                std::vector<std::byte> rows);
  DocumentCache(DocumentCache&&) noexcept = default;
  DocumentCache& operator=(DocumentCache&&) noexcept = default;
  ~DocumentCache() = default;

  /// Mapped, and its offsets and ids checked. Errors: no such file, one that is not whole, offsets
  /// that contradict each other, ids that are empty, given twice or no names.
  [[nodiscard]] static Result<DocumentCache> open(const std::filesystem::path& path);
  /// The same, of documents that `maker` encoded: those of somebody else are an error.
  [[nodiscard]] static Result<DocumentCache> open(const std::filesystem::path& path,
                                                  const Maker& maker);
  /// Reads all of a mapped file: an error where its checksum is not the one that was written.
  [[nodiscard]] Status check_sum() const;
  /// Ids are not in it: only a mapped cache has some.
  [[nodiscard]] Status write(const std::filesystem::path& path) const;
  /// The same with rows of its own, read from the file where they are mapped.
  [[nodiscard]] DocumentCache in_memory() const;
  /// The same documents in float16, or in int8 with a scale for each row (its largest number is
  /// 127), rounded to the nearest. Errors: rows that are in a smaller format already, a number that
  /// float16 has not.
  [[nodiscard]] Result<DocumentCache> narrowed(VectorFormat format) const;

  [[nodiscard]] const Maker& maker() const { return maker_; }
  /// Ok, or by whom its documents were encoded instead.
  [[nodiscard]] Status fits(const Maker& maker) const;
  [[nodiscard]] std::int64_t documents() const {
    return static_cast<std::int64_t>(offsets_.size()) - 1;
  }
  [[nodiscard]] std::int64_t width() const { return width_; }
  /// Of the file that it was opened from.
  [[nodiscard]] const CacheSource& source() const { return source_; }
  /// All rows of the document are finite.
  [[nodiscard]] bool is_of_numbers(std::int64_t document) const;
  /// The first document with a row that is not of numbers.
  [[nodiscard]] std::optional<std::int64_t> first_without_numbers() const;
  [[nodiscard]] std::int64_t rows_of(std::int64_t document) const;
  /// The document's rows among all.
  [[nodiscard]] TokenRange range_of(std::int64_t document) const;
  /// [rows_of(document), width], aligned for its format.
  [[nodiscard]] std::span<const std::byte> document(std::int64_t document) const;
  /// As `kept` of cache_file::State sums documents, one after the other.
  void add_to_sum(RunningSum& sum, std::int64_t document, std::string_view id) const;
  [[nodiscard]] bool has_ids() const { return !id_offsets_.empty(); }
  /// Of a cache that has ids; alive as long as the cache.
  [[nodiscard]] std::string_view id(std::int64_t document) const;
  [[nodiscard]] VectorFormat format() const { return format_; }
  /// All rows as the kernels read them, alive as long as the cache.
  [[nodiscard]] cpu::VectorRows vectors() const;
  /// Of a smaller format than the model's.
  [[nodiscard]] const std::optional<RowError>& error() const { return error_; }
  /// Of all rows, with their scales: what the offline stage leaves to be kept.
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(rows_.size() + scales_.size_bytes());
  }

 private:
  DocumentCache() = default;
  [[nodiscard]] std::uint64_t sum_of_all() const;
  /// Rows of another cache, one by one: the relative error of each.
  [[nodiscard]] Result<double> keep_as_float16(const DocumentCache& from, std::int64_t row);
  [[nodiscard]] Result<double> keep_as_int8(const DocumentCache& from, std::int64_t row);
  Maker maker_;
  CacheSource source_;
  std::uint64_t kept_ = 0;  // the file's checksum
  std::int64_t width_ = 0;
  VectorFormat format_ = VectorFormat::float32;
  std::optional<RowError> error_;
  std::vector<std::int64_t> offsets_, id_offsets_;
  // Of the file or of one's own, whose addresses stay when the cache is moved.
  std::span<const std::byte> rows_;
  std::span<const float> scales_;
  std::span<const char> ids_;
  std::vector<std::byte> own_;
  std::vector<float> own_scales_;
  std::shared_ptr<const SafetensorsFile> file_;
};

}  // namespace attnscope
