// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/answer.h"

#include <algorithm>
#include <cmath>

#include "engine/attention/guarded_buffer.h"
#include "engine/attention/packed_tensor.h"

namespace attnscope::tests {
namespace {

class Memory {
 public:
  explicit Memory(const Problem& problem)
      : problem_(problem),
        buffer_(packed_bytes(problem.layout, heads(), problem.head_dim, problem.dtype)) {}
  Memory(const Problem& problem, std::span<const float> values) : Memory(problem) {
    pack(values, problem.layout.tokens(), heads(), tensor());
  }

  Tensor tensor() {
    return packed_tensor(problem_.layout, heads(), problem_.head_dim, problem_.dtype,
                         problem_.memory_order, buffer_.bytes().data());
  }
  ConstTensor input() { return attnscope::as_const(tensor()); }
  std::vector<float> values() {
    std::vector<float> result(buffer_.bytes().size() / sizeof(float));
    unpack(input(), problem_.layout.tokens(), heads(), result);
    return result;
  }

 private:
  [[nodiscard]] std::int64_t heads() const { return problem_.plan.heads; }
  const Problem& problem_;
  GuardedBuffer buffer_;  // NaN, until written
};

}  // namespace

std::map<std::string, std::vector<float>> answer(const Implementation& implementation,
                                                 const Fixture& fixture, MemoryOrder order,
                                                 Direction direction) {
  const Problem problem = fixture.problem(order, direction);
  const auto prepared = must(implementation.prepare(problem));
  Memory q(problem, fixture.values("q"));
  Memory k(problem, fixture.values("k"));
  Memory v(problem, fixture.values("v"));
  Memory o(problem);
  GuardedBuffer lse(problem.plan.tokens * problem.plan.heads *
                    static_cast<std::int64_t>(sizeof(float)));
  GuardedBuffer workspace(prepared->workspace_bytes());
  must(prepared->forward({.q = q.input(),
                          .k = k.input(),
                          .v = v.input(),
                          .o = o.tensor(),
                          .lse = lse.floats(),
                          .workspace = workspace.bytes()}));
  if (direction == Direction::forward) return {{"o", o.values()}};
  Memory grad_o(problem, fixture.values("grad_o"));
  Memory grad_q(problem);
  Memory grad_k(problem);
  Memory grad_v(problem);
  must(prepared->backward({.tensors = {.q = q.input(),
                                       .k = k.input(),
                                       .v = v.input(),
                                       .o = o.input(),
                                       .lse = lse.floats(),
                                       .grad_o = grad_o.input(),
                                       .grad_q = grad_q.tensor(),
                                       .grad_k = grad_k.tensor(),
                                       .grad_v = grad_v.tensor()},
                           .workspace = workspace.bytes()}));
  return {{"o", o.values()},
          {"grad_q", grad_q.values()},
          {"grad_k", grad_k.values()},
          {"grad_v", grad_v.values()}};
}

double distance(std::span<const float> values, std::span<const float> expected) {
  double furthest = 0;
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double apart = std::abs(double{values[i]} - double{expected[i]});
    if (std::isnan(apart)) return apart;
    furthest = std::max(furthest, apart);
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  return furthest / largest;
}

}  // namespace attnscope::tests
