#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which checkpoints a cross-encoder is trained from, and the files beside the weights of the folder
// that a training leaves: with them transformers, sentence-transformers and this program cut and
// read texts as they were cut and read in the training.
//
//   if (Status can = may_be_trained(checkpoint, name); !can) return can;
//   Result<TrainedFolder> files = trained_folder(sentence, attention, most_tokens);

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/trained_config.h"
#include "kernels/base/result.h"

namespace attnscope {

/// Ok, or what the checkpoint `name` is and what can be trained.
[[nodiscard]] Status may_be_trained(const Checkpoint& checkpoint, std::string_view name);

/// All files that may lie beside the weights.
[[nodiscard]] std::vector<std::string> trained_folder_files();

struct TrainedFolder {
  std::map<std::string, std::string> texts{};             // by name
  std::map<std::string, std::filesystem::path> copied{};  // as they are, by name: from where
};

/// Of a training that began with the checkpoint of these files. `attention.positions` are the
/// weights', `most_tokens` is the limit that pairs were cut to. Errors: a file that cannot be read.
[[nodiscard]] Result<TrainedFolder> trained_folder(const SentenceFiles& files,
                                                   const TrainedAttention& attention,
                                                   std::int64_t most_tokens);

}  // namespace attnscope
