#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The loops themselves, for a few rows or keys of one head. Sums are float32 for all types.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/attention/longformer_banded/numbers.h"
#include "engine/attention/longformer_banded/seen_keys.h"
#include "engine/attention/longformer_banded/weighting.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope::longformer_banded {

/// What is done to rows of scores.
struct RowStep {
  enum class Kind : std::uint8_t {
    scores,           // scale x_i . y_j
    softmax,          // in place, the log-sum-exp beside it
    values,           // out_i = scale sum_j weight_ij y_j
    score_gradients,  // weights become weight_ij (x_i . y_j - x_i . o_i); x_i . y_j without softmax
  };
  Kind kind = Kind::scores;
  ConstTensor x{}, y{}, o{};
  Tensor out{};
  std::span<float> lse{};  // [tokens, heads] or empty
  float scale = 1.0F;
  bool softmax = true;
};

/// Rows [first_row, last_row) of a task, for one head.
struct RowPiece {
  const AttentionPlan& plan;
  const Task& task;
  std::int64_t head;
  std::int64_t first_row, last_row;
  float* scores;  // of the first row
  std::int64_t columns;
};

/// out_j = scale sum_i weight_ij x_i over the rows that see key j.
struct KeyStep {
  ConstTensor x{};
  Tensor out{};
  float scale = 1.0F;
};

/// Some keys of a run, for one head.
struct KeyPiece {
  const AttentionPlan& plan;
  const KeyRun& run;
  std::span<const KeyView> views;
  std::int64_t head;
  TokenRange keys;
  const float* scores;                            // of all tasks
  const std::vector<std::int64_t>& first_scores;  // of each task
};

/// Calls visit(row of the first, how many) for neighbouring tokens whose rows stand token_stride
/// apart; a row holds head_dim numbers.
template <typename T, typename Visit>
inline void for_each_run(const ConstTensor& tensor, std::int64_t head, TokenRange tokens,
                         const Visit& visit) {
  while (!tokens.empty()) {
    std::int64_t stop = tokens.end;  // in one item they are one strided run
    if (tensor.item_tokens > 0) {
      stop = std::min(stop, (tokens.begin / tensor.item_tokens + 1) * tensor.item_tokens);
    }
    visit(tensor.at<T>(tokens.begin, head), stop - tokens.begin);
    tokens.begin = stop;
  }
}

/// The head dimension, a constant where it is a usual one: these loops are so short that their
/// ends would cost as much as they do.
template <int usual>
inline std::int64_t dim_of(std::int64_t any) {
  return usual > 0 ? usual : any;
}

template <int usual, typename T>
inline float dot(const float* x, const T* y, std::int64_t any) {
  const std::int64_t head_dim = dim_of<usual>(any);
  float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < head_dim; ++i) sum += x[i] * to_float(y[i]);
  return sum;
}

/// Terms that are added to each other before their sum is added to the others': a sum of thousands
/// of terms, one after another, would lose what float32 still has of the last ones.
inline constexpr std::int64_t together = 256;

/// Some rows of a tensor and the weights they are added with.
template <typename T>
struct WeightedRows {
  const float* weight;
  std::int64_t weight_step;
  const T* row;
  std::int64_t row_step;
  std::int64_t count;
};

template <int usual, typename T>
inline void add_rows(float* sums, WeightedRows<T> rows, std::int64_t any) {
  const std::int64_t head_dim = dim_of<usual>(any);
  while (rows.count > 0) {
    float latest[usual > 0 ? usual : largest_head_dim];
    std::fill_n(latest, head_dim, 0.0F);
    const std::int64_t now = std::min(rows.count, together);
    for (std::int64_t r = 0; r < now; ++r) {
      const float weight = *rows.weight;
#pragma omp simd
      for (std::int64_t i = 0; i < head_dim; ++i) latest[i] += weight * to_float(rows.row[i]);
      rows.weight += rows.weight_step;
      rows.row += rows.row_step;
    }
    for (std::int64_t i = 0; i < head_dim; ++i) sums[i] += latest[i];
    rows.count -= now;
  }
}

