#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// An implementation that is one of LibTorch's fused kernels, asked for by name.
//
//   static const NamedSdpa flash(SdpaKernel::flash, "LibTorch's flash attention ...");

#include "engine/attention/implementation.h"
#include "engine/attention/sdpa/kernel_limits.h"

namespace attnscope {

class NamedSdpa final : public Implementation {
 public:
  NamedSdpa(SdpaKernel kernel, std::string_view summary) : kernel_(kernel), summary_(summary) {}

  std::string_view id() const override { return id_of(kernel_); }
  std::string_view summary() const override { return summary_; }
  Status supports(const Problem& problem) const override;
  Result<std::unique_ptr<PreparedAttention>> prepare(const Problem& problem) const override;

 private:
  SdpaKernel kernel_;
  std::string_view summary_;
};

}  // namespace attnscope
