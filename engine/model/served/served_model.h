#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A whole re-ranker that a program of --with computes in a process of its own (docs/python.md): it
// loads the weights from a folder, and is called with token ids that both processes have mapped.
//
//   ServedOffer* offer = find_served_model("onnxruntime");     // nullptr: no model of a program
//   if (Status able = takes_model(*offer, family, variant); !able) report(able.error());
//   auto model = ServedModel::load(*offer, weights, variant, folder->path());
//   (*model)->score(batch)->scores;                            // its states it keeps to itself

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/attention/served/offer.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// nullptr where no program has a model of that id.
[[nodiscard]] ServedOffer* find_served_model(std::string_view id);

/// It computes from weights of its own and not from the sweep's: no reference knows its scores.
[[nodiscard]] bool has_own_weights(const ServedOffer& offer);

/// Ok, or the reason why such a model of a sweep is not computed by it.
[[nodiscard]] Status takes_model(const ServedOffer& offer, const FamilyDescription& family,
                                 const ModelVariant& variant);

/// How far its scores may be off the reference's, over the largest number of that one's state: as
/// the family says of the variant's dtype, or what int8 needs where it computes in that; with
/// weights of its own, off what it has scored before.
[[nodiscard]] double error_bound_of(const ServedOffer& offer, const Family& family,
                                    const ModelVariant& variant, const ModelShape& shape);

class ServedModel : public Model {
 public:
  /// Has it loaded; `folder` is empty where it has its own weights. Errors: what the program says
  /// it does not take. Throws std::runtime_error with what went wrong there.
  [[nodiscard]] static Result<std::unique_ptr<ServedModel>> load(
      ServedOffer& offer, std::shared_ptr<const ModelWeights> weights, const ModelVariant& variant,
      const std::filesystem::path& folder);

  /// What this program itself computes of the same weights. Not of one with its own.
  [[nodiscard]] virtual Result<ModelOutput> computed_here(const PairBatch& batch) const = 0;

  /// Its process computes nothing until its next call.
  virtual void stop() = 0;

  /// Bytes that its process grew by at the worst moment of a call, measured in the first.
  [[nodiscard]] virtual std::optional<std::int64_t> own_peak_bytes() const = 0;
};

}  // namespace attnscope
