// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/attention/reference_row.h"
#include "engine/pattern/oracle.h"
#include "kernels/base/number_formats.h"

namespace attnscope {
namespace {

// Multiply-adds below which starting threads costs more than they save.
constexpr std::int64_t worth_threads = std::int64_t{1} << 23;

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
    schedule(static) if (tokens * heads * v.head_dim > worth_threads)
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

}  // namespace

std::vector<RowId> sample_rows(const SequenceLayout& layout, std::int32_t heads, std::int64_t count,
                               std::uint64_t seed) {
  const std::int64_t all = layout.tokens() * heads;
  std::vector<std::int64_t> chosen;
  if (all <= count) {
    for (std::int64_t row = 0; row < all; ++row) chosen.push_back(row);
  } else if (count > 0) {
    std::mt19937_64 random(seed);
    // Half of the rows, at most, lie on borders; their heads take turns.
    const std::vector<std::int64_t> borders = border_tokens(layout);
    const auto available = static_cast<std::int64_t>(borders.size());
    const std::int64_t on_borders = std::min(available, std::max<std::int64_t>(count / 2, 1));
    for (std::int64_t i = 0; i < on_borders; ++i) {
      const std::int64_t pick = on_borders == 1 ? 0 : i * (available - 1) / (on_borders - 1);
      const auto head = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(heads));
      chosen.push_back(borders[static_cast<std::size_t>(pick)] * heads + head);
    }
    // One row at a random place in each of equally long stretches, so that no tile is left out for
    // its alignment with a stride.
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

ReferenceRows compute_reference(const Problem& problem, std::span<const RowId> rows,
                                const ConstTensor& q, const ConstTensor& k, const ConstTensor& v) {
  const auto dim = static_cast<std::size_t>(problem.head_dim);
  const auto count = static_cast<std::int64_t>(rows.size());
  ReferenceRows reference;
  reference.rows.assign(rows.begin(), rows.end());
  reference.head_dim = problem.head_dim;
  reference.output.resize(rows.size() * dim);
  std::vector<double> log_sum_exp(rows.size());
  const Oracle oracle(problem.pattern, problem.window, problem.layout);

#pragma omp parallel if (count * problem.plan.tokens * problem.head_dim > worth_threads)
  {
    RowReference row(problem, oracle, q, k, v);
#pragma omp for schedule(dynamic, 4)
    for (std::int64_t r = 0; r < count; ++r) {
      const auto index = static_cast<std::size_t>(r);
      row.compute(rows[index]);
      std::ranges::copy(row.output(), reference.output.begin() + r * problem.head_dim);
      log_sum_exp[index] = row.log_sum_exp();
    }
  }

  if (problem.operation == Operation::windowed_matmul) {
    reference.scale_of_error = 0;
    for (const double value : reference.output) {
      reference.scale_of_error = std::max(reference.scale_of_error, std::abs(value));
    }
  } else {
    reference.log_sum_exp = std::move(log_sum_exp);
    reference.scale_of_error = largest_value(v, problem.plan.tokens, problem.plan.heads);
  }
  // All zero: errors are absolute then.
  if (reference.scale_of_error == 0) reference.scale_of_error = 1;
  return reference;
}

double relative_error(const ReferenceRows& reference, const Tensor& o) {
  double largest = 0;
  const auto dim = static_cast<std::size_t>(reference.head_dim);
  for (std::size_t r = 0; r < reference.rows.size(); ++r) {
    const RowId row = reference.rows[r];
    const std::int64_t offset = o.offset(row.token, row.head);
    for (std::size_t i = 0; i < dim; ++i) {
      const double value = read_value(o.data, o.dtype, offset + static_cast<std::int64_t>(i));
      const double expected = reference.output[r * dim + i];
      if (!std::isfinite(value) || !std::isfinite(expected)) {
        return std::numeric_limits<double>::infinity();
      }
      largest = std::max(largest, std::abs(value - expected));
    }
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
    if (value == expected) continue;  // -inf on both sides, too
    if (!std::isfinite(value) || !std::isfinite(expected)) return infinity;
    largest = std::max(largest, std::abs(value - expected) / std::max(1.0, std::abs(expected)));
  }
  return largest;
}

double error_bound(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 4 * 0x1p-24 + 2e-6;
    case DType::float16:
      return 4 * 0x1p-11 + 2e-6;
    case DType::bfloat16:
      return 4 * 0x1p-8 + 2e-6;
  }
  return 0;
}

}  // namespace attnscope
