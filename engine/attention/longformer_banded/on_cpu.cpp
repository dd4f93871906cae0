// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_banded/on_cpu.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <vector>

#include "kernels/cpu/instruction_set.h"
#include "kernels/plan/attention_plan.h"
#include "kernels/plan/key_runs.h"
#include "kernels/plan/number_formats.h"
#include "kernels/plan/tensor.h"
#include "kernels/plan/windowed_layout.h"

// All loops are inlined into one function for each instruction set.
#if defined(__x86_64__)
#define ATTNSCOPE_FOR_AVX2 __attribute__((target("avx2,fma"), flatten))
#else
#define ATTNSCOPE_FOR_AVX2 __attribute__((flatten))
#endif

namespace attnscope::longformer_banded {
namespace {

struct Float16 {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

float to_float(float x) {
  return x;
}
float to_float(Bfloat16 x) {
  return float_from_bfloat16(x.bits);
}
float to_float(Float16 x) {
  return float_from_float16(x.bits);
}

template <typename T>
T from_float(float x);
template <>
float from_float<float>(float x) {
  return x;
}
template <>
Float16 from_float<Float16>(float x) {
  return {float16_from_float(x)};
}
template <>
Bfloat16 from_float<Bfloat16>(float x) {
  return {bfloat16_from_float(x)};
}

/// e^x for x <= 0, infinity included; NaN stays NaN. Within 2 units in the last place: x = n ln 2 +
/// r with |r| <= ln 2 / 2, and the series of e^r is truncated after r^7 / 7!, with an error below
/// 6e-9 of it.
float exponential(float x) {
  constexpr float whole = 0x1.8p23F;  // added to a small number, it rounds it to an integer
  constexpr float ln_2_high = 0x1.62ep-1F,
                  ln_2_low = 0x1.0bfbe8p-15F;  // n times the first is exact
  const float shifted = x * 0x1.715476p0F + whole;
  const float n = shifted - whole;
  const float r = (x - n * ln_2_high) - n * ln_2_low;
  float series = 1.0F / 5040;
  for (const float coefficient : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F}) {
    series = series * r + coefficient;
  }
  const std::uint32_t exponent =
      (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(whole) + 127U) << 23U;
  const float power = series * std::bit_cast<float>(exponent);
  return x < -87.0F ? 0.0F : power;  // 2^n is no longer a normal number
}

/// Calls visit(first key, end, column of the first) for the runs of adjacent keys of `query`; their
/// columns are adjacent, too.
template <typename Visit>
void for_each_seen_run(const AttentionPlan& plan, const Task& task, std::int64_t query,
                       const Visit& visit) {
  std::int64_t first_column = 0;
  for (const Segment& segment : plan.segments_of(task)) {
    const auto skipped = plan.skipped_of(segment);
    if (segment.keys.listed) {  // whole: windows over listed keys have no such layout
      for (std::int64_t place = 0; place < segment.keys.size(); ++place) {
        const std::int64_t key = plan.token_at(segment.keys, place);
        if (!std::ranges::binary_search(skipped, key)) visit(key, key + 1, first_column + place);
      }
    } else {
      TokenRange rest = window_within({segment.keys.begin, segment.keys.end}, segment, query);
      const std::int64_t origin =  // the key of the first column
          segment.kind == SegmentKind::block ? rest.begin : first_column_key(segment, query);
      for (const std::int64_t key : within(skipped, rest)) {
        if (key > rest.begin) visit(rest.begin, key, first_column + rest.begin - origin);
        rest.begin = key + 1;
      }
      if (!rest.empty()) visit(rest.begin, rest.end, first_column + rest.begin - origin);
    }
    first_column += columns_of(segment);
  }
}

/// Rows of a task that attend to a key, as positions in its run of queries.
struct SeeingRows {
  std::int64_t begin = 0, end = 0;
  std::int64_t column = 0;  // of the key, in the row of token 0
  std::int64_t slope = 0;   // per token: 0; -1 in a band that is not stored by key
};

SeeingRows seeing_rows(const AttentionPlan& plan, const KeyRun& run, const KeyView& view,
                       std::int64_t key) {
  const Task& task = plan.tasks[static_cast<std::size_t>(view.task)];
  const Segment& segment = plan.segments[static_cast<std::size_t>(view.segment)];
  if (segment.kind == SegmentKind::whole) {
    return {.end = task.queries.size(), .column = view.column + key - run.keys.begin};
  }
  const TokenRange hull{segment.keys.begin, segment.keys.end};
  const TokenRange tokens = rows_seeing(hull, segment, key);
  SeeingRows rows;
  if (task.queries.listed) {
    const auto queries = listed_tokens(plan, task.queries);
    rows.begin = std::ranges::lower_bound(queries, tokens.begin) - queries.begin();
    rows.end = std::ranges::lower_bound(queries, tokens.end) - queries.begin();
  } else {
    const TokenRange seen = intersect(tokens, {task.queries.begin, task.queries.end});
    rows.begin = seen.begin - task.queries.begin;
    rows.end = seen.end - task.queries.begin;
  }
  if (segment.kind == SegmentKind::band) {
    rows.column = view.column + key - first_column_key(segment, 0);
    rows.slope = stored_by_key(segment) ? 0 : -1;
  } else {  // a row attends to the block opposite it if that contains the key
    rows.column = view.column + (key - hull.begin) % std::min(segment.window, hull.size());
  }
  return rows;
}

/// The operation on rows of scores.
struct RowStep {
  enum class Kind : std::uint8_t {
    scores,           // scale x_i . y_j
    softmax,          // in place, also the log-sum-exp
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

/// out_j = scale sum_i weight_ij x_i over the rows that attend to key j.
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

/// Calls visit(row of the first, count) for adjacent tokens whose rows are token_stride apart; a
/// row has head_dim numbers.
template <typename T, typename Visit>
void for_each_run(const ConstTensor& tensor, std::int64_t head, TokenRange tokens,
                  const Visit& visit) {
  while (!tokens.empty()) {
    std::int64_t stop = tokens.end;  // within one item they are one strided run
    if (tensor.item_tokens > 0) {
      stop = std::min(stop, (tokens.begin / tensor.item_tokens + 1) * tensor.item_tokens);
    }
    visit(tensor.at<T>(tokens.begin, head), stop - tokens.begin);
    tokens.begin = stop;
  }
}

/// The head dimension, as a constant for usual ones: these loops are so short that their remainders
/// would cost as much as their bodies.
template <int usual>
std::int64_t dim_of(std::int64_t any) {
  return usual > 0 ? usual : any;
}

template <int usual, typename T>
float dot(const float* x, const T* y, std::int64_t any) {
  const std::int64_t head_dim = dim_of<usual>(any);
  float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < head_dim; ++i) sum += x[i] * to_float(y[i]);
  return sum;
}

/// Number of terms summed before their sum is added to the others: a single float32 sum of
/// thousands of terms would lose the last digits of later terms.
constexpr std::int64_t together = 256;

/// Some rows of a tensor and their weights in a sum.
template <typename T>
struct WeightedRows {
  const float* weight;
  std::int64_t weight_step;
  const T* row;
  std::int64_t row_step;
  std::int64_t count;
};

template <int usual, typename T>
void add_rows(float* sums, WeightedRows<T> rows, std::int64_t any) {
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
void write_row(const Tensor& out, std::int64_t token, std::int64_t head, const float* sums,
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

/// Calls cell(score, x . y_j) for the keys of the query.
template <typename T, int usual, typename Cell>
void for_each_cell(const RowStep& step, const RowPiece& piece, std::int64_t query, const float* x,
                   float* row, const Cell& cell) {
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
void row_scores(const RowStep& step, const RowPiece& piece, std::int64_t query, float* row) {
  const float outside = step.softmax ? -std::numeric_limits<float>::infinity() : 0.0F;
  std::fill_n(row, piece.columns, outside);
  const WideRow<T> x(step.x.at<T>(query, piece.head), step.scale, step.x.head_dim);
  for_each_cell<T, usual>(step, piece, query, x.x, row,
                          [](float& score, float product) { score = product; });
}

// Cells outside the pattern have weight 0 and keep it.
template <typename T, int usual>
void row_score_gradients(const RowStep& step, const RowPiece& piece, std::int64_t query,
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

void row_softmax(const RowStep& step, const RowPiece& piece, std::int64_t query, float* row) {
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
void row_values(const RowStep& step, const RowPiece& piece, std::int64_t query, const float* row) {
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
void rows_of_type(const RowStep& step, const RowPiece& piece) {
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
void rows_of_type(const RowStep& step, const RowPiece& piece) {
  if (step.y.head_dim == 32) return rows_of_type<T, 32>(step, piece);
  if (step.y.head_dim == 64) return rows_of_type<T, 64>(step, piece);
  rows_of_type<T, 0>(step, piece);
}

void process_rows(const RowStep& step, const RowPiece& piece) {
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
void key_sum(const KeyStep& step, const KeyPiece& piece, std::int64_t key) {
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
void keys_of_type(const KeyStep& step, const KeyPiece& piece) {
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

void process_keys(const KeyStep& step, const KeyPiece& piece) {
  switch (step.x.dtype) {
    case DType::float32:
      return keys_of_type<float>(step, piece);
    case DType::float16:
      return keys_of_type<Float16>(step, piece);
    case DType::bfloat16:
      return keys_of_type<Bfloat16>(step, piece);
  }
}

// A thread's next piece: large enough to be worth the overhead, small enough to balance threads.
constexpr std::int64_t piece_tokens = 16;

__attribute__((flatten)) void process_rows_baseline(const RowStep& step, const RowPiece& piece) {
  process_rows(step, piece);
}
ATTNSCOPE_FOR_AVX2 void process_rows_avx2(const RowStep& step, const RowPiece& piece) {
  process_rows(step, piece);
}
__attribute__((flatten)) void process_keys_baseline(const KeyStep& step, const KeyPiece& piece) {
  process_keys(step, piece);
}
ATTNSCOPE_FOR_AVX2 void process_keys_avx2(const KeyStep& step, const KeyPiece& piece) {
  process_keys(step, piece);
}

struct Loops {
  void (*rows)(const RowStep&, const RowPiece&);
  void (*keys)(const KeyStep&, const KeyPiece&);
};

Result<Loops> selected_loops() {
  const Result<cpu::InstructionSet> set = cpu::selected_set();
  if (!set) return tl::unexpected(set.error());
  if (*set == cpu::InstructionSet::baseline)
    return Loops{process_rows_baseline, process_keys_baseline};
  return Loops{process_rows_avx2, process_keys_avx2};
}

std::int64_t pieces_of(std::int64_t tokens) {
  return (tokens + piece_tokens - 1) / piece_tokens;
}

}  // namespace

Pieces::Place Pieces::find(std::int64_t number) const {
  const auto next = std::ranges::upper_bound(firsts_, number);
  const auto entry = next - firsts_.begin() - 1;
  return {static_cast<std::size_t>(entry), number - *(next - 1)};
}

/// The passes of one call: all threads share the pieces of each.
class BandOnCpu::Passes {
 public:
  Passes(const BandOnCpu& band, const Loops& loops, float* scores)
      : band_(band), loops_(loops), scores_(scores) {}

  void rows(const RowStep& step) const {
#pragma omp for schedule(dynamic)
    for (std::int64_t number = 0; number < band_.row_pieces_.count(); ++number) {
      loops_.rows(step, row_piece(number));
    }
  }

  void keys(const KeyStep& step) const {
#pragma omp for schedule(dynamic)
    for (std::int64_t number = 0; number < band_.key_pieces_.count(); ++number) {
      loops_.keys(step, key_piece(number));
    }
  }

 private:
  [[nodiscard]] RowPiece row_piece(std::int64_t number) const {
    const auto [t, piece] = band_.row_pieces_.find(number);
    const Task& task = band_.plan_.tasks[t];
    const std::int64_t rows = task.queries.size(), of_head = pieces_of(rows);
    const std::int64_t local_head = piece / of_head, first = piece % of_head * piece_tokens;
    const std::int64_t columns = columns_of(band_.plan_, task);
    return {.plan = band_.plan_,
            .task = task,
            .head = task.heads.begin + local_head,
            .first_row = first,
            .last_row = std::min(first + piece_tokens, rows),
            .scores = scores_ + band_.first_scores_[t] + (local_head * rows + first) * columns,
            .columns = columns};
  }

  [[nodiscard]] KeyPiece key_piece(std::int64_t number) const {
    const auto [r, piece] = band_.key_pieces_.find(number);
    const KeyRun& run = band_.keys_.runs[r];
    const std::int64_t of_head = pieces_of(run.keys.size());
    const std::int64_t first = run.keys.begin + piece % of_head * piece_tokens;
    return {.plan = band_.plan_,
            .run = run,
            .views = std::span(band_.keys_.views)
                         .subspan(static_cast<std::size_t>(run.first_view),
                                  static_cast<std::size_t>(run.view_count)),
            .head = run.first_head + piece / of_head,
            .keys = {first, std::min(first + piece_tokens, run.keys.end)},
            .scores = scores_,
            .first_scores = band_.first_scores_};
  }

  const BandOnCpu& band_;
  const Loops& loops_;
  float* scores_;
};

BandOnCpu::BandOnCpu(const AttentionPlan& plan, attnscope::Passes passes) : plan_(plan) {
  std::int64_t scores = 0;
  for (const Task& task : plan.tasks) {
    first_scores_.push_back(scores);
    scores += rows_of(task) * columns_of(plan, task);
    row_pieces_.add((task.heads.end - task.heads.begin) * pieces_of(task.queries.size()));
  }
  if (passes == attnscope::Passes::forward) return;
  keys_ = key_runs_of(plan);
  for (const KeyRun& run : keys_.runs) key_pieces_.add(run.heads * pieces_of(run.keys.size()));
}

Status BandOnCpu::forward(const BandCall& call, const BandInputs& inputs, const Tensor& o,
                          std::span<float> lse) const {
  const Result<Loops> loops = selected_loops();
  if (!loops) return tl::unexpected(loops.error());
  const Passes passes(*this, *loops, call.scores);
  const bool softmax = call.weighting == Weighting::softmax;
  const RowStep scores{.kind = RowStep::Kind::scores,
                       .x = inputs.q,
                       .y = inputs.k,
                       .scale = call.scale,
                       .softmax = softmax};
  const RowStep normalize{.kind = RowStep::Kind::softmax, .lse = lse};
  const RowStep values{.kind = RowStep::Kind::values, .y = inputs.v, .out = o};
#pragma omp parallel num_threads(call.threads)
  {
    passes.rows(scores);
    if (softmax) passes.rows(normalize);
    passes.rows(values);
  }
  return {};
}

Status BandOnCpu::backward(const BandCall& call, const GradientTensors& tensors) const {
  const Result<Loops> loops = selected_loops();
  if (!loops) return tl::unexpected(loops.error());
  const Passes passes(*this, *loops, call.scores);
  const KeyStep grad_v{.x = tensors.grad_o, .out = tensors.grad_v};
  const RowStep score_gradients{.kind = RowStep::Kind::score_gradients,
                                .x = tensors.grad_o,
                                .y = tensors.v,
                                .o = tensors.o,
                                .softmax = call.weighting == Weighting::softmax};
  const RowStep grad_q{
      .kind = RowStep::Kind::values, .y = tensors.k, .out = tensors.grad_q, .scale = call.scale};
  const KeyStep grad_k{.x = tensors.q, .out = tensors.grad_k, .scale = call.scale};
#pragma omp parallel num_threads(call.threads)
  {
    passes.keys(grad_v);
    passes.rows(score_gradients);
    passes.rows(grad_q);
    passes.keys(grad_k);
  }
  return {};
}

}  // namespace attnscope::longformer_banded
