// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/torch_function.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "engine/attention/cuda_runtime.h"
#include "engine/pattern/oracle.h"
#include "tests/attention/small_problem.h"

namespace attnscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using tests::item;
using tests::SmallProblem;
using Attention = at::Tensor (*)(const std::shared_ptr<const AttentionPlan>&, const at::Tensor&,
                                 const at::Tensor&, const at::Tensor&, float);

constexpr std::int64_t heads = 2;
constexpr std::int64_t dim = 8;

std::shared_ptr<const AttentionPlan> shared(const AttentionPlan& plan) {
  return std::make_shared<const AttentionPlan>(plan);
}

/// Normal numbers that require gradients, the same for the same seed.
at::Tensor leaf(at::IntArrayRef sizes, std::uint64_t seed, at::ScalarType type = at::kFloat) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn(sizes, generator).to(type).requires_grad_();
}

/// LibTorch's own attention with the pattern as its mask, [tokens, heads, dim] as ours.
at::Tensor masked_sdpa(const SmallProblem& small, const at::Tensor& q, const at::Tensor& k,
                       const at::Tensor& v) {
  const Oracle oracle(small.attention_pattern, small.problem.window, small.layout);
  const std::int64_t n = small.plan.tokens;
  at::Tensor mask = at::empty({1, small.plan.heads, n, n}, at::TensorOptions().dtype(at::kBool));
  auto* allowed = mask.data_ptr<bool>();
  for (std::int32_t head = 0; head < small.plan.heads; ++head) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) *allowed++ = oracle.allowed(head, i, j);
    }
  }
  const auto head_major = [](const at::Tensor& t) { return t.transpose(0, 1).unsqueeze(0); };
  return at::scaled_dot_product_attention(head_major(q), head_major(k), head_major(v), mask, 0.0,
                                          false, small.problem.scale)
      .squeeze(0)
      .transpose(0, 1);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

/// Gradients of sum(weights * o) with respect to the leaves.
std::vector<at::Tensor> gradients(const at::Tensor& o, const std::vector<at::Tensor>& leaves) {
  const at::Tensor weights =
      at::arange(o.numel(), at::TensorOptions().dtype(at::kFloat)).mul(0.37).sin().view(o.sizes());
  return torch::autograd::grad({o}, leaves, {weights.to(o.device(), o.scalar_type())});
}

void expect_equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                  double tolerance = 2e-6) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_LT(largest_difference(a[i], b[i]),
              tolerance * std::max(1.0, b[i].abs().max().item<double>()))
        << i;
  }
}

class TorchFunction : public ::testing::TestWithParam<Attention> {
 protected:
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const {
    return GetParam()(plan_, q, k, v, small_.problem.scale);
  }

  /// Expects the gradients of the leaves to be those of masked_sdpa.
  void expect_sdpa_gradients(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const std::vector<at::Tensor>& leaves) const {
    expect_equal(gradients(attend(q, k, v), leaves),
                 gradients(masked_sdpa(small_, q, k, v), leaves));
  }

  /// The message of an exception.
  template <typename Call>
  static std::string refusal(const Call& call) {
    try {
      call();
    } catch (const std::invalid_argument& exception) {
      return exception.what();
    }
    return "no exception";
  }

  SmallProblem small_{"sparse", Window::of(2),
                      SequenceLayout::make({item(1, 3, 20), item(1, 2, 7)}).value(), heads, dim};
  std::shared_ptr<const AttentionPlan> plan_ = shared(small_.plan);
  const std::int64_t n_ = small_.plan.tokens;
  at::Tensor q_ = leaf({n_, heads, dim}, 1);
  at::Tensor k_ = leaf({n_, heads, dim}, 2);
  at::Tensor v_ = leaf({n_, heads, dim}, 3);
};

TEST_P(TorchFunction, ResultAndGradientsAreThoseOfMaskedSdpa) {
  EXPECT_LT(largest_difference(attend(q_, k_, v_), masked_sdpa(small_, q_, k_, v_)), 2e-6);
  expect_sdpa_gradients(q_, k_, v_, {q_, k_, v_});
  expect_sdpa_gradients(q_, q_, q_, {q_});  // one tensor may be all three
}

