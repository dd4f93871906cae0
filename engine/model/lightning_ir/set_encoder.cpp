// SPDX-License-Identifier: Apache-2.0
//
// Set-Encoder (Schlatt et al., ECIR 2025, Sec. 3): BERT's cross-encoder whose documents attend, in
// every layer, to one state of each other document of the same query. The batch is the set; the
// states are rows of the batch already, so that the plan uses them as keys without copies.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/model/bert/bert_description.h"
#include "engine/model/bert/bert_family.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

const FamilyDescription& set_encoder_description();

namespace {

/// Scores the documents of one query as a set.
class SetEncoder final : public Model {
 public:
  explicit SetEncoder(std::unique_ptr<Model> bert) : bert_(std::move(bert)) {}

  [[nodiscard]] Status supports(const PairBatch& batch) const override {
    Status is_set = check_set(batch);
    return is_set ? bert_->supports(batch) : is_set;
  }
  [[nodiscard]] Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const override {
    return bert_->predicted_peak_bytes(batch);
  }
  [[nodiscard]] Result<ModelWork> work(const PairBatch& batch) const override {
    return bert_->work(batch);
  }
  [[nodiscard]] Result<ModelOutput> score(const PairBatch& batch, const Show& show) override {
    if (Status is_set = check_set(batch); !is_set) return tl::unexpected(is_set.error());
    return bert_->score(batch, show);
  }

 private:
  static Status check_set(const PairBatch& batch) {
    if (batch.items.size() < 2 || batch.one_query) return {};
    return fail(
        "a Set-Encoder's documents attend to each other, so a batch must contain documents of one "
        "query only");
  }

  std::unique_ptr<Model> bert_;
};

/// The reference is for a set of one document, which attends only to itself.
class SetEncoderFamily final : public BertLikeFamily {
 public:
  SetEncoderFamily() : BertLikeFamily(set_encoder_description()) {}

  /// Implementations that support keys anywhere in the batch.
  [[nodiscard]] std::vector<std::string_view> implementations() const override {
    return {"segment", "windowed"};
  }
  [[nodiscard]] Status supports(const ModelConfig& config, const ModelVariant& variant,
                                std::string_view implementation) const override {
    const auto known = implementations();
    if (std::ranges::find(known, implementation) == known.end()) {
      return fail("a Set-Encoder's documents attend to each other, which only {} compute",
                  fmt::join(known, " and "));
    }
    return BertLikeFamily::supports(config, variant, implementation);
  }
  [[nodiscard]] Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const override {
    if (Status able = supports(weights->config(), variant, implementation); !able)
      return tl::unexpected(able.error());
    auto bert = BertLikeFamily::make(weights, variant, implementation);
    if (!bert) return bert;
    return std::make_unique<SetEncoder>(std::move(*bert));
  }
};

}  // namespace

const Family& set_encoder_family() {
  static const SetEncoderFamily family;
  return family;
}

}  // namespace attnscope
