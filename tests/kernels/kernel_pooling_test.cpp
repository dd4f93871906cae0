// SPDX-License-Identifier: Apache-2.0
//
// Kernel pooling by every instruction set, against float64.
#include "kernels/cpu/kernel_pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "tests/kernels/every_set.h"
#include "tests/kernels/pooling_reference.h"

namespace attnscope::testing {
namespace {

using cpu::pooling_kernels;
using ::testing::Each;
using ::testing::HasSubstr;

/// A query and documents one after the other, whose tokens resemble the query's to all degrees, a
/// few being the same.
struct Texts {
  Texts(std::int64_t query_rows, std::vector<std::int64_t> lengths, std::int64_t width,
        std::uint32_t seed = 1)
      : width(width), rows(query_rows) {
    std::mt19937 draw(seed);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> part(-1.0F, 1.0F);
    query.resize(index(query_rows * width));
    for (float& value : query) value = normal(draw);
    for (const std::int64_t length : lengths) {
      documents.push_back({tokens_count, tokens_count + length});
      tokens_count += length;
    }
    tokens.resize(index(std::max<std::int64_t>(tokens_count, 1) * width));
    for (std::int64_t t = 0; t < tokens_count; ++t) {
      const std::int64_t like = static_cast<std::int64_t>(draw()) % query_rows;
      const float share = t % 11 == 3 ? 1.0F : part(draw);
      for (std::int64_t c = 0; c < width; ++c) {
        const float own = normal(draw);
        tokens[index(t * width + c)] =
            share == 1.0F ? query[index(like * width + c)]
                          : share * query[index(like * width + c)] + (1 - std::abs(share)) * own;
      }
    }
  }
  [[nodiscard]] cpu::PoolingCall call() const {
    return {.query = {query.data(), width},
            .query_rows = rows,
            .tokens = {tokens.data(), width},
            .token_rows = tokens_count,
            .width = width,
            .documents = documents};
  }
  std::int64_t width, rows, tokens_count = 0;
  std::vector<float> query, tokens;
  std::vector<TokenRange> documents;
};

/// A saturation like those of TKL, drawn around its initial weights.
struct Tables {
  explicit Tables(std::int64_t rows, float exponent = 0.01F)
      : factor(index(rows * 31)), exponent(factor.size()), constant(factor.size()) {
    std::mt19937 draw(7);
    std::uniform_real_distribution<float> about(0.5F, 1.5F);
    for (std::size_t i = 0; i < factor.size(); ++i) {
      factor[i] = 100 * about(draw);
      this->exponent[i] = exponent * about(draw);
      constant[i] = 100 * about(draw);
    }
    for (float& weight : weights) weight = 0.014F * (2 * about(draw) - 2);
  }
  [[nodiscard]] cpu::RegionCall call(const cpu::PoolingCall& pooling) const {
    return {.pooling = pooling,
            .saturation = {.factor = factor, .exponent = exponent, .constant = constant},
            .kernel_weights = weights};
  }
  std::vector<float> factor, exponent, constant;
  std::array<float, pooling_kernels> weights{};
};

/// Texts with tables, and the call with both.
struct Regions {
  Regions(std::int64_t query_rows, std::vector<std::int64_t> lengths, std::int64_t width,
          float exponent = 0.01F)
      : texts(query_rows, std::move(lengths), width),
        tables(query_rows, exponent),
        call(tables.call(texts.call())) {}
  Regions(const Regions&) = delete;  // `call` points into the object
  Regions& operator=(const Regions&) = delete;
  Texts texts;
  Tables tables;
  cpu::RegionCall call;
};

Status run_sums(const cpu::PoolingCall& call, std::vector<float>& sums, int threads = 2) {
  std::vector<float> workspace =
      unwritten(cpu::pooling_workspace_floats(call, std::max(threads, 1)));
  return cpu::pooled_sums(call, sums, threads, workspace);
}

Status run_regions(const cpu::RegionCall& call, std::vector<float>& scores, int threads = 2) {
  std::vector<float> workspace =
      unwritten(cpu::pooling_workspace_floats(call.pooling, std::max(threads, 1)));
  return cpu::region_scores(call, scores, threads, workspace);
}

std::int64_t sums_in(const cpu::PoolingCall& call) {
  return static_cast<std::int64_t>(call.documents.size()) * call.query_rows * pooling_kernels;
}

std::int64_t regions_in(const cpu::PoolingCall& call) {
  std::int64_t regions = 0;
  for (const TokenRange& document : call.documents) regions += cpu::regions_of(document.size());
  return regions;
}

std::vector<float> sums_by_kernel(const cpu::PoolingCall& call, int threads = 2) {
  std::vector<float> sums = unwritten(sums_in(call));
  const Status done = run_sums(call, sums, threads);
  EXPECT_TRUE(done) << done.error().message;
  return sums;
}

std::vector<float> regions_by_kernel(const cpu::RegionCall& call, int threads = 2) {
  std::vector<float> scores = unwritten(regions_in(call.pooling));
  const Status done = run_regions(call, scores, threads);
  EXPECT_TRUE(done) << done.error().message;
  return scores;
}

/// The largest quotient of an error and its tolerance: at most 1 if all are within it.
double worst_of(std::span<const float> found, std::span<const double> expected, double relative,
                double absolute) {
  EXPECT_EQ(found.size(), expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(found[i] - expected[i]);
    const double allowed = relative * std::abs(expected[i]) + absolute;
    worst = std::isnan(error) ? INFINITY : std::max(worst, error / allowed);
  }
  return worst;
}

const std::vector<std::int64_t>& lengths() {
  static const std::vector<std::int64_t> all{0,  1,  4,  5,  6,  29, 30, 31,   39,   40,   41,  42,
                                             43, 44, 45, 46, 59, 60, 85, 1023, 1024, 1025, 2000};
  return all;
}

TEST(PoolingRegions, EndWithinWholeChunks) {
  EXPECT_EQ(cpu::regions_of(0), 0);
  EXPECT_EQ(cpu::regions_of(1), 6);
  EXPECT_EQ(cpu::regions_of(40), 6);
  EXPECT_EQ(cpu::regions_of(41), 26);
  EXPECT_EQ(cpu::regions_of(200), 86);
  EXPECT_EQ(cpu::regions_of(2000), 986);
  EXPECT_EQ(cpu::regions_of(4000), 1986);
  EXPECT_EQ(cpu::tokens_in_region(41, 0), 30);
  EXPECT_EQ(cpu::tokens_in_region(41, 6), 29);
  EXPECT_EQ(cpu::tokens_in_region(41, 20), 1);
  EXPECT_EQ(cpu::tokens_in_region(41, 25), 0);
}

/// Tokens in every direction, so every cosine. The cosine may err by 1e-7 and the kernel's value by
/// 7e-6 of it, or by 2.5e-6 where a product and a sum are rounded once.
TEST(PoolingKernels, AgreeWithFloat64ForAllCosines) {
  const std::vector<float> query{1.0F, 0.0F};
  std::vector<float> tokens;
  std::vector<TokenRange> documents;
  constexpr int steps = 20000;
  tokens.reserve(4 * steps);
  documents.reserve(2 * steps);
  for (std::int64_t i = 0; i < 2 * steps; ++i) {
    const double cosine = static_cast<double>(i - steps) / steps;
    tokens.push_back(static_cast<float>(cosine));
    tokens.push_back(static_cast<float>(std::sqrt(1 - cosine * cosine)));
    documents.push_back({i, i + 1});
  }
  cpu::PoolingCall call{.query = {query.data(), 2},
                        .query_rows = 1,
                        .tokens = {tokens.data(), 2},
                        .token_rows = 2 * steps,
                        .width = 2,
                        .documents = documents,
                        .query_normalised = true,
                        .tokens_normalised = true};
  for (const float sigma : {0.1F, 1e-3F, 1e-4F}) {
    call.first_sigma = sigma;
    const std::vector<double> expected = pooled_sums_reference(call);
    by_every_set([&] {
      const std::vector<float> found = sums_by_kernel(call);
      const double of_value = *cpu::selected_set() == cpu::InstructionSet::baseline ? 7e-6 : 2.5e-6;
      double worst = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t k = i % pooling_kernels;
        const double own_sigma = k == 0 ? sigma : 0.1;
        const double cosine = tokens[i / pooling_kernels * 2];
        const double off = std::abs(cosine - static_cast<double>(cpu::pooling_centres[k]));
        const double allowed =
            expected[i] * (of_value + std::expm1(1e-7 * off / (own_sigma * own_sigma))) + 1e-37;
        worst = std::max(worst, std::abs(found[i] - expected[i]) / allowed);
      }
      EXPECT_LE(worst, 1) << sigma;
    });
  }
}

struct PoolingShape {
  std::int64_t query_rows, width;
};

class KernelPooling : public ::testing::TestWithParam<PoolingShape> {};

INSTANTIATE_TEST_SUITE_P(Every, KernelPooling,
                         ::testing::ValuesIn(std::vector<PoolingShape>{
                             {1, 300}, {2, 17}, {3, 8}, {5, 1}, {7, 33}, {10, 128}, {30, 20}}),
                         [](const auto& of) {
                           return fmt::format("{}rows_of_{}", of.param.query_rows, of.param.width);
                         });

TEST_P(KernelPooling, SumsAgreeWithFloat64) {
  const Texts texts(GetParam().query_rows, lengths(), GetParam().width);
  const cpu::PoolingCall call = texts.call();
  const std::vector<double> expected = pooled_sums_reference(call);
  by_every_set([&] { EXPECT_LE(worst_of(sums_by_kernel(call), expected, 1e-5, 4e-6), 1); });
}

TEST_P(KernelPooling, RegionsAgreeWithFloat64) {
  const Regions regions(GetParam().query_rows, lengths(), GetParam().width);
  const std::vector<double> expected = region_scores_reference(regions.call);
  const double largest = 1.5e2 * 1.4e-2 * 11 * static_cast<double>(GetParam().query_rows);
  by_every_set([&] {
    EXPECT_LE(worst_of(regions_by_kernel(regions.call), expected, 0, 1e-6 * largest), 1);
  });
}

/// Sums and scores.
void expect_near_reference(const cpu::RegionCall& call) {
  const std::vector<double> sums = pooled_sums_reference(call.pooling);
  const std::vector<double> scores = region_scores_reference(call);
  by_every_set([&] {
    EXPECT_LE(worst_of(sums_by_kernel(call.pooling), sums, 1e-5, 4e-6), 1);
    EXPECT_LE(worst_of(regions_by_kernel(call), scores, 0, 1e-4), 1);
  });
}

TEST(KernelPoolingOfFourThousandWords, AgreesWithFloat64) {
  expect_near_reference(Regions(4, {4000}, 12).call);
}

TEST(KernelPoolingWeights, OfRowsScaleTheirSums) {
  Regions regions(3, {70}, 9);
  const std::vector<float> weights{1, 0, 0.5F};
  regions.call.pooling.query_weights = weights;
  expect_near_reference(regions.call);
}

/// Rows of length 1, rows of zeros staying.
void normalise(std::vector<float>& of, std::int64_t width) {
  for (std::size_t first = 0; first < of.size(); first += index(width)) {
    double sum = 0;
    for (std::int64_t c = 0; c < width; ++c) {
      const double value = of[first + index(c)];
      sum += value * value;
    }
    for (std::int64_t c = 0; c < width && sum > 0; ++c) {
      float& value = of[first + index(c)];
      value = static_cast<float>(value / std::sqrt(sum));
    }
  }
}

TEST(KernelPoolingNumbers, SelectRowsOfATable) {
  Texts texts(6, {50, 0, 7}, 20);
  std::vector<float> table(texts.tokens);
  std::fill_n(table.begin() + 20, 20, 0.0F);  // a row of zeros: cosine 0
  normalise(table, 20);
  normalise(texts.query, 20);
  std::vector<std::int64_t> numbers;
  for (std::int64_t t = 0; t < 57; ++t) numbers.push_back(t * 5 % 57);
  cpu::PoolingCall call = texts.call();
  call.tokens.data = table.data();
  call.numbers = numbers;
  call.query_normalised = call.tokens_normalised = true;
  call.first_sigma = 1e-4F;
  std::vector<float> gathered;
  for (const std::int64_t number : numbers)
    gathered.insert(gathered.end(), table.begin() + number * 20, table.begin() + number * 20 + 20);
  cpu::PoolingCall plain = call;
  plain.tokens.data = gathered.data();
  plain.numbers = {};
  const std::vector<double> expected = pooled_sums_reference(call);
  by_every_set([&] {
    const std::vector<float> found = sums_by_kernel(call);
    EXPECT_EQ(found, sums_by_kernel(plain));
    // The first kernel turns on what is left of 1e-4 by the cosine's error.
    EXPECT_LE(worst_of(found, expected, 1e-5, 2e-3), 1);
  });
}

/// The first kernel of KNRM, with sigma 1e-4, matches a word with itself for any rows.
TEST(KernelPoolingOfTheSameRow, HasCosineOne) {
  for (const std::int64_t width : {1, 5, 128, 300, 768}) {
    for (const bool normalised : {false, true}) {
      Texts texts(30, {}, width, static_cast<std::uint32_t>(width));
      for (float& value : texts.query) value *= 3;
      if (normalised) normalise(texts.query, width);
      std::vector<TokenRange> documents;
      for (std::int64_t i = 0; i < texts.rows; ++i) documents.push_back({i, i + 1});
      cpu::PoolingCall call = texts.call();
      call.tokens.data = texts.query.data();
      call.token_rows = texts.rows;
      call.documents = documents;
      call.query_normalised = call.tokens_normalised = normalised;
      call.first_sigma = 1e-4F;
      // exp(-(1e-6)^2 / 2e-8)
      by_every_set([&] {
        const std::vector<float> sums = sums_by_kernel(call);
        for (std::int64_t i = 0; i < texts.rows; ++i) {
          const auto at = index((i * texts.rows + i) * pooling_kernels);
          EXPECT_GE(sums[at], std::exp(-0.5e-4)) << width;
          EXPECT_LE(sums[at], 1);
        }
      });
    }
  }
}

TEST(KernelPoolingRows, MayBeUnalignedAndHaveGaps) {
  const Regions tight(5, {90, 3}, 13);
  const auto apart = [](const std::vector<float>& rows) {
    std::vector<float> loose(1 + rows.size() / 13 * 17, nan);
    for (std::size_t i = 0; i < rows.size(); ++i) loose[1 + i / 13 * 17 + i % 13] = rows[i];
    return loose;
  };
  const std::vector<float> query = apart(tight.texts.query), tokens = apart(tight.texts.tokens);
  cpu::RegionCall call = tight.call;
  call.pooling.query = {query.data() + 1, 17};
  call.pooling.tokens = {tokens.data() + 1, 17};
  by_every_set([&] {
    EXPECT_EQ(sums_by_kernel(call.pooling), sums_by_kernel(tight.call.pooling));
    EXPECT_EQ(regions_by_kernel(call), regions_by_kernel(tight.call));
  });
}

/// Linear, logarithmic and with exponents no model would learn, among them those whose powers leave
/// float32.
TEST(KernelPoolingSaturation, OfEveryKindAgreesWithFloat64) {
  const auto expect_near = [](const cpu::RegionCall& call, double of_largest, double absolute) {
    const std::vector<double> expected = region_scores_reference(call);
    const auto [least, most] = std::minmax_element(expected.begin(), expected.end());
    const double allowed = of_largest * std::max(std::abs(*least), std::abs(*most)) + absolute;
    by_every_set([&] { EXPECT_LE(worst_of(regions_by_kernel(call), expected, 0, allowed), 1); });
  };
  for (const float exponent : {0.3F, 1.0F, -0.5F, 2.5F})
    expect_near(Regions(4, {300}, 16, exponent).call, 2e-5, 0);
  Regions regions(4, {300}, 16);
  regions.call.saturation.exponent = {};
  expect_near(regions.call, 0, 1e-3);
  const std::array<float, pooling_kernels> alpha{1, 2, 0.5F, 1, 1, -1, 3, 1, 1, 0.1F, 1};
  regions.call.saturation = {.alpha = alpha};
  expect_near(regions.call, 0, 1e-4);
}

/// Words equal to the query's, then words that hardly resemble it: differences of prefixes, which
/// are a thousand there, lose sums of 1e-9, and with them 7 of a saturated value's 24.
TEST(KernelPoolingSums, OfUnlikeRegionsKeepTheirPrecisionNextToLikeRegions) {
  constexpr std::int64_t width = 2, length = 2000;
  const std::vector<float> query{1.0F, 0.0F};
  std::vector<float> tokens;
  for (std::int64_t t = 0; t < length; ++t) {
    const double cosine = t < length / 2 ? 0.9 : 0.2 + 0.001 * static_cast<double>(t % 10);
    tokens.push_back(static_cast<float>(cosine));
    tokens.push_back(static_cast<float>(std::sqrt(1 - cosine * cosine)));
  }
  const TokenRange document{0, length};
  const cpu::PoolingCall pooling{.query = {query.data(), width},
                                 .query_rows = 1,
                                 .tokens = {tokens.data(), width},
                                 .token_rows = length,
                                 .width = width,
                                 .documents = std::span(&document, 1)};
  const std::vector<float> factor(31, 100.0F), exponent(31, 0.01F), constant(31, 100.0F);
  std::array<float, pooling_kernels> second{};  // the kernel at 0.9 alone
  second[1] = 1;
  const cpu::RegionCall call{
      .pooling = pooling,
      .saturation = {.factor = factor, .exponent = exponent, .constant = constant},
      .kernel_weights = second};
  const std::vector<double> expected = region_scores_reference(call);
  EXPECT_NEAR(expected[900], -18.75, 0.01);  // the sum of 30 kernels there is 1e-9
  by_every_set([&] { EXPECT_LE(worst_of(regions_by_kernel(call), expected, 0, 1e-4), 1); });
}

TEST(KernelPoolingShares, AddUpToTheScoreOfTheRegion) {
  const Regions regions(5, {20, 143}, 21);
  const cpu::RegionCall& call = regions.call;
  const std::vector<double> scores = region_scores_reference(call);
  for (const std::int64_t region : {0, 30, 62, 64, 65}) {
    const std::vector<double> expected = region_shares_reference(call, 1, region);
    by_every_set([&] {
      std::vector<float> shares = unwritten(call.pooling.query_rows * pooling_kernels);
      std::vector<float> workspace = unwritten(cpu::pooling_workspace_floats(call.pooling, 1));
      ASSERT_TRUE(cpu::region_shares(call, 1, region, shares, workspace));
      EXPECT_LE(worst_of(shares, expected, 1e-5, 1e-5), 1) << region;
      const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
      EXPECT_NEAR(sum, scores[index(6 + region)], 1e-4);
    });
  }
}

TEST(KernelPoolingDocuments, AreIndependent) {
  const Regions regions(4, {100, 60, 1100}, 24);
  const cpu::RegionCall& all = regions.call;
  by_every_set([&] {
    std::vector<float> sums, scores;
    for (const TokenRange& document : all.pooling.documents) {
      cpu::RegionCall one = all;
      one.pooling.documents = std::span(&document, 1);
      std::ranges::copy(sums_by_kernel(one.pooling), std::back_inserter(sums));
      std::ranges::copy(regions_by_kernel(one), std::back_inserter(scores));
    }
    EXPECT_EQ(sums, sums_by_kernel(all.pooling));
    EXPECT_EQ(scores, regions_by_kernel(all));
  });
}

TEST(KernelPoolingOfPlantedNaN, StaysInItsDocumentAndRegions) {
  Regions regions(4, {100, 90, 50}, 24);
  constexpr std::int64_t bad = 140;  // token 40 of the second
  const cpu::RegionCall& call = regions.call;
  for (const std::uint32_t bits : {0x7fc00000U, 0xffc12345U, 0x7f812345U}) {
    regions.texts.tokens[bad * 24 + 5] = std::bit_cast<float>(bits);
    by_every_set([&] {
      const std::vector<float> sums = sums_by_kernel(call.pooling);
      for (std::size_t i = 0; i < sums.size(); ++i)
        EXPECT_EQ(std::isnan(sums[i]), i / (4 * pooling_kernels) == 1) << i;
      const std::vector<float> scores = regions_by_kernel(call);
      for (std::int64_t r = 0; r < static_cast<std::int64_t>(scores.size()); ++r) {
        const std::int64_t own = r - cpu::regions_of(100);
        const bool holds = own >= 0 && own < cpu::regions_of(90) && own * 2 <= 40 &&
                           40 < own * 2 + cpu::region_tokens;
        EXPECT_EQ(std::isnan(scores[index(r)]), holds) << r;
      }
    });
  }
}

/// The gradients of a call.
struct FoundGradients {
  explicit FoundGradients(const cpu::PoolingCall& call)
      : query(unwritten(call.query_rows * call.width)),
        tokens(unwritten(call.token_rows * call.width)),
        weights(unwritten(pooling_kernels)),
        factor(unwritten(call.query_rows * 31)),
        exponent(factor),
        constant(factor),
        alpha(weights),
        width(call.width) {}
  [[nodiscard]] cpu::PoolingGradients rows() {
    return {.query = {query.data(), width}, .tokens = {tokens.data(), width}};
  }
  [[nodiscard]] cpu::RegionGradients all() {
    return {.rows = rows(),
            .kernel_weights = weights,
            .factor = factor,
            .exponent = exponent,
            .constant = constant,
            .alpha = alpha};
  }
  friend bool operator==(const FoundGradients&, const FoundGradients&) = default;
  std::vector<float> query, tokens, weights, factor, exponent, constant, alpha;
  std::int64_t width;
};

FoundGradients gradients_by_kernel(const cpu::PoolingCall& call, std::span<const float> grads,
                                   int threads = 2) {
  FoundGradients found(call);
  std::vector<float> workspace = unwritten(cpu::pooling_backward_workspace_floats(call, threads));
  const Status done = cpu::pooled_sums_backward(call, grads, found.rows(), threads, workspace);
  EXPECT_TRUE(done) << done.error().message;
  return found;
}

FoundGradients gradients_by_kernel(const cpu::RegionCall& call, std::span<const float> grads,
                                   int threads = 2) {
  FoundGradients found(call.pooling);
  std::vector<float> workspace =
      unwritten(cpu::pooling_backward_workspace_floats(call.pooling, threads));
  const Status done = cpu::region_scores_backward(call, grads, found.all(), threads, workspace);
  EXPECT_TRUE(done) << done.error().message;
  return found;
}

/// Errors over a part of the largest gradient.
double worst_gradient(std::span<const float> found, std::span<const double> expected) {
  double largest = 1e-30;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  return worst_of(found, expected, 0, 2e-5 * largest);
}

TEST_P(KernelPooling, GradientsOfSumsAgreeWithFloat64) {
  // Rows of one number have cosines of 1 and -1, whose gradients are 0 but for what rounding
  // leaves.
  const Texts texts(GetParam().query_rows, {0, 1, 5, 46, 255, 256, 300},
                    std::max<std::int64_t>(GetParam().width, 2));
  for (const float sigma : {0.1F, 1e-3F}) {
    cpu::PoolingCall call = texts.call();
    call.first_sigma = sigma;
    std::vector<float> grads = drawn(sums_in(call), 3);
    if (sigma < 0.1F) {
      // Its slope turns on the cosine's last bits.
      for (std::size_t i = 0; i < grads.size(); i += pooling_kernels) grads[i] *= 1e-4F;
    }
    const PoolingReference expected = pooled_sums_backward_reference(call, grads);
    by_every_set([&] {
      const FoundGradients found = gradients_by_kernel(call, grads);
      EXPECT_LE(worst_gradient(found.query, expected.query), 1);
      EXPECT_LE(worst_gradient(found.tokens, expected.tokens), 1);
    });
  }
}

void expect_gradients(const cpu::RegionCall& call, std::span<const float> grads) {
  const PoolingReference expected = region_scores_backward_reference(call, grads);
  by_every_set([&] {
    const FoundGradients found = gradients_by_kernel(call, grads);
    EXPECT_LE(worst_gradient(found.query, expected.query), 1);
    EXPECT_LE(worst_gradient(found.tokens, expected.tokens), 1);
    EXPECT_LE(worst_gradient(found.weights, expected.kernel_weights), 1);
    if (!call.saturation.alpha.empty()) {
      EXPECT_LE(worst_gradient(found.alpha, expected.alpha), 1);
      return;
    }
    EXPECT_LE(worst_gradient(found.factor, expected.factor), 1);
    EXPECT_LE(worst_gradient(found.constant, expected.constant), 1);
    if (call.saturation.exponent.empty()) return;
    EXPECT_LE(worst_gradient(found.exponent, expected.exponent), 1);
  });
}

TEST_P(KernelPooling, GradientsOfRegionsAgreeWithFloat64) {
  const Regions regions(GetParam().query_rows, {0, 1, 5, 46, 255, 258, 300},
                        std::max<std::int64_t>(GetParam().width, 2));
  expect_gradients(regions.call, drawn(regions_in(regions.call.pooling), 3));
}

TEST(KernelPoolingGradients, OfEverySaturationAgreeWithFloat64) {
  const Regions wild(3, {70, 500}, 12, 2.2F);
  const std::vector<float> grads = drawn(regions_in(wild.call.pooling), 3);
  expect_gradients(wild.call, grads);
  Regions regions(3, {70, 500}, 12, 0.4F);
  const std::vector<float> weights{1, 0, 0.5F};
  regions.call.pooling.query_weights = weights;
  expect_gradients(regions.call, grads);
  regions.call.saturation.exponent = {};
  expect_gradients(regions.call, grads);
  const std::array<float, pooling_kernels> alpha{1, 2, 0.5F, 1, 1, 1, 3, 1, 1, 0.1F, 1};
  regions.call.saturation = {.alpha = alpha};
  expect_gradients(regions.call, grads);
}

/// A single region, the last, whose scratch memory no other piece has written to; and, as TKL
/// trains, three peaks with their neighbours.
TEST(KernelPoolingGradients, OfFewRegionsAgreeWithFloat64) {
  const auto expect_from = [](std::int64_t length, const std::vector<std::size_t>& graded) {
    const Regions regions(3, {length}, 12);
    std::vector<float> grads(index(regions_in(regions.call.pooling)));
    for (const std::size_t r : graded) grads[r] = 0.1F * static_cast<float>(r % 7 + 1);
    expect_gradients(regions.call, grads);
  };
  expect_from(500, {200});
  expect_from(1500, {0, 1, 2, 3, 4, 125, 126, 127, 128, 129, 398, 399, 400, 401, 402});
}

TEST(KernelPoolingThreads, DoNotChangeTheResults) {
  const Regions regions(4, {3000, 5, 0, 700, 1025}, 24);
  const cpu::RegionCall& call = regions.call;
  const std::vector<float> of_scores = drawn(regions_in(call.pooling), 3);
  const std::vector<float> of_sums = drawn(sums_in(call.pooling), 3);
  by_every_set([&] {
    EXPECT_EQ(sums_by_kernel(call.pooling, 1), sums_by_kernel(call.pooling, 3));
    EXPECT_EQ(regions_by_kernel(call, 1), regions_by_kernel(call, 3));
    EXPECT_TRUE(gradients_by_kernel(call, of_scores, 1) == gradients_by_kernel(call, of_scores, 3));
    const FoundGradients one = gradients_by_kernel(call.pooling, of_sums, 1);
    const FoundGradients three = gradients_by_kernel(call.pooling, of_sums, 3);
    EXPECT_EQ(one.tokens, three.tokens);
    EXPECT_EQ(one.query, three.query);
  });
}

TEST(KernelPoolingGradients, OfRowsOfZerosAreZero) {
  Texts texts(3, {10}, 8);
  std::fill_n(texts.query.begin() + 8, 8, 0.0F);
  std::fill_n(texts.tokens.begin() + 16, 8, 0.0F);
  const cpu::PoolingCall call = texts.call();
  const std::vector<float> grads = drawn(sums_in(call), 3);
  by_every_set([&] {
    const FoundGradients found = gradients_by_kernel(call, grads);
    EXPECT_THAT(std::vector(found.query.begin() + 8, found.query.begin() + 16), Each(0.0F));
    EXPECT_THAT(std::vector(found.tokens.begin() + 16, found.tokens.begin() + 24), Each(0.0F));
  });
}

/// The reference's own gradients, against differences of its scores.
TEST(KernelPoolingReference, GradientsAgreeWithFiniteDifferences) {
  Regions regions(2, {33, 45}, 3, 0.4F);
  auto& [texts, tables, call] = regions;
  const std::vector<float> grads = drawn(regions_in(regions.call.pooling), 3);
  const PoolingReference gradients = region_scores_backward_reference(call, grads);
  const auto loss = [&] {
    const std::vector<double> scores = region_scores_reference(regions.call);
    double sum = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) sum += scores[i] * grads[i];
    return sum;
  };
  const auto expect_slope = [&](float& value, double gradient) {
    const float kept = value, step = 1e-3F * std::max(std::abs(kept), 0.1F);
    value = kept + step;
    const double above = loss(), upper = value;
    value = kept - step;
    const double slope = (above - loss()) / (upper - static_cast<double>(value));
    value = kept;
    EXPECT_NEAR(slope, gradient, 2e-3 * std::abs(gradient) + 2e-3);
  };
  for (std::size_t i = 0; i < texts.query.size(); ++i)
    expect_slope(texts.query[i], gradients.query[i]);
  for (std::size_t i = 0; i < texts.tokens.size(); i += 7)
    expect_slope(texts.tokens[i], gradients.tokens[i]);
  for (std::size_t i = 0; i < pooling_kernels; ++i)
    expect_slope(tables.weights[i], gradients.kernel_weights[i]);
  for (const std::size_t i : {1U, 15U, 29U, 30U, 33U, 61U}) {
    expect_slope(tables.factor[i], gradients.factor[i]);
    expect_slope(tables.exponent[i], gradients.exponent[i]);
    expect_slope(tables.constant[i], gradients.constant[i]);
  }
}

