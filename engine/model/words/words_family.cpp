// SPDX-License-Identifier: Apache-2.0
#include "engine/model/words/words_family.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "base/sentences.h"
#include "engine/attention/torch_tensors.h"

namespace attnscope {

Status WordsFamily::supports(const ModelConfig& config, const ModelVariant& variant,
                             std::string_view implementation) const {
  const std::string_view id = words().id();
  const auto known = implementations();
  if (std::ranges::find(known, implementation) == known.end()) {
    return fail("models of the family {} are computed by {}, not by '{}'", id,
                fmt::join(known, ", "), in_a_sentence(implementation));
  }
  if (variant.dtype != DType::float32) {
    return fail("models of the family {} compute in float32: kernels in 16 bits lose their tails",
                id);
  }
  if (variant.device != DeviceKind::cpu) {
    return fail("models of the family {} are computed on the processor alone", id);
  }
  const std::string_view pattern = words().rows().front().pattern;
  if (variant.pattern.name != pattern) {
    return fail("models of the family {} have the pattern '{}', not '{}'", id, pattern,
                in_a_sentence(variant.pattern.name));
  }
  const auto made = words().configured(config, variant.options);
  if (!made) return tl::unexpected(made.error());
  return fits(*made, variant, implementation);
}

Result<std::unique_ptr<Model>> WordsFamily::make(const std::shared_ptr<const ModelWeights>& weights,
                                                 const ModelVariant& variant,
                                                 std::string_view implementation) const {
  const c10::InferenceMode no_graph;
  if (Status able = supports(weights->config(), variant, implementation); !able) {
    return tl::unexpected(able.error());
  }
  const auto config = words().configured(weights->config(), variant.options);
  if (!config) return tl::unexpected(config.error());
  if (Status there = has_tensors(*weights, *config); !there) return tl::unexpected(there.error());
  use_torch_threads(variant.threads);
  return model(weights, *config, variant, implementation);
}

Result<ReferenceOutput> WordsFamily::reference(const ModelWeights& weights,
                                               const ModelVariant& variant,
                                               const PairBatch::Item& item,
                                               std::int32_t /*cls*/) const {
  const c10::InferenceMode no_graph;
  use_torch_threads(variant.threads);
  const auto config = words().configured(weights.config(), variant.options);
  if (!config) return tl::unexpected(config.error());
  return reference_of(WordsReference(weights), *config, without_padding(item.query),
                      without_padding(item.document));
}

double WordsFamily::error_bound(DType /*dtype*/, const ModelShape& /*shape*/) const {
  // A sum of a kernel far from all cosines has the relative error of its exponent, about 200 times
  // the rounding of a cosine.
  return 1e-4;
}

Status WordsFamily::fits(const ModelConfig& /*config*/, const ModelVariant& /*variant*/,
                         std::string_view /*implementation*/) const {
  return {};
}

}  // namespace attnscope
