// SPDX-License-Identifier: Apache-2.0
#include "tests/trial_worker/imitation.h"

#include <cstdlib>
#include <utility>

#include "engine/attention/list.h"

namespace attnscope::trial {
namespace {

const Implementation& known(std::string_view id) {
  const Implementation* found = find_implementation(id);
  if (found == nullptr) std::abort();  // a trial of something that is gone
  return *found;
}

}  // namespace

Implementation imitation(const Imitated& one) {
  return {.id = one.id,
          .summary = one.summary,
          .supports =
              [one](const Problem& problem) {
                const Status here = one.only_where ? one.only_where(problem) : Status();
                return here ? known(one.imitated).supports(problem) : here;
              },
          .prepare = [one](const Problem& problem) -> Result<std::unique_ptr<PreparedAttention>> {
            auto prepared = known(one.imitated).prepare(problem);
            if (!prepared || !one.wrap) return prepared;
            return one.wrap(problem, std::move(*prepared));
          }};
}

}  // namespace attnscope::trial
