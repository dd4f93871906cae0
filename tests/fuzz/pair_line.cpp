// SPDX-License-Identifier: Apache-2.0
//
// Lines of pairs: the first byte says whether they are JSON or columns, and an accepted one has a
// query and a number of columns that stays.
#include "engine/text/pair_reader.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::expect;

void read_lines(std::string_view lines, PairFormat format) {
  std::int64_t columns = 0;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::int64_t before = columns;
    const auto pair = parse_pair(lines.substr(0, end), format, columns);
    if (!pair) {
      fuzz::expect_sentence(pair.error().message);
    } else {
      expect(!pair->query.empty(), "a pair has a query");
      expect(columns == 0 || columns == 2 || columns == 4, "columns are two or four");
    }
    expect(before == 0 || columns == before, "columns stay those of the first line");
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

}  // namespace
}  // namespace attnscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = attnscope::fuzz::text_of(data, size);
  const bool json = input.starts_with('{');
  attnscope::read_lines(input, json ? attnscope::PairFormat::jsonl : attnscope::PairFormat::tsv);
  return 0;
}
