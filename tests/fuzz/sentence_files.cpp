// SPDX-License-Identifier: Apache-2.0
//
// The files of sentence-transformers, PyLate and ColBERT next to a config.json, separated by 0x1E:
// the fields of an accepted folder are consistent.
#include "engine/checkpoint/sentence_files.h"

#include <array>
#include <filesystem>

#include "tests/fuzz/fuzz_input.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using fuzz::expect;

constexpr std::array files{"config_sentence_transformers.json",
                           "modules.json",
                           "sentence_bert_config.json",
                           "config.json",
                           "artifact.metadata",
                           "1_Dense/config.json",
                           "2_Pooling/config.json",
                           "3_MultiVectorMask/config.json"};

void follow(const SentenceFiles& read) {
  expect(!read.multi_vector || read.head.max_sim.has_value(), "vectors have a score");
  if (!read.multi_vector) return;
  expect(read.multi_vector->query.length >= 0 && read.multi_vector->expansion_length >= 0,
         "lengths are not negative");
  for (const HeadStep& step : read.head.steps)
    expect(step.in >= 0 && step.out >= 0, "widths are not negative");
}

}  // namespace

void fuzz::run(std::string_view input) {
  static const tests::ScratchFolder folder;  // for all inputs of the process
  for (const char* file : files) {
    const std::size_t end = input.find('\x1e');
    const std::string_view text = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    const fs::path path = folder / file;
    fs::create_directories(path.parent_path());
    if (text.empty()) {
      fs::remove(path);
    } else {
      tests::write_bytes(path, text);
    }
  }
  const auto read = read_sentence_files(folder.path());
  if (accepted(read)) follow(*read);
}

}  // namespace attnscope