template <typename T>
inline void write_row(const Tensor& out, std::int64_t token, std::int64_t head, const float* sums,
                      float scale) {
  T* row = out.at<T>(token, head);
  for (std::int64_t i = 0; i < out.head_dim; ++i) row[i] = from_float<T>(scale * sums[i]);
}

/// A row widened and scaled.
template <typename T>
struct WideRow {
  WideRow(const T* row, float scale, std::int64_t head_dim) {
    for (std::int64_t i = 0; i < head_dim; ++i) x[i] = scale * to_float(row[i]);
  }
  float x[largest_head_dim];
};

/// Calls cell(score, x . y_j) for the keys that the query sees.
template <typename T, int usual, typename Cell>
inline void for_each_cell(const RowStep& step, const RowPiece& piece, std::int64_t query,
                          const float* x, float* row, const Cell& cell) {
  const std::int64_t head_dim = step.y.head_dim;
  for_each_seen_run(
      piece.plan, piece.task, query,
      [&](std::int64_t first, std::int64_t end, std::int64_t column) {
        float* score = row + column;
        for_each_run<T>(step.y, piece.head, {first, end}, [&](const T* y, std::int64_t count) {
          for (std::int64_t c = 0; c < count; ++c, ++score, y += step.y.token_stride) {
            cell(*score, dot<usual>(x, y, head_dim));
          }
        });
      });
}

template <typename T, int usual>
inline void row_scores(const RowStep& step, const RowPiece& piece, std::int64_t query, float* row) {
  const float outside = step.softmax ? -std::numeric_limits<float>::infinity() : 0.0F;
  std::fill_n(row, piece.columns, outside);
  const WideRow<T> x(step.x.at<T>(query, piece.head), step.scale, step.x.head_dim);
  for_each_cell<T, usual>(step, piece, query, x.x, row,
                          [](float& score, float product) { score = product; });
}

// What lies outside the pattern has weight 0 and keeps it.
template <typename T, int usual>
inline void row_score_gradients(const RowStep& step, const RowPiece& piece, std::int64_t query,
                                float* row) {
  const WideRow<T> x(step.x.at<T>(query, piece.head), 1.0F, step.x.head_dim);
  if (!step.softmax) {
    for_each_cell<T, usual>(step, piece, query, x.x, row,
                            [](float& score, float product) { score = product; });
    return;
  }
  const float along_output = dot<usual>(x.x, step.o.at<T>(query, piece.head), step.x.head_dim);
  for_each_cell<T, usual>(
      step, piece, query, x.x, row,
      [along_output](float& score, float product) { score *= product - along_output; });
}

inline void row_softmax(const RowStep& step, const RowPiece& piece, std::int64_t query,
                        float* row) {
  constexpr float none = -std::numeric_limits<float>::infinity();
  float largest = none;
#pragma omp simd reduction(max : largest)
  for (std::int64_t c = 0; c < piece.columns; ++c) largest = row[c] > largest ? row[c] : largest;
  const float base = largest == none ? 0.0F : largest;
  float sum = 0.0F;
  for (std::int64_t first = 0; first < piece.columns; first += together) {
    const std::int64_t end = std::min(first + together, piece.columns);
    float latest = 0.0F;
#pragma omp simd reduction(+ : latest)
    for (std::int64_t c = first; c < end; ++c) {
      row[c] = exponential(row[c] - base);
      latest += row[c];
    }
    sum += latest;
  }
  const float inverse = sum == 0.0F ? 0.0F : 1.0F / sum;  // 0: a row without keys
#pragma omp simd
  for (std::int64_t c = 0; c < piece.columns; ++c) row[c] *= inverse;
  if (step.lse.empty()) return;
  step.lse[static_cast<std::size_t>(query * piece.plan.heads + piece.head)] =
      sum == 0.0F ? none : base + std::log(sum);
}

template <typename T, int usual>
inline void row_values(const RowStep& step, const RowPiece& piece, std::int64_t query,
                       const float* row) {
  float sums[largest_head_dim];
  std::fill_n(sums, step.y.head_dim, 0.0F);
  for_each_seen_run(
      piece.plan, piece.task, query,
      [&](std::int64_t first, std::int64_t end, std::int64_t column) {
        const float* weight = row + column;
        for_each_run<T>(step.y, piece.head, {first, end}, [&](const T* y, std::int64_t count) {
          add_rows<usual, T>(sums, {weight, 1, y, step.y.token_stride, count}, step.y.head_dim);
          weight += count;
        });
      });
  write_row<T>(step.out, query, piece.head, sums, step.scale);
}

