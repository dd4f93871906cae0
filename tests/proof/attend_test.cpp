// SPDX-License-Identifier: Apache-2.0
#include "engine/proof/attend.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "engine/attention/list.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/safetensors/safetensors.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t tokens = 24, heads = 2, dim = 8;
const Shape usual{tokens, heads, dim};

std::vector<float> waves(const Shape& shape, float phase) {
  std::vector<float> values(1);
  for (const std::int64_t size : shape)
    values.resize(values.size() * static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i) * 0.7F + phase);
  }
  return values;
}

std::string layout_of(std::int64_t cls, std::int64_t query, std::int64_t document) {
  return fmt::format(R"({{"items":[{{"cls":{},"query":{},"document":{}}}]}})", cls, query,
                     document);
}

class Attend : public testing::Test {
 protected:
  void SetUp() override {
    request_.in = (folder_ / "in.safetensors").string();
    request_.out = (folder_ / "out.safetensors").string();
    request_.pattern = find_pattern("sparse").value();
    request_.window = Window::of(2);
    request_.layout_json = layout_of(1, 3, 20);
    request_.layout_source = "layout.json";
    request_.implementation = "dense";
    write_inputs(usual, usual);
  }

  void write_inputs(const Shape& q_shape, const Shape& v_shape) {
    q_ = waves(q_shape, 0);
    k_ = waves(q_shape, 1);
    v_ = waves(v_shape, 2);
    grad_o_ = waves(q_shape, 3);
    save(q_shape, v_shape);
  }

  /// Writes the first `count` of the four tensors.
  void save(const Shape& q_shape = usual, const Shape& v_shape = usual, std::size_t count = 4) {
    const std::array<NamedTensor, 4> tensors{
        NamedTensor{"q", q_shape, q_}, NamedTensor{"k", q_shape, k_}, NamedTensor{"v", v_shape, v_},
        NamedTensor{"grad_o", q_shape, grad_o_}};
    ASSERT_TRUE(write_safetensors(request_.in, std::span(tensors).first(count)));
  }

  /// The concatenated results in the written file.
  std::vector<float> written(std::int64_t token_count) const {
    const auto file = SafetensorsFile::open(request_.out);
    std::vector<float> all;
    for (const char* name : {"o", "grad_q", "grad_k", "grad_v"}) {
      if (!request_.backward && name != std::string_view("o")) continue;
      const auto values = file->floats(name, std::array<std::int64_t, 3>{token_count, heads, dim});
      EXPECT_TRUE(values) << values.error().message;
      all.insert(all.end(), values->begin(), values->end());
    }
    return all;
  }

  std::string refusal() const {
    const auto outcome = attend(request_);
    EXPECT_FALSE(std::filesystem::exists(request_.out));
    return outcome ? "no error" : outcome.error().message;
  }

  tests::ScratchFolder folder_;
  AttendRequest request_;
  std::vector<float> q_, k_, v_, grad_o_;
};

TEST_F(Attend, AllImplementationsWriteTheSameOutputAndGradients) {
  // 24 tokens are compared row by row; of 300 with 2 heads only some rows are.
  for (const auto& [count, backward] :
       {std::pair{tokens, false}, {tokens, true}, {std::int64_t{300}, true}}) {
    request_.backward = backward;
    request_.layout_json = layout_of(1, 3, count - 4);
    write_inputs({count, heads, dim}, {count, heads, dim});
    std::vector<float> first;
    int computed = 0;
    for (const Implementation* implementation : implementations()) {
      request_.implementation = implementation->id;
      const auto outcome = attend(request_);
      if (!outcome && outcome.error().message.find(" cannot compute this: ") != std::string::npos) {
        continue;
      }
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->tokens, count);
      EXPECT_LE(outcome->relative_error, outcome->error_bound);
      EXPECT_EQ(outcome->lse_written,
                SafetensorsFile::open(request_.out)->tensor("lse").has_value());
      const std::vector<float> values = written(count);
      if (first.empty()) first = values;
      ASSERT_EQ(values.size(), first.size());
      for (std::size_t i = 0; i < first.size(); ++i) {
        ASSERT_NEAR(values[i], first[i], backward ? 2e-5 : 1e-5) << implementation->id;
      }
      ++computed;
    }
    EXPECT_GE(computed, 6) << count << " tokens";
  }
}

