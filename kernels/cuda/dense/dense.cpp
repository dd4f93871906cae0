// SPDX-License-Identifier: Apache-2.0
//
// The sequence of operations; cublaslt.h has the products and softmax.h the operations on scores.
// Backward, with the weights P from forward, D_i = sum_j P_ij dP_ij:
//
//   dV = P^T dO     dP = dO V^T     dS = P (dP - D)     dQ = scale dS K     dK = scale dS^T Q

#include "kernels/cuda/dense.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/dense/cublaslt.h"
#include "kernels/cuda/dense/softmax.h"
#include "kernels/cuda/work_list.h"

namespace attnscope::cuda {
namespace {

std::int64_t stride_of(const DenseProblem& problem) {
  return score_stride(problem.keys.size(), problem.rows_like.dtype);
}

/// Layout of a problem's rectangles in a tensor: `tokens` of item 0; each further item is shifted
/// by the number of its rows.
Matrix matrix_in(const ConstTensor& like, TokenRange tokens, const DenseProblem& problem) {
  const std::int64_t next = tokens.begin + problem.queries.size();
  return {.rows = tokens.size(),
          .columns = like.head_dim,
          .row = like.token_stride,
          .head = like.head_stride,
          .item = like.offset(next, 0) - like.offset(tokens.begin, 0)};
}

Status check(const DenseProblem& problem) {
  if (problem.queries.empty() || problem.keys.empty() || problem.batch < 1 || problem.heads < 1) {
    return fail(
        "dense attention needs at least 1 item, head, row and column, not {}, {}, {} and {}",
        problem.batch, problem.heads, problem.queries.size(), problem.keys.size());
  }
  if (problem.masks != 0 && problem.masks != 1 && problem.masks != problem.heads) {
    return fail("dense attention supports no mask, one mask or one per head, not {} for {} heads",
                problem.masks, problem.heads);
  }
  if (problem.rows_like.dtype != problem.columns_like.dtype ||
      problem.rows_like.head_dim != problem.columns_like.head_dim) {
    return fail("dense attention needs queries and keys of one dtype and one head dimension");
  }
  for (const auto& [like, tokens] : {std::pair(problem.rows_like, problem.queries),
                                     std::pair(problem.columns_like, problem.keys)}) {
    const std::int64_t split = like.item_tokens;
    if (split > 0 && (tokens.begin % split + tokens.size() > split ||
                      (problem.batch > 1 && problem.queries.size() % split != 0))) {
      return fail(
          "dense attention over tokens {} to {} crosses the borders of the tensor's items of {} "
          "tokens",
          tokens.begin, tokens.end, split);
    }
  }
  return {};
}

/// [rows, columns] = rows columns^T; rows = [rows, columns] columns; columns = [rows, columns]^T
/// rows. Forward needs the first two.
enum Which : std::uint8_t { to_scores, to_rows, to_columns };

std::array<ProductShape, 3> product_shapes(const DenseProblem& problem, const Matrix& rows,
                                           const Matrix& columns, std::int64_t alignment) {
  const std::int64_t stride = stride_of(problem), size = rows.rows * stride;
  const Matrix square = {rows.rows, columns.rows, stride, size, problem.heads * size};
  std::array<ProductShape, 3> shapes;
  shapes[to_scores] = {.a = rows,
                       .b = columns,
                       .c = square,
                       .transposed_b = true,
                       .items = problem.batch,
                       .heads = problem.heads,
                       .alignment = alignment,
                       .dtype = problem.rows_like.dtype};
  ProductShape& forward = shapes[to_rows] = shapes[to_scores];
  forward.a = square, forward.c = rows, forward.transposed_b = false;
  ProductShape& backward = shapes[to_columns] = forward;
  backward.b = rows, backward.c = columns, backward.transposed_a = true;
  return shapes;
}

}  // namespace

struct DenseAttention::Prepared {
  DenseProblem problem;
  std::int64_t row_bytes = 0, column_bytes = 0;  // to the first element of item 0 in the tensors
  std::vector<Product> products{};

