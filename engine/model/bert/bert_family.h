#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The cross-encoders that compute as BERT does, by their descriptions (bert_description.h), and the
// base of families that extend that computation.

#include <memory>
#include <string_view>
#include <vector>

#include "engine/model/family.h"

namespace attnscope {

class BertLikeFamily : public Family {
 public:
  /// `description` must outlive the family.
  explicit BertLikeFamily(const FamilyDescription& description) : description_(description) {}

  [[nodiscard]] const FamilyDescription& description() const override { return description_; }
  [[nodiscard]] std::vector<std::string_view> implementations() const override;
  [[nodiscard]] Status supports(const ModelConfig& config, const ModelVariant& variant,
                                std::string_view implementation) const override;
  [[nodiscard]] Result<std::unique_ptr<Model>> make(
      const std::shared_ptr<const ModelWeights>& weights, const ModelVariant& variant,
      std::string_view implementation) const override;
  [[nodiscard]] const EncoderFamily* encoders() const override;
  [[nodiscard]] std::vector<std::string_view> shortcuts() const override;
  [[nodiscard]] Result<ReferenceOutput> reference(const ModelWeights& weights,
                                                  const ModelVariant& variant,
                                                  const PairBatch::Item& item,
                                                  std::int32_t cls) const override;
  [[nodiscard]] double error_bound(DType dtype, const ModelShape& shape) const override;
  [[nodiscard]] Result<std::shared_ptr<const ModelWeights>> extended_to(
      const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const override;

 private:
  const FamilyDescription& description_;
};

}  // namespace attnscope
