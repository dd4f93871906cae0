// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/sdpa/named_sdpa.h"

namespace attnscope {

const Implementation& sdpa_efficient_implementation() {
  static const NamedSdpa sdpa_efficient(
      SdpaKernel::efficient,
      "LibTorch's memory-efficient attention, and no other kernel, on CUDA: any pattern as an "
      "additive mask made once a layout, not timed; one call for a uniform batch and one an "
      "item otherwise, result copied into place; backward by autograd, gradients copied too");
  return sdpa_efficient;
}

}  // namespace attnscope
