// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/sdpa/named_sdpa.h"

namespace attnscope {

const Implementation& sdpa_cudnn_implementation() {
  static const NamedSdpa sdpa_cudnn(
      SdpaKernel::cudnn,
      "LibTorch's cuDNN attention, and no other kernel, on CUDA: any pattern as an additive mask "
      "made once a layout, not timed; one call for a uniform batch and one an item otherwise, "
      "result copied into place; backward by autograd, gradients copied too");
  return sdpa_cudnn;
}

}  // namespace attnscope
