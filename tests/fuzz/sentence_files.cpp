// SPDX-License-Identifier: Apache-2.0
//
// The files of sentence-transformers, PyLate and ColBERT next to a config.json, separated by 0x1E:
// the fields of an accepted folder are consistent.
#include "engine/checkpoint/sentence_files.h"

#include <array>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz_input.h"

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

/// One folder for all inputs of the process.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "attnscope-fuzz-XXXXXX").string();
    expect(mkdtemp(name.data()) != nullptr, "a folder can be made");
    path = name;
    for (const char* file : files) fs::create_directories((path / file).parent_path());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

const fs::path& folder() {
  static const Folder made;
  return made.path;
}

void follow(const SentenceFiles& read) {
  expect(!read.multi_vector || read.head.max_sim.has_value(), "vectors have a score");
  if (!read.multi_vector) return;
  expect(read.multi_vector->query.length >= 0 && read.multi_vector->expansion_length >= 0,
         "lengths are not negative");
  for (const HeadStep& step : read.head.steps)
    expect(step.in >= 0 && step.out >= 0, "widths are not negative");
}

}  // namespace
}  // namespace attnscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attnscope;
  std::string_view input = fuzz::text_of(data, size);
  for (const char* file : files) {
    const std::size_t end = input.find('\x1e');
    const std::string_view text = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    if (text.empty()) {
      fs::remove(folder() / file);
    } else {
      std::ofstream(folder() / file, std::ios::binary) << text;
    }
  }
  const auto read = read_sentence_files(folder());
  if (!read) {
    fuzz::expect_sentence(read.error().message);
  } else {
    follow(*read);
  }
  return 0;
}
