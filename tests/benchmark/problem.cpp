// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmark/problem.h"

#include <sys/mman.h>

#include <algorithm>
#include <random>

#include "engine/pattern/compile_plan.h"

namespace attnscope::cpu {
namespace {

/// Normal numbers; the 16-bit types get the upper halves of floats, which as bfloat16 are those
/// numbers cut off and as float16 others of moderate size.
Buffer numbers(std::mt19937& random, DType dtype, std::int64_t count) {
  std::normal_distribution<float> normal;
  Buffer bytes = buffer(count * size_of(dtype));
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = normal(random);
    const auto* low = reinterpret_cast<const std::byte*>(&x);
    std::copy_n(low + 4 - size_of(dtype), size_of(dtype), bytes.get() + i * size_of(dtype));
  }
  return bytes;
}

}  // namespace

Buffer buffer(std::int64_t bytes) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  const std::size_t size = (static_cast<std::size_t>(bytes) + huge - 1) / huge * huge;
  Buffer b(static_cast<std::byte*>(std::aligned_alloc(huge, size)));
  madvise(b.get(), size, MADV_HUGEPAGE);
  return b;
}

Problem make_problem(const ProblemShape& shape) {
  Problem p;
  p.item_tokens = shape.item_tokens;
  const auto layout = SequenceLayout::uniform(
      shape.items, {.cls = 1, .query = 11, .documents = {p.item_tokens - 12}});
  p.plan = *compile_plan(*find_pattern("sparse"), Window::of(shape.window), layout, heads);
  p.token_major = shape.token_major;
  p.dtype = shape.dtype;
  std::mt19937 random(1);
  for (auto* x : {&p.q, &p.k, &p.v}) {
    *x = numbers(random, p.dtype, p.plan.tokens * heads * head_dim);
  }
  p.o = buffer(p.plan.tokens * heads * head_dim * size_of(p.dtype));
  return p;
}

}  // namespace attnscope::cpu
