#pragma once
// Rows of the late-interaction families as sweeps name them, made into small models.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/documents/document_cache.h"
#include "engine/heat/model_row.h"
#include "engine/model/family.h"
#include "engine/model/late/late_description.h"
#include "engine/model/model_weights.h"
#include "tests/model/drawn_pairs.h"

namespace attnscope::test {

/// "mixencoder-b+contexts-2", with what it is computed by and in.
struct LateCase {
  std::string row;
  std::string implementation = "segment";
  std::optional<Window> window{};
  DType dtype = DType::float32;
  int threads = 2;
};

inline const LateDescription& late_family(std::string_view model_type) {
  return dynamic_cast<const LateDescription&>(**family_of_model_type(model_type));
}

class LateRowModel {
 public:
  explicit LateRowModel(const LateCase& one, ModelShape shape = small_shape(),
                        std::uint64_t seed = 7)
      : row_(*parse_model_row(one.row)), variant_(variant_of(one)) {
    weights_ = ModelWeights::random(row_.family->config_for(shape, {&row_, 1}),
                                    {.seed = seed, .deviation = 0.1});
    make(one);
  }
  /// The same row on given weights.
  LateRowModel(const LateCase& one, std::shared_ptr<const ModelWeights> weights)
      : row_(*parse_model_row(one.row)), variant_(variant_of(one)), weights_(std::move(weights)) {
    make(one);
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
  ModelVariant variant_of(const LateCase& one) const {
    return {.pattern = *find_pattern(row_.pattern),
            .window = one.window,
            .options = row_.options,
            .dtype = one.dtype,
            .threads = one.threads};
  }
  void make(const LateCase& one) {
    auto made = family().make(weights_, variant_, one.implementation);
    EXPECT_TRUE(made) << one.row << ": " << made.error().message;
    if (made) model_ = std::move(*made);
  }

  ModelRow row_;
  ModelVariant variant_;
  std::shared_ptr<const ModelWeights> weights_;
  std::unique_ptr<Model> model_;
};

inline std::vector<TokenIds> document_ids(const PairBatch& batch) {
  std::vector<TokenIds> documents;
  for (const PairBatch::Item& item : batch.items) documents.push_back(item.document);
  return documents;
}

/// The same queries beside encoded documents, with no ids of theirs.
inline PairBatch from_cache(const PairBatch& batch, const DocumentCache& documents) {
  PairBatch cached = batch;
  cached.documents = &documents;
  std::int64_t number = 0;
  for (PairBatch::Item& item : cached.items) item = {item.query, {}, number++};
  return cached;
}

}  // namespace attnscope::test
