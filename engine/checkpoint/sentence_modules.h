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

class ModuleChain {
 public:
  explicit ModuleChain(ModuleInput input) : input_(input) {}

  /// Takes a module whose files lie in `folder`, reads its configuration, and tells whether it has
  /// weights. Errors name the file and the field, or the module that is not computed here.
  [[nodiscard]] Result<bool> add(const std::filesystem::path& folder, const ListedModule& module,
                                 std::vector<std::filesystem::path>& paths);
  /// Vectors of length 1, as a last Normalize makes them.
  void normalize();
  /// Ok, or why the modules make no scores.
  [[nodiscard]] Status finish(std::string_view source) const;

  [[nodiscard]] HeadConfig& head() { return head_; }
  [[nodiscard]] const std::vector<std::string>& skipped_words() const { return skipped_words_; }
  /// Numbers that the last module gives; 0: as many as the encoder.
  [[nodiscard]] std::int64_t width() const { return width_; }

 private:
  void add_pooling(const JsonField& config);
  void add_dense(const JsonField& config, const std::string& folder);
  void add_norm(const JsonField& config, const std::string& folder);
  void add_mask(const JsonField& config);
  [[nodiscard]] std::string next_name() const;

  ModuleInput input_;
  HeadConfig head_;
  std::vector<std::string> skipped_words_;
  std::int64_t width_ = 0;
  bool has_pooling_ = false, writes_scores_ = false;
};

/// Reads a JSON file, of at most 1 MiB, whose errors name it.
[[nodiscard]] Status read_json_file(const std::filesystem::path& path, std::string_view kind,
                                    const std::function<void(const JsonField&)>& read);

}  // namespace attnscope
