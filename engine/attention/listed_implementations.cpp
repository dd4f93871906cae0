// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/sentences.h"
#include "engine/attention/cuda_runtime.h"
#include "engine/attention/list.h"

namespace attnscope {
namespace {

/// Limits common to all implementations.
Status within_common_limits(const Implementation& implementation, const Problem& problem) {
  if (problem.device == DeviceKind::cuda && !cuda::usable()) return cuda::usable();
  if (problem.operation == Operation::model) {
    return fail("{} computes attention; operation model needs a family of models",
                implementation.id);
  }
  if (problem.operation == Operation::windowed_matmul && implementation.is_fused) {
    return fail("{} is fused: it has no separate products for windowed-matmul", implementation.id);
  }
  return {};
}

Implementation within_limits(Implementation own) {
  Implementation checked = own;
  checked.supports = [own](const Problem& problem) -> Status {
    if (Status ok = within_common_limits(own, problem); !ok) return ok;
    const bool apart = problem.device == DeviceKind::cuda && own.on_cuda.has_value();
    const Supports& supports = apart ? own.on_cuda->supports : own.supports;
    return supports ? supports(problem) : Status();
  };
  checked.prepare = [own = std::move(own), supports = checked.supports](
                        const Problem& problem) -> Result<std::unique_ptr<PreparedAttention>> {
    if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
    const bool apart = problem.device == DeviceKind::cuda && own.on_cuda.has_value();
    return apart ? own.on_cuda->prepare(problem) : own.prepare(problem);
  };
  return checked;
}

}  // namespace

void ImplementationList::add(std::vector<Implementation> of_folder) {
  for (Implementation& implementation : of_folder) {
    kept_.push_back(
        std::make_unique<const Implementation>(within_limits(std::move(implementation))));
    all_.push_back(kept_.back().get());
  }
}

#define IMPLEMENTATION(folder) std::vector<Implementation> folder##_implementations();
#include "engine/attention/list.inc"
#undef IMPLEMENTATION

ImplementationList listed_implementations() {
  ImplementationList list;
#define IMPLEMENTATION(folder) list.add(folder##_implementations());
#include "engine/attention/list.inc"
#undef IMPLEMENTATION
  return list;
}

const Implementation* find_implementation(std::string_view id) {
  for (const Implementation* implementation : implementations()) {
    if (implementation->id == id) return implementation;
  }
  return nullptr;
}

Result<const Implementation*> implementation_named(std::string_view id) {
  if (const Implementation* found = find_implementation(id)) return found;
  std::vector<std::string_view> known;
  for (const Implementation* implementation : implementations()) {
    known.push_back(implementation->id);
  }
  return fail("there is no implementation '{}'; {}", id, suggest(id, known));
}

}  // namespace attnscope
