#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The modules of sentence-transformers after an encoder, as modules.json lists them, made a
// HeadConfig: Pooling, Dense, LayerNorm and Normalize of one vector a pair, or Dense, Normalize and
// MultiVectorMask of a vector for each token.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/checkpoint/head_config.h"
#include "engine/text/multi_vector_tokenizer.h"
#include "kernels/base/json.h"
#include "kernels/base/result.h"

namespace attnscope {

/// What modules.json lists.
struct ListedModule {
  std::string type;  // "Dense"
  std::string path;  // of its folder, next to modules.json; empty: that folder itself
  bool is_pylate = false;
};

/// Throws a JsonProblem where a module is neither sentence-transformers' nor PyLate's.
[[nodiscard]] std::vector<ListedModule> read_module_list(const JsonField& root);

/// What the modules read and write.
enum class ModuleInput : std::uint8_t { pairs, tokens };

/// Modules read and write what they call by names: of pairs `sentence_embedding`, which is made of
/// `token_embeddings` by a Pooling and which each module replaces, and `scores`, which the last
/// Dense of that name makes of it; of tokens `token_embeddings`.
class ModuleChain {
 public:
  /// `head` is what other files said of it.
  explicit ModuleChain(ModuleInput input, HeadConfig head = {})
      : input_(input), head_(std::move(head)) {}

  /// Takes a module whose files lie in `folder`, reads its configuration, and tells whether it has
  /// weights. Errors name the file and the field, or the module that is not computed here.
  [[nodiscard]] Result<bool> add(const std::filesystem::path& folder, const ListedModule& module,
                                 std::vector<std::filesystem::path>& paths);
  /// Vectors of length 1, as a last Normalize makes them.
  void normalize();
  /// What makes the scores, or why the modules make none.
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
  std::vector<HeadStep> steps_;   // of the embedding that modules replace
  std::vector<HeadStep> scores_;  // of `scores`; empty: there are none yet
  std::vector<std::string> skipped_words_;
  std::int64_t width_ = 0;  // numbers of the embedding; 0: as many as the encoder's
  bool has_pooling_ = false, has_mask_ = false;
};

/// Reads a JSON file, of at most 1 MiB, whose errors name it.
[[nodiscard]] Status read_json_file(const std::filesystem::path& path, std::string_view kind,
                                    const std::function<void(const JsonField&)>& read);

}  // namespace attnscope
