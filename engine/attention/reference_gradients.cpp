// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/reference_gradients.h"

#include <cmath>
#include <limits>

#include "engine/attention/reference_row.h"
#include "kernels/base/number_formats.h"

namespace attnscope {
namespace {

// Values below which starting threads costs more than they save.
constexpr std::int64_t worth_threads = std::int64_t{1} << 20;

double largest_of(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// target += factor * values
void add(std::span<double> target, double factor, std::span<const double> values) {
  for (std::size_t i = 0; i < target.size(); ++i) target[i] += factor * values[i];
}

/// The largest terms that the gradients of queries and keys are sums of.
struct LargestTerms {
  double q = 0, k = 0;
};

/// All listed rows of one head, one after the other: they share keys.
class HeadComputer {
 public:
  HeadComputer(const Problem& problem, const Oracle& oracle, const ConstTensor& q,
               const ConstTensor& k, const ConstTensor& v, const ConstTensor& grad_o,
               HeadGradients& gradients)
      : problem_(problem),
        k_(k),
        v_(v),
        grad_o_(grad_o),
        row_(problem, oracle, q, k, v),
        gradients_(gradients),
        dim_(static_cast<std::size_t>(problem.head_dim)),
        arriving_(dim_),
        key_(dim_),
        value_(dim_),
        grad_q_(dim_) {
    gradients.query_place.assign(static_cast<std::size_t>(problem.plan.tokens), -1);
    gradients.key_place.assign(gradients.query_place.size(), -1);
  }

  void add_row(RowId id) {
    row_.compute(id);
    widen(grad_o_, id.token, id.head, arriving_);
    // Without a softmax the weights' gradient is grad_o . v alone.
    const bool softmax = problem_.operation != Operation::windowed_matmul;
    const double along_output = softmax ? dot(arriving_, row_.output()) : 0.0;
    const double largest_q = largest_of(row_.query());
    std::ranges::fill(grad_q_, 0.0);
    for (std::size_t j = 0; j < row_.keys().size(); ++j) {
      const std::int64_t token = row_.keys()[j];
      widen(k_, token, id.head, key_);
      widen(v_, token, id.head, value_);
      const double weight = row_.weights()[j];
      const double along_value = dot(arriving_, value_);
      const double factor = (softmax ? weight : 1.0) * static_cast<double>(problem_.scale);
      const double grad_score = factor * (along_value - along_output);
      const std::size_t place = key_place(token);
      add(grad_q_, grad_score, key_);
      add(std::span(gradients_.grad_k).subspan(place, dim_), grad_score, row_.query());
      add(std::span(gradients_.grad_v).subspan(place, dim_), weight, arriving_);
      const double term = factor * std::max(std::abs(along_value), std::abs(along_output));
      largest_.q = std::max(largest_.q, std::abs(term) * largest_of(key_));
      largest_.k = std::max(largest_.k, std::abs(term) * largest_q);
    }
    gradients_.query_place[static_cast<std::size_t>(id.token)] =
        static_cast<std::int64_t>(gradients_.grad_q.size() / dim_);
    gradients_.grad_q.insert(gradients_.grad_q.end(), grad_q_.begin(), grad_q_.end());
  }

  [[nodiscard]] LargestTerms largest() const { return largest_; }

 private:
  /// Where the key's row starts in grad_k and grad_v.
  std::size_t key_place(std::int64_t token) {
    std::int64_t& place = gradients_.key_place[static_cast<std::size_t>(token)];
    if (place < 0) {
      place = static_cast<std::int64_t>(gradients_.grad_k.size() / dim_);
      gradients_.grad_k.resize(gradients_.grad_k.size() + dim_, 0.0);
      gradients_.grad_v.resize(gradients_.grad_k.size(), 0.0);
    }
    return static_cast<std::size_t>(place) * dim_;
  }

  const Problem& problem_;
  const ConstTensor &k_, &v_, &grad_o_;
  RowReference row_;
  HeadGradients& gradients_;
  std::size_t dim_;
  std::vector<double> arriving_, key_, value_, grad_q_;
  LargestTerms largest_;
};

/// Largest difference of one row from `expected`, which is empty for a row of zeros.
double row_difference(const Tensor& tensor, RowId row, std::span<const double> expected) {
  const std::int64_t offset = tensor.offset(row.token, row.head);
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.head_dim; ++i) {
    const double value = read_value(tensor.data, tensor.dtype, offset + i);
    const double difference =
        std::abs(value - (expected.empty() ? 0.0 : expected[static_cast<std::size_t>(i)]));
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

std::span<const double> row_at(const std::vector<double>& rows, std::int64_t place,
                               std::int64_t head_dim) {
  if (place < 0) return {};
  const auto dim = static_cast<std::size_t>(head_dim);
  return std::span(rows).subspan(static_cast<std::size_t>(place) * dim, dim);
}

}  // namespace

double gradient_error_bound(DType dtype) {
  constexpr double floor = 2e-6;
  return 2 * (error_bound(dtype) - floor) + floor;
}

std::string_view GradientErrors::worst() const {
  if (q >= k && q >= v) return "grad_q";
  return k >= v ? "grad_k" : "grad_v";
}

ReferenceGradients compute_reference_gradients(const Problem& problem, std::span<const RowId> rows,
                                               const ConstTensor& q, const ConstTensor& k,
                                               const ConstTensor& v, const ConstTensor& grad_o) {
  ReferenceGradients reference;
  reference.tokens = problem.plan.tokens;
  reference.head_dim = problem.head_dim;
  reference.heads.resize(static_cast<std::size_t>(problem.plan.heads));
  std::vector<LargestTerms> terms(reference.heads.size());
  const Oracle oracle(problem.pattern, problem.window, problem.layout);
  const auto pairs = static_cast<std::int64_t>(rows.size()) * problem.plan.tokens;
  const auto heads = static_cast<std::int64_t>(reference.heads.size());

#pragma omp parallel for schedule(dynamic, 1) if (pairs * problem.head_dim > worth_threads)
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto h = static_cast<std::size_t>(head);
    HeadComputer computer(problem, oracle, q, k, v, grad_o, reference.heads[h]);
    for (const RowId& row : rows) {
      if (row.head == head) computer.add_row(row);
    }
    terms[h] = computer.largest();
  }

  double largest_q = 0, largest_k = 0, largest_v = 0;
  for (std::size_t h = 0; h < terms.size(); ++h) {
    const HeadGradients& one = reference.heads[h];
    largest_q = std::max({largest_q, largest_of(one.grad_q), terms[h].q});
    largest_k = std::max({largest_k, largest_of(one.grad_k), terms[h].k});
    largest_v = std::max(largest_v, largest_of(one.grad_v));
  }
  if (largest_q > 0) reference.scale_of_grad_q = largest_q;
  if (largest_k > 0) reference.scale_of_grad_k = largest_k;
  if (largest_v > 0) reference.scale_of_grad_v = largest_v;
  return reference;
}

GradientErrors gradient_errors(const ReferenceGradients& reference, const Tensor& grad_q,
                               const Tensor& grad_k, const Tensor& grad_v) {
  const auto heads = static_cast<std::int64_t>(reference.heads.size());
  double q = 0, k = 0, v = 0;
#pragma omp parallel for reduction(max        \
                                   : q, k, v) \
    schedule(static) if (reference.tokens * heads * reference.head_dim > worth_threads)
  for (std::int64_t token = 0; token < reference.tokens; ++token) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const HeadGradients& one = reference.heads[static_cast<std::size_t>(head)];
      const std::int64_t query = one.query_place[static_cast<std::size_t>(token)];
      const std::int64_t key = one.key_place[static_cast<std::size_t>(token)];
      const RowId row{.token = token, .head = static_cast<std::int32_t>(head)};
      const std::int64_t dim = reference.head_dim;
      q = std::max(q, row_difference(grad_q, row, row_at(one.grad_q, query, dim)));
      k = std::max(k, row_difference(grad_k, row, row_at(one.grad_k, key, dim)));
      v = std::max(v, row_difference(grad_v, row, row_at(one.grad_v, key, dim)));
    }
  }
  return {.q = q / reference.scale_of_grad_q,
          .k = k / reference.scale_of_grad_k,
          .v = v / reference.scale_of_grad_v};
}

double query_gradient_error(const ReferenceGradients& reference, std::span<const RowId> rows,
                            const Tensor& grad_q) {
  double largest = 0;
  for (const RowId& row : rows) {
    const HeadGradients& one = reference.heads[static_cast<std::size_t>(row.head)];
    const std::int64_t place = one.query_place[static_cast<std::size_t>(row.token)];
    largest = std::max(largest,
                       row_difference(grad_q, row, row_at(one.grad_q, place, reference.head_dim)));
  }
  return largest / reference.scale_of_grad_q;
}

}  // namespace attnscope
