// SPDX-License-Identifier: Apache-2.0
//
// The order of things; products are product.h's, what happens to the scores softmax.h's. Backward,
// with the weights P that forward has left, D_i = sum_j P_ij dP_ij:
//
//   dV = P^T dO     dP = dO V^T     dS = P (dP - D)     dQ = scale dS K     dK = scale dS^T Q

#include "kernels/cuda/dense.h"

#include <algorithm>
#include <utility>

#include "kernels/cuda/dense/cublaslt.h"
#include "kernels/cuda/dense/product.h"
#include "kernels/cuda/dense/softmax.h"

namespace attnscope::cuda {
namespace {

constexpr std::int64_t alignment_bytes = 256;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}

std::int64_t stride_of(const DenseProblem& problem) {
  return score_stride(problem.keys.size(), problem.rows_like.dtype);
}

/// Bytes that all these counts of elements are multiples of, at most the 16 that kernels ask for.
std::int64_t common_alignment(std::initializer_list<std::int64_t> elements, DType dtype) {
  std::int64_t bytes = 16;
  for (const std::int64_t count : elements) {
    while (count * size_of(dtype) % bytes != 0) bytes /= 2;
  }
  return bytes;
}

/// How a problem's rectangles lie in a tensor: item 0's `tokens`, and `step` tokens on from item to
/// item.
Result<MatrixStrides> strides_in(const ConstTensor& like, TokenRange tokens, std::int64_t step,
                                 std::int64_t items) {
  const std::int64_t split = like.item_tokens;
  if (split > 0 &&
      (tokens.begin % split + tokens.size() > split || (items > 1 && step % split != 0))) {
    return fail(
        "dense attention over tokens {} to {} crosses the items of {} tokens that the tensor is "
        "stored in",
        tokens.begin, tokens.end, split);
  }
  const std::int64_t first = like.offset(tokens.begin, 0);
  MatrixStrides strides = {.row = like.token_stride,
                           .head = like.head_stride,
                           .item = like.offset(tokens.begin + step, 0) - first};
  strides.alignment =
      common_alignment({first, strides.row, strides.head, strides.item}, like.dtype);
  return strides;
}

Status check(const DenseProblem& problem) {
  if (problem.queries.empty() || problem.keys.empty() || problem.batch < 1 || problem.heads < 1) {
    return fail("dense attention of {} items, {} heads, {} rows and {} columns has nothing to do",
                problem.batch, problem.heads, problem.queries.size(), problem.keys.size());
  }
  if (problem.masks != 0 && problem.masks != 1 && problem.masks != problem.heads) {
    return fail("dense attention takes no mask, one, or one a head, not {} for {} heads",
                problem.masks, problem.heads);
  }
  if (problem.rows_like.dtype != problem.columns_like.dtype ||
      problem.rows_like.head_dim != problem.columns_like.head_dim) {
    return fail("dense attention takes queries and keys of one dtype and one head dimension");
  }
  return {};
}

}  // namespace

std::int64_t dense_score_bytes(const DenseProblem& problem) {
  return problem.batch * problem.heads * problem.queries.size() * stride_of(problem) *
         size_of(problem.rows_like.dtype);
}

struct DenseAttention::Prepared {
  Prepared(const DenseProblem& of, const CublasLt& from) : problem(of), library(from) {}
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() {
    if (handle != nullptr) library.destroy(handle);
  }

  Status prepare_products();
  Status add(Product Prepared::*product, const ProductShape& shape);
  [[nodiscard]] Scores scores(const DenseMemory& memory) const;
  [[nodiscard]] bool with_gradients() const { return problem.passes == Passes::forward_backward; }

  DenseProblem problem;
  const CublasLt& library;
  void* handle = nullptr;
  MatrixStrides rows, columns;                   // of the tensors
  std::int64_t row_bytes = 0, column_bytes = 0;  // to the first element of item 0 in them
  std::int64_t score_bytes = 0;                  // once, aligned
  std::int64_t product_bytes = 0;                // of the algorithms' scratch
  double flop = 0;
  Product scores_of, values_of;                                // forward
  Product values_grad, weights_grad, queries_grad, keys_grad;  // backward
};

Status DenseAttention::Prepared::add(Product Prepared::*product, const ProductShape& shape) {
  Result<Product> prepared = Product::prepare(library, handle, shape);
  if (!prepared) return tl::unexpected(prepared.error());
  product_bytes = std::max(product_bytes, prepared->workspace_bytes());
  flop += prepared->flop();
  this->*product = std::move(*prepared);
  return {};
}

Status DenseAttention::Prepared::prepare_products() {
  const std::int64_t n = problem.queries.size();
  const std::int64_t m = problem.keys.size();
  const std::int64_t dim = problem.rows_like.head_dim;
  const std::int64_t stride = stride_of(problem);
  const MatrixStrides square = {stride, n * stride, problem.heads * n * stride, 16};
  // [rows, columns] = rows columns^T;   rows = [rows, columns] columns;   columns = its^T rows
  ProductShape to_scores = {.m = n,
                            .n = m,
                            .k = dim,
                            .transposed_b = true,
                            .a = rows,
                            .b = columns,
                            .c = square,
                            .items = problem.batch,
                            .heads = problem.heads,
                            .dtype = problem.rows_like.dtype};
  ProductShape to_rows = to_scores;
  to_rows.n = dim, to_rows.k = m, to_rows.transposed_b = false;
  to_rows.a = square, to_rows.c = rows;
  ProductShape to_columns = to_rows;
  to_columns.m = m, to_columns.k = n, to_columns.transposed_a = true;
  to_columns.b = rows, to_columns.c = columns;
  const auto scaled = [this](ProductShape shape) {
    shape.alpha = problem.scale;
    return shape;
  };

  Status s = add(&Prepared::scores_of, scaled(to_scores));
  if (s) s = add(&Prepared::values_of, to_rows);
  if (!with_gradients()) return s;
  if (s) s = add(&Prepared::values_grad, to_columns);
  if (s) s = add(&Prepared::weights_grad, to_scores);
  if (s) s = add(&Prepared::queries_grad, scaled(to_rows));
  if (s) s = add(&Prepared::keys_grad, scaled(to_columns));
  return s;
}