TEST_P(TorchFunction, SupportsSixteenBitTensors) {
  for (const auto& [type, tolerance] : {std::pair{at::kHalf, 4e-3}, {at::kBFloat16, 3e-2}}) {
    const at::Tensor q = leaf({n_, heads, dim}, 1, type);
    const at::Tensor k = leaf({n_, heads, dim}, 2, type);
    const at::Tensor v = leaf({n_, heads, dim}, 3, type);
    const at::Tensor o = attend(q, k, v);
    EXPECT_EQ(o.scalar_type(), type);
    const auto exact = [](const at::Tensor& t) {
      return t.detach().to(at::kFloat).requires_grad_();
    };
    const std::vector<at::Tensor> leaves{exact(q), exact(k), exact(v)};
    expect_equal(gradients(o, {q, k, v}),
                 gradients(masked_sdpa(small_, leaves[0], leaves[1], leaves[2]), leaves),
                 tolerance);
  }
}

TEST_P(TorchFunction, SupportsViewsOfOneProjectionAndOfHeadMajorTensors) {
  const at::Tensor together = leaf({n_, 3, heads, dim}, 4);
  const auto part = [&](std::int64_t which) { return together.select(1, which); };
  expect_sdpa_gradients(part(0), part(1), part(2), {together});
  const at::Tensor head_major = leaf({heads, n_, dim}, 5);
  expect_sdpa_gradients(head_major.transpose(0, 1), k_, v_, {head_major, k_});
}

TEST_P(TorchFunction, IncomingGradientsMayHaveAnyStrides) {
  // The gradient of a sum is one number, expanded; that of a transposed product is transposed.
  const auto of_sum = [&](const at::Tensor& o) {
    return torch::autograd::grad({o.sum()}, {q_, k_, v_});
  };
  expect_equal(of_sum(attend(q_, k_, v_)), of_sum(masked_sdpa(small_, q_, k_, v_)));
  const at::Tensor weights = leaf({dim, heads, n_}, 6).detach();
  const auto of_transposed = [&](const at::Tensor& o) {
    return torch::autograd::grad({o.permute({2, 1, 0}).mul(weights).sum()}, {q_, k_, v_});
  };
  expect_equal(of_transposed(attend(q_, k_, v_)), of_transposed(masked_sdpa(small_, q_, k_, v_)));
}

TEST_P(TorchFunction, MayBeUsedTwiceInOneGraph) {
  const auto twice = [&](const auto& function) {
    const at::Tensor first = function(q_, k_, v_);
    return function(first + q_, k_, first);
  };
  expect_equal(
      gradients(twice([&](const auto&... t) { return attend(t...); }), {q_, k_, v_}),
      gradients(twice([&](const auto&... t) { return masked_sdpa(small_, t...); }), {q_, k_, v_}),
      1e-5);
}

TEST_P(TorchFunction, GraphOutlivesTheCallersPlan) {
  const at::Tensor o = attend(q_, k_, v_);
  const std::weak_ptr<const AttentionPlan> plan = plan_;
  plan_.reset();
  EXPECT_FALSE(plan.expired());
  expect_equal(gradients(o, {q_}), gradients(masked_sdpa(small_, q_, k_, v_), {q_}));
}

TEST_P(TorchFunction, WithoutGradientsComputesOnlyTheForward) {
  const at::NoGradGuard no_gradients;
  const at::Tensor o = attend(q_, k_, v_);
  EXPECT_FALSE(o.requires_grad());
  EXPECT_LT(largest_difference(o, masked_sdpa(small_, q_, k_, v_)), 2e-6);
}

TEST_P(TorchFunction, RowsWithoutKeysGiveZeroAndGetNoGradient) {
  const SmallProblem deaf(R"({"name":"deaf","attends":{"document":{"query":"whole"}}})",
                          std::nullopt, SequenceLayout::uniform(1, item(1, 2, 6)), heads, dim);
  const at::Tensor q = leaf({9, heads, dim}, 1);
  const at::Tensor o = GetParam()(shared(deaf.plan), q, q, q, 1.0F);
  EXPECT_EQ(o.slice(0, 0, 3).abs().max().item<float>(), 0);
  const at::Tensor gradient = torch::autograd::grad({o.slice(0, 0, 3).sum()}, {q})[0];
  EXPECT_EQ(gradient.abs().max().item<float>(), 0);
}

