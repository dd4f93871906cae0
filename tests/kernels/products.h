#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The two products of the paper, band = scale * q k^T and o = band v, and their gradients.
// products_test.cpp compares them with naive loops on every device.

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/plan/windowed_layout.h"
#include "tests/kernels/reference.h"

namespace attnscope::testing {

struct Band {
  std::vector<TokenRange> sequences{};
  std::int64_t tokens = 0;
  std::int64_t heads = 2;
  std::int64_t head_dim = 32;
  std::int64_t window = 4;
  DType dtype = DType::float32;
  Order order = Order::token_major_apart;

  [[nodiscard]] BandProblem problem() const { return {sequences, heads, head_dim, window}; }
};

inline constexpr float products_scale = 0.5f;
inline constexpr float untouched = 99.0f;  // all results before a call

struct Products {
  std::vector<float> band;
  Packed o;
};
struct ProductGradients {
  Packed grad_q, grad_k, grad_v;
  std::vector<float> grad_band;
};

struct ProductSubject {
  std::string name;
  bool emulated = false;
  /// Both products, the second one with `weights`.
  std::function<Products(const Band& band, const Inputs& in, const std::vector<float>& weights,
                         int order)>
      forward;
  /// The gradients of both products, with `weights` as the band; grad_o is in.q.
  std::function<ProductGradients(const Band& band, const Inputs& in,
                                 const std::vector<float>& weights, int order)>
      backward;
  std::function<void(const std::function<void(const std::string& build)>& body)> for_each_build;

  friend std::ostream& operator<<(std::ostream& out, const ProductSubject& subject) {
    return out << subject.name;
  }
};

/// Defined by every test program that contains products_test.cpp; here the products of kernels/cpu.
[[nodiscard]] const ProductSubject& product_subject();

}  // namespace attnscope::testing
