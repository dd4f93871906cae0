// The whole model's gradients, compared with float64 and with finite differences.
#include "engine/train/trained_cross_encoder.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/model/bert/encoder.h"
#include "engine/model/bert/reference.h"
#include "tests/model/drawn_pairs.h"

namespace attnscope::test {
namespace {

using Gradients = std::map<std::string, at::Tensor>;

/// Pairs of several lengths. The tests differentiate the sum of their scores times `factors`.
const DrawnPairs& pairs() {
  static const DrawnPairs drawn({5, 1, 9}, {61, 40, 1});
  return drawn;
}
constexpr double factors[] = {1.0, -0.5, 2.0};

std::vector<BertRow> rows() {
  std::vector<BertRow> all{{"full", "sdpa"},
                           {"full", "segment"},
                           {"longformer", "segment", Window::of(4)},
                           {"longformer", "segment", Window::of(4), {"global-projections"}},
                           {"qds", "segment", Window::of(8), {"global-projections"}},
                           {"sparse", "windowed", Window::of(4)},
                           {"sparse-without-independent-query", "segment", Window::of(4)}};
  for (const Window window : {Window::of(0), Window::of(4), Window::infinite()})
    all.push_back({"sparse", "segment", window});
  return all;
}

/// The same sum in float64, with a graph if the weights require gradients.
at::Tensor reference_value(const ModelWeights& weights, const ModelVariant& variant) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (std::size_t i = 0; i < pairs().size(); ++i) {
    const auto packed = pack_batch({.items = {pairs().item(i)}, .cls = 101}, false, small_shape());
    const ReferenceEncoder encoder(weights, variant, packed->layout);
    const at::Tensor states = encoder.run(encoder.embed(*packed), 0, small_shape().layers);
    const at::Tensor pooled = encoder.linear("pooler.dense", states.narrow(0, 0, 1)).tanh();
    sum = sum + encoder.linear("classifier", pooled).sum() * factors[i];
  }
  return sum;
}

/// Copies without inference mode.
ModelWeights::Tensors copies(bool requires_grad) {
  ModelWeights::Tensors all;
  for (const auto& [name, tensor] : drawn_weights()->tensors()) {
    at::Tensor copy = at::empty(tensor.sizes(), at::kFloat);
    copy.copy_(tensor);
    all.emplace(name, copy.requires_grad_(requires_grad));
  }
  return all;
}

Gradients reference_gradients(const ModelVariant& variant) {
  const ModelWeights leaves(drawn_weights()->config(), copies(true));
  reference_value(leaves, variant).backward();
  Gradients gradients;
  for (const auto& [name, leaf] : leaves.tensors()) gradients.emplace(name, leaf.grad());
  return gradients;
}

std::unique_ptr<TrainedCrossEncoder> trained(const BertRow& row,
                                             KeptLayers kept = KeptLayers::whole) {
  auto model =
      TrainedCrossEncoder::make(*drawn_weights(), variant_of(row), row.implementation, kept);
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

at::Tensor value_of(const TrainedCrossEncoder& model) {
  const auto scores = model.scores(pairs().batch());
  EXPECT_TRUE(scores) << scores.error().message;
  return (*scores * at::tensor(at::ArrayRef<double>(factors), at::kFloat)).sum();
}

Gradients gradients_of(const std::vector<Parameter>& parameters) {
  Gradients gradients;
  for (const auto& [name, value] : parameters) gradients.emplace(name, value.grad());
  return gradients;
}

Gradients gradients_of(const TrainedCrossEncoder& model) {
  value_of(model).backward();
  return gradients_of(model.parameters());
}

/// The largest difference over the largest value of the whole model's gradients.
double error_of(const Gradients& found, const Gradients& reference) {
  double largest = 0;
  double error = 0;
  for (const auto& [name, wanted] : reference) {
    const at::Tensor& got = found.at(name);
    EXPECT_EQ(got.defined(), wanted.defined()) << name;
    if (!got.defined() || !wanted.defined()) continue;
    largest = std::max(largest, wanted.abs().max().item<double>());
    const double own = (got - wanted).abs().max().item<double>();
    EXPECT_FALSE(std::isnan(own)) << name;
    error = std::max(error, own);
  }
  return error / largest;
}

class EveryTrainedRow : public testing::TestWithParam<BertRow> {};
INSTANTIATE_TEST_SUITE_P(Gradients, EveryTrainedRow, testing::ValuesIn(rows()), bert_row_name);

TEST_P(EveryTrainedRow, ScoresAndGradientsMatchFloat64) {
  const auto model = trained(GetParam());
  const auto scores = model->scores(pairs().batch());
  for (std::size_t i = 0; i < pairs().size(); ++i) {
    const auto reference =
        bert_reference(*drawn_weights(), variant_of(GetParam()), pairs().item(i), 101);
    EXPECT_NEAR((*scores)[static_cast<std::int64_t>(i)].item<double>(), reference->score, 1e-5);
  }
  const Gradients found = gradients_of(*model);
  EXPECT_LT(error_of(found, reference_gradients(variant_of(GetParam()))),
            bert_error_bound(DType::float32, small_shape()));
  EXPECT_EQ(error_of(gradients_of(*trained(GetParam(), KeptLayers::inputs_alone)), found), 0)
      << "recomputed layers";
}

/// Along random directions of all tensors together.
TEST_P(EveryTrainedRow, GradientsMatchFiniteDifferences) {
  const Gradients gradients = gradients_of(*trained(GetParam()));
  at::Generator generator = at::detail::createCPUGenerator(3);
  constexpr double step = 0x1p-12;
  for (int draw = 0; draw < 4; ++draw) {
    const ModelWeights ahead(drawn_weights()->config(), copies(false));
    const ModelWeights after(drawn_weights()->config(), copies(false));
    double expected = 0;
    double squares = 0;  // of the gradients, because a direction may be orthogonal to them
    for (const auto& [name, gradient] : gradients) {
      at::Tensor up = ahead.tensor(name);
      at::Tensor down = after.tensor(name);
      const at::Tensor direction = at::empty(up.sizes(), at::kFloat).normal_(0, step, generator);
      up += direction;
      down -= direction;
      if (!gradient.defined()) continue;
      // The difference after rounding to float32.
      expected += (gradient * (up.to(at::kDouble) - down.to(at::kDouble))).sum().item<double>();
      squares += gradient.square().sum().item<double>();
    }
    const ModelVariant variant = variant_of(GetParam());
    const double risen = reference_value(ahead, variant).item<double>() -
                         reference_value(after, variant).item<double>();
    EXPECT_NEAR(risen, expected, 2e-4 * 2 * step * std::sqrt(squares)) << draw;
  }
}

TEST_P(EveryTrainedRow, ClsOnlyLastLayerHasTheSameGradients) {
  BertRow row = GetParam();
  const Gradients whole = gradients_of(*trained(row));
  row.options.emplace("cls-only-last-layer");
  const Gradients short_last = gradients_of(*trained(row));
  // The last layer does not use its own projections of tokens that are not global.
  Gradients both;
  for (const auto& [name, gradient] : whole) {
    if (short_last.at(name).defined()) {
      both.emplace(name, gradient);
    } else if (gradient.defined()) {
      EXPECT_EQ(gradient.abs().max().item<double>(), 0) << name;
    }
  }
  EXPECT_LT(error_of(short_last, both), bert_error_bound(DType::float32, small_shape()));
}

TEST(TrainedCrossEncoder, LayersAreRecomputedAfterTheModelIsDestroyed) {
  const BertRow row{"sparse", "segment", Window::of(4)};
  const Gradients kept = gradients_of(*trained(row));
  auto model = trained(row, KeptLayers::inputs_alone);
  const std::vector<Parameter> parameters = model->parameters();
  const at::Tensor value = value_of(*model);
  model.reset();
  value.backward();
  EXPECT_EQ(error_of(gradients_of(parameters), kept), 0);
}

TEST(TrainedCrossEncoder, Bfloat16GradientsAreFloat32AndWithinTheBound) {
  const BertRow row{"sparse", "segment", Window::of(4)};
  ModelVariant variant = variant_of(row);
  const Gradients reference = reference_gradients(variant);
  variant.dtype = DType::bfloat16;
  const auto model =
      TrainedCrossEncoder::make(*drawn_weights(), variant, "segment", KeptLayers::whole);
  ASSERT_TRUE(model) << model.error().message;
  const Gradients gradients = gradients_of(**model);
  EXPECT_EQ(gradients.at("classifier.weight").scalar_type(), at::kFloat);
  const double error = error_of(gradients, reference);
  EXPECT_LT(error, bert_error_bound(DType::bfloat16, small_shape()));
  EXPECT_GT(error, bert_error_bound(DType::float32, small_shape())) << "is this float32?";
}

TEST(TrainedCrossEncoder, ReportsUnsupportedVariants) {
  const auto refusal = [](ModelVariant variant, std::string_view implementation) {
    const auto made =
        TrainedCrossEncoder::make(*drawn_weights(), variant, implementation, KeptLayers::whole);
    return message_of(made);
  };
  ModelVariant variant = variant_of({"sparse", "segment", Window::of(4)});
  EXPECT_THAT(refusal(variant, "dense"), testing::HasSubstr("use segment, windowed, sdpa"));
  EXPECT_THAT(refusal(variant, "sdpa"), testing::HasSubstr("full"));
  variant.dtype = DType::float16;
  EXPECT_THAT(refusal(variant, "segment"), testing::HasSubstr("float32 or bfloat16"));
}

TEST(TrainedCrossEncoder, WithHeadInitialisesTheHeadFromTheSeed) {
  ModelWeights::Tensors body = copies(false);
  for (const char* name : {"classifier.weight", "classifier.bias", "pooler.dense.weight"})
    body.erase(name);
  const auto encoder = std::make_shared<const ModelWeights>(drawn_weights()->config(), body);
  const auto headed = with_head(encoder, 5);
  EXPECT_EQ(headed->tensor("classifier.weight").sizes(), at::IntArrayRef({1, 48}));
  EXPECT_TRUE(headed->has("pooler.dense.weight"));
  EXPECT_TRUE(headed->tensor("classifier.weight")
                  .equal(with_head(encoder, 5)->tensor("classifier.weight")));
  EXPECT_FALSE(headed->tensor("classifier.weight")
                   .equal(with_head(encoder, 6)->tensor("classifier.weight")));
  EXPECT_EQ(with_head(drawn_weights(), 5), drawn_weights());
}

}  // namespace
}  // namespace attnscope::test