TEST_F(Attend, IsolatedTokensReturnTheirValuesAndTheIncomingGradients) {
  request_.backward = true;
  request_.window = Window::of(0);
  request_.layout_json = layout_of(0, 0, 24);
  request_.implementation = "segment";
  const auto outcome = attend(request_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const std::vector<float> values = written(tokens);
  const std::size_t size = v_.size();
  for (std::size_t i = 0; i < size; ++i) {
    ASSERT_NEAR(values[i], v_[i], 1e-6);
    ASSERT_NEAR(values[size + i], 0, 1e-5);
    ASSERT_NEAR(values[2 * size + i], 0, 1e-5);
    ASSERT_NEAR(values[3 * size + i], grad_o_[i], 1e-6);
  }
  EXPECT_TRUE(SafetensorsFile::open(request_.out)
                  ->floats("lse", std::array<std::int64_t, 2>{tokens, heads}));
}

TEST_F(Attend, ForwardWritesAndReadsNoGradients) {
  grad_o_[3] = std::numeric_limits<float>::quiet_NaN();
  save();
  ASSERT_TRUE(attend(request_));
  EXPECT_FALSE(SafetensorsFile::open(request_.out)->tensor("grad_q"));
}

TEST_F(Attend, ComputesInTheRequestedDtype) {
  request_.dtype = DType::bfloat16;
  const auto outcome = attend(request_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome->relative_error, 1e-6);
}

TEST_F(Attend, RefusesTensorsThatDoNotFitTheLayout) {
  request_.layout_json = layout_of(1, 3, 30);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("in.safetensors: tensor 'q' has 24 tokens"),
                               HasSubstr("layout.json describes 34"), Not(HasSubstr("\n"))));
  write_inputs(usual, {tokens, heads, 4});
  request_.layout_json = layout_of(1, 3, 20);
  EXPECT_THAT(refusal(), HasSubstr("'v' has shape [24, 2, 4]; [24, 2, 8] is needed"));
  write_inputs({tokens, heads * dim}, {tokens, heads * dim});
  EXPECT_THAT(refusal(), HasSubstr("'q' has shape [24, 16]; [tokens, heads, head_dim] is needed"));
}

TEST_F(Attend, RefusesTensorsThatAreMissingOrNotFinite) {
  save(usual, usual, 1);
  EXPECT_THAT(refusal(), HasSubstr("has no tensor 'k'; it has q"));
  v_[37] = std::numeric_limits<float>::quiet_NaN();
  save();
  EXPECT_THAT(refusal(), HasSubstr("tensor 'v' has nan as value 37"));
  v_[37] = 0;
  request_.backward = true;
  grad_o_[5] = -std::numeric_limits<float>::infinity();
  save();
  EXPECT_THAT(refusal(), HasSubstr("tensor 'grad_o' has -inf as value 5"));
  save(usual, usual, 3);
  EXPECT_THAT(refusal(), HasSubstr("has no tensor 'grad_o'"));
}

TEST_F(Attend, RefusesInvalidRequests) {
  struct Row {
    std::function<void(AttendRequest&)> change;
    std::string reason;
  };
  for (const Row& row : std::vector<Row>{
           {[](AttendRequest& r) { r.implementation = "segmnet"; },
            "there is no implementation 'segmnet'; did you mean 'segment'"},
           {[](AttendRequest& r) { r.implementation = "sdpa"; },
            "sdpa cannot compute this: sdpa supports only full attention"},
           {[](AttendRequest& r) { r.window.reset(); }, "window"},
           {[](AttendRequest& r) { r.layout_json = R"({"items":[{"cls":1,"qurey":3}]})"; },
            "layout.json"},
           {[](AttendRequest& r) { r.threads = 0; }, "threads is 0"},
           {[](AttendRequest& r) { r.in += ".absent"; }, "absent: cannot be opened"},
           {[](AttendRequest& r) { r.out = "/no/such/out"; }, "no/such/out: cannot be written"}}) {
    const AttendRequest valid = request_;
    row.change(request_);
    EXPECT_THAT(refusal(), HasSubstr(row.reason));
    request_ = valid;
  }
}

}  // namespace
}  // namespace attnscope