TEST_P(TorchFunction, RefusesInvalidArgumentsInOneSentence) {
  const auto sentence = [&](const at::Tensor& q, const at::Tensor& k) {
    return refusal([&] { static_cast<void>(attend(q, k, v_)); });
  };
  EXPECT_THAT(sentence(leaf({n_ + 1, heads, dim}, 1), k_),
              AllOf(HasSubstr("q has shape [35, 2, 8]"), HasSubstr("[34, 2, head_dim]"),
                    Not(HasSubstr("\n"))));
  EXPECT_THAT(sentence(leaf({n_, heads * dim}, 1), k_), HasSubstr("q has shape [34, 16]"));
  EXPECT_THAT(sentence(q_, leaf({n_, heads, 4}, 1)), HasSubstr("k has head_dim 4, and q has 8"));
  EXPECT_THAT(sentence(q_, k_.to(at::kHalf)), HasSubstr("k is Half, and q is Float"));
  EXPECT_THAT(sentence(q_, at::Tensor()), HasSubstr("k is an undefined tensor"));
  EXPECT_THAT(sentence(q_, leaf({n_, dim, heads}, 1).transpose(1, 2)),
              HasSubstr("the last dimension of k has stride 2; pass k.contiguous()"));
  const at::Tensor elsewhere = q_.detach().to(at::kMeta);
  EXPECT_THAT(sentence(elsewhere, k_), HasSubstr("runs on the CPU and on CUDA, and q is on meta"));
  EXPECT_THAT(sentence(q_, elsewhere), HasSubstr("and k is on meta"));
  const auto as_double = [](const at::Tensor& t) { return t.to(at::kDouble); };
  EXPECT_THAT(
      refusal([&] { static_cast<void>(attend(as_double(q_), as_double(k_), as_double(v_))); }),
      HasSubstr("float32, float16 and bfloat16, and q is Double"));
  EXPECT_THAT(refusal([&] { static_cast<void>(GetParam()(nullptr, q_, k_, v_, 1.0F)); }),
              HasSubstr("needs a plan"));
}

TEST_P(TorchFunction, OnCuda_ResultAndGradientsAreThoseOfTheCpu) {
  if (!cuda::usable()) GTEST_SKIP() << "not run: " << cuda::usable().error().message;
  const auto on_cuda = [](const at::Tensor& t) {
    return t.detach().to(at::kCUDA).requires_grad_();
  };
  const at::Tensor here = attend(q_, k_, v_);
  const auto expected = gradients(here, {q_, k_, v_});
  for (int call = 0; call < 3; ++call) {
    const at::Tensor q = on_cuda(q_);
    const at::Tensor k = on_cuda(k_);
    const at::Tensor v = on_cuda(v_);
    const at::Tensor there = attend(q, k, v);
    EXPECT_LT(largest_difference(there.cpu(), here), 2e-6);
    std::vector<at::Tensor> found = gradients(there, {q, k, v});
    for (at::Tensor& gradient : found) gradient = gradient.cpu();
    expect_equal(found, expected);
  }
}

TEST_P(TorchFunction, RefusesASecondDerivative) {
  const at::Tensor o = attend(q_, k_, v_);
  EXPECT_THAT(refusal([&] {
                torch::autograd::grad({o.sum()}, {q_}, {}, /*retain_graph=*/true,
                                      /*create_graph=*/true);
              }),
              HasSubstr("has no second derivative; do not set create_graph"));
}

INSTANTIATE_TEST_SUITE_P(Kernels, TorchFunction,
                         ::testing::Values(&segment_attention, &windowed_attention),
                         [](const ::testing::TestParamInfo<Attention>& kernels) {
                           return kernels.param == &segment_attention ? "segment" : "windowed";
                         });

}  // namespace
}  // namespace attnscope
