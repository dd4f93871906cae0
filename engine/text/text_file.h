#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A file of texts as people have them, record by record: lines of TSV, lines of JSON (JSONL), or
// the elements of a JSON array; plain or packed by gzip. What its lines mean is pair_reader.h's and
// training_file.h's.
//
//   Result<TextFile> file = TextFile::open("queries.tsv", std::nullopt);
//   while (auto record = file->next()) {
//     if (!*record) break;   // the end
//     auto query = parse_pair((*record)->text, file->format(), file->columns(), PairParts::query);
//   }
//
// A TSV file's first line may name its columns ("qid<tab>query"): it is then no record, and columns
// are found by their names, as fields of JSON objects are.

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

#include "kernels/base/line_file.h"
#include "kernels/base/result.h"

namespace attnscope {

enum class PairFormat : std::uint8_t {
  tsv,
  jsonl,      // also a JSON array of the same objects
  tsv_names,  // the first line names the columns, whatever it consists of
  tsv_texts   // the first line is a record, whatever it consists of
};
/// "tsv", "tsv-names", "tsv-texts", "jsonl" or "json", the last two of which are read alike. Errors
/// name them.
[[nodiscard]] Result<PairFormat> parse_pair_format(std::string_view text);
/// By the name's ending: .tsv and .txt, .jsonl, .ndjson and .json, before a ".gz"; nothing of
/// others.
[[nodiscard]] std::optional<PairFormat> pair_format_by_name(const std::filesystem::path& file);

/// Of a TSV file, whose lines all have the same number of columns.
struct TextColumns {
  std::int64_t count = 0;            // 0: no line was read
  std::vector<std::string> names{};  // in lower case; empty where no line names them
  bool is_literal = false;           // quotes around fields are part of them, without a doubt
};
/// The fields of a line. Errors: another number of them than `columns` has; fields in quotes as
/// writers of CSV put them, which are no part of the text.
[[nodiscard]] Result<std::vector<std::string_view>> split_columns(std::string_view line,
                                                                  const TextColumns& columns);
/// Of a column, as a first line has it.
[[nodiscard]] bool is_known_name(std::string_view name);
/// The names that a first line gives its columns; none where it has texts. An error where it may be
/// either.
[[nodiscard]] Result<std::vector<std::string>> column_names_in(std::string_view first_line);
/// A line whose columns have names, or one of JSON, as an object. The message is what the line is
/// wrong with, without file and number. Precondition of TSV: columns have names.
[[nodiscard]] Result<nlohmann::json> parse_text_object(std::string_view line, PairFormat format,
                                                       const TextColumns& columns);

/// The text of a document whose title and headings stand in fields of their own: all parts that are
/// not empty, with a blank between, without white space at both ends, as BEIR has it.
[[nodiscard]] std::string text_with_title(std::string_view title, std::string_view headings,
                                          std::string_view text);
/// The text of an object that is a document: its one field of a document's names, after its "title"
/// and "headings". Errors: none of them, or two that differ.
[[nodiscard]] Result<std::string> document_text_in(const nlohmann::json& object);
/// Of these fields the one text that is there, nothing where none is. An error where two differ.
/// A whole number counts as a text where `or_number`.
[[nodiscard]] Result<std::optional<std::string>> text_in(const nlohmann::json& object,
                                                         std::span<const std::string_view> names,
                                                         bool or_number = false);

class TextFile {
 public:
  /// "-" is standard input. A name that does not show the format leaves it to the first line.
  /// Errors: those of LineFile, a first line of neither format, columns whose names are doubtful.
  [[nodiscard]] static Result<TextFile> open(const std::filesystem::path& file,
                                             std::optional<PairFormat> format);
  /// The same for records that are sought (LineFile::open_to_seek).
  [[nodiscard]] static Result<TextFile> open_to_seek(
      const std::filesystem::path& file, const std::function<bool(double)>& on_progress = {});

  /// Whether the columns that a first line names make a record: `record_of` gives all that is read
  /// of one, in any form. Columns that change nothing of it are noted.
  [[nodiscard]] Status check_columns(
      const std::function<Result<std::string>(const nlohmann::json&)>& record_of);

  /// Nothing at the end.
  [[nodiscard]] Result<std::optional<LineFile::Line>> next();
  /// The next record begins at this byte; 0 is before the first one.
  [[nodiscard]] Status seek(std::int64_t begin) { return lines_.seek(begin); }

  [[nodiscard]] PairFormat format() const { return format_; }
  [[nodiscard]] bool is_array() const { return is_array_; }
  [[nodiscard]] bool names_columns() const { return !columns_.names.empty(); }
  [[nodiscard]] TextColumns& columns() { return columns_; }
  [[nodiscard]] const std::string& name() const { return lines_.name(); }
  [[nodiscard]] std::string place(std::int64_t record) const { return lines_.place(record); }
  /// Sentences about columns that are not read and a last line without an end; "" without any.
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
