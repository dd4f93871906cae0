// SPDX-License-Identifier: Apache-2.0
#include <system_error>

#include "engine/text/vocabulary.h"
#include "kernels/base/sentences.h"
#include "kernels/base/text_file.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_bytes = 256U << 20U;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<TokenizerModel> read_vocabulary_folder(const fs::path& folder) {
  const fs::path path = folder / "vocab.txt";
  const Result<std::string> text = read_text_file(path, "vocabulary", most_bytes);
  if (!text) return tl::unexpected(text.error());
  TokenizerModel model;
  Result<Vocabulary> vocabulary = read_vocabulary(*text, path.string());
  if (!vocabulary) return tl::unexpected(vocabulary.error());
  model.vocabulary = std::move(*vocabulary);
  model.added = special_tokens(model.vocabulary);
  const fs::path config = folder / "tokenizer_config.json";
  if (!is_there(config)) return model;
  const Result<std::string> said = read_text_file(config, "tokenizer's configuration", most_bytes);
  if (!said) return tl::unexpected(said.error());
  const Result<TextRules> rules = read_tokenizer_config(*said, config.string());
  if (!rules) return tl::unexpected(rules.error());
  model.rules = *rules;
  return model;
}

}  // namespace

Result<TokenizerModel> read_tokenizer_folder(const fs::path& folder) {
  const fs::path path = folder / "tokenizer.json";
  if (is_there(path)) {
    const Result<std::string> text = read_text_file(path, "tokenizer", most_bytes);
    if (!text) return tl::unexpected(text.error());
    return read_tokenizer_json(*text, path.string());
  }
  if (is_there(folder / "vocab.txt")) return read_vocabulary_folder(folder);
  constexpr std::size_t longest_path = 400;
  return fail(
      "there is neither tokenizer.json nor vocab.txt in '{}'; copy the one that the checkpoint "
      "came with there",
      in_a_sentence(folder.string(), longest_path));
}

}  // namespace attnscope
