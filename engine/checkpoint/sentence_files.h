#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads the files of a folder that sentence-transformers (6.x) reads: modules.json applies if
// config_sentence_transformers.json states that the folder contains a CrossEncoder. An encoder is
// then followed by modules that compute the score, a prompt may precede queries, and
// sentence_bert_config.json states the limit of a pair. For late-interaction encoders the same
// files apply; sentence_modules.h reads their settings (MultiVectorFiles).
//
//   Result<SentenceFiles> files = read_sentence_files("gte-reranker-modernbert-base");

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/checkpoint/head_config.h"
#include "engine/text/subword_tokenizer.h"
#include "engine/text/tokenizer_folder.h"

namespace attnscope {

/// A module after the encoder.
struct SentenceModule {
  std::filesystem::path folder{};  // empty: no folder
  std::string prefix{};            // precedes the names of its tensors: "2_Dense."
};

struct SentenceFiles {
  bool counts = false;              // false: the folder is read as transformers reads it
  std::string unread_modules{};     // why an existing modules.json does not apply
  std::filesystem::path encoder{};  // folder of config.json, weights and tokenizer
  bool is_classifier = false;       // the encoder is a sequence classifier with its own head
  TokenizerExtras tokenizer{};
  std::string activation{};  // activation of predict(); empty: not stated
  std::vector<SentenceModule> modules{};
  std::vector<std::filesystem::path> paths{};  // all files that were read

  /// The modules as a chain, on states of width `hidden`. Empty steps: there are no modules.
  HeadConfig head{};
  /// Preparation of texts for an encoder with token vectors (then head.max_sim is set); null: a
  /// cross-encoder.
  std::shared_ptr<const MultiVectorTexts> multi_vector{};
};

/// Errors name the file and the field: an unsupported module or setting, or widths that do not
/// match.
[[nodiscard]] Result<SentenceFiles> read_sentence_files(const std::filesystem::path& folder);

}  // namespace attnscope
