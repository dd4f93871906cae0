#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The part of cuBLASLt that dense attention uses, loaded at run time, and its products. Its C
// interface is declared here at the level of the binary interface, so that building the program
// does not need the library; tests/cuda/cublaslt_check.cpp compares the declarations with NVIDIA's
// header. Statuses and enumerators are ints, descriptors are addresses, sizes of matrices are
// signed.
//
//   const Result<CublasLt>& library = cublaslt();
//   if (!library) report(library.error().message);

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kernels/cuda/devices.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cuda {

namespace lt {
inline constexpr int success = 0;
inline constexpr int compute_32f = 68;  // operands in the dtype, sums in float32, no TF32
inline constexpr int real_32f = 0, real_16f = 2, real_16bf = 14;
inline constexpr int transposed = 1;
inline constexpr int matmul_transa = 3, matmul_transb = 4;
inline constexpr int layout_batch_count = 5, layout_batch_offset = 6;
inline constexpr int preference_workspace = 1;
inline constexpr int preference_alignment_a = 5, preference_alignment_d = 8;  // and between
inline constexpr int algorithm_id = 0, algorithm_tile = 1, algorithm_splits = 2,
                     algorithm_stages = 6;

struct Algorithm {
  std::uint64_t data[8];
};

struct Choice {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};
}  // namespace lt

/// Calls of(member, the library's name, its type) for each function.
#define ATTNSCOPE_CUBLASLT_FUNCTIONS(of)                                                           \
  of(create, cublasLtCreate, int(void** handle));                                                  \
  of(status_name, cublasLtGetStatusName, const char*(int status));                                 \
  of(status_text, cublasLtGetStatusString, const char*(int status));                               \
  of(matmul_create, cublasLtMatmulDescCreate, int(void** matmul, int compute, int scale_type));    \
  of(matmul_destroy, cublasLtMatmulDescDestroy, int(void* matmul));                                \
  of(matmul_set, cublasLtMatmulDescSetAttribute,                                                   \
     int(void* matmul, int attribute, const void* value, std::size_t bytes));                      \
  of(layout_create, cublasLtMatrixLayoutCreate,                                                    \
     int(void** layout, int type, std::int64_t rows, std::int64_t columns, std::int64_t leading)); \
  of(layout_destroy, cublasLtMatrixLayoutDestroy, int(void* layout));                              \
  of(layout_set, cublasLtMatrixLayoutSetAttribute,                                                 \
     int(void* layout, int attribute, const void* value, std::size_t bytes));                      \
  of(preference_create, cublasLtMatmulPreferenceCreate, int(void** preference));                   \
  of(preference_destroy, cublasLtMatmulPreferenceDestroy, int(void* preference));                  \
  of(preference_set, cublasLtMatmulPreferenceSetAttribute,                                         \
     int(void* preference, int attribute, const void* value, std::size_t bytes));                  \
  of(algorithm_get, cublasLtMatmulAlgoConfigGetAttribute,                                          \
     int(const lt::Algorithm* algorithm, int attribute, void* value, std::size_t bytes,            \
         std::size_t* written));                                                                   \
  of(choose, cublasLtMatmulAlgoGetHeuristic,                                                       \
     int(void* handle, void* matmul, void* a, void* b, void* c, void* d, void* preference,         \
         int wanted, lt::Choice* choices, int* found));                                            \
  of(multiply, cublasLtMatmul,                                                                     \
     int(void* handle, void* matmul, const void* alpha, const void* a, void* a_layout,             \
         const void* b, void* b_layout, const void* beta, const void* c, void* c_layout, void* d,  \
         void* d_layout, const lt::Algorithm* algorithm, void* workspace,                          \
         std::size_t workspace_bytes, Stream stream))

struct CublasLt {
#define ATTNSCOPE_MEMBER(member, name, ...) std::add_pointer_t<__VA_ARGS__> member
  ATTNSCOPE_CUBLASLT_FUNCTIONS(ATTNSCOPE_MEMBER);
#undef ATTNSCOPE_MEMBER
};

/// A descriptor of the library, with the function that destroys it.
using Descriptor = std::shared_ptr<void>;

/// The library of this process, loaded by the first call. Error: it is not installed, or it lacks a
/// function.
[[nodiscard]] const Result<CublasLt>& cublaslt();

/// The same, from the first of `files` that can be loaded.
[[nodiscard]] Result<CublasLt> load_cublaslt(std::initializer_list<const char*> files);

[[nodiscard]] Status checked(const CublasLt& library, int status, const char* call,
                             const char* file, int line);

// -- products -------------------------------------------------------------------------------------

/// Layout of an operand's matrices, one for each item and head; strides in elements.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::int64_t row = 0, head = 0, item = 0;                         // strides
  friend auto operator<=>(const Matrix&, const Matrix&) = default;  // NOLINT: no null pointer
};

/// A transposed operand is stored as [k, m] or [n, k].
struct ProductShape {
  Matrix a, b, c;
  bool transposed_a = false, transposed_b = false;
  std::int64_t items = 1, heads = 1;
  std::int64_t alignment = 0;  // alignment of each matrix's first element in bytes
  DType dtype = DType::float32;
  friend auto operator<=>(const ProductShape&, const ProductShape&) = default;  // NOLINT: the same
};

/// One strided-batched matrix product, C = alpha op(A) op(B), of row-major matrices in device
/// memory, with the fastest of the first algorithms of cuBLASLt's heuristics. Batches are [items,
/// heads].
///
///   Result<Product> scores = Product::prepare(library, {.a = rows, .b = columns, ...});
///   Status queued = scores->run(scale, q, k, s, workspace, stream);
///
/// The first run of a shape on a device selects the algorithm by timing (docs/cuda-kernels.md) and
/// writes C repeatedly. All later runs, also of other products of that shape, give the same bits.
/// All products of a device use one handle, which is made once in a process and never destroyed.
class Product {
 public:
  [[nodiscard]] static Result<Product> prepare(const CublasLt& library, const ProductShape& shape);
  /// Workspace sufficient for any of the algorithms.
  [[nodiscard]] std::int64_t workspace_bytes() const {
    return static_cast<std::int64_t>(choices_.front().workspace_bytes);
  }
  /// For any number of host threads. Errors: cuBLASLt's; the stream is being captured before the
  /// algorithm of this shape is selected.
  [[nodiscard]] Status run(float alpha, const std::byte* a, const std::byte* b, std::byte* c,
                           std::byte* workspace, Stream stream) const;
  /// The selected algorithm as "ID/tile/stages/splits" of cuBLASLt; empty before the first run.
  [[nodiscard]] std::string algorithm() const;

 private:
  Product(const CublasLt& library, void* handle, const ProductShape& shape);
  Status describe();
  Status describe(const Matrix& matrix, Descriptor& layout) const;
  Status find_choices();

  const CublasLt* library_;
  void* handle_;
  ProductShape shape_;  // one call per item
  Descriptor matmul_, a_, b_, c_;
  std::vector<lt::Choice> choices_;  // in the order of the heuristics
  // Set by the first run, by means of std::atomic_ref; one for each shape of the process.
  mutable const lt::Choice* chosen_ = nullptr;
};

}  // namespace attnscope::cuda

#define ATTNSCOPE_CUBLASLT(library, call)                                                   \
  if (::attnscope::Status status =                                                          \
          ::attnscope::cuda::checked((library), (library).call, #call, __FILE__, __LINE__); \
      !status)                                                                              \
  return ::tl::unexpected<::attnscope::Error>(std::move(status.error()))
