// SPDX-License-Identifier: Apache-2.0
//
// Lines of pairs, and of each part of a pair: the first byte determines whether they are JSON or
// columns; an accepted line has the fields that its part needs, and all lines the same number of
// columns.
#include "engine/text/pair_reader.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::expect;

void read_lines(std::string_view lines, PairFormat format, PairParts parts) {
  TextColumns columns;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::int64_t before = columns.count;
    const auto pair = parse_pair(lines.substr(0, end), format, columns, parts);
    if (fuzz::accepted(pair)) {
      const bool is_document = parts == PairParts::document;
      expect(!is_document || pair->query.empty(), "a document has no query");
      if (is_document || parts == PairParts::named_document)
        expect(!pair->document_id.empty(), "a document is named");
      expect(columns.count == 0 || (columns.count >= 2 && columns.count <= 4),
             "columns are two to four");
    }
    expect(before == 0 || columns.count == before, "columns stay those of the first line");
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

}  // namespace

void fuzz::run(std::string_view input) {
  const PairFormat format = input.starts_with('{') ? PairFormat::jsonl : PairFormat::tsv;
  for (const PairParts parts :
       {PairParts::both, PairParts::named_document, PairParts::query, PairParts::document}) {
    read_lines(input, format, parts);
  }
}

}  // namespace attnscope
