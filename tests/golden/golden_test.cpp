// SPDX-License-Identifier: Apache-2.0
//
// Every listed implementation, and the float64 reference, against what the papers' own code
// answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
#include "engine/proof/reference.h"
#include "tests/golden/answer.h"

namespace attnscope::tests {
namespace {

constexpr double closeness = 1e-5;

constexpr std::array of_patterns{"longformer-4", "longformer-16", "qds-4",
                                 "qds-16",       "sparse-0",      "sparse-1",
                                 "sparse-4",     "sparse-inf",    "full"};
/// The oracle does not know what blocks the original drew.
constexpr std::array of_drawn_blocks{"bigbird-8", "bigbird-16"};

std::vector<const char*> all_fixtures() {
  std::vector<const char*> all(of_patterns.begin(), of_patterns.end());
  all.insert(all.end(), of_drawn_blocks.begin(), of_drawn_blocks.end());
  return all;
}

std::string test_name(const testing::TestParamInfo<const char*>& parameter) {
  std::string name = parameter.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

constexpr std::array memory_orders{MemoryOrder::head_major, MemoryOrder::token_major};

class Golden : public testing::TestWithParam<const char*> {};
class GoldenOfPattern : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Fixtures, Golden, testing::ValuesIn(all_fixtures()), test_name);
INSTANTIATE_TEST_SUITE_P(Fixtures, GoldenOfPattern, testing::ValuesIn(of_patterns), test_name);

TEST_P(Golden, EverySupportingImplementationMatches) {
  const Fixture fixture(GetParam());
  for (const Implementation* implementation : implementations()) {
    for (const MemoryOrder order : memory_orders) {
      for (const Direction direction : {Direction::forward, Direction::forward_backward}) {
        if (!implementation->supports(fixture.problem(order, direction))) continue;
        for (const auto& [name, values] : answer(*implementation, fixture, order, direction)) {
          EXPECT_LE(distance(values, fixture.values(name)), closeness)
              << name << " of " << implementation->id << ", " << name_of(order) << ", "
              << name_of(direction);
        }
      }
    }
  }
}

/// Packed token-major, as the file is.
ConstTensor as_tensor(const Fixture& fixture, std::string_view name) {
  const Problem problem = fixture.problem(MemoryOrder::token_major, Direction::forward);
  const auto bytes = std::as_bytes(fixture.values(name));
  ConstTensor tensor =
      attnscope::as_const(packed_tensor(fixture.layout(), fixture.plan().heads, problem.head_dim,
                                        problem.dtype, problem.memory_order, nullptr));
  tensor.data = bytes.data();
  return tensor;
}

/// For comparisons, which only read.
Tensor as_result(const Fixture& fixture, std::string_view name) {
  const ConstTensor tensor = as_tensor(fixture, name);
  return {const_cast<std::byte*>(tensor.data),
          tensor.dtype,
          tensor.head_dim,
          tensor.token_stride,
          tensor.head_stride,
          tensor.item_tokens,
          tensor.item_stride};
}

TEST_P(GoldenOfPattern, Float64ReferenceMatches) {
  const Fixture fixture(GetParam());
  const Problem problem = fixture.problem(MemoryOrder::token_major, Direction::forward_backward);
  const auto rows = sample_rows(fixture.layout(), fixture.plan().heads,
                                fixture.plan().tokens * fixture.plan().heads, /*seed=*/1);
  const ConstTensor q = as_tensor(fixture, "q");
  const ConstTensor k = as_tensor(fixture, "k");
  const ConstTensor v = as_tensor(fixture, "v");
  EXPECT_LE(relative_error(compute_reference(problem, rows, q, k, v), as_result(fixture, "o")),
            closeness);
  const GradientErrors errors = gradient_errors(
      compute_reference_gradients(problem, rows, q, k, v, as_tensor(fixture, "grad_o")),
      as_result(fixture, "grad_q"), as_result(fixture, "grad_k"), as_result(fixture, "grad_v"));
  EXPECT_LE(errors.largest(), closeness) << errors.worst();
}

TEST(GoldenFixtures, ListEveryFileOfTheFolder) {
  std::set<std::string> found;
  const std::filesystem::path folder = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/golden";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") found.insert(entry.path().stem().string());
  }
  const std::vector<const char*> all = all_fixtures();
  EXPECT_EQ(found, std::set<std::string>(all.begin(), all.end()));
}

/// So that a refusal cannot pass for agreement.
TEST(GoldenFixtures, AreSupportedByTheirImplementations) {
  const std::vector<const char*> all = all_fixtures();
  const std::vector<const char*> of_windows{"longformer-4", "longformer-16", "qds-4",
                                            "qds-16",       "sparse-1",      "sparse-4"};
  const std::map<std::string, std::vector<const char*>> taken_by{
      {"dense", all},
      {"dense-torch", all},
      {"sdpa", {"full"}},
      {"sdpa-mask", all},
      {"sdpa-flash", all},
      {"longformer-chunks", of_windows},
      {"longformer-banded", all},
      {"bigbird", {"bigbird-8", "bigbird-16", "full"}},
      {"flex-blocks", all},
      {"windowed", all},
      {"segment", all}};
  for (const auto& [id, names] : taken_by) {
    const Implementation* implementation = find_implementation(id);
    ASSERT_NE(implementation, nullptr) << id;
    for (const char* name : names) {
      const Fixture fixture(name);
      for (const MemoryOrder order : memory_orders) {
        const Status ok =
            implementation->supports(fixture.problem(order, Direction::forward_backward));
        EXPECT_TRUE(ok) << id << " on " << name << ": " << ok.error().message;
      }
    }
  }
}

}  // namespace
}  // namespace attnscope::tests
