#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What files say of a late-interaction encoder of ColBERT's kind and of its texts, in the three
// forms in which such encoders are published: Stanford's (artifact.metadata next to a config.json
// of HF_ColBERT), PyLate's and sentence-transformers' MultiVectorEncoder
// (config_sentence_transformers.json). docs/checkpoints.md has the rules.

#include <filesystem>
#include <optional>
#include <vector>

#include "engine/checkpoint/head_config.h"
#include "engine/text/multi_vector_tokenizer.h"
#include "kernels/base/json.h"
#include "kernels/base/result.h"

namespace attnscope {

struct MultiVectorFiles {
  MultiVectorTexts texts{};
  HeadConfig head{};  // with max_sim; of Stanford's with its steps
};

/// Reads config_sentence_transformers.json. These throw a JsonProblem at a field that is not
/// computed here.
[[nodiscard]] MultiVectorFiles read_pylate(const JsonField& config);
[[nodiscard]] MultiVectorFiles read_multi_vector_encoder(const JsonField& config);
/// Reads sentence_bert_config.json of a MultiVectorEncoder.
void read_text_lengths(const JsonField& config, MultiVectorFiles& files);

/// A limit of the processor wins over the lengths, but for that of a fixed expansion.
void limit_texts(std::int64_t most_tokens, MultiVectorFiles& files);

/// Nothing where config.json is no HF_ColBERT. `paths` takes what was read.
[[nodiscard]] Result<std::optional<MultiVectorFiles>> read_stanford(
    const std::filesystem::path& folder, std::vector<std::filesystem::path>& paths);

}  // namespace attnscope
