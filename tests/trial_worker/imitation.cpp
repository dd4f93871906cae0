// SPDX-License-Identifier: Apache-2.0
#include "tests/trial_worker/imitation.h"

#include <cstdlib>
#include <utility>

#include "engine/attention/list.h"

namespace attnscope::trial {

const Implementation& Imitation::imitated() const {
  const Implementation* found = find_implementation(imitated_);
  if (found == nullptr) std::abort();  // a trial of something that is gone
  return *found;
}

Status Imitation::supports(const Problem& problem) const {
  return imitated().supports(problem);
}

Result<std::unique_ptr<PreparedAttention>> Imitation::prepare(const Problem& problem) const {
  if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
  auto prepared = imitated().prepare(problem);
  if (!prepared) return prepared;
  return wrap(problem, std::move(*prepared));
}

std::unique_ptr<PreparedAttention> Imitation::wrap(
    const Problem&, std::unique_ptr<PreparedAttention> imitated) const {
  return std::make_unique<PreparedImitation>(std::move(imitated));
}

}  // namespace attnscope::trial
