// SPDX-License-Identifier: Apache-2.0
#include "engine/model/late/document_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <utility>

namespace attnscope {
namespace {

at::ScalarType type_of_numbers(VectorFormat format) {
  switch (format) {
    case VectorFormat::float32:
      return at::kFloat;
    case VectorFormat::float16:
      return at::kHalf;
    case VectorFormat::bfloat16:
      return at::kBFloat16;
    case VectorFormat::int8:
      break;
  }
  return at::kChar;
}

VectorFormat format_of_numbers(at::ScalarType type) {
  if (type == at::kFloat) return VectorFormat::float32;
  return type == at::kHalf ? VectorFormat::float16 : VectorFormat::bfloat16;
}

/// A view of read-only memory.
at::Tensor view_of_memory(const void* data, at::IntArrayRef sizes, at::ScalarType type) {
  return at::from_blob(const_cast<void*>(data), sizes, type);
}

std::span<const float> floats_in(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

std::span<float> output_floats(const at::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

at::Tensor workspace_of(const at::Tensor& queries, int threads) {
  return at::empty({cpu::vector_workspace_floats(queries.size(1), queries.size(0), threads)},
                   at::kFloat);
}

std::vector<TokenRange> ranges_of(const Candidates& candidates) {
  std::vector<TokenRange> ranges;
  ranges.reserve(candidates.documents.size());
  for (const std::int64_t document : candidates.documents)
    ranges.push_back(candidates.rows.range(document));
  return ranges;
}

}  // namespace

DocumentRows::DocumentRows(at::Tensor rows, std::vector<std::int64_t> offsets)
    : rows_(std::move(rows)), offsets_(std::move(offsets)) {}

TokenRange DocumentRows::range(std::int64_t document) const {
  if (cache_ != nullptr) return cache_->range_of(document);
  const auto at = static_cast<std::size_t>(document);
  return {offsets_[at], offsets_[at + 1]};
}

std::int64_t DocumentRows::width() const {
  return cache_ != nullptr ? cache_->width() : rows_.size(1);
}

at::Tensor DocumentRows::all() const {
  if (cache_ == nullptr) return rows_;
  const cpu::VectorRows rows = cache_->vectors();
  return view_of_memory(rows.data, {rows.rows, rows.width}, type_of_numbers(rows.format));
}

at::Tensor DocumentRows::gathered(std::span<const std::int64_t> documents,
                                  const Computing& computing) const {
  std::vector<std::int64_t> places;
  for (const std::int64_t document : documents) {
    const TokenRange rows = range(document);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) places.push_back(row);
  }
  const at::Tensor kept = all();
  if (places.empty()) return computing.of(kept.narrow(0, 0, 0));
  const auto count = static_cast<std::int64_t>(places.size());
  const auto gap =
      std::ranges::adjacent_find(places, [](std::int64_t a, std::int64_t b) { return b != a + 1; });
  const bool together = gap == places.end();
  const at::Tensor index = at::tensor(places, at::kLong);
  const auto taken = [&](const at::Tensor& from) {
    return together ? from.narrow(0, places.front(), count)
                    : from.index_select(0, index.to(from.device()));
  };
  const at::Tensor numbers = taken(kept);
  if (numbers.scalar_type() != at::kChar) return computing.of(numbers);
  const cpu::VectorRows rows = cache_->vectors();
  const at::Tensor scales = taken(view_of_memory(rows.scales, {rows.rows}, at::kFloat));
  return computing.of(numbers.to(at::kFloat) * scales.unsqueeze(1));
}

std::optional<cpu::VectorRows> DocumentRows::vectors() const {
  if (cache_ != nullptr) return cache_->vectors();
  if (!rows_.is_cpu()) return std::nullopt;
  return cpu::VectorRows{.data = static_cast<const std::byte*>(rows_.const_data_ptr()),
                         .format = format_of_numbers(rows_.scalar_type()),
                         .width = rows_.size(1),
                         .rows = rows_.size(0),
                         .scales = nullptr};
}

Result<at::Tensor> products_with(const Candidates& candidates, const at::Tensor& queries,
                                 const Computing& computing, int threads) {
  const auto vectors = candidates.rows.vectors();
  if (!vectors || !computing.device.is_cpu()) {
    return at::matmul(candidates.rows.gathered(candidates.documents, computing), queries.t())
        .to(at::kFloat);
  }
  std::vector<std::int64_t> numbers;
  numbers.reserve(candidates.documents.size());
  for (const TokenRange& range : ranges_of(candidates)) numbers.push_back(range.begin);
  const at::Tensor wide = queries.to(at::kFloat).contiguous();
  at::Tensor products = at::empty({candidates.count(), queries.size(0)}, at::kFloat);
  const at::Tensor workspace = workspace_of(queries, threads);
  const Status done = cpu::row_products(*vectors, numbers, floats_in(wide), queries.size(0),
                                        output_floats(products), threads, output_floats(workspace));
  if (!done) return tl::unexpected(done.error());
  return products;
}

Result<at::Tensor> largest_products_with(const Candidates& candidates, const at::Tensor& queries,
                                         float least, const Computing& computing, int threads) {
  const auto vectors = candidates.rows.vectors();
  const std::vector<TokenRange> ranges = ranges_of(candidates);
  if (!vectors || !computing.device.is_cpu()) {
    const at::Tensor products =
        at::matmul(candidates.rows.gathered(candidates.documents, computing), queries.t())
            .to(at::kFloat);
    at::Tensor largest = at::full({candidates.count(), queries.size(0)}, least, products.options());
    std::vector<std::int64_t> owners;
    for (std::size_t d = 0; d < ranges.size(); ++d) {
      owners.insert(owners.end(), static_cast<std::size_t>(ranges[d].size()),
                    static_cast<std::int64_t>(d));
    }
    const at::Tensor index = at::tensor(owners, at::kLong).to(products.device());
    return largest.scatter_reduce_(0, index.unsqueeze(1).expand_as(products), products, "amax");
  }
  const at::Tensor wide = queries.to(at::kFloat).contiguous();
  at::Tensor largest = at::empty({candidates.count(), queries.size(0)}, at::kFloat);
  const at::Tensor workspace = workspace_of(queries, threads);
  const Status done =
      cpu::largest_products(*vectors, ranges, floats_in(wide), queries.size(0), least,
                            output_floats(largest), threads, output_floats(workspace));
  if (!done) return tl::unexpected(done.error());
  return largest;
}

}  // namespace attnscope