  [[nodiscard]] bool with_gradients() const { return problem.passes == Passes::forward_backward; }
  [[nodiscard]] bool has_softmax() const { return problem.weights == DenseWeights::softmax; }
  /// One copy, aligned.
  [[nodiscard]] std::int64_t score_bytes() const {
    return section_after(problem.batch * problem.heads * problem.queries.size() *
                         stride_of(problem) * size_of(problem.rows_like.dtype));
  }
  /// The size of the weights and, with gradients, of their gradient.
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
  /// Queues one of the products, with its workspace after the scores.
  [[nodiscard]] auto runner(const DenseMemory& memory, Stream stream) const {
    return [this, scratch = memory.workspace + all_score_bytes(), stream](
               Which which, float alpha, const std::byte* a, const std::byte* b, std::byte* c) {
      return products[which].run(alpha, a, b, c, scratch, stream);
    };
  }
};

Result<DenseAttention> DenseAttention::prepare(const DenseProblem& problem) {
  return cublaslt().and_then([&](const CublasLt& library) { return prepare(problem, library); });
}

Result<DenseAttention> DenseAttention::prepare(const DenseProblem& problem,
                                               const CublasLt& library) {
  if (Status ok = check(problem); !ok) return tl::unexpected(ok.error());
  const Matrix rows = matrix_in(problem.rows_like, problem.queries, problem);
  const Matrix columns = matrix_in(problem.columns_like, problem.keys, problem);
  const std::int64_t size = size_of(problem.rows_like.dtype);
  const std::int64_t row_bytes = problem.rows_like.offset(problem.queries.begin, 0) * size;
  const std::int64_t column_bytes = problem.columns_like.offset(problem.keys.begin, 0) * size;
  auto prepared = std::make_shared<Prepared>(
      Prepared{.problem = problem, .row_bytes = row_bytes, .column_bytes = column_bytes});
  std::int64_t alignment = std::gcd(16, std::gcd(row_bytes, column_bytes));  // kernels need 16
  for (const Matrix& of : {rows, columns}) {
    for (const std::int64_t stride : {of.row, of.head, of.item})
      alignment = std::gcd(alignment, stride * size);
  }
  for (const ProductShape& shape : product_shapes(problem, rows, columns, alignment)) {
    if (shape.transposed_a && !prepared->with_gradients()) break;
    Result<Product> product = Product::prepare(library, shape);
    if (!product) return tl::unexpected(product.error());
    prepared->products.push_back(std::move(*product));
  }
  return DenseAttention(std::move(prepared));
}

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
  const DenseProblem& p = prepared_->problem;
  const auto rows = static_cast<double>(p.batch * p.heads * p.queries.size());
  const auto terms = static_cast<double>(p.keys.size() * p.rows_like.head_dim);
  return (prepared_->with_gradients() ? 6 : 2) * 2.0 * rows * terms;
}

std::string DenseAttention::algorithms() const {
  constexpr std::array names{"to scores", "to rows", "to columns"};
  std::string text;
  for (std::size_t which = 0; which < prepared_->products.size(); ++which) {
    const std::string algorithm = prepared_->products[which].algorithm();
    if (algorithm.empty()) return "";
    text += fmt::format("{}{} {}", which == 0 ? "" : ", ", names[which], algorithm);
  }
  return text;
}

Status DenseAttention::forward(const DenseForward& call, Stream stream) const {
  const Prepared& p = *prepared_;
  const float scale = p.problem.scale;
  std::byte* weights = call.memory.workspace;
  const Scores scores = p.scores(call.memory);
  float* lse = call.lse == nullptr ? nullptr : call.lse + p.problem.queries.begin * p.problem.heads;
  const auto run = p.runner(call.memory, stream);
  Status s = run(to_scores, scale, call.q + p.row_bytes, call.k + p.column_bytes, weights);
  if (s) {
    s = p.has_softmax() ? softmax_forward(scores, weights, lse, stream)
                        : apply_mask(scores, weights, stream);
  }
  if (s) s = run(to_rows, 1.0F, weights, call.v + p.column_bytes, call.o + p.row_bytes);
  return s;
}

Status DenseAttention::backward(const DenseBackward& call, Stream stream) const {
  const Prepared& p = *prepared_;
  if (!p.with_gradients()) {
    return fail("this dense attention was prepared for only the forward pass");
  }
  const float scale = p.problem.scale;
  std::byte* weights = call.memory.workspace;
  std::byte* gradients = weights + p.score_bytes();
  const Scores scores = p.scores(call.memory);
  const std::byte* grad_o = call.grad_o + p.row_bytes;
  const auto run = p.runner(call.memory, stream);
  Status s = run(to_columns, 1.0F, weights, grad_o, call.grad_v + p.column_bytes);
  if (s) s = run(to_scores, 1.0F, grad_o, call.v + p.column_bytes, gradients);
  if (s) {
    s = p.has_softmax() ? softmax_backward(scores, weights, gradients, stream)
                        : apply_mask(scores, gradients, stream);
  }
  if (s) s = run(to_rows, scale, gradients, call.k + p.column_bytes, call.grad_q + p.row_bytes);
  if (s) s = run(to_columns, scale, gradients, call.q + p.row_bytes, call.grad_k + p.column_bytes);
  return s;
}

}  // namespace attnscope::cuda
