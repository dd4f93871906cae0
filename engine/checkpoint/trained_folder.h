#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints that training can start from, and the files that training writes next to the
// weights: with these, transformers, sentence-transformers and this program truncate and tokenize
// texts as in training.
//
//   if (Status can = may_be_trained(checkpoint, name); !can) return can;
//   Result<TrainedFolder> files = trained_folder(sentence, attention, most_tokens);

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/trained_config.h"

namespace attnscope {

/// Ok, or an error with the kind of checkpoint `name` is and the kinds that can be trained.
[[nodiscard]] Status may_be_trained(const Checkpoint& checkpoint, std::string_view name);

/// All files that may be next to the weights.
[[nodiscard]] std::vector<std::string> trained_folder_files();

struct TrainedFolder {
  std::map<std::string, std::string> texts{};             // contents by name
  std::map<std::string, std::filesystem::path> copied{};  // unchanged copies: source by name
};

/// Files of a training that began with the checkpoint of these files. `attention.positions` are
/// those of the weights, `most_tokens` is the limit that pairs were truncated to. Error: a file
/// that cannot be read.
[[nodiscard]] Result<TrainedFolder> trained_folder(const SentenceFiles& files,
                                                   const TrainedAttention& attention,
                                                   std::int64_t most_tokens);

}  // namespace attnscope
