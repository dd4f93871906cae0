// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/torch_runtime.h"

#include <ATen/Parallel.h>
#include <omp.h>
#include <torch/headeronly/version.h>

namespace attnscope::measure {

void set_threads(int threads) {
  at::set_num_threads(threads);
  omp_set_num_threads(threads);
}

std::string libtorch_version() {
  return TORCH_VERSION;
}

std::string libtorch_parallel_info() {
  return at::get_parallel_info();
}

}  // namespace attnscope::measure
