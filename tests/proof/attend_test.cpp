// SPDX-License-Identifier: Apache-2.0
#include "engine/proof/attend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/attention/list.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/safetensors/safetensors.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t tokens = 24;
constexpr std::int64_t heads = 2;
constexpr std::int64_t dim = 8;

std::vector<float> waves(std::int64_t count, float phase) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i) * 0.7F + phase);
  }
  return values;
}

class Attend : public testing::Test {
 protected:
  void SetUp() override {
    request_.in = (folder_ / "in.safetensors").string();
    request_.out = (folder_ / "out.safetensors").string();
    request_.pattern = find_pattern("sparse").value();
    request_.window = Window::of(2);
    request_.layout_json = R"({"items":[{"cls":1,"query":3,"document":20}]})";
    request_.layout_source = "layout.json";
    request_.implementation = "dense";
    write_inputs({tokens, heads, dim}, {tokens, heads, dim});
  }

  void write_inputs(const std::vector<std::int64_t>& q_shape,
                    const std::vector<std::int64_t>& v_shape) {
    const auto count = [](const std::vector<std::int64_t>& shape) {
      std::int64_t product = 1;
      for (const std::int64_t size : shape) product *= size;
      return product;
    };
    q_ = waves(count(q_shape), 0);
    k_ = waves(count(q_shape), 1);
    v_ = waves(count(v_shape), 2);
    grad_o_ = waves(count(q_shape), 3);
    save(q_shape, v_shape);
  }

