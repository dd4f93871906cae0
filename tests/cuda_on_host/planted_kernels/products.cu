// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx.h"
#include "tests/cuda_on_host/planted_kernels/products.h"

namespace attnscope::cuda::planted {

namespace {

template <typename T>
__global__ void multiply_kernel(Product product) {
  auto* a = reinterpret_cast<std::uint16_t*>(dynamic_shared());
  auto* b = a + 16 * 16;
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 16 * 16; i += 32) a[i] = product.a[i];
  for (int i = lane; i < 16 * 8; i += 32) b[i] = product.b[i];
  __syncwarp();

  // Matrix i of A: rows 8 (i % 2) and on, columns 8 (i / 2) and on; of B: rows 8 i and on, twice.
  std::uint32_t of_a[4], of_b[4];
  const int matrix = lane / 8, row = lane % 8;
  load_matrices(of_a, a + (matrix % 2 * 8 + row) * 16 + matrix / 2 * 8);
  const std::uint16_t* row_of_b = b + (matrix % 2 * 8 + row) * 8;
  if (product.fragments == Fragments::b_not_transposed) {
    load_matrices(of_b, row_of_b);
  } else {
    load_matrices_transposed(of_b, row_of_b);
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

template <bool transposed>
__global__ void load_kernel(Matrices matrices) {
  auto* rows = reinterpret_cast<std::uint16_t*>(dynamic_shared());
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = 0; i < 8; ++i) rows[lane * 8 + i] = matrices.rows[lane * 8 + i];
  __syncwarp();
  std::uint32_t r[4];
  if (transposed) {
    load_matrices_transposed(r, rows + lane * 8);
  } else {
    load_matrices(r, rows + lane * 8);
  }
  for (int i = 0; i < 4; ++i) matrices.registers[lane * 4 + i] = r[i];
}

__global__ void powers_kernel(Powers powers) {
  powers.y[threadIdx.x] = exp2_approx(powers.x[threadIdx.x]);
}

}  // namespace

Status multiply(const Product& product, DType dtype) {
  const LaunchShape shape{1, 32, (16 * 16 + 16 * 8) * 2};
  return dtype == DType::float16
             ? launch("multiply", multiply_kernel<__half>, shape, nullptr, product)
             : launch("multiply", multiply_kernel<__nv_bfloat16>, shape, nullptr, product);
}

Status load(const Matrices& matrices, bool transposed) {
  const LaunchShape shape{1, 32, 32 * 16};
  return launch("load", transposed ? load_kernel<true> : load_kernel<false>, shape, nullptr,
                matrices);
}

Status powers(const Powers& powers) {
  return launch("powers", powers_kernel, {1, 32, 0}, nullptr, powers);
}

}  // namespace attnscope::cuda::planted
