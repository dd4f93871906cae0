// SPDX-License-Identifier: Apache-2.0
#include "engine/model/family.h"

#include <algorithm>
#include <stdexcept>

#include "engine/documents/document_cache.h"
#include "engine/model/model_weights.h"

namespace attnscope {
namespace {

tl::unexpected<Error> no_offline_stage() {
  return fail(
      "this model reads query and document together, so documents cannot be encoded in advance");
}

}  // namespace

Result<DocumentCache> Model::encode_documents(std::span<const TokenIds> /*documents*/,
                                              std::int32_t /*cls*/) {
  return no_offline_stage();
}

Result<ModelWork> Model::work_of_documents(std::span<const TokenIds> /*documents*/) const {
  return no_offline_stage();
}

Result<CachedRows> Model::cached_rows(std::int64_t /*tokens*/) const {
  return no_offline_stage();
}

Result<std::shared_ptr<const ModelWeights>> Family::extended_to(
    const std::shared_ptr<const ModelWeights>& weights, std::int64_t positions) const {
  return fail("a model of the family {} has {} positions and cannot be extended to {}",
              description().id(), weights->shape().positions, positions);
}

const Family& family_of(const FamilyDescription& description) {
  const auto all = families();
  const auto found = std::ranges::find_if(
      all, [&](const Family* family) { return &family->description() == &description; });
  if (found == all.end())
    throw std::logic_error("a family has a description but no implementation");
  return **found;
}

}  // namespace attnscope
