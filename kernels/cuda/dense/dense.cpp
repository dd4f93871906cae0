// SPDX-License-Identifier: Apache-2.0
//
// The order of things; products are product.h's, what happens to the scores softmax.h's. Backward,
// with the weights P that forward has left, D_i = sum_j P_ij dP_ij:
//
//   dV = P^T dO     dP = dO V^T     dS = P (dP - D)     dQ = scale dS K     dK = scale dS^T Q

#include "kernels/cuda/dense.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/cuda/dense/cublaslt.h"
#include "kernels/cuda/dense/product.h"
#include "kernels/cuda/dense/softmax.h"

namespace attnscope::cuda {
namespace {

std::int64_t stride_of(const DenseProblem& problem) {
  return score_stride(problem.keys.size(), problem.rows_like.dtype);
}

/// How a problem's rectangles lie in a tensor: item 0's `tokens`, and as many tokens on as it has
/// rows from item to item.
Result<MatrixStrides> strides_in(const ConstTensor& like, TokenRange tokens,
                                 const DenseProblem& problem) {
  const std::int64_t split = like.item_tokens, step = problem.queries.size();
  if (split > 0 &&
      (tokens.begin % split + tokens.size() > split || (problem.batch > 1 && step % split != 0))) {
    return fail(
        "dense attention over tokens {} to {} crosses the items of {} tokens that the tensor is "
        "stored in",
        tokens.begin, tokens.end, split);
  }
  return MatrixStrides{.row = like.token_stride,
                       .head = like.head_stride,
                       .item = like.offset(tokens.begin + step, 0) - like.offset(tokens.begin, 0)};
}

/// Bytes that all these counts of elements are multiples of, at most the 16 that kernels ask for.
std::int64_t common_alignment(std::initializer_list<std::int64_t> elements, DType dtype) {
  std::int64_t bytes = 16;
  for (const std::int64_t count : elements) bytes = std::gcd(bytes, count * size_of(dtype));
  return bytes;
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

/// The products in the order of `product_shapes`.
enum Which : std::uint8_t {
  scores_of,
  values_of,
  values_grad,
  weights_grad,
  queries_grad,
  keys_grad
};

std::vector<ProductShape> product_shapes(const DenseProblem& problem, const MatrixStrides& rows,
                                         const MatrixStrides& columns, std::int64_t alignment) {
  const std::int64_t n = problem.queries.size(), m = problem.keys.size();
  const std::int64_t dim = problem.rows_like.head_dim, stride = stride_of(problem);
  const MatrixStrides square = {stride, n * stride, problem.heads * n * stride};
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
                            .alignment = alignment,
                            .dtype = problem.rows_like.dtype};
  ProductShape to_rows = to_scores;
  to_rows.n = dim, to_rows.k = m, to_rows.transposed_b = false;
  to_rows.a = square, to_rows.c = rows;
  ProductShape to_columns = to_rows;
  to_columns.m = m, to_columns.k = n, to_columns.transposed_a = true;
  to_columns.b = rows, to_columns.c = columns;
  const auto scaled = [&](ProductShape shape) {
    shape.alpha = problem.scale;
    return shape;
  };
  if (problem.passes == Passes::forward) return {scaled(to_scores), to_rows};
  return {scaled(to_scores), to_rows, to_columns, to_scores, scaled(to_rows), scaled(to_columns)};
}

}  // namespace

std::int64_t dense_score_bytes(const DenseProblem& problem) {
  return problem.batch * problem.heads * problem.queries.size() * stride_of(problem) *
         size_of(problem.rows_like.dtype);
}

struct DenseAttention::Prepared {
  DenseProblem problem;
  std::int64_t row_bytes = 0, column_bytes = 0;  // to the first element of item 0 in the tensors
  Descriptor handle{};
  std::vector<Product> products{};

