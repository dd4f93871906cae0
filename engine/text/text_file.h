#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads a file of texts record by record: lines of TSV, lines of JSON (JSONL), or the elements of a
// JSON array; plain or gzip-compressed. pair_reader.h and training_file.h interpret the lines.
//
//   Result<TextFile> file = TextFile::open("queries.tsv", std::nullopt);
//   while (auto record = file->next()) {
//     if (!*record) break;   // the end
//     auto query = parse_pair((*record)->text, file->format(), file->columns(), PairParts::query);
//   }
//
// A TSV file's first line may name its columns ("qid<tab>query"): it is then not a record, and
// columns are found by name, as are fields of JSON objects.

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/line_file.h"
#include "base/result.h"

namespace attnscope {

/// Common names of JSON fields and TSV columns, by their content (docs/scoring.md). A first line of
/// TSV is a header if it consists of these names.
namespace field_names {

using Names = std::span<const std::string_view>;

inline constexpr std::array<std::string_view, 4> queries{"query", "query_text", "query_txt",
                                                         "question"};
/// Used if none of the preceding names is present.
inline constexpr std::array<std::string_view, 4> other_queries{"q", "anchor", "sentence1", "text1"};
inline constexpr std::array<std::string_view, 8> query_ids{
    "qid", "query_id", "query-id", "queryid", "q_id", "topic", "topic_id", "topic-id"};

inline constexpr std::array<std::string_view, 6> documents{"document", "text", "passage",
                                                           "contents", "body", "segment"};
/// Used if none of the preceding names is present.
inline constexpr std::array<std::string_view, 11> other_documents{
    "doc", "doc_text", "document_text", "passage_text", "content", "d",
    "p",   "answer",   "context",       "sentence2",    "text2"};
inline constexpr std::array<std::string_view, 2> before_documents{"title", "headings"};
/// MS MARCO's passages also name the document that contains them, "docid".
inline constexpr std::array<std::string_view, 4> passage_ids{"pid", "passage_id", "passage-id",
                                                             "p_id"};
inline constexpr std::array<std::string_view, 9> document_ids{
    "docno", "docid", "doc_id", "doc-id", "document_id", "did", "d_id", "corpus-id", "corpus_id"};
inline constexpr std::array<std::string_view, 2> own_ids{"_id", "id"};  // of one part alone

inline constexpr std::array<std::string_view, 7> positives{
    "positive", "pos", "positive_passage", "positive_passages", "positive_id", "pos_id", "p"};
inline constexpr std::array<std::string_view, 8> negatives{
    "negative",          "negatives",   "neg",    "negative_passage",
    "negative_passages", "negative_id", "neg_id", "n"};

/// Known columns that hold no text.
inline constexpr std::array<std::string_view, 15> others{
    "url",       "score",  "scores",  "rank",    "label",     "labels",    "relevance", "rel",
    "iteration", "margin", "pos_pid", "neg_pid", "score_pos", "score_neg", "similarity"};

inline constexpr std::array<Names, 12> all{
    queries,     other_queries, query_ids, documents, other_documents, before_documents,
    passage_ids, document_ids,  own_ids,   positives, negatives,       others};

}  // namespace field_names

enum class PairFormat : std::uint8_t {
  tsv,
  jsonl,      // also a JSON array of the same objects
  tsv_names,  // the first line names the columns, whatever it contains
  tsv_texts   // the first line is a record, whatever it contains
};
/// "tsv", "tsv-names", "tsv-texts", "jsonl" or "json"; the last two are equivalent. The error lists
/// them.
[[nodiscard]] Result<PairFormat> parse_pair_format(std::string_view text);

/// Columns of a TSV file; all its lines have the same number.
struct TextColumns {
  std::int64_t count = 0;            // 0: no line was read
  std::vector<std::string> names{};  // in lower case; empty if no line names them
  bool is_literal = false;           // quotes around fields are always part of them
};
/// The fields of a line. Errors: another number of fields than `columns` has; fields quoted as in
/// CSV, where the quotes are not part of the text.
[[nodiscard]] Result<std::vector<std::string_view>> split_columns(std::string_view line,
                                                                  const TextColumns& columns);
/// Whether it is a known column name, in a first line's spelling.
[[nodiscard]] bool is_known_name(std::string_view name);
/// A line with named columns, or a JSON line, as an object. The error message names the problem,
/// without file and line number. Precondition for TSV: columns have names.
[[nodiscard]] Result<nlohmann::json> parse_text_object(std::string_view line, PairFormat format,
                                                       const TextColumns& columns);

/// The text of a document with its title and headings from separate fields: all non-empty parts
/// joined with a blank, without leading and trailing white space, as in BEIR.
[[nodiscard]] std::string text_with_title(std::string_view title, std::string_view headings,
                                          std::string_view text);
/// The text of a document object: its only field with a document's name, preceded by its "title"
/// and "headings". Errors: no such field, or two that differ.
[[nodiscard]] Result<std::string> document_text_in(const nlohmann::json& object);
/// The only text among these fields, or nothing if there is none. An error if two differ. With
/// `or_number`, an integer counts as a text.
[[nodiscard]] Result<std::optional<std::string>> text_in(const nlohmann::json& object,
                                                         std::span<const std::string_view> names,
                                                         bool or_number = false);

class TextFile {
 public:
  /// "-" is standard input. If the name does not determine the format, the first line does. Errors:
  /// those of LineFile, a first line of neither format, ambiguous column names.
  [[nodiscard]] static Result<TextFile> open(const std::filesystem::path& file,
                                             std::optional<PairFormat> format);
  /// The same for random access to records (LineFile::open_to_seek).
  [[nodiscard]] static Result<TextFile> open_to_seek(
      const std::filesystem::path& file, const std::function<bool(double)>& on_progress = {});

  /// Ok if the columns that a first line names form a record: `record_of` returns all that is read
  /// of a record, in any form. Columns without an effect on it are noted.
  [[nodiscard]] Status check_columns(
      const std::function<Result<std::string>(const nlohmann::json&)>& record_of);

  /// The next record, or nothing at the end.
  [[nodiscard]] Result<std::optional<LineFile::Line>> next();
  /// Continues with the record at this byte; 0 is before the first record.
  [[nodiscard]] Status seek(std::int64_t begin) { return lines_.seek(begin); }

  [[nodiscard]] PairFormat format() const { return format_; }
  [[nodiscard]] bool is_array() const { return is_array_; }
  [[nodiscard]] bool names_columns() const { return !columns_.names.empty(); }
  [[nodiscard]] TextColumns& columns() { return columns_; }
  [[nodiscard]] const std::string& name() const { return lines_.name(); }
  [[nodiscard]] std::string place(std::int64_t record) const { return lines_.place(record); }
  /// Sentences about unread columns and a last line without a line end; "" without any.
  [[nodiscard]] std::string notes() const;
  [[nodiscard]] std::optional<double> progress() const { return lines_.progress(); }

 private:
  explicit TextFile(LineFile lines) : lines_(std::move(lines)) {}
  [[nodiscard]] static Result<TextFile> begin(const std::filesystem::path& file,
                                              Result<LineFile> lines,
                                              std::optional<PairFormat> format);

  LineFile lines_;
  PairFormat format_ = PairFormat::tsv;
  bool is_array_ = false;
  TextColumns columns_;
  std::string unread_;  // a sentence
};

}  // namespace attnscope