TEST(KernelPoolingSizes, AreRefusedIfTheyContradictEachOther) {
  const Regions regions(2, {40}, 8);
  const cpu::RegionCall& good = regions.call;
  const std::array<float, pooling_kernels>& weights = regions.tables.weights;
  const std::vector<std::int64_t> beyond{40};
  std::vector<float> scores = unwritten(6), sums = unwritten(22);
  EXPECT_TRUE(run_regions(good, scores));
  const auto error_with = [&](const auto& change) {
    cpu::RegionCall call = good;
    change(call);
    return error_of(run_regions(call, scores));
  };
  EXPECT_THAT(error_with([](auto& call) { call.pooling.query_rows = 0; }),
              HasSubstr("0 query rows"));
  EXPECT_THAT(error_with([](auto& call) { call.pooling.token_rows = 39; }),
              HasSubstr("tokens 0 to 40 do not exist; there are 39"));
  EXPECT_THAT(error_with([&](auto& call) {
                call.pooling.token_rows = 39;
                call.pooling.numbers = beyond;
              }),
              HasSubstr("row 40 does not exist"));
  EXPECT_THAT(error_with([](auto& call) { call.kernel_weights = call.kernel_weights.first(10); }),
              HasSubstr("kernel weights of this call are 11 floats, not 10"));
  EXPECT_THAT(error_with([&](auto& call) { call.saturation.alpha = weights; }),
              HasSubstr("not both"));
  EXPECT_THAT(error_with([](auto& call) { call.saturation.constant = {}; }),
              HasSubstr("constants of this call are 62 floats, not 0"));
  EXPECT_THAT(error_of(run_regions(good, sums)), HasSubstr("scores of this call are 6 floats"));
  EXPECT_THAT(error_of(run_regions(good, scores, 0)), HasSubstr("at least 1 thread"));
  EXPECT_THAT(error_of(cpu::region_scores(good, scores, 1, {})), HasSubstr("workspace has 0"));
  cpu::PoolingCall pooling = good.pooling;
  pooling.first_sigma = 0;
  EXPECT_THAT(error_of(run_sums(pooling, sums)), HasSubstr("sigma"));
  pooling = good.pooling;
  pooling.query_weights = weights;
  EXPECT_THAT(error_of(run_sums(pooling, sums)), HasSubstr("as many weights"));
  std::vector<float> workspace = unwritten(cpu::pooling_workspace_floats(good.pooling, 1));
  EXPECT_THAT(error_of(cpu::region_shares(good, 1, 0, sums, workspace)), HasSubstr("document 1"));
  EXPECT_THAT(error_of(cpu::region_shares(good, 0, 6, sums, workspace)), HasSubstr("region 6"));
  const std::vector<TokenRange> twice{{0, 20}, {10, 30}};
  pooling = good.pooling;
  pooling.documents = twice;
  FoundGradients found(pooling);
  workspace = unwritten(cpu::pooling_backward_workspace_floats(pooling, 1));
  EXPECT_THAT(
      error_of(cpu::pooled_sums_backward(pooling, unwritten(44), found.rows(), 1, workspace)),
      HasSubstr("disjoint documents in ascending order"));
}

}  // namespace
}  // namespace attnscope::testing