template <typename T, int usual>
inline void rows_of_type(const RowStep& step, const RowPiece& piece) {
  float* row = piece.scores;
  for (std::int64_t r = piece.first_row; r < piece.last_row; ++r, row += piece.columns) {
    const std::int64_t query = piece.plan.token_at(piece.task.queries, r);
    switch (step.kind) {
      case RowStep::Kind::scores:
        row_scores<T, usual>(step, piece, query, row);
        break;
      case RowStep::Kind::softmax:
        row_softmax(step, piece, query, row);
        break;
      case RowStep::Kind::values:
        row_values<T, usual>(step, piece, query, row);
        break;
      case RowStep::Kind::score_gradients:
        row_score_gradients<T, usual>(step, piece, query, row);
        break;
    }
  }
}

template <typename T>
inline void rows_of_type(const RowStep& step, const RowPiece& piece) {
  if (step.y.head_dim == 32) return rows_of_type<T, 32>(step, piece);
  if (step.y.head_dim == 64) return rows_of_type<T, 64>(step, piece);
  rows_of_type<T, 0>(step, piece);
}

inline void take_rows(const RowStep& step, const RowPiece& piece) {
  switch (step.y.dtype) {
    case DType::float32:
      return rows_of_type<float>(step, piece);
    case DType::float16:
      return rows_of_type<Float16>(step, piece);
    case DType::bfloat16:
      return rows_of_type<Bfloat16>(step, piece);
  }
}

template <typename T, int usual>
inline void key_sum(const KeyStep& step, const KeyPiece& piece, std::int64_t key) {
  float sums[largest_head_dim];
  std::fill_n(sums, step.x.head_dim, 0.0F);
  for (const KeyView& view : piece.views) {
    const auto number = static_cast<std::size_t>(view.task);
    const Task& task = piece.plan.tasks[number];
    const SeeingRows rows = seeing_rows(piece.plan, piece.run, view, key);
    const std::int64_t columns = columns_of(piece.plan, task);
    const std::int64_t first_row =
        (piece.head - task.heads.begin) * task.queries.size() + rows.begin;
    const float* row = piece.scores + piece.first_scores[number] + first_row * columns;
    if (task.queries.listed) {
      for (std::int64_t r = rows.begin; r < rows.end; ++r, row += columns) {
        const std::int64_t query = piece.plan.token_at(task.queries, r);
        const float* weight = row + rows.column + rows.slope * query;
        add_rows<usual, T>(sums, {weight, 0, step.x.at<T>(query, piece.head), 0, 1},
                           step.x.head_dim);
      }
    } else {
      const TokenRange queries{task.queries.begin + rows.begin, task.queries.begin + rows.end};
      const float* weight = row + rows.column + rows.slope * queries.begin;
      const std::int64_t weight_step = columns + rows.slope;
      for_each_run<T>(step.x, piece.head, queries, [&](const T* x, std::int64_t count) {
        add_rows<usual, T>(sums, {weight, weight_step, x, step.x.token_stride, count},
                           step.x.head_dim);
        weight += count * weight_step;
      });
    }
  }
  write_row<T>(step.out, key, piece.head, sums, step.scale);
}

template <typename T>
inline void keys_of_type(const KeyStep& step, const KeyPiece& piece) {
  for (std::int64_t key = piece.keys.begin; key < piece.keys.end; ++key) {
    if (step.x.head_dim == 32) {
      key_sum<T, 32>(step, piece, key);
    } else if (step.x.head_dim == 64) {
      key_sum<T, 64>(step, piece, key);
    } else {
      key_sum<T, 0>(step, piece, key);
    }
  }
}

inline void take_keys(const KeyStep& step, const KeyPiece& piece) {
  switch (step.x.dtype) {
    case DType::float32:
      return keys_of_type<float>(step, piece);
    case DType::float16:
      return keys_of_type<Float16>(step, piece);
    case DType::bfloat16:
      return keys_of_type<Bfloat16>(step, piece);
  }
}

}  // namespace attnscope::longformer_banded
