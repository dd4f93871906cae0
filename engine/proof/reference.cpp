// SPDX-License-Identifier: Apache-2.0
#include "engine/proof/reference.h"

#include <cmath>
#include <limits>
#include <random>

#include "engine/pattern/oracle.h"
#include "kernels/plan/number_formats.h"

namespace attnscope {
namespace {

// Below this many multiply-adds, starting threads costs more than it saves.
constexpr std::int64_t products_worth_threads = std::int64_t{1} << 23;
// The same for values of gradients.
constexpr std::int64_t values_worth_threads = std::int64_t{1} << 20;

/// Tokens at which kernels behave differently: the ends of the batch and of every group.
std::vector<std::int64_t> border_tokens(const SequenceLayout& layout) {
  std::vector<std::int64_t> tokens{0, layout.tokens() - 1};
  const auto add_ends = [&](const TokenRange& range) {
    if (range.empty()) return;
    tokens.push_back(range.begin);
    tokens.push_back(range.end - 1);
  };
  for (std::int64_t item = 0; item < layout.item_count(); ++item) {
    add_ends(layout.cls(item));
    add_ends(layout.query(item));
    for (std::int64_t d = 0; d < layout.document_count(item); ++d) {
      add_ends(layout.document(item, d));
    }
  }
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

RowId row_of(std::int64_t index, std::int32_t heads) {
  return {.token = index / heads, .head = static_cast<std::int32_t>(index % heads)};
}

double largest_value(const ConstTensor& v, std::int64_t tokens, std::int64_t heads) {
  double largest = 0;
#pragma omp parallel for reduction(max        \
                                   : largest) \
    schedule(static) if (tokens * heads * v.head_dim > products_worth_threads)
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t row = v.offset(token, head);
      for (std::int64_t i = 0; i < v.head_dim; ++i) {
        const double value = std::abs(double{read_value(v.data, v.dtype, row + i)});
        if (std::isfinite(value)) largest = std::max(largest, value);
      }
    }
  }
  return largest;
}

/// The range begins with the first token to which the query may attend and ends one past the last:
/// its item, or everything for a token of the shared query. The shared query, which is before all
/// items, is checked in addition.
TokenRange candidate_keys(const Oracle& oracle, const SequenceLayout& layout, std::int64_t query) {
  const Oracle::Place place = oracle.place_of(query);
  if (place.item < 0) return {0, layout.tokens()};
  return layout.item_tokens(place.item);
}

/// The values of (token, head) as float64.
void widen(const ConstTensor& tensor, std::int64_t token, std::int64_t head,
           std::span<double> values) {
  const std::int64_t row = tensor.offset(token, head);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = read_value(tensor.data, tensor.dtype, row + static_cast<std::int64_t>(i));
  }
}

/// One row of attention in float64, from the oracle: the basis of outputs and gradients.
class RowReference {
 public:
  /// All arguments must outlive the object.
  RowReference(const Problem& problem, const Oracle& oracle, const ConstTensor& q,
               const ConstTensor& k, const ConstTensor& v)
      : problem_(problem),
        oracle_(oracle),
        q_(q),
        k_(k),
        v_(v),
        query_(static_cast<std::size_t>(problem.head_dim)),
        other_(query_.size()),
        output_(query_.size()) {}

  void compute(RowId row) {
    find_keys(row);
    score(row);
    scores_ = {};
    if (problem_.operation != Operation::windowed_matmul) normalise();
    std::ranges::fill(output_, 0.0);
    for (std::size_t j = 0; j < keys_.size(); ++j) {
      widen(v_, keys_[j], row.head, other_);
      for (std::size_t i = 0; i < output_.size(); ++i) output_[i] += weights_[j] * other_[i];
    }
  }

  /// For the last computed row: its keys, ascending, and their weights (softmax, or the scaled
  /// score for operation windowed-matmul).
  [[nodiscard]] std::span<const std::int64_t> keys() const { return keys_; }
  [[nodiscard]] std::span<const double> weights() const { return weights_; }
  [[nodiscard]] std::span<const double> query() const { return query_; }
  [[nodiscard]] std::span<const double> output() const { return output_; }
  /// For the last computed row.
  [[nodiscard]] const ScoreRounding& scores() const { return scores_; }
  /// -inf without keys; meaningless for windowed-matmul.
  [[nodiscard]] double log_sum_exp() const { return log_sum_exp_; }

