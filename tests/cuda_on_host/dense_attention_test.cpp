// SPDX-License-Identifier: Apache-2.0
//
// Compares dense attention, with the products of host_cublaslt, with the formulas in float64.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/cuda/dense.h"
#include "tests/cuda/device_memory.h"
#include "tests/cuda_on_host/device_memory.h"
#include "tests/cuda_on_host/host_cublaslt.h"
#include "tests/kernels/cases.h"

namespace attnscope::cuda {
namespace {

using namespace attnscope::testing;
using on_host::DeviceArray;
using on_host::host_cublaslt;
using ::testing::HasSubstr;

struct Case {
  DenseProblem problem;
  Order order = Order::head_major_items;
  std::int64_t tokens = 0;
  std::vector<std::uint8_t> mask;

  [[nodiscard]] std::string text() const {
    return name_of(order) + ", " + std::to_string(problem.batch) + " items, " +
           std::to_string(problem.queries.size()) + " x " + std::to_string(problem.keys.size());
  }
  [[nodiscard]] Packed shape() const {
    const ConstTensor& like = problem.rows_like;
    return {tokens, problem.heads, like.head_dim, order, problem.queries.size(), 0.0F, like.dtype};
  }
  [[nodiscard]] bool allows(std::int64_t head, std::int64_t row, std::int64_t column) const {
    if (mask.empty()) return true;
    const std::int64_t matrix = problem.masks > 1 ? head : 0;
    return mask[static_cast<std::size_t>(
               (matrix * problem.queries.size() + row) * problem.keys.size() + column)] != 0;
  }
  /// The mask with rows of `stride` bytes.
  [[nodiscard]] std::vector<std::uint8_t> padded_mask(std::int64_t stride) const {
    std::vector<std::uint8_t> padded;
    for (auto row = mask.begin(); row != mask.end(); row += problem.keys.size()) {
      padded.insert(padded.end(), row, row + problem.keys.size());
      padded.resize(padded.size() + static_cast<std::size_t>(stride - problem.keys.size()));
    }
    return padded;
  }
};

/// A batch of equal items, every token a query and a key.
Case uniform(Order order, std::int64_t batch, std::int64_t heads, std::int64_t n,
             std::int64_t head_dim, DType dtype) {
  Case made;
  made.order = order;
  made.tokens = batch * n;
  made.problem = {.queries = {0, n}, .keys = {0, n}, .batch = batch, .heads = heads};
  const Packed shape(made.tokens, heads, head_dim, order, n, 0.0F, dtype);
  made.problem.rows_like = made.problem.columns_like = shape.view();
  made.problem.scale = scale_of(head_dim);
  made.problem.passes = Passes::forward_backward;
  return made;
}

/// A band of w = 2 with a row that sees nothing; one mask per head or one for all heads.
void set_band(Case& c, std::int64_t masks) {
  c.problem.masks = masks;
  for (std::int64_t head = 0; head < masks; ++head) {
    for (std::int64_t row = 0; row < c.problem.queries.size(); ++row) {
      for (std::int64_t column = 0; column < c.problem.keys.size(); ++column) {
        const bool seen = std::abs(row - column) <= 2 + head && row != 1;
        c.mask.push_back(seen ? 1 : 0);
      }
    }
  }
}

/// The keys of the rectangle that the mask allows.
KeysOf keys_of(const Case& c) {
  return [&c](std::int64_t token, std::int32_t head) {
    const DenseProblem& p = c.problem;
    std::vector<std::int64_t> keys;
    const std::int64_t place = token - p.queries.begin, n = p.queries.size();
    if (place < 0 || place >= n * p.batch) return keys;
    const std::int64_t first_key = p.keys.begin + place / n * n;
    for (std::int64_t column = 0; column < p.keys.size(); ++column) {
      if (c.allows(head, place % n, column)) keys.push_back(first_key + column);
    }
    return keys;
  };
}

void expect_close(const DeviceTensor& got, const Values& expected, const char* what) {
  const Packed read = got.read_back();
  const double bound = (8 * unit_roundoff(read.dtype) + 4e-6) * std::max(1.0, expected.largest());
  expect_near(read, expected, bound, what);
}

/// Rows outside the rectangle are not written and stay NaN.
void expect_logarithms(const Case& c, const std::vector<float>& got,
                       const std::vector<double>& expected) {
  const DType dtype = c.problem.rows_like.dtype;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::int64_t place =
        static_cast<std::int64_t>(i) / c.problem.heads - c.problem.queries.begin;
    if (place < 0 || place >= c.problem.queries.size() * c.problem.batch) {
      ASSERT_TRUE(std::isnan(got[i])) << "row " << i;
    } else if (std::isfinite(expected[i])) {
      ASSERT_NEAR(double{got[i]}, expected[i], 16 * unit_roundoff(dtype) + 1e-5) << "row " << i;
    } else {
      ASSERT_EQ(double{got[i]}, expected[i]) << "row " << i;
    }
  }
}

int sum(const on_host::CublasLtProducts& products) {
  return std::accumulate(products.begin(), products.end(), 0);
}

void expect_right(const Case& c) {
  SCOPED_TRACE(c.text());
  const Packed shape = c.shape();
  const Packed q = random_like(shape, 1), k = random_like(shape, 2), v = random_like(shape, 3);
  const Packed grad_o = random_like(shape, 4);
  const bool softmax = c.problem.weights == DenseWeights::softmax;
  const Formula formula{.scale = double{c.problem.scale}, .softmax = softmax};
  ExactCase values{Values(q), Values(k), Values(v), {}, Values(grad_o)};
  const Reference right = reference(keys_of(c), values, formula);
  values.o = right.o;
  const ReferenceGradients gradients = reference_gradients(keys_of(c), values, formula);

  const on_host::CublasLtProducts before = on_host::cublaslt_products();
  {
    const Result<DenseAttention> dense = DenseAttention::prepare(c.problem, host_cublaslt());
    ASSERT_TRUE(dense) << dense.error().message;
    const auto given = DeviceTensor::Content::given;
    const DeviceTensor dq("q", q, given), dk("k", k, given), dv("v", v, given),
        dgrad_o("grad_o", grad_o, given), o("o", shape, given), grad_q("grad_q", shape, given),
        grad_k("grad_k", shape, given), grad_v("grad_v", shape, given);
    const DeviceArray<float> lse("lse", c.tokens * c.problem.heads);
    const DeviceArray<std::uint8_t> mask("mask", c.padded_mask(dense->mask_stride()));
    const DeviceArray<std::byte> workspace("workspace", dense->workspace_bytes());
    const DenseMemory memory = {workspace.data(), mask.data()};
    const Status forward = dense->forward({dq.view().data, dk.view().data, dv.view().data,
                                           o.tensor().data, softmax ? lse.data() : nullptr, memory},
                                          nullptr);
    ASSERT_TRUE(forward) << forward.error().message;
    expect_close(o, right.o, "o");
    if (softmax) expect_logarithms(c, lse.values(), right.lse);
    const Status backward =
        dense->backward({dq.view().data, dk.view().data, dv.view().data, dgrad_o.view().data,
                         grad_q.tensor().data, grad_k.tensor().data, grad_v.tensor().data, memory},
                        nullptr);
    ASSERT_TRUE(backward) << backward.error().message;
    expect_close(grad_q, gradients.q, "grad_q");
    expect_close(grad_k, gradients.k, "grad_k");
    expect_close(grad_v, gradients.v, "grad_v");
  }
  EXPECT_GE(sum(on_host::cublaslt_products()) - sum(before), 6);
  EXPECT_EQ(on_host::live_cublaslt_objects(), 0);
  EXPECT_EQ(on_host::cublaslt_handles_made(), 1);
}

constexpr Order memory_orders[] = {Order::token_major_apart, Order::head_major,
                                   Order::head_major_items};

TEST(DenseAttention, IsRightForwardAndBackwardInEveryMemoryOrderAndDType) {
  for (const Order order : memory_orders) {
    for (const DType dtype : dtypes) {
      expect_right(uniform(order, 2, 3, 19, 8, dtype));
      expect_right(uniform(order, 3, 2, 16, 16, dtype));
      expect_right(uniform(order, 1, 1, 33, 9, dtype));
    }
  }
}

TEST(DenseAttention, AcceptsOneMaskForAllHeadsOrOnePerHead) {
  for (const Order order : memory_orders) {
    for (const std::int64_t masks : {1, 2}) {
      Case c = uniform(order, 2, 2, 13, 8, DType::float32);
      set_band(c, masks);
      expect_right(c);
    }
  }
}

TEST(DenseAttention, ProductsWithoutASoftmaxAreMaskedByZero) {
  for (const bool masked : {false, true}) {
    Case c = uniform(Order::head_major_items, 2, 2, 11, 8, DType::float32);
    c.problem.weights = DenseWeights::product;
    if (masked) set_band(c, 1);
    expect_right(c);
  }
}

TEST(DenseAttention, ARectangleWithinTheTensorsReadsAndWritesOnlyItsTokens) {
  for (const Order order : {Order::token_major_apart, Order::head_major}) {
    Case c = uniform(order, 1, 2, 24, 8, DType::bfloat16);
    c.problem.queries = {5, 16};
    c.problem.keys = {7, 24};
    expect_right(c);
  }
}

TEST(DenseAttention, TheForwardPassNeedsHalfTheWorkspaceOfBothPasses) {
  Case c = uniform(Order::head_major_items, 2, 3, 19, 8, DType::bfloat16);
  const std::int64_t scores = 2 * 3 * 19 * 24 * 2;  // rows of 19 columns have a stride of 24
  const auto both = DenseAttention::prepare(c.problem, host_cublaslt());
  c.problem.passes = Passes::forward;
  const auto forward = DenseAttention::prepare(c.problem, host_cublaslt());
  ASSERT_TRUE(both && forward);
  EXPECT_GE(forward->workspace_bytes(), scores);
  EXPECT_LT(forward->workspace_bytes(), scores + 1024);
  EXPECT_GE(both->workspace_bytes(), 2 * scores);
  EXPECT_DOUBLE_EQ(both->flop(), 3 * forward->flop());
  EXPECT_DOUBLE_EQ(forward->flop(), 2.0 * 2 * (2 * 3) * 19 * 19 * 8);
  EXPECT_FALSE(forward->backward({}, nullptr));
}

/// The products of `calls` forward calls of one preparation; afterwards `algorithms` has its
/// selected ones.
on_host::CublasLtProducts products_of_forward(const Case& c, int calls,
                                              std::string* algorithms = nullptr) {
  const Packed shape = c.shape();
  const auto given = DeviceTensor::Content::given;
  const DeviceTensor q("q", random_like(shape, 1), given), k("k", random_like(shape, 2), given),
      v("v", random_like(shape, 3), given), o("o", shape, given);
  const auto dense = DenseAttention::prepare(c.problem, host_cublaslt());
  EXPECT_TRUE(dense);
  const DeviceArray<std::byte> workspace("workspace", dense->workspace_bytes());
  const on_host::CublasLtProducts before = on_host::cublaslt_products();
  for (int call = 0; call < calls; ++call) {
    const Status done =
        dense->forward({q.view().data, k.view().data, v.view().data, o.tensor().data, nullptr,
                        DenseMemory{workspace.data(), nullptr}},
                       nullptr);
    EXPECT_TRUE(done) << done.error().message;
  }
  on_host::CublasLtProducts counted = on_host::cublaslt_products();
  std::ranges::transform(counted, before, counted.begin(), std::minus());
  if (algorithms != nullptr) *algorithms = dense->algorithms();
  return counted;
}

TEST(DenseAttention, TheFirstCallOfAShapeSelectsTheFastestAlgorithm) {
  // No other test uses these shapes.
  const auto shape = [](std::int64_t n) {
    Case made = uniform(Order::head_major_items, 1, 2, n, 8, DType::float16);
    made.problem.passes = Passes::forward;
    return made;
  };
  const on_host::CublasLtProducts first = products_of_forward(shape(37), 1);
  const int trials = first[on_host::slow];
  EXPECT_GT(trials, 0);
  // In addition to its trials the fastest one computes both products.
  EXPECT_THAT(first, ::testing::ElementsAre(trials, 0, 0, trials + 2, 0, trials));
  // Another preparation also uses the selected one.
  EXPECT_THAT(products_of_forward(shape(37), 3), ::testing::ElementsAre(0, 0, 0, 3 * 2, 0, 0));
  EXPECT_GT(products_of_forward(shape(38), 1)[on_host::slow], 0);
  std::string algorithms = "none";
  products_of_forward(shape(38), 0, &algorithms);
  EXPECT_EQ(algorithms, "");
  products_of_forward(shape(38), 1, &algorithms);
  EXPECT_EQ(algorithms, "to scores 63/30/3/1, to rows 63/30/3/1");
}

TEST(DenseAttention, IsRightInTheCallThatTimesAlgorithmsAndInTheNext) {
  const Case c = uniform(Order::token_major_apart, 2, 1, 29, 8, DType::float32);
  expect_right(c);
  expect_right(c);
}

TEST(DenseAttention, NamesTheReasonWhyAProblemIsInvalid) {
  struct Row {
    void (*change)(DenseProblem&);
    std::string reason;
  };
  for (const auto& [change, reason] : std::vector<Row>{
           {[](DenseProblem& p) {
              p.queries = {4, 4};
            },
            "needs at least 1 item, head, row and column"},
           {[](DenseProblem& p) { p.masks = 2; }, "not 2 for 3 heads"},
           {[](DenseProblem& p) {
              p.keys = {10, 29};
            },
            "crosses the borders of the tensor's items of 19 tokens"},
           {[](DenseProblem& p) { p.columns_like.dtype = DType::float16; }, "one dtype"}}) {
    DenseProblem problem = uniform(Order::head_major_items, 2, 3, 19, 8, DType::float32).problem;
    change(problem);
    const auto dense = DenseAttention::prepare(problem, host_cublaslt());
    ASSERT_FALSE(dense) << reason;
    EXPECT_THAT(dense.error().message, HasSubstr(reason));
  }
}

TEST(CublasLt, IsNamedIfItCannotBeLoaded) {
  EXPECT_THAT(load_cublaslt({"/nowhere/libcublasLt.so"}).error().message,
              HasSubstr("/nowhere/libcublasLt.so"));
  EXPECT_THAT(load_cublaslt({"libm.so.6"}).error().message,
              HasSubstr("no function cublasLtCreate"));
}

TEST(CublasLt, AFailedCallIsNamedWithItsLineAndTheMessageOfTheLibrary) {
  const Status status = checked(host_cublaslt(), 15, "multiply", "cublaslt.cpp", 3);
  EXPECT_EQ(status.error().message,
            "cuBLASLt: multiply failed at cublaslt.cpp:3: the product asked for what the library "
            "does not do (not supported)");
}

}  // namespace
}  // namespace attnscope::cuda
