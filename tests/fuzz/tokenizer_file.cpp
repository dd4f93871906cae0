// SPDX-License-Identifier: Apache-2.0
//
// A tokenizer's file, followed by a text: an accepted tokenizer converts the text to ids that it
// has. The first byte selects the kind of file; the text begins at the last 0x1E.
#include "engine/text/characters.h"
#include "engine/text/subword_file.h"
#include "engine/text/subword_tokenizer.h"
#include "engine/text/tokenizer_folder.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::accepted;
using fuzz::expect;

void follow(const SubwordTokenizer& pieces, std::string_view text) {
  const auto ids = pieces.tokenize(text);
  if (!accepted(ids)) return;
  for (const std::int32_t id : *ids) {
    expect(id >= 0 && id < pieces.size(), "every id is in the vocabulary");
    expect(!first_byte_that_is_no_utf8(pieces.token(id)), "a token can be shown");
  }
  constexpr std::int64_t most = 16;
  const auto pair = pieces.encode(text.substr(0, text.size() / 4), text, {.most_tokens = most});
  if (!accepted(pair)) return;
  expect(1 + pair->query.size() + pair->document.size() <= most, "a pair keeps to its limit");
  expect(pair->document.back() == pieces.sep(), "a document ends in [SEP]");
}

/// A vocabulary, or the files of a folder in this order, each after a separator.
Result<SubwordParts> read_folder(std::string_view files) {
  TokenizerFiles folder;
  for (const char* name : {"vocab.txt", "tokenizer_config.json", "special_tokens_map.json",
                           "added_tokens.json", "config.json", "tokenizer.json"}) {
    const std::size_t end = files.find('\x1f');
    folder.emplace(name, files.substr(0, end));
    if (end == std::string_view::npos) break;
    files.remove_prefix(end + 1);
  }
  return read_tokenizer_files(folder, "folder");
}

}  // namespace

void fuzz::run(std::string_view input) {
  if (input.empty()) return;
  const std::size_t end = input.rfind('\x1e');
  const std::string_view text = end == std::string_view::npos ? "" : input.substr(end + 1);
  const std::string_view file = input.substr(0, end);
  auto parts =
      input.front() == '{' ? read_tokenizer_json(file, "tokenizer.json") : read_folder(file);
  if (accepted(parts)) follow(SubwordTokenizer(std::move(*parts)), text);
}

}  // namespace attnscope
