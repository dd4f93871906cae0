#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads the files of a late-interaction encoder like ColBERT and the settings of its texts, in the
// three formats in which such encoders are published: Stanford's (artifact.metadata next to a
// config.json of HF_ColBERT), PyLate's and sentence-transformers' MultiVectorEncoder
// (config_sentence_transformers.json). docs/checkpoints.md documents the rules.

#include <filesystem>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/checkpoint/head_config.h"
#include "engine/text/subword_tokenizer.h"

namespace attnscope {

struct MultiVectorFiles {
  MultiVectorTexts texts{};
  HeadConfig head{};  // with max_sim; for Stanford's format with its steps
};

/// Reads config_sentence_transformers.json. This function and the next throw a JsonProblem at an
/// unsupported field.
[[nodiscard]] MultiVectorFiles read_pylate(const JsonField& config);
[[nodiscard]] MultiVectorFiles read_multi_vector_encoder(const JsonField& config);
/// Reads sentence_bert_config.json of a MultiVectorEncoder.
void read_text_lengths(const JsonField& config, MultiVectorFiles& files);

/// Applies a limit of the processor, which overrides the lengths except that of a fixed expansion.
void limit_texts(std::int64_t most_tokens, MultiVectorFiles& files);

/// Returns nothing if config.json is not an HF_ColBERT. Files that were read are added to `paths`.
[[nodiscard]] Result<std::optional<MultiVectorFiles>> read_stanford(
    const std::filesystem::path& folder, std::vector<std::filesystem::path>& paths);

}  // namespace attnscope
