// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx.h"
#include "tests/cuda_on_host/planted_kernels/products.h"

namespace attnscope::cuda::planted {

namespace {

__device__ std::uint32_t pair(std::uint16_t low, std::uint16_t high) {
  return static_cast<std::uint32_t>(high) << 16 | low;
}

template <typename T>
__global__ void multiply_kernel(Product product) {
  const int lane = static_cast<int>(threadIdx.x), g = lane / 4, t = lane % 4;
  std::uint32_t of_a[4], of_b[2];
  for (int i = 0; i < 4; ++i) {
    const std::uint16_t* numbers = product.a + (g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
    of_a[i] = pair(numbers[0], numbers[1]);
  }
  for (int i = 0; i < 2; ++i) {
    const std::uint16_t* numbers = product.b + (2 * t + i * 8) * 8 + g;
    of_b[i] = product.fragments == Fragments::pairs_of_b_swapped ? pair(numbers[8], numbers[0])
                                                                 : pair(numbers[0], numbers[8]);
  }
  if (product.fragments == Fragments::registers_of_a_swapped) {
    const std::uint32_t second = of_a[1];
    of_a[1] = of_a[2];
    of_a[2] = second;
  }
  const bool swapped = product.fragments == Fragments::halves_of_b_swapped;
  float c[4] = {};
  multiply_add<T>(c, of_a, of_b[swapped ? 1 : 0], of_b[swapped ? 0 : 1]);
  const int off = product.fragments == Fragments::rows_of_c_one_off ? 1 : 0;
  for (int i = 0; i < 4; ++i) {
    product.c[((lane / 4 + i / 2 * 8 + off) % 16) * 8 + lane % 4 * 2 + i % 2] = c[i];
  }
}

__global__ void powers_kernel(Powers powers) {
  powers.y[threadIdx.x] = exp2_approx(powers.x[threadIdx.x]);
}

}  // namespace

Status multiply(const Product& product, DType dtype) {
  const LaunchShape shape{1, 32, 0};
  return dtype == DType::float16
             ? launch("multiply", multiply_kernel<__half>, shape, nullptr, product)
             : launch("multiply", multiply_kernel<__nv_bfloat16>, shape, nullptr, product);
}

Status powers(const Powers& powers) {
  return launch("powers", powers_kernel, {1, 32, 0}, nullptr, powers);
}

}  // namespace attnscope::cuda::planted
