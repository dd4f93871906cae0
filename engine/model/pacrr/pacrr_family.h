#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// PACRR and CO-PACRR. LibTorch inside.

#include "engine/model/pacrr/pacrr_description.h"
#include "engine/model/words/words_family.h"

namespace attnscope {

class PacrrFamily final : public WordsFamily {
 public:
  PacrrFamily(const FamilyDescription& description, pacrr::Taken taken)
      : description_(static_cast<const PacrrDescription&>(description)), taken_(taken) {}

  [[nodiscard]] std::vector<std::string_view> implementations() const override;

 protected:
  [[nodiscard]] const WordsDescription& words() const override { return description_; }
  [[nodiscard]] Result<std::unique_ptr<Model>> model(
      const std::shared_ptr<const ModelWeights>& weights, const ModelConfig& config,
      const ModelVariant& variant, std::string_view implementation) const override;
  [[nodiscard]] Result<ReferenceOutput> reference_of(const WordsReference& reference,
                                                     const ModelConfig& config, TokenIds query,
                                                     TokenIds document) const override;

 private:
  const PacrrDescription& description_;
  pacrr::Taken taken_;
};

}  // namespace attnscope