 private:
  void find_keys(RowId row) {
    const TokenRange own = candidate_keys(oracle_, problem_.layout, row.token);
    keys_.clear();
    const auto add = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t key = begin; key < end; ++key) {
        if (oracle_.allowed(row.head, row.token, key)) keys_.push_back(key);
      }
    };
    add(0, std::min(problem_.layout.shared_query(), own.begin));
    add(own.begin, own.end);
  }

  void score(RowId row) {
    widen(q_, row.token, row.head, query_);
    weights_.resize(keys_.size());
    roundings_.resize(keys_.size());
    for (std::size_t j = 0; j < keys_.size(); ++j) {
      widen(k_, keys_[j], row.head, other_);
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < query_.size(); ++i) {
        sum += query_[i] * other_[i];
        squares += sum * sum;
      }
      weights_[j] = static_cast<double>(problem_.scale) * sum;
      roundings_[j] = std::abs(static_cast<double>(problem_.scale)) * std::sqrt(squares) * 0x1p-24;
    }
  }

  void normalise() {
    log_sum_exp_ = -std::numeric_limits<double>::infinity();
    if (keys_.empty()) return;
    const double largest = *std::ranges::max_element(weights_);
    double sum = 0;
    const double* rounding = roundings_.data();
    for (double& weight : weights_) {
      const double score = weight;
      weight = std::exp(score - largest);
      sum += weight;
      scores_.size += weight * std::abs(score);
      scores_.of_sums += weight * *rounding++;
    }
    for (double& weight : weights_) weight /= sum;
    scores_.size /= sum;
    scores_.of_sums /= sum;
    log_sum_exp_ = largest + std::log(sum);
  }

  const Problem& problem_;
  const Oracle& oracle_;
  const ConstTensor &q_, &k_, &v_;
  std::vector<std::int64_t> keys_;
  std::vector<double> query_, other_, output_, weights_, roundings_;
  ScoreRounding scores_;
  double log_sum_exp_ = 0;
};

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

/// The largest terms of the sums for the gradients of queries and keys.
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
    // Without a softmax the weights' gradient is only grad_o . v.
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
  /// Returns where the key's row starts in grad_k and grad_v.
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

std::vector<RowId> sample_rows(const SequenceLayout& layout, std::int32_t heads, std::int64_t count,
                               std::uint64_t seed) {
  const std::int64_t all = layout.tokens() * heads;
  std::vector<std::int64_t> chosen;
  if (all <= count) {
    for (std::int64_t row = 0; row < all; ++row) chosen.push_back(row);
  } else if (count > 0) {
    std::mt19937_64 random(seed);
    // At most half of the rows are on borders; their heads alternate.
    const std::vector<std::int64_t> borders = border_tokens(layout);
    const auto available = static_cast<std::int64_t>(borders.size());
    const std::int64_t on_borders = std::min(available, std::max<std::int64_t>(count / 2, 1));
    for (std::int64_t i = 0; i < on_borders; ++i) {
      const std::int64_t pick = on_borders == 1 ? 0 : i * (available - 1) / (on_borders - 1);
      const auto head = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(heads));
      chosen.push_back(borders[static_cast<std::size_t>(pick)] * heads + head);
    }
    // One row at a random position in each of equally long intervals, so that no tile is skipped
    // because of its alignment with a stride.
    const std::int64_t spread = count - on_borders;
    for (std::int64_t i = 0; i < spread; ++i) {
      const std::int64_t begin = i * all / spread;
      const std::int64_t length = (i + 1) * all / spread - begin;
      chosen.push_back(begin +
                       static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length)));
    }
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  }
  std::vector<RowId> rows;
  rows.reserve(chosen.size());
  for (const std::int64_t index : chosen) rows.push_back(row_of(index, heads));
  return rows;
}

std::int64_t rows_to_compare(std::int64_t item_tokens) {
  constexpr std::int64_t most_pairs = 4'000'000;  // 12 reads and 64 multiply-adds each
  return std::clamp<std::int64_t>(most_pairs / std::max<std::int64_t>(item_tokens, 1), 16, 256);
}

