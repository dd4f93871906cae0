#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What sentence-transformers (6.x) reads of a folder: modules.json counts where
// config_sentence_transformers.json says that the folder holds a CrossEncoder. Then an encoder is
// followed by modules that make the score, a prompt may precede queries, and
// sentence_bert_config.json has the limit of a pair. Of late-interaction encoders the same files
// count, and those of multi_vector_files.h.
//
//   Result<SentenceFiles> files = read_sentence_files("gte-reranker-modernbert-base");

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/checkpoint/head_config.h"
#include "engine/text/multi_vector_tokenizer.h"
#include "engine/text/tokenizer_folder.h"
#include "kernels/base/result.h"

namespace attnscope {

/// A module after the encoder.
struct SentenceModule {
  std::filesystem::path folder{};  // empty: it has none
  std::string prefix{};            // precedes the names of its tensors: "2_Dense."
};

struct SentenceFiles {
  bool counts = false;              // false: the folder is read as transformers reads it
  std::string unread_modules{};     // why a modules.json that is there does not count
  std::filesystem::path encoder{};  // the folder of config.json, weights and tokenizer
  bool is_classifier = false;       // the encoder is a sequence classifier with a head of its own
  TokenizerExtras tokenizer{};
  std::string activation{};  // of predict(), as the files state it; empty: they do not
  std::vector<SentenceModule> modules{};
  std::vector<std::filesystem::path> paths{};  // of all that was read

  /// The chain that the modules are, on states of `hidden` numbers. Empty steps: there is none.
  HeadConfig head{};
  /// How texts are made for an encoder whose tokens have vectors (then head.max_sim is set); null:
  /// a cross-encoder.
  std::shared_ptr<const MultiVectorTexts> multi_vector{};
};

/// Errors name the file and the field: a module or a setting that is not computed here, widths that
/// do not fit each other.
[[nodiscard]] Result<SentenceFiles> read_sentence_files(const std::filesystem::path& folder);

}  // namespace attnscope
