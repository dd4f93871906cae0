// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/torch_runtime.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
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

std::string libtorch_config() {
  return at::show_config();
}

std::string blas_version() {
  return at::get_mkl_version();
}

std::string onednn_version() {
  return at::get_mkldnn_version();
}

std::string libtorch_instruction_set() {
  return at::get_cpu_capability();
}

}  // namespace attnscope::measure
