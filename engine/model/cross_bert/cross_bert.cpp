// SPDX-License-Identifier: Apache-2.0
//
// Cross-BERT is BERT's cross-encoder with a separate [CLS] at the beginning of each document, which
// belongs to the document: positions continue and token type 1 begins there. In the authors' code,
// padding between both texts shifts the document's positions; there is no padding here.
#include <utility>

#include "engine/documents/document_cache.h"
#include "engine/model/bert/bert_family.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

const FamilyDescription& cross_bert_description();

namespace {

/// Documents with a preceding [CLS], and the batch that refers to them.
class WithCls {
 public:
  explicit WithCls(const PairBatch& batch) : batch_(batch) {
    documents_.reserve(batch.items.size());
    for (PairBatch::Item& item : batch_.items) {
      std::vector<std::int32_t>& document = documents_.emplace_back(std::vector{batch.cls});
      document.insert(document.end(), item.document.begin(), item.document.end());
      item.document = document;
    }
  }
  [[nodiscard]] const PairBatch& batch() const { return batch_; }

 private:
  PairBatch batch_;
  std::vector<std::vector<std::int32_t>> documents_;
};

class CrossBert final : public Model {
 public:
  explicit CrossBert(std::unique_ptr<Model> bert) : bert_(std::move(bert)) {}

  [[nodiscard]] Status supports(const PairBatch& batch) const override {
    return bert_->supports(WithCls(batch).batch());
  }
  [[nodiscard]] Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const override {
    return bert_->predicted_peak_bytes(WithCls(batch).batch());
  }
  [[nodiscard]] Result<ModelWork> work(const PairBatch& batch) const override {
    return bert_->work(WithCls(batch).batch());
  }
  [[nodiscard]] Result<ModelOutput> score(const PairBatch& batch, const Show& show) override {
    return bert_->score(WithCls(batch).batch(), show);
  }

 private:
  std::unique_ptr<Model> bert_;
};

class CrossBertFamily final : public BertLikeFamily {
 public:
  CrossBertFamily() : BertLikeFamily(cross_bert_description()) {}

  [[nodiscard]] Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const override {
    auto bert = BertLikeFamily::make(weights, variant, implementation);
    if (!bert) return bert;
    return std::make_unique<CrossBert>(std::move(*bert));
  }
  [[nodiscard]] Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                  const ModelVariant& variant,
                                                  const PairBatch::Item& item,
                                                  std::int32_t cls) const override {
    const WithCls with({.items = {item}, .cls = cls});
    return BertLikeFamily::reference(weights, variant, with.batch().items.front(), cls);
  }
};

}  // namespace

const Family& cross_bert_family() {
  static const CrossBertFamily family;
  return family;
}

}  // namespace attnscope
