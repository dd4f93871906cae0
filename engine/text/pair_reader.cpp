// SPDX-License-Identifier: Apache-2.0
#include "engine/text/pair_reader.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/text/characters.h"
#include "kernels/base/control_characters.h"
#include "kernels/base/gzip.h"
#include "kernels/base/json.h"
#include "kernels/base/line_file.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// The columns of a TSV file: where in a line each part stands, from the first; -1: nowhere.
struct Columns {
  PairParts parts;
  std::int64_t count;
  int query_id, document_id, query, document;
  int title = -1;  // stands before the document
};
constexpr std::array known_columns{Columns{PairParts::both, 2, -1, -1, 0, 1},
                                   Columns{PairParts::both, 4, 0, 1, 2, 3},
                                   Columns{PairParts::named_document, 3, 0, 1, 2, -1},
                                   Columns{PairParts::named_document, 4, 0, 1, 2, -1},
                                   Columns{PairParts::query, 2, 0, -1, 1, -1},
                                   Columns{PairParts::document, 2, -1, 0, -1, 1},
                                   Columns{PairParts::document, 4, -1, 0, -1, 3, 2}};

/// "a pair is QUERY, DOCUMENT or ...".
std::string_view columns_in_words(PairParts parts) {
  switch (parts) {
    case PairParts::both:
      return "a pair is QUERY, DOCUMENT or QID, DOCID, QUERY, DOCUMENT";
    case PairParts::named_document:
      return "a query beside a document of a cache is QID, DOCID, QUERY";
    case PairParts::query:
      return "a query is QID, QUERY";
    case PairParts::document:
      break;
  }
  return "a document is DOCID, TEXT or DOCID, URL, TITLE, BODY";
}

std::string_view line_in_words(PairParts parts) {
  if (parts == PairParts::document) return "document";
  return parts == PairParts::query ? "query" : "pair";
}

/// As ir_datasets gives a text of two parts.
std::string with_title(const std::string& title, std::string text) {
  return title.empty() ? std::move(text) : title + " " + text;
}

Result<TextPair> parse_tsv(std::string_view line, std::int64_t& columns, PairParts parts) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto count = static_cast<std::int64_t>(fields.size());
  const auto* const known = std::ranges::find_if(
      known_columns, [&](const Columns& one) { return one.parts == parts && one.count == count; });
  if (columns != 0 && count != columns) {
    return fail("has {} columns, and the first line has {}", count, columns);
  }
  if (known == known_columns.end()) {
    return fail("has {} columns; {} with tabs between", count, columns_in_words(parts));
  }
  columns = count;
  const auto field = [&](int at) {
    return at < 0 ? std::string() : std::string(fields[static_cast<std::size_t>(at)]);
  };
  return TextPair{.query = field(known->query),
                  .document = with_title(field(known->title), field(known->document)),
                  .query_id = field(known->query_id),
                  .document_id = field(known->document_id)};
}

/// The first of these fields that is there; null where none is.
template <std::size_t N>
const json& first_of(const json& object, const std::array<const char*, N>& names) {
  static const json none;
  for (const char* name : names) {
    if (const auto found = object.find(name); found != object.end()) return *found;
  }
  return none;
}

/// By ids that break lines or columns nobody finds a pair again.
Status check_id(std::string_view id, std::string_view whose) {
  if (!has_control_character(id)) return {};
  return fail(
      "has {} id with a tab, a line end or another control character ('{}'); name it "
      "otherwise",
      whose, in_a_sentence(id));
}

/// An id may be written as a text or a number.
Result<std::string> id_of(const json& value, const char* what) {
  if (value.is_null()) return std::string();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  return fail("has {} id that is neither a text nor a whole number", what);
}

bool has_query(PairParts parts) {
  return parts != PairParts::document;
}
bool has_document(PairParts parts) {
  return parts == PairParts::both || parts == PairParts::document;
}
/// The id alone tells which document it is.
bool needs_document_id(PairParts parts) {
  return parts == PairParts::named_document || parts == PairParts::document;
}

Result<TextPair> parse_jsonl(std::string_view line, PairParts parts) {
  const json object = parse_json(line);
  if (!object.is_object()) return fail("is no JSON object");
  // Of files of one part some names say which part it is by the file alone.
  const bool is_query = parts == PairParts::query, is_document = parts == PairParts::document;
  const json& query = first_of(object, std::array{"query", is_query ? "text" : "query"});
  const json& document =
      first_of(object, std::array{"document", "text", "passage", is_document ? "contents" : "text",
                                  is_document ? "body" : "text"});
  if (has_query(parts) && !query.is_string()) return fail("has no text 'query'");
  if (has_document(parts) && !document.is_string()) {
    return fail("has no text 'document', 'text' or 'passage'{}",
                is_document ? ", nor 'contents' or 'body'" : "");
  }
  TextPair pair;
  if (has_query(parts)) pair.query = query.get<std::string>();
  if (has_document(parts)) pair.document = document.get<std::string>();
  if (const auto title = object.find("title");
      is_document && title != object.end() && title->is_string()) {
    pair.document = with_title(title->get<std::string>(), std::move(pair.document));
  }
  Result<std::string> query_id = id_of(
      first_of(object,
               std::array{"qid", "query_id", is_query ? "_id" : "qid", is_query ? "id" : "qid"}),
      "a query");
  if (!query_id) return tl::unexpected(query_id.error());
  Result<std::string> document_id =
      id_of(first_of(object, std::array{"docno", "docid", "doc_id", "pid",
                                        is_document ? "_id" : "pid", is_document ? "id" : "pid"}),
            "a document");
  if (!document_id) return tl::unexpected(document_id.error());
  pair.query_id = std::move(*query_id);
  pair.document_id = std::move(*document_id);
  return pair;
}

}  // namespace

