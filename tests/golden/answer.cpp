// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/answer.h"

#include <algorithm>
#include <cmath>

#include "engine/attention/packed_tensor.h"
#include "engine/proof/call.h"

namespace attnscope::tests {

std::map<std::string, std::vector<float>> answer(const Implementation& implementation,
                                                 const Fixture& fixture, MemoryOrder order,
                                                 Direction direction) {
  const Problem problem = fixture.problem(order, direction);
  const auto room = [&](std::int64_t bytes) {
    Room made = guarded_room(problem.device, bytes);
    poison(problem.device, made);  // NaN, until written
    return made;
  };
  const auto prepared = must(implementation.prepare(problem));
  CallTensors tensors(shape_of(problem), problem.device);
  tensors.place(room);
  const CallView view = tensors.on_host();
  const auto values = [&](const char* name, const Tensor& tensor) {
    pack(fixture.values(name), problem.plan.tokens, problem.plan.heads, tensor);
  };
  values("q", view.q);
  values("k", view.k);
  values("v", view.v);
  const bool goes_back = direction == Direction::forward_backward;
  if (goes_back) values("grad_o", view.grad_o);
  must(call(*prepared, view, room(prepared->workspace_bytes()).values, Pass::both));

  std::map<std::string, std::vector<float>> answers;
  const auto take = [&](const char* name, const Tensor& tensor) {
    std::vector<float>& read = answers[name];
    read.resize(
        static_cast<std::size_t>(problem.plan.tokens * problem.plan.heads * problem.head_dim));
    unpack(attnscope::as_const(tensor), problem.plan.tokens, problem.plan.heads, read);
  };
  take("o", view.o);
  if (!goes_back) return answers;
  take("grad_q", view.grad_q);
  take("grad_k", view.grad_k);
  take("grad_v", view.grad_v);
  return answers;
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
