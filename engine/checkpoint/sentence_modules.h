#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Converts the modules of sentence-transformers after an encoder, as listed in modules.json, to a
// HeadConfig: Pooling, Dense, LayerNorm and Normalize on one vector per pair, or Dense, Normalize
// and MultiVectorMask on a vector for each token.
//
// Also reads the files of a late-interaction encoder like ColBERT and the settings of its texts, in
// the three formats in which such encoders are published: Stanford's (artifact.metadata next to a
// config.json of HF_ColBERT), PyLate's and sentence-transformers' MultiVectorEncoder
// (config_sentence_transformers.json). docs/checkpoints.md documents the rules.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/checkpoint/head_config.h"
#include "engine/text/subword_tokenizer.h"

namespace attnscope {

/// An entry of modules.json.
struct ListedModule {
  std::string type;  // "Dense"
  std::string path;  // its folder, relative to modules.json; empty: that folder itself
  bool is_pylate = false;
};

/// Throws a JsonProblem for a module of neither sentence-transformers nor PyLate.
[[nodiscard]] std::vector<ListedModule> read_module_list(const JsonField& root);

/// What the modules read and write.
enum class ModuleInput : std::uint8_t { pairs, tokens };

/// Modules read and write named values. For pairs: `sentence_embedding`, which a Pooling computes
/// from `token_embeddings` and each module replaces, and `scores`, which the last Dense with that
/// output computes from it. For tokens: `token_embeddings`.
class ModuleChain {
 public:
  /// `head` contains the settings of other files.
  explicit ModuleChain(ModuleInput input, HeadConfig head = {})
      : input_(input), head_(std::move(head)) {}

  /// Adds a module with files in `folder`, reads its configuration, and returns whether it has
  /// weights. Errors name the file and the field, or the unsupported module.
  [[nodiscard]] Result<bool> add(const std::filesystem::path& folder, const ListedModule& module,
                                 std::vector<std::filesystem::path>& paths);
  /// Normalises vectors to length 1, like a final Normalize.
  void normalize();
  /// The computation of the scores, or the reason why the modules compute none.
  [[nodiscard]] Result<HeadConfig> finish(std::string_view source) &&;

  [[nodiscard]] const std::vector<std::string>& skipped_words() const { return skipped_words_; }

 private:
  void add_pooling(const JsonField& config);
  void add_dense(const JsonField& config, const std::string& folder);
  void add_norm(const JsonField& config, const std::string& folder);
  void add_normalize(const JsonField& config);
  void add_mask(const JsonField& config);
  [[nodiscard]] std::string_view usual_name() const;
  [[nodiscard]] std::string next_name() const;

  ModuleInput input_;
  HeadConfig head_;
  std::vector<HeadStep> steps_;   // steps of the embedding
  std::vector<HeadStep> scores_;  // steps of `scores`; empty: none yet
  std::vector<std::string> skipped_words_;
  std::int64_t width_ = 0;  // width of the embedding; 0: that of the encoder
  bool has_pooling_ = false, has_mask_ = false;
};

/// Reads a JSON file of at most 1 MiB; errors name the file.
[[nodiscard]] Status read_json_file(const std::filesystem::path& path, std::string_view kind,
                                    const std::function<void(const JsonField&)>& read);

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