  void save(const std::vector<std::int64_t>& q_shape, const std::vector<std::int64_t>& v_shape) {
    const std::array<NamedTensor, 4> tensors{
        NamedTensor{"q", q_shape, q_}, NamedTensor{"k", q_shape, k_}, NamedTensor{"v", v_shape, v_},
        NamedTensor{"grad_o", q_shape, grad_o_}};
    ASSERT_TRUE(write_safetensors(request_.in, tensors));
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

/// Whether the implementation declines the problem.
bool declined(const Result<AttendOutcome>& outcome) {
  return !outcome && outcome.error().message.find(" cannot compute this: ") != std::string::npos;
}

TEST_F(Attend, AllImplementationsWriteTheSameOutput) {
  std::vector<float> first;
  int computed = 0;
  for (const Implementation* implementation : implementations()) {
    request_.implementation = implementation->id;
    const auto outcome = attend(request_);
    if (declined(outcome)) continue;
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->tokens, tokens);
    EXPECT_LE(outcome->relative_error, outcome->error_bound);

    const auto file = SafetensorsFile::open(request_.out);
    const std::array<std::int64_t, 3> shape{tokens, heads, dim};
    const auto o = file->floats("o", shape);
    ASSERT_TRUE(o) << o.error().message;
    if (first.empty()) first.assign(o->begin(), o->end());
    for (std::size_t i = 0; i < first.size(); ++i) ASSERT_NEAR((*o)[i], first[i], 1e-5);
    EXPECT_EQ(outcome->lse_written, file->tensor("lse").has_value());
    ++computed;
  }
  EXPECT_GE(computed, 6);
}

/// The concatenated tensors of a file that a backward call wrote.
std::vector<float> written(const std::string& path, std::int64_t token_count) {
  const auto file = SafetensorsFile::open(path);
  EXPECT_TRUE(file);
  const std::array<std::int64_t, 3> shape{token_count, heads, dim};
  std::vector<float> all;
  for (const char* name : {"o", "grad_q", "grad_k", "grad_v"}) {
    const auto values = file->floats(name, shape);
    EXPECT_TRUE(values) << values.error().message;
    all.insert(all.end(), values->begin(), values->end());
  }
  return all;
}

TEST_F(Attend, AllImplementationsWriteTheSameGradients) {
  request_.backward = true;
  // 24 tokens are compared row by row; of 300 with 2 heads only some rows are.
  for (const std::int64_t count : {tokens, std::int64_t{300}}) {
    request_.layout_json =
        fmt::format(R"({{"items":[{{"cls":1,"query":3,"document":{}}}]}})", count - 4);
    write_inputs({count, heads, dim}, {count, heads, dim});
    std::vector<float> first;
    for (const Implementation* implementation : implementations()) {
      request_.implementation = implementation->id;
      const auto outcome = attend(request_);
      if (declined(outcome)) continue;
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_LE(outcome->relative_error, outcome->error_bound);
      const std::vector<float> values = written(request_.out, count);
      if (first.empty()) first = values;
      ASSERT_EQ(values.size(), first.size());
      for (std::size_t i = 0; i < first.size(); ++i) ASSERT_NEAR(values[i], first[i], 2e-5);
    }
  }
}

TEST_F(Attend, GradientsOfIsolatedTokensAreTheIncomingOnes) {
  request_.backward = true;
  request_.window = Window::of(0);
  request_.layout_json = R"({"items":[{"cls":0,"query":0,"document":24}]})";
  request_.implementation = "segment";
  const auto outcome = attend(request_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const std::vector<float> values = written(request_.out, tokens);
  const std::size_t size = v_.size();
  for (std::size_t i = 0; i < size; ++i) {
    ASSERT_NEAR(values[i], v_[i], 1e-6);
    ASSERT_NEAR(values[size + i], 0, 1e-5);
    ASSERT_NEAR(values[2 * size + i], 0, 1e-5);
    ASSERT_NEAR(values[3 * size + i], grad_o_[i], 1e-6);
  }
}

TEST_F(Attend, ForwardWritesAndReadsNoGradients) {
  grad_o_[3] = std::numeric_limits<float>::quiet_NaN();
  save({tokens, heads, dim}, {tokens, heads, dim});
  ASSERT_TRUE(attend(request_));
  EXPECT_FALSE(SafetensorsFile::open(request_.out)->tensor("grad_q"));
}

TEST_F(Attend, RefusesAnIncomingGradientThatIsMissingOrNotFinite) {
  request_.backward = true;
  grad_o_[5] = -std::numeric_limits<float>::infinity();
  save({tokens, heads, dim}, {tokens, heads, dim});
  EXPECT_THAT(refusal(), HasSubstr("tensor 'grad_o' has -inf as value 5"));
  const std::array<NamedTensor, 3> without{NamedTensor{"q", {tokens, heads, dim}, q_},
                                           NamedTensor{"k", {tokens, heads, dim}, k_},
                                           NamedTensor{"v", {tokens, heads, dim}, v_}};
  ASSERT_TRUE(write_safetensors(request_.in, without));
  EXPECT_THAT(refusal(), HasSubstr("has no tensor 'grad_o'"));
}

TEST_F(Attend, WindowZeroOfADocumentAloneReturnsItsValues) {
  request_.window = Window::of(0);
  request_.layout_json = R"({"items":[{"cls":0,"query":0,"document":24}]})";
  request_.implementation = "segment";
  const auto outcome = attend(request_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto file = SafetensorsFile::open(request_.out);
  const std::array<std::int64_t, 3> shape{tokens, heads, dim};
  const auto o = file->floats("o", shape).value();
  for (std::size_t i = 0; i < v_.size(); ++i) ASSERT_NEAR(o[i], v_[i], 1e-6);
  const std::array<std::int64_t, 2> lse_shape{tokens, heads};
  EXPECT_TRUE(file->floats("lse", lse_shape));
}

TEST_F(Attend, ComputesInTheRequestedDtype) {
  request_.dtype = DType::bfloat16;
  const auto outcome = attend(request_);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_GT(outcome->relative_error, 1e-6);
}

TEST_F(Attend, RefusesTensorsThatDoNotFitTheLayout) {
  request_.layout_json = R"({"items":[{"cls":1,"query":3,"document":30}]})";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("in.safetensors: tensor 'q' has 24 tokens"),
                               HasSubstr("layout.json describes 34"), Not(HasSubstr("\n"))));
  write_inputs({tokens, heads, dim}, {tokens, heads, 4});
  request_.layout_json = R"({"items":[{"cls":1,"query":3,"document":20}]})";
  EXPECT_THAT(refusal(), HasSubstr("'v' has shape [24, 2, 4]; [24, 2, 8] is needed"));
  write_inputs({tokens, heads * dim}, {tokens, heads * dim});
  EXPECT_THAT(refusal(), HasSubstr("'q' has shape [24, 16]; [tokens, heads, head_dim] is needed"));
  const std::array<NamedTensor, 1> tensors{NamedTensor{"q", {tokens, heads, dim}, q_}};
  ASSERT_TRUE(write_safetensors(request_.in, tensors));
  EXPECT_THAT(refusal(), HasSubstr("has no tensor 'k'; it has q"));
}

TEST_F(Attend, RefusesInputsThatAreNotFinite) {
  v_[37] = std::numeric_limits<float>::quiet_NaN();
  save({tokens, heads, dim}, {tokens, heads, dim});
  EXPECT_THAT(refusal(), HasSubstr("tensor 'v' has nan as value 37"));
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
