// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/model_inputs.h"

#include "engine/checkpoint/family_description.h"
#include "engine/measure/random.h"

namespace attnscope::measure {
namespace {

constexpr std::int32_t separator = 102;     // BERT's [SEP]
constexpr std::uint64_t first_word = 1000;  // ids below are special tokens and unused ones

std::int32_t random_word(std::uint64_t seed, std::uint64_t counter) {
  const auto words = static_cast<std::uint64_t>(ModelShape{}.vocabulary) - first_word;
  return static_cast<std::int32_t>(first_word + random_bits(seed, counter) % words);
}

}  // namespace

ModelInputs::ModelInputs(const HeatPoint& point, const GroupSizes& sizes, std::int64_t most)
    : most_(most),
      document_tokens_(sizes.document),
      query_(static_cast<std::size_t>(sizes.query)),
      documents_(static_cast<std::size_t>(most * sizes.document)) {
  std::uint64_t counter = 0;
  for (std::int32_t& id : query_) id = random_word(point.seed, counter++);
  for (std::int32_t& id : documents_) id = random_word(point.seed, counter++);
  query_.back() = separator;
  for (std::int64_t d = 0; d < most; ++d)
    documents_[static_cast<std::size_t>((d + 1) * document_tokens_ - 1)] = separator;
}

std::span<const std::int32_t> ModelInputs::document(std::int64_t index) const {
  return std::span(documents_)
      .subspan(static_cast<std::size_t>(index * document_tokens_),
               static_cast<std::size_t>(document_tokens_));
}

PairBatch ModelInputs::batch_of(std::int64_t documents) const {
  PairBatch batch{.items = {}, .one_query = true};
  batch.items.reserve(static_cast<std::size_t>(documents));
  for (std::int64_t d = 1; d < documents; ++d) batch.items.push_back({query_, document(d)});
  batch.items.push_back({query_, document(0)});
  return batch;
}

}  // namespace attnscope::measure
