#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A whole re-ranker that a program of --with computes in a separate process (docs/python.md): the
// process loads the weights from a folder, and receives token ids in shared memory.
//
//   auto folder = CheckpointFolder::write(*weights);
//   ServedOffer* offer = find_served_model("onnxruntime");     // nullptr: no model of a program
//   if (Status able = takes_model(*offer, family, variant); !able) report(able.error());
//   auto model = ServedModel::load(*offer, weights, variant, folder->path());
//   (*model)->score(batch)->scores;                            // scores only, no states

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/spawn.h"
#include "engine/attention/served/served.h"
#include "engine/model/family.h"
#include "engine/model/model_weights.h"

namespace attnscope {

/// Randomly initialised weights as a checkpoint of transformers (config.json, model.safetensors) in
/// a temporary folder, for a program that loads them. The owner's destructor removes the folder;
/// the next write() removes folders of killed processes.
class CheckpointFolder {
 public:
  /// Precondition: the model is of BERT's family. Projections for global tokens, which other rows
  /// may also have, are left out. Errors: a file that cannot be written, with the reason.
  [[nodiscard]] static Result<std::unique_ptr<CheckpointFolder>> write(const ModelWeights& weights);
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;
  ~CheckpointFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Whether both files are unchanged since they were written: the program that loads them may have
  /// modified them.
  [[nodiscard]] bool is_as_written() const;

 private:
  CheckpointFolder() = default;
  [[nodiscard]] Status make();

  struct File {
    std::filesystem::file_time_type written;
    std::uintmax_t bytes = 0;
    friend bool operator==(const File&, const File&) = default;
  };
  /// The current files; nothing if they cannot be read.
  [[nodiscard]] std::optional<std::array<File, 2>> files() const;

  std::filesystem::path path_;
  std::optional<std::array<File, 2>> written_{};
  Descriptor lock_;  // held on the folder; a folder without a held lock is left over
};

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