  [[nodiscard]] bool with_gradients() const { return problem.passes == Passes::forward_backward; }
  [[nodiscard]] bool has_softmax() const { return problem.weights == DenseWeights::softmax; }
  /// Once, aligned.
  [[nodiscard]] std::int64_t score_bytes() const {
    constexpr std::int64_t alignment = 256;
    return (dense_score_bytes(problem) + alignment - 1) / alignment * alignment;
  }
  /// Of the weights, and with gradients of theirs.
  [[nodiscard]] std::int64_t all_score_bytes() const {
    return (with_gradients() ? 2 : 1) * score_bytes();
  }
  [[nodiscard]] Scores scores(const DenseMemory& memory) const {
    return {.items = problem.batch,
            .heads = problem.heads,
            .rows = problem.queries.size(),
            .columns = problem.keys.size(),
            .stride = stride_of(problem),
            .dtype = problem.rows_like.dtype,
            .mask = problem.masks > 0 ? memory.mask : nullptr,
            .masks = problem.masks};
  }
  /// Queues one of the products, its scratch behind the scores.
  [[nodiscard]] auto runner(const DenseMemory& memory, Stream stream) const {
    return [this, scratch = memory.workspace + all_score_bytes(), stream](
               Which which, const std::byte* a, const std::byte* b, std::byte* c) {
      return products[which].run(a, b, c, scratch, stream);
    };
  }
};

Result<DenseAttention> DenseAttention::prepare(const DenseProblem& problem) {
  const Result<const CublasLt*> library = cublaslt();
  if (!library) return tl::unexpected(library.error());
  return prepare(problem, **library);
}

Result<DenseAttention> DenseAttention::prepare(const DenseProblem& problem,
                                               const CublasLt& library) {
  if (Status ok = check(problem); !ok) return tl::unexpected(ok.error());
  const auto rows = strides_in(problem.rows_like, problem.queries, problem);
  if (!rows) return tl::unexpected(rows.error());
  const auto columns = strides_in(problem.columns_like, problem.keys, problem);
  if (!columns) return tl::unexpected(columns.error());

  const DType dtype = problem.rows_like.dtype;
  const std::int64_t first_row = problem.rows_like.offset(problem.queries.begin, 0);
  const std::int64_t first_column = problem.columns_like.offset(problem.keys.begin, 0);
  auto prepared =
      std::make_unique<Prepared>(Prepared{.problem = problem,
                                          .row_bytes = first_row * size_of(dtype),
                                          .column_bytes = first_column * size_of(dtype)});
  void* handle = nullptr;
  ATTNSCOPE_CUBLASLT(library, create(&handle));
  prepared->handle = {handle, {library.destroy}};
  const std::int64_t alignment =
      common_alignment({first_row, rows->row, rows->head, rows->item, first_column, columns->row,
                        columns->head, columns->item},
                       dtype);
  for (const ProductShape& shape : product_shapes(problem, *rows, *columns, alignment)) {
    Result<Product> product = Product::prepare(library, handle, shape);
    if (!product) return tl::unexpected(product.error());
    prepared->products.push_back(std::move(*product));
  }
  return DenseAttention(std::move(prepared));
}

DenseAttention::DenseAttention(std::shared_ptr<const Prepared> prepared)
    : prepared_(std::move(prepared)) {}

std::int64_t DenseAttention::workspace_bytes() const {
  std::int64_t scratch = 0;
  for (const Product& product : prepared_->products)
    scratch = std::max(scratch, product.workspace_bytes());
  return prepared_->all_score_bytes() + scratch;
}

std::int64_t DenseAttention::mask_stride() const {
  return stride_of(prepared_->problem);
}

double DenseAttention::flop() const {
  double flop = 0;
  for (const Product& product : prepared_->products) flop += product.flop();
  return flop;
}

Status DenseAttention::forward(const DenseForward& call, Stream stream) const {
  const Prepared& p = *prepared_;
  std::byte* weights = call.memory.workspace;
  const Scores scores = p.scores(call.memory);
  float* lse = call.lse == nullptr ? nullptr : call.lse + p.problem.queries.begin * p.problem.heads;
  const auto run = p.runner(call.memory, stream);
  Status s = run(scores_of, call.q + p.row_bytes, call.k + p.column_bytes, weights);
  if (s) {
    s = p.has_softmax() ? softmax_forward(scores, weights, lse, stream)
                        : apply_mask(scores, weights, stream);
  }
  if (s) s = run(values_of, weights, call.v + p.column_bytes, call.o + p.row_bytes);
  return s;
}

Status DenseAttention::backward(const DenseBackward& call, Stream stream) const {
  const Prepared& p = *prepared_;
  if (!p.with_gradients()) {
    return fail("this dense attention was prepared for its forward pass alone");
  }
  std::byte* weights = call.memory.workspace;
  std::byte* gradients = weights + p.score_bytes();
  const Scores scores = p.scores(call.memory);
  const std::byte* grad_o = call.grad_o + p.row_bytes;
  const auto run = p.runner(call.memory, stream);
  Status s = run(values_grad, weights, grad_o, call.grad_v + p.column_bytes);
  if (s) s = run(weights_grad, grad_o, call.v + p.column_bytes, gradients);
  if (s) {
    s = p.has_softmax() ? softmax_backward(scores, weights, gradients, stream)
                        : apply_mask(scores, gradients, stream);
  }
  if (s) s = run(queries_grad, gradients, call.k + p.column_bytes, call.grad_q + p.row_bytes);
  if (s) s = run(keys_grad, gradients, call.q + p.row_bytes, call.grad_k + p.column_bytes);
  return s;
}

}  // namespace attnscope::cuda
