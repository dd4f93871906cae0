#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Documents encoded before any query is known: for each of them some rows of numbers, whose meaning
// is its family's (one vector, one for each token, keys and values of every layer). In memory, or
// mapped from a file that tells by whom it was made: a safetensors file with the tensors `offsets`
// [documents + 1], `rows` [offsets.back(), width] and, of int8, `scales` [offsets.back()].
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
#include <string>
#include <vector>

#include "engine/pattern/axes.h"
#include "engine/safetensors/safetensors.h"
#include "kernels/base/result.h"
#include "kernels/cpu/document_vectors.h"
#include "kernels/plan/vector_format.h"

namespace attnscope {

/// "float32", "float16", "bfloat16", "int8".
[[nodiscard]] std::string_view name_of(VectorFormat format);
[[nodiscard]] Result<VectorFormat> parse_vector_format(std::string_view text);

class DocumentCache {
 public:
  /// By whom documents were encoded; for others they mean nothing.
  struct Maker {
    std::string family;
    std::uint64_t weights = 0;  // fingerprint
    DType dtype = DType::float32;
    std::string encoding{};  // what else decides of their rows: pattern, window, layers
    friend bool operator==(const Maker&, const Maker&) = default;
  };

  /// What a smaller format lost: the relative error (Euclidean) of rows, the largest and the mean.
  struct RowError {
    double largest = 0, mean = 0;
    friend bool operator==(const RowError&, const RowError&) = default;
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
  [[nodiscard]] std::int64_t rows_of(std::int64_t document) const;
  /// The document's rows among all.
  [[nodiscard]] TokenRange range_of(std::int64_t document) const;
  /// [rows_of(document), width], aligned for its format.
  [[nodiscard]] std::span<const std::byte> document(std::int64_t document) const;
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
  /// Rows of another cache, one by one: the relative error of each.
  [[nodiscard]] Result<double> keep_as_float16(const DocumentCache& from, std::int64_t row);
  [[nodiscard]] Result<double> keep_as_int8(const DocumentCache& from, std::int64_t row);
  Maker maker_;
  std::int64_t width_ = 0;
  VectorFormat format_ = VectorFormat::float32;
  std::optional<RowError> error_;
  std::vector<std::int64_t> offsets_;
  // Of the file or of one's own, whose addresses stay when the cache is moved.
  std::span<const std::byte> rows_;
  std::span<const float> scales_;
  std::vector<std::byte> own_;
  std::vector<float> own_scales_;
  std::shared_ptr<const SafetensorsFile> file_;
};

}  // namespace attnscope
