#pragma once
// Small models of sweep rows, with their float64 references.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/documents/document_cache.h"
#include "engine/heat/model_row.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"
#include "tests/model/drawn_pairs.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope::test {

/// A row such as "mixencoder-b+contexts-2", with implementation, dtype and threads.
struct LateCase {
  std::string row;
  std::string implementation = "segment";
  std::optional<Window> window{};
  DType dtype = DType::float32;
  int threads = 2;
};

class LateRowModel {
 public:
  explicit LateRowModel(const LateCase& chosen, ModelShape shape = small_shape(),
                        std::uint64_t seed = 7)
      : row_(*parse_model_row(chosen.row)), variant_(variant_of(chosen)) {
    weights_ = ModelWeights::random(row_.family->config_for(shape, {&row_, 1}),
                                    {.seed = seed, .deviation = 0.1});
    make(chosen);
  }
  /// The same row on given weights.
  LateRowModel(const LateCase& chosen, std::shared_ptr<const ModelWeights> weights)
      : row_(*parse_model_row(chosen.row)),
        variant_(variant_of(chosen)),
        weights_(std::move(weights)) {
    make(chosen);
  }

  [[nodiscard]] const Family& family() const { return family_of(*row_.family); }
  [[nodiscard]] const ModelVariant& variant() const { return variant_; }
  [[nodiscard]] const std::shared_ptr<const ModelWeights>& weights() const { return weights_; }
  Model* operator->() const { return model_.get(); }

  [[nodiscard]] ModelOutput scored(const PairBatch& batch) const {
    auto output = model_->score(batch);
    EXPECT_TRUE(output) << output.error().message;
    return output ? std::move(*output) : ModelOutput{};
  }
  [[nodiscard]] ReferenceOutput reference(const PairBatch::Item& item,
                                          std::int32_t cls = 101) const {
    auto reference = family().reference(*weights_, variant_, item, cls);
    EXPECT_TRUE(reference) << reference.error().message;
    return reference ? std::move(*reference) : ReferenceOutput{};
  }
  [[nodiscard]] double bound() const {
    return family().error_bound(variant_.dtype, weights_->shape());
  }

 private:
  ModelVariant variant_of(const LateCase& chosen) const {
    return {.pattern = *find_pattern(row_.pattern),
            .window = chosen.window,
            .options = row_.options,
            .dtype = chosen.dtype,
            .threads = chosen.threads};
  }
  void make(const LateCase& chosen) {
    auto made = family().make(weights_, variant_, chosen.implementation);
    EXPECT_TRUE(made) << chosen.row << ": " << made.error().message;
    if (made) model_ = std::move(*made);
  }

  ModelRow row_;
  ModelVariant variant_;
  std::shared_ptr<const ModelWeights> weights_;
  std::unique_ptr<Model> model_;
};

/// The model's tensors under another config.
inline std::shared_ptr<const ModelWeights> with_config(const ModelConfig& config,
                                                       const LateRowModel& model) {
  return std::make_shared<const ModelWeights>(config, model.weights()->tensors());
}

/// Every item's output differs from the float64 reference by less than the family's bound.
inline void expect_matches_reference(const LateRowModel& model, const PairBatch& batch) {
  const ModelOutput output = model.scored(batch);
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    EXPECT_LT(error_of(output, i, model.reference(batch.items[i])), model.bound())
        << i << ", " << batch.items[i].document.size() << " tokens";
  }
}

/// The tensors that the model passes to `show` for a batch, keyed by "layer.name".
inline std::map<std::string, Shown> shown_of(const LateRowModel& model, const PairBatch& batch) {
  std::map<std::string, Shown> shown;
  EXPECT_TRUE(model->score(batch, [&](Shown tensor) {
    const std::string key = fmt::format("{}.{}", tensor.layer, tensor.name);
    shown.emplace(key, std::move(tensor));
  }));
  return shown;
}

inline std::vector<TokenIds> document_ids(const PairBatch& batch) {
  std::vector<TokenIds> documents;
  for (const PairBatch::Item& item : batch.items) documents.push_back(item.document);
  return documents;
}

/// The same queries with encoded documents instead of token ids.
inline PairBatch from_cache(const PairBatch& batch, const DocumentCache& documents) {
  PairBatch cached = batch;
  cached.documents = &documents;
  std::int64_t number = 0;
  for (PairBatch::Item& item : cached.items) item = {item.query, {}, number++};
  return cached;
}

/// The batch's documents as the model encodes them, written to a file and mapped from it; nothing
/// for a family that cannot encode documents, which reports an error.
inline std::optional<DocumentCache> through_a_file(const LateRowModel& model,
                                                   const PairBatch& batch) {
  const auto encoded = model->encode_documents(document_ids(batch), batch.cls);
  if (model.family().description().keeps() == Kept::nothing) {
    EXPECT_THAT(message_of(encoded), testing::HasSubstr("documents cannot be encoded in advance"));
    return std::nullopt;
  }
  EXPECT_TRUE(encoded) << encoded.error().message;
  if (!encoded) return std::nullopt;
  const tests::ScratchFolder folder;
  EXPECT_TRUE(encoded->write(folder / "documents"));
  auto mapped = DocumentCache::open(folder / "documents", encoded->maker());
  EXPECT_TRUE(mapped) << mapped.error().message;
  return mapped ? std::optional(std::move(*mapped)) : std::nullopt;
}

/// Expects that the work of encoding documents and the work with the cache add up to the work
/// without a cache.
inline void expect_stages_add_up(const LateRowModel& model, const PairBatch& batch,
                                 const DocumentCache& documents) {
  const auto offline = model->work_of_documents(document_ids(batch));
  const auto online = model->work(from_cache(batch, documents));
  const auto direct = model->work(batch);
  ASSERT_TRUE(offline && online && direct);
  EXPECT_DOUBLE_EQ(offline->linear_flop + online->linear_flop, direct->linear_flop);
  EXPECT_DOUBLE_EQ(offline->attention_flop + online->attention_flop, direct->attention_flop);
  EXPECT_DOUBLE_EQ(offline->exponentials + online->exponentials, direct->exponentials);
  EXPECT_GT(online->linear_flop, 0);
  EXPECT_LT(*model->predicted_peak_bytes(from_cache(batch, documents)),
            *model->predicted_peak_bytes(batch));
}

}  // namespace attnscope::test
