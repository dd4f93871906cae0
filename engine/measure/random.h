#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random numbers (splitmix64's finaliser, Steele et al., OOPSLA 2014): number i of a
// seed needs no numbers before it, so threads and memory orders agree on every value.

#include <cstdint>
#include <span>
#include <utility>

namespace attnscope::measure {

[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed * 0xd1342543de82ef95U + (counter + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// Approximately normal with mean 0 and variance 1, within +-3.47: the sum of four 16-bit uniforms.
[[nodiscard]] constexpr float random_normal(std::uint64_t seed, std::uint64_t counter) {
  const std::uint64_t bits = random_bits(seed, counter);
  const std::uint64_t sum =
      (bits & 0xffffU) + ((bits >> 16U) & 0xffffU) + ((bits >> 32U) & 0xffffU) + (bits >> 48U);
  // Each uniform has variance 1/12, so the sum of four is scaled by sqrt(3).
  return (static_cast<float>(sum) / 65536.0F - 2.0F) * 1.7320508F;
}

/// Fisher-Yates shuffle; the order is the same on every machine.
template <typename T>
void shuffle(std::span<T> values, std::uint64_t seed) {
  for (std::size_t left = values.size(); left > 1; --left)
    std::swap(values[left - 1], values[random_bits(seed, left) % left]);
}

}  // namespace attnscope::measure