Scores DenseAttention::Prepared::scores(const DenseMemory& memory) const {
  return {.items = problem.batch,
          .heads = problem.heads,
          .rows = problem.queries.size(),
          .columns = problem.keys.size(),
          .stride = stride_of(problem),
          .dtype = problem.rows_like.dtype,
          .mask = problem.masks > 0 ? memory.mask : nullptr,
          .masks = problem.masks};
}

Result<DenseAttention> DenseAttention::prepare(const DenseProblem& problem) {
  const Result<const CublasLt*> library = cublaslt();
  if (!library) return tl::unexpected(library.error());
  return prepare(problem, **library);
}

Result<DenseAttention> DenseAttention::prepare(const DenseProblem& problem,
                                               const CublasLt& library) {
  if (Status ok = check(problem); !ok) return tl::unexpected(ok.error());
  const std::int64_t step = problem.queries.size();
  const Result<MatrixStrides> rows =
      strides_in(problem.rows_like, problem.queries, step, problem.batch);
  if (!rows) return tl::unexpected(rows.error());
  const Result<MatrixStrides> columns =
      strides_in(problem.columns_like, problem.keys, step, problem.batch);
  if (!columns) return tl::unexpected(columns.error());

  auto prepared = std::make_unique<Prepared>(problem, library);
  if (Status ok = checked(library, library.create(&prepared->handle), "create", __FILE__, __LINE__);
      !ok) {
    return tl::unexpected(ok.error());
  }
  const std::int64_t element = size_of(problem.rows_like.dtype);
  prepared->rows = *rows;
  prepared->columns = *columns;
  prepared->row_bytes = problem.rows_like.offset(problem.queries.begin, 0) * element;
  prepared->column_bytes = problem.columns_like.offset(problem.keys.begin, 0) * element;
  prepared->score_bytes = aligned(dense_score_bytes(problem));
  if (Status ok = prepared->prepare_products(); !ok) return tl::unexpected(ok.error());
  return DenseAttention(std::move(prepared));
}

DenseAttention::DenseAttention(std::unique_ptr<Prepared> prepared)
    : prepared_(std::move(prepared)) {}
DenseAttention::DenseAttention(DenseAttention&&) noexcept = default;
DenseAttention& DenseAttention::operator=(DenseAttention&&) noexcept = default;
DenseAttention::~DenseAttention() = default;

std::int64_t DenseAttention::workspace_bytes() const {
  const Prepared& p = *prepared_;
  return (p.with_gradients() ? 2 : 1) * p.score_bytes + p.product_bytes;
}

double DenseAttention::flop() const {
  return prepared_->flop;
}

Status DenseAttention::forward(const DenseForward& call, Stream stream) const {
  const Prepared& p = *prepared_;
  std::byte* weights = call.memory.workspace;
  std::byte* scratch = weights + (p.with_gradients() ? 2 : 1) * p.score_bytes;
  const Scores scores = p.scores(call.memory);
  const bool softmax = p.problem.weights == DenseWeights::softmax;
  float* lse = call.lse == nullptr ? nullptr : call.lse + p.problem.queries.begin * p.problem.heads;
  Status s =
      p.scores_of.run(call.q + p.row_bytes, call.k + p.column_bytes, weights, scratch, stream);
  if (s) {
    s = softmax ? softmax_forward(scores, weights, lse, stream)
                : apply_mask(scores, weights, stream);
  }
  if (s)
    s = p.values_of.run(weights, call.v + p.column_bytes, call.o + p.row_bytes, scratch, stream);
  return s;
}

Status DenseAttention::backward(const DenseBackward& call, Stream stream) const {
  const Prepared& p = *prepared_;
  if (!p.with_gradients()) {
    return fail("this dense attention was prepared for its forward pass alone");
  }
  std::byte* weights = call.memory.workspace;
  std::byte* gradients = weights + p.score_bytes;
  std::byte* scratch = gradients + p.score_bytes;
  const Scores scores = p.scores(call.memory);
  const std::byte* grad_o = call.grad_o + p.row_bytes;
  const bool softmax = p.problem.weights == DenseWeights::softmax;
  Status s = p.values_grad.run(weights, grad_o, call.grad_v + p.column_bytes, scratch, stream);
  if (s) s = p.weights_grad.run(grad_o, call.v + p.column_bytes, gradients, scratch, stream);
  if (s) {
    s = softmax ? softmax_backward(scores, weights, gradients, stream)
                : apply_mask(scores, gradients, stream);
  }
  if (s) {
    s = p.queries_grad.run(gradients, call.k + p.column_bytes, call.grad_q + p.row_bytes, scratch,
                           stream);
  }
  if (s) {
    s = p.keys_grad.run(gradients, call.q + p.row_bytes, call.grad_k + p.column_bytes, scratch,
                        stream);
  }
  return s;
}

}  // namespace attnscope::cuda
