#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Queries and documents to be scored, one pair a record (text_file.h), read as they are needed:
//
//   pairs.tsv    QUERY <tab> DOCUMENT, or QID <tab> DOCID <tab> QUERY <tab> DOCUMENT as MS MARCO's
//                top1000 files have it; or columns that the first line names
//   pairs.jsonl  {"qid": "1", "docno": "a", "query": "...", "text": "..."}
//   pairs.json   [{"qid": "1", ...}, ...]
//
// or one part of a pair alone (PairParts). A document's title stands before its text.
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

#include "engine/text/text_file.h"
#include "kernels/base/result.h"

namespace attnscope {

/// What a line has of a pair. TSV columns; JSON objects have the same fields, and others beside
/// them.
enum class PairParts : std::uint8_t {
  both,            // QUERY, DOCUMENT or QID, DOCID, QUERY, DOCUMENT
  named_document,  // QID, DOCID, QUERY; a text of the document behind it is not read
  query,           // QID, QUERY
  document,        // DOCID, DOCUMENT; or DOCID, URL, TITLE, BODY
};

struct TextPair {
  std::string query, document;
  std::string query_id{}, document_id{};  // empty where the line has none
  std::int64_t line = 0;                  // or element, from 1
};

class PairReader {
 public:
  /// "-" is standard input. Without a format it is that of the name, else of the first line.
  [[nodiscard]] static Result<PairReader> open(const std::filesystem::path& file,
                                               std::optional<PairFormat> format,
                                               PairParts parts = PairParts::both);
  PairReader(PairReader&&) noexcept;
  PairReader& operator=(PairReader&&) noexcept;
  ~PairReader();

  /// The next pair, nothing at the end. Errors name file and line: a line that is no pair, has
  /// other columns than the first, is no UTF-8 or longer than LineFile's, or an empty one between
  /// others, a file of none. Empty texts are texts; an empty id of a document is an error where it
  /// is all that tells which one it is.
  [[nodiscard]] Result<std::optional<TextPair>> next();
  /// "pairs.tsv, line 7" ("element 7" of an array), for messages about a pair that was read.
  [[nodiscard]] std::string place(std::int64_t line) const;
  /// As TextFile's, and of empty queries among the records so far.
  [[nodiscard]] std::string notes() const;
  /// How much of the file is read, from 0 to 1; absent where nobody knows its size.
  [[nodiscard]] std::optional<double> progress() const;

 private:
  struct Source;
  explicit PairReader(std::unique_ptr<Source> source);
  std::unique_ptr<Source> source_;
};

/// Whether columns with names make such a record (TextFile::check_columns).
[[nodiscard]] Status check_columns(TextFile& file, PairParts parts, bool needs_id = false);

/// One record without its end; the count of `columns` is 0 before the first line of a TSV file and
/// then that of it. The message is what a line is wrong with ("has 3 columns, ..."), without file
/// and number.
[[nodiscard]] Result<TextPair> parse_pair(std::string_view line, PairFormat format,
                                          TextColumns& columns, PairParts parts = PairParts::both);

}  // namespace attnscope