ReferenceRows compute_reference(const Problem& problem, std::span<const RowId> rows,
                                const ConstTensor& q, const ConstTensor& k, const ConstTensor& v) {
  const auto dim = static_cast<std::size_t>(problem.head_dim);
  const auto count = static_cast<std::int64_t>(rows.size());
  ReferenceRows reference;
  reference.rows.assign(rows.begin(), rows.end());
  reference.head_dim = problem.head_dim;
  reference.output.resize(rows.size() * dim);
  std::vector<double> log_sum_exp(rows.size());
  std::size_t most_keys = 0;
  double size = 0, of_sums = 0;
  const Oracle oracle(problem.pattern, problem.window, problem.layout);

#pragma omp parallel if (count * problem.plan.tokens * problem.head_dim > products_worth_threads)
  {
    RowReference row(problem, oracle, q, k, v);
#pragma omp for schedule(dynamic, 4) reduction(max : most_keys, size, of_sums)
    for (std::int64_t r = 0; r < count; ++r) {
      const auto index = static_cast<std::size_t>(r);
      row.compute(rows[index]);
      most_keys = std::max(most_keys, row.keys().size());
      std::ranges::copy(row.output(), reference.output.begin() + r * problem.head_dim);
      log_sum_exp[index] = row.log_sum_exp();
      if (std::isfinite(row.scores().size)) size = std::max(size, row.scores().size);
      if (std::isfinite(row.scores().of_sums)) of_sums = std::max(of_sums, row.scores().of_sums);
    }
  }

  if (problem.operation == Operation::windowed_matmul) {
    reference.rounding_of_sums = std::sqrt(static_cast<double>(most_keys)) * 0x1p-24;
    reference.scale_of_error = 0;
    for (const double value : reference.output) {
      reference.scale_of_error = std::max(reference.scale_of_error, std::abs(value));
    }
  } else {
    reference.log_sum_exp = std::move(log_sum_exp);
    reference.scores = {.size = size, .of_sums = of_sums};
    reference.scale_of_error = largest_value(v, problem.plan.tokens, problem.plan.heads);
  }
  // If all values are zero, errors are absolute.
  if (reference.scale_of_error == 0) reference.scale_of_error = 1;
  return reference;
}

double relative_error(const ReferenceRows& reference, const Tensor& o) {
  double largest = 0;
  for (std::size_t r = 0; r < reference.rows.size(); ++r) {
    const auto expected =
        row_at(reference.output, static_cast<std::int64_t>(r), reference.head_dim);
    largest = std::max(largest, row_difference(o, reference.rows[r], expected));
  }
  return largest / reference.scale_of_error;
}

double log_sum_exp_error(const ReferenceRows& reference, std::span<const float> lse,
                         std::int64_t heads) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t r = 0; r < reference.log_sum_exp.size(); ++r) {
    const RowId row = reference.rows[r];
    const double value = lse[static_cast<std::size_t>(row.token * heads + row.head)];
    const double expected = reference.log_sum_exp[r];
    if (value == expected) continue;  // also -inf on both sides
    if (!std::isfinite(value) || !std::isfinite(expected)) return infinity;
    largest = std::max(largest, std::abs(value - expected) / std::max(1.0, std::abs(expected)));
  }
  return largest;
}

namespace {

double unit_round_off(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 0x1p-24;
    case DType::float16:
      return 0x1p-11;
    case DType::bfloat16:
      return 0x1p-8;
  }
  return 0;
}

/// The bound after `passes` times the roundings of an output.
double bound_after(double passes, DType dtype, const ScoreRounding& scores) {
  constexpr double roundings = 4, floor = 2e-6;
  return passes * std::max(roundings, scores.size / 2) * unit_round_off(dtype) +
         std::max(floor, passes * scores.of_sums);
}

}  // namespace

double error_bound(DType dtype, const ScoreRounding& scores) {
  return bound_after(1, dtype, scores);
}

double gradient_error_bound(DType dtype, const ScoreRounding& scores) {
  return bound_after(2, dtype, scores);
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

#pragma omp parallel for schedule(dynamic, 1) if (pairs * problem.head_dim > values_worth_threads)
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
    const HeadGradients& head_gradients = reference.heads[h];
    largest_q = std::max({largest_q, largest_of(head_gradients.grad_q), terms[h].q});
    largest_k = std::max({largest_k, largest_of(head_gradients.grad_k), terms[h].k});
    largest_v = std::max(largest_v, largest_of(head_gradients.grad_v));
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
    schedule(static) if (reference.tokens * heads * reference.head_dim > values_worth_threads)
  for (std::int64_t token = 0; token < reference.tokens; ++token) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const HeadGradients& head_gradients = reference.heads[static_cast<std::size_t>(head)];
      const std::int64_t query = head_gradients.query_place[static_cast<std::size_t>(token)];
      const std::int64_t key = head_gradients.key_place[static_cast<std::size_t>(token)];
      const RowId row{.token = token, .head = static_cast<std::int32_t>(head)};
      const std::int64_t dim = reference.head_dim;
      q = std::max(q, row_difference(grad_q, row, row_at(head_gradients.grad_q, query, dim)));
      k = std::max(k, row_difference(grad_k, row, row_at(head_gradients.grad_k, key, dim)));
      v = std::max(v, row_difference(grad_v, row, row_at(head_gradients.grad_v, key, dim)));
    }
  }
  return {.q = q / reference.scale_of_grad_q,
          .k = k / reference.scale_of_grad_k,
          .v = v / reference.scale_of_grad_v};
}

}  // namespace attnscope
