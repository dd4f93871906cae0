#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rows of documents as an interaction reads them: newly encoded, on the model's device, or from a
// cache in any format. Uses LibTorch.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/documents/document_cache.h"
#include "engine/model/linear.h"
#include "kernels/cpu/document_vectors.h"

namespace attnscope {

class DocumentRows {
 public:
  /// `rows` [offsets.back(), width]; document i has rows offsets[i] to offsets[i + 1] - 1.
  DocumentRows(at::Tensor rows, std::vector<std::int64_t> offsets);
  /// Rows of a cache, which must outlive the object.
  explicit DocumentRows(const DocumentCache& cache) : cache_(&cache) {}

  [[nodiscard]] TokenRange range(std::int64_t document) const;
  [[nodiscard]] std::int64_t width() const;
  /// Rows of these documents, concatenated, in the model's dtype and on its device: a view if they
  /// are contiguous and need no conversion.
  [[nodiscard]] at::Tensor gathered(std::span<const std::int64_t> documents,
                                    const Computing& computing) const;
  /// The rows in the form that the CPU kernels read; nothing if they are on another device.
  [[nodiscard]] std::optional<cpu::VectorRows> vectors() const;

 private:
  [[nodiscard]] at::Tensor all() const;

  const DocumentCache* cache_ = nullptr;
  at::Tensor rows_;
  std::vector<std::int64_t> offsets_;
};

/// Documents that are scored for one query.
struct Candidates {
  const DocumentRows& rows;
  std::span<const std::int64_t> documents;

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(documents.size()); }
  [[nodiscard]] std::int64_t rows_of(std::int64_t candidate) const {
    return rows.range(documents[static_cast<std::size_t>(candidate)]).size();
  }
};

/// [candidates, queries], float32: products of the queries [queries, width] with the first row of
/// each candidate.
[[nodiscard]] Result<at::Tensor> products_with(const Candidates& candidates,
                                               const at::Tensor& queries,
                                               const Computing& computing, int threads);

/// [candidates, queries], float32: the largest product with any row of each candidate, or `least`
/// if that is larger.
[[nodiscard]] Result<at::Tensor> largest_products_with(const Candidates& candidates,
                                                       const at::Tensor& queries, float least,
                                                       const Computing& computing, int threads);

}  // namespace attnscope