Result<PairFormat> parse_pair_format(std::string_view text) {
  if (text == "tsv") return PairFormat::tsv;
  if (text == "jsonl") return PairFormat::jsonl;
  return fail("'{}' is no format of pairs; known: tsv, jsonl", in_a_sentence(text));
}

Result<PairFormat> pair_format_by_name(const std::filesystem::path& file) {
  constexpr std::size_t longest_path = 400;
  const std::string extension = without_gzip_ending(file).extension().string();
  if (extension == ".tsv" || extension == ".txt") return PairFormat::tsv;
  if (extension == ".jsonl" || extension == ".ndjson") return PairFormat::jsonl;
  return fail(
      "{}: its name does not show whether it is tsv or jsonl; give it a name that ends in .tsv, "
      ".jsonl, .tsv.gz or .jsonl.gz, or set --pairs-format where the command has it",
      file == "-" ? "standard input" : in_a_sentence(file.string(), longest_path));
}

Result<TextPair> parse_pair(std::string_view line, PairFormat format, std::int64_t& columns,
                            PairParts parts) {
  if (const auto byte = first_byte_that_is_no_utf8(line)) {
    return fail("is no UTF-8 from its byte {} on; convert the file", *byte + 1);
  }
  Result<TextPair> pair =
      format == PairFormat::tsv ? parse_tsv(line, columns, parts) : parse_jsonl(line, parts);
  if (pair && has_query(parts) && pair->query.empty()) return fail("has an empty query");
  if (pair && needs_document_id(parts) && pair->document_id.empty()) {
    return fail("has no document's id, by which it is found again");
  }
  if (!pair) return pair;
  if (Status plain = check_id(pair->query_id, "a query"); !plain)
    return tl::unexpected(plain.error());
  if (Status plain = check_id(pair->document_id, "a document"); !plain)
    return tl::unexpected(plain.error());
  return pair;
}

struct PairReader::Source {
  LineFile file;
  PairFormat format = PairFormat::tsv;
  PairParts parts = PairParts::both;
  std::int64_t columns = 0, empty_line = 0;
  bool has_any = false;
};

PairReader::PairReader(std::unique_ptr<Source> source) : source_(std::move(source)) {}
PairReader::PairReader(PairReader&&) noexcept = default;
PairReader& PairReader::operator=(PairReader&&) noexcept = default;
PairReader::~PairReader() = default;

Result<PairReader> PairReader::open(const std::filesystem::path& file,
                                    std::optional<PairFormat> format, PairParts parts) {
  if (!format) {
    const Result<PairFormat> told = pair_format_by_name(file);
    if (!told) return tl::unexpected(told.error());
    format = *told;
  }
  Result<LineFile> lines = LineFile::open(file);
  if (!lines) return tl::unexpected(lines.error());
  return PairReader(std::make_unique<Source>(
      Source{.file = std::move(*lines), .format = *format, .parts = parts}));
}

Result<std::optional<TextPair>> PairReader::next() {
  Source& source = *source_;
  while (true) {
    const auto line = source.file.next();
    if (!line) return tl::unexpected(line.error());
    if (!*line && !source.has_any) {
      return fail("{}: has no {}s; every line is one", source.file.name(),
                  line_in_words(source.parts));
    }
    if (!*line) return std::optional<TextPair>();
    if ((*line)->text.empty()) {
      if (source.empty_line == 0) source.empty_line = (*line)->number;
      continue;
    }
    if (source.empty_line != 0) {
      return fail("{}: is empty; every line is a {}", place(source.empty_line),
                  line_in_words(source.parts));
    }
    Result<TextPair> pair = parse_pair((*line)->text, source.format, source.columns, source.parts);
    if (!pair) return fail("{}: {}", place((*line)->number), pair.error().message);
    pair->line = (*line)->number;
    source.has_any = true;
    return std::optional(std::move(*pair));
  }
}

std::string PairReader::place(std::int64_t line) const {
  return source_->file.place(line);
}

std::string PairReader::doubt_of_end() const {
  return source_->file.doubt_of_end();
}

std::optional<double> PairReader::progress() const {
  return source_->file.progress();
}

}  // namespace attnscope
