// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/sdpa/named_sdpa.h"

#include "engine/attention/blocks.h"
#include "engine/attention/limits.h"
#include "engine/attention/sdpa/prepared_sdpa.h"
#include "engine/attention/sdpa/sdpa_kernels.h"

namespace attnscope {

Status NamedSdpa::supports(const Problem& problem) const {
  if (Status ok = within_build_limits(problem, id()); !ok) return ok;
  return sdpa_kernel_takes(kernel_, problem, current_sdpa_device());
}

Result<std::unique_ptr<PreparedAttention>> NamedSdpa::prepare(const Problem& problem) const {
  if (const Status ok = supports(problem); !ok) return tl::unexpected(ok.error());
  const bool masked = !is_full_attention(problem.layout, problem.plan);
  return prepare_sdpa(problem, kernel_, masked);
}

}  // namespace attnscope
