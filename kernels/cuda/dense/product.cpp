// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/dense/product.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace attnscope::cuda {
namespace {

// What LibTorch grants cuBLASLt on Hopper; algorithms that split sums want it.
constexpr std::uint64_t most_workspace_bytes = 32 << 20;

int type_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return lt::real_16f;
    case DType::bfloat16:
      return lt::real_16bf;
    case DType::float32:
      break;
  }
  return lt::real_32f;
}

/// Owns a descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ != nullptr) destroy_(value_);
  }
  /// Where the library writes it.
  void** owned_by(int (*destroy)(void*)) {
    destroy_ = destroy;
    return &value_;
  }
  [[nodiscard]] void* get() const { return value_; }

 private:
  void* value_ = nullptr;
  int (*destroy_)(void*) = nullptr;
};

/// The batch as calls: `calls` of them, `count` matrices each.
struct Batch {
  std::int64_t calls = 1, count = 1;
  bool heads_by_call = false;  // else items by call
};

bool one_stride(const MatrixStrides& strides, std::int64_t heads) {
  return strides.item == heads * strides.head;
}

/// One call where all three factors have one stride for items and heads; else a call for each of
/// whichever are fewer. cuBLASLt counts a batch in 32 bits, and kernels of it in 16.
Batch batch_of(const ProductShape& shape) {
  constexpr std::int64_t most = 65535;
  if (shape.items == 1 && shape.heads <= most) return {1, shape.heads, false};
  const bool together = one_stride(shape.a, shape.heads) && one_stride(shape.b, shape.heads) &&
                        one_stride(shape.c, shape.heads);
  if (together && shape.items * shape.heads <= most) return {1, shape.items * shape.heads, false};
  const bool heads_by_call = shape.heads <= shape.items && shape.items <= most;
  return heads_by_call ? Batch{shape.heads, shape.items, true}
                       : Batch{shape.items, shape.heads, false};
}

Status create_layout(const CublasLt& library, Descriptor& layout, DType dtype, std::int64_t rows,
                     std::int64_t columns, const MatrixStrides& strides, const Batch& batch) {
  // cuBLASLt counts by columns: a row-major matrix is its transposed one there.
  ATTNSCOPE_CUBLASLT(library, layout_create(layout.owned_by(library.layout_destroy), type_of(dtype),
                                            static_cast<std::uint64_t>(columns),
                                            static_cast<std::uint64_t>(rows), strides.row));
  const auto count = static_cast<std::int32_t>(batch.count);
  ATTNSCOPE_CUBLASLT(library,
                     layout_set(layout.get(), lt::layout_batch_count, &count, sizeof count));
  const std::int64_t offset = batch.heads_by_call ? strides.item : strides.head;
  ATTNSCOPE_CUBLASLT(library,
                     layout_set(layout.get(), lt::layout_batch_offset, &offset, sizeof offset));
  return {};
}

}  // namespace

struct Product::Prepared {
  const CublasLt& library;
  void* handle;
  ProductShape shape;
  Batch batch;
  Descriptor matmul{}, a{}, b{}, c{};
  lt::Choice choice{};

  Status describe();
  Status choose();
};

Status Product::Prepared::describe() {
  ATTNSCOPE_CUBLASLT(library, matmul_create(matmul.owned_by(library.matmul_destroy),
                                            lt::compute_32f, lt::real_32f));
  // C^T = op(B)^T op(A)^T: the factors change places, and what is row-major is transposed already.
  const std::int32_t first = shape.transposed_b ? lt::transposed : 0;
  const std::int32_t second = shape.transposed_a ? lt::transposed : 0;
  ATTNSCOPE_CUBLASLT(library, matmul_set(matmul.get(), lt::matmul_transa, &first, sizeof first));
  ATTNSCOPE_CUBLASLT(library, matmul_set(matmul.get(), lt::matmul_transb, &second, sizeof second));
  const auto [m, n, k] = std::array{shape.m, shape.n, shape.k};
  if (Status status = create_layout(library, a, shape.dtype, shape.transposed_a ? k : m,
                                    shape.transposed_a ? m : k, shape.a, batch);
      !status) {
    return status;
  }
  if (Status status = create_layout(library, b, shape.dtype, shape.transposed_b ? n : k,
                                    shape.transposed_b ? k : n, shape.b, batch);
      !status) {
    return status;
  }
  return create_layout(library, c, shape.dtype, m, n, shape.c, batch);
}

Status Product::Prepared::choose() {
  Descriptor preference;
  ATTNSCOPE_CUBLASLT(library, preference_create(preference.owned_by(library.preference_destroy)));
  ATTNSCOPE_CUBLASLT(library, preference_set(preference.get(), lt::preference_workspace,
                                             &most_workspace_bytes, sizeof most_workspace_bytes));
  const std::pair<int, const MatrixStrides*> alignments[] = {
      {lt::preference_alignment_a, &shape.b},
      {lt::preference_alignment_b, &shape.a},
      {lt::preference_alignment_c, &shape.c},
      {lt::preference_alignment_d, &shape.c}};
  for (const auto& [attribute, strides] : alignments) {
    const auto bytes = static_cast<std::uint32_t>(strides->alignment);
    ATTNSCOPE_CUBLASLT(library, preference_set(preference.get(), attribute, &bytes, sizeof bytes));
  }
  int found = 0;
  ATTNSCOPE_CUBLASLT(library, choose(handle, matmul.get(), b.get(), a.get(), c.get(), c.get(),
                                     preference.get(), 1, &choice, &found));
  if (found < 1 || choice.state != lt::success) {
    return fail("cuBLASLt has no algorithm for a {} x {} x {} product of {} matrices", shape.m,
                shape.n, shape.k, batch.count);
  }
  return {};
}

Result<Product> Product::prepare(const CublasLt& library, void* handle, const ProductShape& shape) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (std::max({shape.m, shape.n, shape.k, shape.a.row, shape.b.row, shape.c.row}) > most) {
    return fail("cuBLASLt takes matrices of at most {} rows, columns and elements a row", most);
  }
  Product product;
  product.prepared_.reset(new Prepared{library, handle, shape, batch_of(shape)});
  if (Status status = product.prepared_->describe(); !status) return tl::unexpected(status.error());
  if (Status status = product.prepared_->choose(); !status) return tl::unexpected(status.error());
  return product;
}

Product::Product() = default;
Product::Product(Product&&) noexcept = default;
Product& Product::operator=(Product&&) noexcept = default;
Product::~Product() = default;

std::int64_t Product::workspace_bytes() const {
  return static_cast<std::int64_t>(prepared_->choice.workspace_bytes);
}

double Product::flop() const {
  const ProductShape& shape = prepared_->shape;
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k) * static_cast<double>(shape.items * shape.heads);
}

Status Product::run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace,
                    Stream stream) const {
  const Prepared& p = *prepared_;
  const float beta = 0.0F;
  const auto offset = [&p](const MatrixStrides& strides, std::int64_t call) {
    return call * (p.batch.heads_by_call ? strides.head : strides.item) * size_of(p.shape.dtype);
  };
  for (std::int64_t call = 0; call < p.batch.calls; ++call) {
    std::byte* result = c + offset(p.shape.c, call);
    ATTNSCOPE_CUBLASLT(
        p.library,
        multiply(p.handle, p.matmul.get(), &p.shape.alpha, b + offset(p.shape.b, call), p.b.get(),
                 a + offset(p.shape.a, call), p.a.get(), &beta, result, p.c.get(), result,
                 p.c.get(), &p.choice.algorithm, workspace, p.choice.workspace_bytes, stream));
  }
  return {};
}

}  // namespace attnscope::cuda
