#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads queries and documents to score, one pair per record (text_file.h), on demand:
//
//   pairs.tsv    QUERY <tab> DOCUMENT, or QID <tab> DOCID <tab> QUERY <tab> DOCUMENT as MS MARCO's
//                top1000 files have it; or columns that the first line names
//   pairs.jsonl  {"qid": "1", "docno": "a", "query": "...", "text": "..."}
//   pairs.json   [{"qid": "1", ...}, ...]
//
// or one part of a pair alone (PairParts). A document's title precedes its text.
//
//   Result<PairReader> pairs = PairReader::open("pairs.tsv", std::nullopt);
//   while (auto pair = pairs->next()) {
//     if (!*pair) break;   // the end
//     ...
//   }

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/text/text_file.h"

namespace attnscope {

/// The parts of a pair in a line. These are TSV columns; JSON objects have the same fields, and may
/// have others.
enum class PairParts : std::uint8_t {
  both,            // QUERY, DOCUMENT or QID, DOCID, QUERY, DOCUMENT
  named_document,  // QID, DOCID, QUERY; a document text after it is ignored
  query,           // QID, QUERY
  document,        // DOCID, DOCUMENT; or DOCID, URL, TITLE, BODY
};

struct TextPair {
  std::string query, document;
  std::string query_id{}, document_id{};  // empty if the line has none
  std::int64_t line = 0;                  // or element, from 1
};

class PairReader {
 public:
  /// "-" is standard input. Without `format`, the file name determines it, else the first line.
  [[nodiscard]] static Result<PairReader> open(const std::filesystem::path& file,
                                               std::optional<PairFormat> format,
                                               PairParts parts = PairParts::both);
  PairReader(PairReader&&) noexcept;
  PairReader& operator=(PairReader&&) noexcept;
  ~PairReader();

  /// The next pair, or nothing at the end. Errors name file and line: a line that is not a pair,
  /// has other columns than the first line, is not valid UTF-8 or exceeds LineFile's limit, an
  /// empty line between others, a file without records. Empty texts are valid; an empty document id
  /// is an error if only the id identifies the document.
  [[nodiscard]] Result<std::optional<TextPair>> next();
  /// "pairs.tsv, line 7" ("element 7" of an array), for messages about a pair that was read.
  [[nodiscard]] std::string place(std::int64_t line) const;
  /// The notes of TextFile, and the number of empty queries so far.
  [[nodiscard]] std::string notes() const;
  /// Fraction of the file that was read, from 0 to 1; absent if its size is unknown.
  [[nodiscard]] std::optional<double> progress() const;

 private:
  struct Source;
  explicit PairReader(std::unique_ptr<Source> source);
  std::unique_ptr<Source> source_;
};

/// Ok if named columns form such a record (TextFile::check_columns).
[[nodiscard]] Status check_columns(TextFile& file, PairParts parts, bool needs_id = false);

/// Parses one record without its line end; the count of `columns` is 0 before the first line of a
/// TSV file and is then set from it. The error message names the problem ("has 3 columns, ..."),
/// without file and line number.
[[nodiscard]] Result<TextPair> parse_pair(std::string_view line, PairFormat format,
                                          TextColumns& columns, PairParts parts = PairParts::both);

}  // namespace attnscope
