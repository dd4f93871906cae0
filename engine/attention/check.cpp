// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/check.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "engine/attention/check_calls.h"
#include "engine/attention/check_cases.h"
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
#include "engine/attention/reference.h"
#include "engine/pattern/compile_plan.h"

namespace attnscope {
namespace {

using OnRow = std::function<void(const CheckRow&)>;

std::vector<std::byte> random_tensor(const CheckShape& shape, std::mt19937_64& random) {
  const std::int64_t tokens = shape.layout.tokens();
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(tokens * shape.heads * shape.head_dim));
  std::ranges::generate(values, [&] { return normal(random); });
  std::vector<std::byte> bytes(static_cast<std::size_t>(
      packed_bytes(shape.layout, shape.heads, shape.head_dim, shape.dtype)));
  pack(values, tokens, shape.heads,
       packed_tensor(shape.layout, shape.heads, shape.head_dim, shape.dtype, shape.memory_order,
                     bytes.data()));
  return bytes;
}

/// One pattern at one window on one shape: the problem and, once an implementation takes it on, its
/// inputs and the reference.
class Case {
 public:
  Case(const AttentionPattern& pattern, std::optional<Window> window, const CheckShape& shape,
       AttentionPlan plan, DeviceKind device, int threads)
      : shape_(shape),
        plan_(std::move(plan)),
        problem_{.pattern = pattern,
                 .window = window,
                 .layout = shape.layout,
                 .plan = plan_,
                 .head_dim = shape.head_dim,
                 .dtype = shape.dtype,
                 .memory_order = shape.memory_order,
                 .device = device,
                 .operation = shape.operation,
                 .direction = shape.direction,
                 .scale = scale_of(shape.operation, shape.head_dim),
                 .threads = threads} {}
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  /// Fills the row's outcome.
  void run(const Implementation& implementation, CheckRow& row) {
    if (const Status ok = implementation.supports(problem_); !ok) {
      row.outcome = CheckRow::Outcome::declined;
      row.reason = ok.error().message;
      return;
    }
    if (!reference_) make_inputs();
    WorstError worst;
    try {
      auto prepared = implementation.prepare(problem_);
      row.reason = prepared
                       ? check_calls(**prepared, problem_, inputs_, *reference_, worst)
                       : "supports() accepts what prepare() refuses: " + prepared.error().message;
    } catch (const std::exception& exception) {
      row.reason = exception.what();
    }
    row.relative_error = worst.error;
    row.error_bound = worst.bound;
    if (row.reason.empty()) return;
    row.outcome = CheckRow::Outcome::wrong;
    // All that would follow is wrong for this reason alone.
    if (problem_.device != DeviceKind::cuda) return;
    if (const auto lost = cuda::lost()) {
      throw cuda::DeviceLost(fmt::format("{} on {} {}: {}; the device is lost to this process: {}",
                                         row.implementation, row.pattern, row.shape, row.reason,
                                         *lost));
    }
  }

 private:
  void make_inputs() {
    std::mt19937_64 random(1);
    inputs_.q = random_tensor(shape_, random);
    inputs_.k = random_tensor(shape_, random);
    inputs_.v = random_tensor(shape_, random);
    const auto rows = sample_rows(shape_.layout, shape_.heads, plan_.tokens * plan_.heads, 1);
    const ConstTensor q = input(inputs_.q);
    const ConstTensor k = input(inputs_.k);
    const ConstTensor v = input(inputs_.v);
    reference_.emplace(
        CheckReference{.rows = compute_reference(problem_, rows, q, k, v), .gradients = {}});
    if (shape_.direction != Direction::forward_backward) return;
    inputs_.grad_o = random_tensor(shape_, random);
    reference_->gradients =
        compute_reference_gradients(problem_, rows, q, k, v, input(inputs_.grad_o));
  }

  ConstTensor input(std::vector<std::byte>& bytes) const {
    return attnscope::as_const(packed_tensor(shape_.layout, shape_.heads, shape_.head_dim,
                                             shape_.dtype, shape_.memory_order, bytes.data()));
  }

  const CheckShape& shape_;
  AttentionPlan plan_;
  Problem problem_;  // refers to plan_
  CheckInputs inputs_;
  std::optional<CheckReference> reference_;
};

/// Every implementation on one case; returns how many were wrong.
int check_case(std::span<const Implementation* const> checked, const AttentionPattern& pattern,
               std::optional<Window> window, const CheckShape& shape, DeviceKind device,
               int threads, const OnRow& on_row) {
  auto plan = compile_plan(pattern, window, shape.layout, shape.heads);
  std::optional<Case> checked_case;
  if (plan) checked_case.emplace(pattern, window, shape, *plan, device, threads);
  int wrong = 0;
  for (const Implementation* implementation : checked) {
    CheckRow row;
    row.implementation = implementation->id;
    row.pattern = pattern.name;
    row.window = window ? window->text() : "";
    row.shape = shape.text();
    row.dtype = shape.dtype;
    if (checked_case) {
      checked_case->run(*implementation, row);
    } else {
      row.outcome = CheckRow::Outcome::declined;
      row.reason = plan.error().message;
    }
    if (row.outcome == CheckRow::Outcome::wrong) ++wrong;
    on_row(row);
  }
  return wrong;
}

}  // namespace

int check_implementations(std::span<const Implementation* const> checked, DeviceKind device,
                          int threads, const OnRow& on_row) {
  int wrong = 0;
  for (const AttentionPattern& pattern : built_in_patterns()) {
    const std::vector<CheckShape> shapes = check_shapes(pattern);
    for (const std::optional<Window>& window : check_windows(pattern)) {
      for (const CheckShape& shape : shapes) {
        wrong += check_case(checked, pattern, window, shape, device, threads, on_row);
      }
    }
  }
  return wrong;
}

int check_all(DeviceKind device, int threads, const OnRow& on_row) {
  return check_implementations(implementations(), device, threads, on_row);
}

}  // namespace attnscope
