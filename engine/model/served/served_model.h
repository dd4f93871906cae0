#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A whole re-ranker that a program of --with computes in a separate process (docs/python.md): the
// process loads the weights from a folder, and receives token ids in shared memory.
//
//   ServedOffer* offer = find_served_model("onnxruntime");     // nullptr: no model of a program
//   if (Status able = takes_model(*offer, family, variant); !able) report(able.error());
//   auto model = ServedModel::load(*offer, weights, variant, folder->path());
//   (*model)->score(batch)->scores;                            // scores only, no states

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/attention/served/served.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// nullptr if no program has a model of that id.
[[nodiscard]] ServedOffer* find_served_model(std::string_view id);

/// Whether the program has its own weights instead of the sweep's: there is no reference for its
/// scores.
[[nodiscard]] bool has_own_weights(const ServedOffer& offer);

/// Ok, or the reason why the program does not support this model of a sweep.
[[nodiscard]] Status takes_model(const ServedOffer& offer, const FamilyDescription& family,
                                 const ModelVariant& variant);

/// Largest permitted error of its scores compared with the reference's, relative to the largest
/// absolute value of the reference's state: the family's bound for the variant's dtype, or that of
/// int8 if the program computes in int8; with its own weights, compared with its own earlier
/// scores.
[[nodiscard]] double error_bound_of(const ServedOffer& offer, const Family& family,
                                    const ModelVariant& variant, const ModelShape& shape);

class ServedModel : public Model {
 public:
  /// Loads the model in the program; `folder` is empty if the program has its own weights. Errors:
  /// the reasons why the program refuses the model. Throws std::runtime_error with the program's
  /// error.
  [[nodiscard]] static Result<std::unique_ptr<ServedModel>> load(
      ServedOffer& offer, std::shared_ptr<const ModelWeights> weights, const ModelVariant& variant,
      const std::filesystem::path& folder);

  /// The output of this process for the same weights. Not for a program with its own weights.
  [[nodiscard]] virtual Result<ModelOutput> computed_here(const PairBatch& batch) const = 0;

  /// Stops computation in its process until the next call.
  virtual void stop() = 0;

  /// Peak growth of its process's memory in bytes, measured in the first call.
  [[nodiscard]] virtual std::optional<std::int64_t> own_peak_bytes() const = 0;
};

}  // namespace attnscope
