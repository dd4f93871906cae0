// SPDX-License-Identifier: Apache-2.0
//
// The time of a tokenizer.json's tokenizer for texts, one per line, on one thread, and the ids that
// it returns: one line of JSON for scripts/dev/golden/tokenizer_speed.py, which compares it with
// Hugging Face's.
//
//   attnscope_tokenizer_speed TOKENIZER.json TEXTS ROUNDS
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "engine/text/subword_file.h"
#include "engine/text/subword_tokenizer.h"

namespace {

std::string text_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// CPU time of this thread, which excludes that of other threads.
double seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int count, char** arguments) {
  constexpr int needed = 4;
  if (count != needed) {
    fmt::print(stderr, "give a tokenizer.json, a file of texts and a number of rounds\n");
    return 2;
  }
  const double before = seconds();
  auto parts = attnscope::read_tokenizer_json(text_of(arguments[1]), arguments[1]);
  if (!parts) {
    fmt::print(stderr, "{}\n", parts.error().message);
    return 2;
  }
  const attnscope::SubwordTokenizer tokenizer(std::move(*parts));
  const double opened = seconds() - before;
  std::vector<std::string> texts;
  std::ifstream file(arguments[2]);
  for (std::string line; std::getline(file, line);) texts.push_back(line);
  double fastest = std::numeric_limits<double>::infinity();
  std::uint64_t tokens = 0, sum = 0;
  for (int round = std::atoi(arguments[3]); round > 0; --round) {
    tokens = sum = 0;
    const double start = seconds();
    for (const std::string& text : texts) {
      const std::vector<std::int32_t> ids = tokenizer.tokenize(text).value();
      tokens += ids.size();
      for (const std::int32_t id : ids) sum = sum * 31 + static_cast<std::uint64_t>(id);
    }
    fastest = std::min(fastest, seconds() - start);
  }
  fmt::print("{{\"tokens\":{},\"sum\":{},\"seconds\":{},\"opened\":{}}}\n", tokens, sum, fastest,
             opened);
  return 0;
}
