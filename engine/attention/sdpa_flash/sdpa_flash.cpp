// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/sdpa/named_sdpa.h"

namespace attnscope {

const Implementation& sdpa_flash_implementation() {
  static const NamedSdpa sdpa_flash(
      SdpaKernel::flash,
      "LibTorch's flash attention, and no other kernel: full attention on CUDA, any pattern as a "
      "mask on the CPU, made once a layout, not timed; one call for a uniform batch and one an "
      "item otherwise, result copied into place; backward by autograd, gradients copied too");
  return sdpa_flash;
}

}  // namespace attnscope
