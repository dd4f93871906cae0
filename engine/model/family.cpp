// SPDX-License-Identifier: Apache-2.0
#include "engine/model/family.h"

#include <algorithm>
#include <map>
#include <numeric>
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

std::vector<QueryGroup> groups_of(const PairBatch& batch) {
  std::vector<QueryGroup> groups;
  if (batch.one_query) {
    QueryGroup& only = groups.emplace_back(QueryGroup{batch.items.front().query, {}});
    only.items.resize(batch.items.size());
    std::iota(only.items.begin(), only.items.end(), 0);
    return groups;
  }
  std::map<std::vector<std::int32_t>, std::size_t> known;
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const TokenIds query = batch.items[i].query;
    const auto [place, is_new] =
        known.emplace(std::vector<std::int32_t>(query.begin(), query.end()), groups.size());
    if (is_new) groups.push_back({query, {}});
    groups[place->second].items.push_back(i);
  }
  return groups;
}

Status has_its_documents(const PairBatch& batch) {
  for (const PairBatch::Item& item : batch.items) {
    if (item.cached < 0 || item.cached >= batch.documents->documents()) {
      return fail("document {} is not among the {} encoded ones", item.cached,
                  batch.documents->documents());
    }
  }
  return {};
}

ModelOutput collected(const std::vector<QueryGroup>& groups, const std::vector<GroupOutput>& done,
                      std::size_t items) {
  const auto width_of = [](const GroupOutput& group_output) {
    return group_output.scores.empty() ? 0
                                       : group_output.states.size() / group_output.scores.size();
  };
  std::size_t width = 0;
  for (const GroupOutput& group_output : done) width = std::max(width, width_of(group_output));
  ModelOutput output{.scores = std::vector<float>(items),
                     .states = std::vector<float>(items * width)};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::size_t own = width_of(done[g]);
    for (std::size_t i = 0; i < groups[g].items.size(); ++i) {
      const std::size_t item = groups[g].items[i];
      output.scores[item] = done[g].scores[i];
      std::copy_n(done[g].states.begin() + static_cast<std::ptrdiff_t>(i * own), own,
                  output.states.begin() + static_cast<std::ptrdiff_t>(item * width));
    }
  }
  return output;
}

}  // namespace attnscope
