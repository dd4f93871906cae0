// SPDX-License-Identifier: Apache-2.0
//
// Every listed implementation and the float64 reference match the outputs of the papers' own code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "engine/attention/list.h"
#include "engine/attention/packed_tensor.h"
#include "engine/pattern/compile_plan.h"
#include "engine/pattern/mask.h"
#include "engine/proof/call.h"
#include "engine/proof/reference.h"
#include "tests/golden/fixture.h"

namespace attnscope::tests {
namespace {

constexpr double tolerance = 1e-5;

constexpr std::array of_patterns{"longformer-4", "longformer-16", "qds-4",
                                 "qds-16",       "sparse-0",      "sparse-1",
                                 "sparse-4",     "sparse-inf",    "full"};
/// The reference compiles the pattern, which has other random blocks than these fixtures.
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

/// o, and for direction forward-backward grad_q, grad_k and grad_v: [tokens, heads, head_dim].
/// Throws the implementation's errors.
std::map<std::string, std::vector<float>> outputs_of(const Implementation& implementation,
                                                     const Fixture& fixture, MemoryOrder order,
                                                     Direction direction) {
  const Problem problem = fixture.problem(order, direction);
  const auto allocate = [&](std::int64_t bytes) {
    Room memory = guarded_room(problem.device, bytes);
    poison(problem.device, memory);  // NaN until written
    return memory;
  };
  const auto prepared = must(implementation.prepare(problem));
  CallTensors tensors(shape_of(problem), problem.device);
  tensors.place(allocate);
  const CallView view = tensors.on_host();
  const auto set = [&](const char* name, const Tensor& tensor) {
    pack(fixture.values(name), problem.plan.tokens, problem.plan.heads, tensor);
  };
  set("q", view.q);
  set("k", view.k);
  set("v", view.v);
  const bool has_backward = direction == Direction::forward_backward;
  if (has_backward) set("grad_o", view.grad_o);
  must(call(*prepared, view, allocate(prepared->workspace_bytes()).values, Pass::both));

  std::map<std::string, std::vector<float>> outputs;
  const auto read = [&](const char* name, const Tensor& tensor) {
    std::vector<float>& values = outputs[name];
    values.resize(
        static_cast<std::size_t>(problem.plan.tokens * problem.plan.heads * problem.head_dim));
    unpack(attnscope::as_const(tensor), problem.plan.tokens, problem.plan.heads, values);
  };
  read("o", view.o);
  if (!has_backward) return outputs;
  read("grad_q", view.grad_q);
  read("grad_k", view.grad_k);
  read("grad_v", view.grad_v);
  return outputs;
}

/// Largest |value - expected| over the largest |expected|; NaN when a value is NaN.
double relative_distance(std::span<const float> values, std::span<const float> expected) {
  double largest_error = 0;
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(double{values[i]} - double{expected[i]});
    if (std::isnan(error)) return error;
    largest_error = std::max(largest_error, error);
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  return largest_error / largest;
}

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
        for (const auto& [name, values] : outputs_of(*implementation, fixture, order, direction)) {
          EXPECT_LE(relative_distance(values, fixture.values(name)), tolerance)
              << name << " of " << implementation->id << ", " << name_of(order) << ", "
              << name_of(direction);
        }
      }
    }
  }
}

/// Packed token-major, as in the file.
ConstTensor as_tensor(const Fixture& fixture, std::string_view name) {
  const Problem problem = fixture.problem(MemoryOrder::token_major, Direction::forward);
  const auto bytes = std::as_bytes(fixture.values(name));
  ConstTensor tensor =
      attnscope::as_const(packed_tensor(fixture.layout(), fixture.plan().heads, problem.head_dim,
                                        problem.dtype, problem.memory_order, nullptr));
  tensor.data = bytes.data();
  return tensor;
}

/// For relative_error and gradient_errors, which only read.
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
            tolerance);
  const GradientErrors errors = gradient_errors(
      compute_reference_gradients(problem, rows, q, k, v, as_tensor(fixture, "grad_o")),
      as_result(fixture, "grad_q"), as_result(fixture, "grad_k"), as_result(fixture, "grad_v"));
  EXPECT_LE(errors.largest(), tolerance) << errors.worst();
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

/// EverySupportingImplementationMatches skips what an implementation does not support.
TEST(GoldenFixtures, AreSupportedByTheirImplementations) {
  const std::vector<const char*> all = all_fixtures();
  const std::vector<const char*> of_windows{"longformer-4", "longformer-16", "qds-4",
                                            "qds-16",       "sparse-1",      "sparse-4"};
  const std::map<std::string, std::vector<const char*>> supported_by{
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
  for (const auto& [id, names] : supported_by) {
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

std::int64_t keys_of(const Mask& mask, std::int32_t head, std::int64_t token) {
  const std::vector<TokenRange> intervals = mask.intervals(head, token);
  return std::accumulate(
      intervals.begin(), intervals.end(), std::int64_t{0},
      [](std::int64_t sum, const TokenRange& keys) { return sum + keys.size(); });
}

/// Which blocks are random differs between the implementations' generators; their number does not.
TEST(DrawnBlocks, OurPatternHasAsManyKeysPerRowAsTheOriginal) {
  for (const std::int64_t block_length : {8, 16}) {
    const std::string name = fmt::format("bigbird-{}", block_length);
    const Fixture fixture(name);
    const AttentionPattern pattern = must(parse_pattern(
        fmt::format(
            R"({{"name":"drawn","title":"Drawn","blocks":{{"length":{},"random":3,"seed":1}}}})",
            block_length),
        "test"));
    const Mask pattern_mask(
        must(compile_plan(pattern, {}, fixture.layout(), fixture.plan().heads)));
    const Mask original(fixture.plan());
    std::int64_t differing_heads = 0;
    for (std::int64_t token = 0; token < fixture.plan().tokens; ++token) {
      for (std::int32_t head = 0; head < fixture.plan().heads; ++head) {
        ASSERT_EQ(keys_of(pattern_mask, head, token), keys_of(original, head, token))
            << name << ", head " << head << ", token " << token;
      }
      if (original.intervals(0, token) != original.intervals(1, token)) ++differing_heads;
    }
    EXPECT_GT(differing_heads, 0) << "the original draws other blocks for each head";
  }
}

}  // namespace
}  // namespace attnscope::tests
