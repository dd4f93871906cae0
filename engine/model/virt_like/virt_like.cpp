// SPDX-License-Identifier: Apache-2.0
//
// VIRT-like: with the last states X of the query and Y of the document, X' = softmax(X Y^T / sqrt
// d) Y and Y' = softmax(Y X^T / sqrt d) X; u and v are the means of their rows, and a hidden layer
// with ReLU computes the score from [u; v; |u - v|; max(u, v)]. A mean of weighted sums is a single
// sum with the mean weights, and both softmaxes share their products.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/model/late/late_model.h"

namespace attnscope {

const FamilyDescription& virt_like_description();

namespace {

at::Tensor matched(const at::Tensor& u, const at::Tensor& v) {
  return at::cat({u, v, (u - v).abs(), at::maximum(u, v)}, 1);
}

class VirtLike final : public Interaction {
 public:
  explicit VirtLike(const InteractionParts& parts)
      : shape_(parts.config.shape),
        computing_(parts.computing),
        hidden_(parts.computing.of(parts.weights.linear("virt.hidden"))) {
    Computing plain = parts.computing;
    plain.route = LinearRoute::plain;  // a single output
    score_ = plain.of(parts.weights.linear("virt.score"));
  }

  [[nodiscard]] TextEncoding queries() const override {
    return {{.group = TokenGroup::query}, {0, shape_.layers}, LastLayer::whole};
  }
  [[nodiscard]] TextEncoding documents() const override {
    return {{.group = TokenGroup::document}, {0, shape_.layers}, LastLayer::whole};
  }
  [[nodiscard]] at::Tensor kept_of_documents(const at::Tensor& states,
                                             const PackedBatch& /*packed*/) const override {
    return states;
  }
  [[nodiscard]] std::int64_t rows_kept(std::int64_t tokens) const override { return 1 + tokens; }
  [[nodiscard]] std::int64_t width() const override { return shape_.hidden; }

  /// The state is [u; v].
  [[nodiscard]] Result<Interacted> interact(const BertEncoder& /*encoder*/,
                                            const EncodedQuery& query, const Candidates& candidates,
                                            const Show& /*show*/) const override {
    const at::Tensor x = query.front().to(at::kFloat);
    const double scale = 1 / std::sqrt(static_cast<double>(shape_.hidden));
    std::vector<at::Tensor> us, vs;
    for (const std::int64_t document : candidates.documents) {
      const at::Tensor y = candidates.rows.gathered({&document, 1}, computing_).to(at::kFloat);
      const at::Tensor products = at::matmul(x, y.t()) * scale;
      us.push_back(at::matmul(at::softmax(products, 1).mean(0, /*keepdim=*/true), y));
      vs.push_back(at::matmul(at::softmax(products, 0).mean(1).unsqueeze(0), x));
    }
    const at::Tensor u = at::cat(us), v = at::cat(vs);
    const at::Tensor scores = score_(at::relu(hidden_(computing_.of(matched(u, v)))));
    return Interacted{.scores = scores.squeeze(1), .states = at::cat({u, v}, 1)};
  }
  [[nodiscard]] ModelWork work(const BertEncoder& /*encoder*/,
                               const InteractionSize& size) const override {
    const auto d = static_cast<double>(shape_.hidden);
    const auto tokens = static_cast<double>(size.query_tokens);
    const double pairs = tokens * size.rows();
    const double flop = 2 * d * (pairs + size.rows() + tokens * size.candidates());
    return {.linear_flop = 2 * size.candidates() * (4 * d * d + d),
            .attention_flop = flop,
            .executed_attention_flop = flop,
            .exponentials = 2 * pairs,
            .least_bytes = size.rows() * size.row_bytes};
  }
  [[nodiscard]] std::int64_t peak_bytes(const BertEncoder& /*encoder*/,
                                        const InteractionSize& size) const override {
    const auto candidates = static_cast<std::int64_t>(size.candidate_rows.size());
    std::int64_t longest = 0;
    for (const std::int64_t rows : size.candidate_rows) longest = std::max(longest, rows);
    return 4 * (candidates * 11 * shape_.hidden +
                longest * (2 * shape_.hidden + 4 * size.query_tokens));
  }

 private:
  ModelShape shape_;
  Computing computing_;
  Linear hidden_, score_;
};

class VirtLikeFamily final : public LateFamily {
 protected:
  [[nodiscard]] const LateDescription& late() const override {
    return static_cast<const LateDescription&>(virt_like_description());
  }
  [[nodiscard]] std::unique_ptr<Interaction> interaction(
      const InteractionParts& parts) const override {
    return std::make_unique<VirtLike>(parts);
  }
  [[nodiscard]] Result<ReferenceOutput> reference_of(const LateReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override {
    const auto both = reference.encode_both(query, document);
    if (!both) return tl::unexpected(both.error());
    const auto& [x, y] = *both;
    const double scale = 1 / std::sqrt(static_cast<double>(config.shape.hidden));
    const at::Tensor u = LateReference::attend(x, y, y, 1, scale).mean(0, /*keepdim=*/true);
    const at::Tensor v = LateReference::attend(y, x, x, 1, scale).mean(0, /*keepdim=*/true);
    const at::Tensor score =
        reference.linear("virt.score", at::relu(reference.linear("virt.hidden", matched(u, v))));
    return ReferenceOutput{.score = score.item<double>(), .state = doubles_of(at::cat({u, v}, 1))};
  }
};

}  // namespace

const Family& virt_like_family() {
  static const VirtLikeFamily family;
  return family;
}

}  // namespace attnscope
