// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tests/cuda_on_host/include/ptx_on_host.h"

namespace attnscope::on_host {
namespace {

struct Product {
  float* c;
  const std::uint32_t* a;
  std::uint32_t b[2];
};

template <float (*number)(std::uint16_t)>
[[nodiscard]] float element(const std::uint32_t* registers, int i) {
  return number(static_cast<std::uint16_t>(registers[i / 2] >> (16 * (i % 2))));
}

/// Products of 16-bit numbers are exact in float32. The order in which a tensor core adds them is
/// unspecified; here they are added in float64.
template <float (*number)(std::uint16_t)>
void multiply(void* const (&given)[warp_lanes]) {
  float a[16][16], b[8][16];  // b by columns
  for (int lane = 0; lane < warp_lanes; ++lane) {
    const auto& mine = *static_cast<const Product*>(given[lane]);
    for (int i = 0; i < 8; ++i) {
      const Place at = place_in_a(lane, i);
      a[at.row][at.column] = element<number>(mine.a, i);
    }
    for (int i = 0; i < 4; ++i) {
      const Place at = place_in_b(lane, i);
      b[at.column][at.row] = element<number>(mine.b, i);
    }
  }
  for (int lane = 0; lane < warp_lanes; ++lane) {
    const auto& mine = *static_cast<const Product*>(given[lane]);
    for (int i = 0; i < 4; ++i) {
      const Place at = place_in_c(lane, i);
      double sum = 0;
      for (int k = 0; k < 16; ++k) sum += a[at.row][k] * b[at.column][k];
      mine.c[i] = static_cast<float>(mine.c[i] + sum);
    }
  }
}

const Collective mma_half{"mma (float16)", multiply<float_from_float16>, true};
const Collective mma_bfloat16{"mma (bfloat16)", multiply<float_from_bfloat16>, true};

}  // namespace
}  // namespace attnscope::on_host

namespace attnscope::cuda {

template <>
void multiply_add<__half>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                          std::uint32_t b1) {
  on_host::Product product{c, a, {b0, b1}};
  on_host::meet(on_host::mma_half, &product);
}
template <>
void multiply_add<__nv_bfloat16>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                 std::uint32_t b1) {
  on_host::Product product{c, a, {b0, b1}};
  on_host::meet(on_host::mma_bfloat16, &product);
}

float exp2_approx(float x) {
  constexpr float smallest = std::numeric_limits<float>::min();
  if (std::fabs(x) < smallest) return 1;
  const float power = std::exp2(x);
  return power < smallest ? 0 : power;
}

}  // namespace attnscope::cuda
