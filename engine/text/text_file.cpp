// SPDX-License-Identifier: Apache-2.0
#include "engine/text/text_file.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/gzip.h"
#include "base/json.h"
#include "base/sentences.h"
#include "engine/text/characters.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::string_view format_option = "--pairs-format, or --documents-format of encode";

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string_view stripped(std::string_view text) {
  std::size_t begin = 0, end = 0;
  bool is_begun = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    if (is_white_space(next_character(text, at))) continue;
    if (!is_begun) begin = from;
    is_begun = true;
    end = at;
  }
  return text.substr(begin, end - begin);
}

/// Whether a field is quoted as in CSV: each quote in the text is doubled.
bool is_quoted(std::string_view field) {
  if (field.size() < 2 || !field.starts_with('"') || !field.ends_with('"')) return false;
  const std::string_view text = field.substr(1, field.size() - 2);
  for (std::size_t at = text.find('"'); at != text.npos; at = text.find('"', at + 2))
    if (at + 1 == text.size() || text[at + 1] != '"') return false;
  return true;
}

bool is_number(std::string_view field) {
  return !field.empty() && field.find_first_not_of("0123456789.-+eE") == field.npos;
}

/// A column's name in a first line: some files quote names, or put a '#' before the first.
std::string name_in(std::string_view field) {
  if (field.starts_with('#')) field.remove_prefix(1);
  if (is_quoted(field)) field = field.substr(1, field.size() - 2);
  return lower_case(stripped(field));
}

tl::unexpected<Error> quoted(std::string_view field) {
  return fail(
      "has a field in quotes, {}, as in CSV, but TSV has no quoting; write it without quotes "
      "(pandas: to_json(orient='records', lines=True) into a .jsonl file), or, if the quotes are "
      "part of the text, set the format tsv-names or tsv-texts ({})",
      in_a_sentence(field, 40), format_option);
}

/// Whether the text cannot be a column name: a number, an address, several words.
bool is_no_name(std::string_view text) {
  constexpr std::size_t longest_name = 64;
  constexpr std::ptrdiff_t most_words = 3;
  return text.size() > longest_name || is_number(text) || text.find("://") != text.npos ||
         std::ranges::count(text, ' ') >= most_words;
}

/// Whether the name cannot be a text: "query_id", "sentence1", "docno".
bool is_clear(std::string_view name) {
  constexpr std::array<std::string_view, 5> words{"qid", "pid", "did", "docid", "docno"};
  return name.find_first_of("_-0123456789") != name.npos ||
         std::ranges::find(words, name) != words.end();
}

/// The column names in a line.
Result<std::vector<std::string>> names_of(std::string_view line) {
  const auto fields = split_columns(line, {.is_literal = true});
  std::vector<std::string> names;
  std::ranges::transform(*fields, std::back_inserter(names), name_in);
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fail("names two columns '{}'; rename one of them", in_a_sentence(*twice));
  return names;
}

/// The format by the first line, if the file name does not determine it.
Result<PairFormat> format_of(std::string_view line, const std::string& name) {
  if (line.starts_with('{') && parse_json(line).is_object()) return PairFormat::jsonl;
  if (line.starts_with('[')) {
    const std::size_t next = line.find_first_not_of(" \t", 1);
    if (next == std::string_view::npos || line[next] == '{') return PairFormat::jsonl;
  }
  if (line.find('\t') != std::string_view::npos) return PairFormat::tsv;
  return fail(
      "{}: neither its name nor its first line shows whether it is tsv or jsonl; give it a name "
      "that ends in .tsv, .jsonl or .json, or in one of these and .gz, or set the format ({})",
      name, format_option);
}

/// Finds the format by the extension: .tsv and .txt, .jsonl, .ndjson and .json, optionally followed
/// by ".gz"; nothing for others.
std::optional<PairFormat> pair_format_by_name(const std::filesystem::path& file) {
  const std::string extension = lower_case(without_gzip_ending(file).extension().string());
  if (extension == ".tsv" || extension == ".txt") return PairFormat::tsv;
  if (extension == ".jsonl" || extension == ".ndjson" || extension == ".json")
    return PairFormat::jsonl;
  return std::nullopt;
}

/// The column names in a first line; none if it contains texts. An error if it may be either.
Result<std::vector<std::string>> column_names_in(std::string_view first_line) {
  const auto fields = split_columns(first_line, {.is_literal = true});
  std::size_t known = 0, letters = 0, clear = 0, empty = 0;
  bool has_text = false;  // a field that cannot be a column name
  std::string_view unknown;
  for (const std::string_view field : *fields) {
    const std::string name = name_in(field);
    const bool is_known = is_known_name(name);
    known += is_known ? 1 : 0;
    letters += is_known && name.size() == 1 ? 1 : 0;
    clear += is_known && is_clear(name) ? 1 : 0;
    empty += name.empty() ? 1 : 0;
    has_text = has_text || is_no_name(name);
    if (!is_known && !name.empty() && unknown.empty()) unknown = field;
  }
  const bool are_names = known > 0 && known + empty == fields->size();
  // A single letter may be a text, and files may have unknown columns next to known ones.
  if (!are_names && (known == letters || has_text)) return std::vector<std::string>();
  if (!are_names && (known < 2 || clear == 0)) {
    return fail(
        "may name columns or be a text: '{}' is not a known column name; use the names in "
        "docs/scoring.md, or set the format tsv-names or tsv-texts ({})",
        in_a_sentence(unknown), format_option);
  }
  if (const auto in_quotes = std::ranges::find_if(*fields, is_quoted); in_quotes != fields->end())
    return quoted(*in_quotes);
  return names_of(first_line);
}

}  // namespace

Result<PairFormat> parse_pair_format(std::string_view text) {
  if (text == "tsv") return PairFormat::tsv;
  if (text == "tsv-names") return PairFormat::tsv_names;
  if (text == "tsv-texts") return PairFormat::tsv_texts;
  if (text == "jsonl" || text == "json") return PairFormat::jsonl;
  return fail("'{}' is not a format of pairs; known: tsv, tsv-names, tsv-texts, jsonl, json",
              in_a_sentence(text));
}

Result<std::vector<std::string_view>> split_columns(std::string_view line,
                                                    const TextColumns& columns) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto count = static_cast<std::int64_t>(fields.size());
  if (columns.count != 0 && count != columns.count)
    return fail("has {} columns, and the first line has {}", count, columns.count);
  if (columns.is_literal) return fields;
  // A doubled quote indicates CSV; so does a first line in which all texts are quoted.
  std::size_t in_quotes = 0, others = 0;
  for (const std::string_view field : fields) {
    const bool has_quotes = is_quoted(field);
    if (has_quotes && field.substr(1, field.size() - 2).find('"') != field.npos)
      return quoted(field);
    in_quotes += has_quotes ? 1 : 0;
    others += has_quotes || is_number(field) ? 0 : 1;
  }
  if (columns.count == 0 && in_quotes > 1 && others == 0) return quoted(fields.back());
  return fields;
}

bool is_known_name(std::string_view name) {
  return std::ranges::any_of(field_names::all, [&](const field_names::Names& names) {
    return std::ranges::find(names, name) != names.end();
  });
}

Result<json> parse_text_object(std::string_view line, PairFormat format,
                               const TextColumns& columns) {
  if (format == PairFormat::jsonl) {
    json object = parse_json(line);
    if (object.is_discarded()) {
      const std::string problem = json_problem(line);
      return fail("is not a JSON object: {}{}", problem,
                  problem.find("end of input") != problem.npos
                      ? "; write each object on a line of its own"
                      : "");
    }
    if (!object.is_object()) return fail("is not a JSON object but a {}", object.type_name());
    if (const auto key = key_with_two_values(line, object)) {
      return fail("has '{}' twice, with different values; remove one of them", in_a_sentence(*key));
    }
    return object;
  }
  const auto fields = split_columns(line, columns);
  if (!fields) return tl::unexpected(fields.error());
  json object = json::object();
  for (std::size_t i = 0; i < fields->size(); ++i) object[columns.names[i]] = (*fields)[i];
  return object;
}

std::string text_with_title(std::string_view title, std::string_view headings,
                            std::string_view text) {
  std::string whole;
  for (const std::string_view part : {title, headings, text}) {
    if (part.empty()) continue;
    if (!whole.empty()) whole += ' ';
    whole += part;
  }
  return std::string(stripped(whole));
}

Result<std::optional<std::string>> text_in(const json& object,
                                           std::span<const std::string_view> names,
                                           bool or_number) {
  std::optional<std::string> text;
  std::string_view first;
  for (const std::string_view name : names) {
    const auto found = object.find(name);
    if (found == object.end()) continue;
    std::string value;
    if (found->is_string()) {
      value = found->get<std::string>();
    } else if (or_number && found->is_number_integer()) {
      value = found->dump();
    } else {
      continue;
    }
    if (text && *text != value) {
      return fail("has '{}' and '{}', which differ; remove one of them", first, name);
    }
    if (!text) first = name;
    text = std::move(value);
  }
  return text;
}

Result<std::string> document_text_in(const json& object) {
  auto text = text_in(object, field_names::documents);
  if (text && !*text) text = text_in(object, field_names::other_documents);
  if (!text) return tl::unexpected(text.error());
  if (!*text)
    return fail("has no text 'document', 'text', 'passage', 'contents', 'body' or 'segment'");
  std::array<std::string, 2> before;
  bool has_some = false;
  for (const auto& [name, part] :
       {std::pair("title", before.data()), std::pair("headings", before.data() + 1)}) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) continue;
    if (!found->is_string()) return fail("has a '{}' that is not a text", name);
    *part = found->get<std::string>();
    has_some = true;
  }
  if (!has_some) return std::move(**text);
  return text_with_title(before[0], before[1], **text);
}

Result<TextFile> TextFile::begin(const std::filesystem::path& file, Result<LineFile> lines,
                                 std::optional<PairFormat> format) {
  if (!lines) return tl::unexpected(lines.error());
  TextFile opened(std::move(*lines));
  const Result<std::string_view> first = opened.lines_.peek();
  if (!first) return tl::unexpected(first.error());
  const bool is_given = format.has_value();
  if (!format) format = pair_format_by_name(file);
  if (!format && !first->empty()) {
    const Result<PairFormat> seen = format_of(*first, opened.name());
    if (!seen) return tl::unexpected(seen.error());
    format = *seen;
  }
  if (!is_given && format == PairFormat::tsv && first->find('\t') == first->npos) {
    if (const auto seen = format_of(*first, opened.name()); seen && *seen == PairFormat::jsonl) {
      return fail(
          "{} is JSON, but the file's name indicates TSV; rename it to end in .jsonl or .json, or "
          "set "
          "the format jsonl ({})",
          opened.place(1), format_option);
    }
  }
  opened.format_ = format == PairFormat::jsonl ? PairFormat::jsonl : PairFormat::tsv;
  if (opened.format_ == PairFormat::jsonl) {
    const std::size_t begin = first->find_first_not_of(" \t");
    opened.is_array_ = begin != std::string_view::npos && (*first)[begin] == '[';
    return opened;
  }
  opened.columns_.is_literal = format != PairFormat::tsv && format.has_value();
  if (format == PairFormat::tsv_texts) return opened;
  const bool are_names = format == PairFormat::tsv_names;
  Result<std::vector<std::string>> names = are_names ? names_of(*first) : column_names_in(*first);
  if (!names) return fail("{} {}", opened.place(1), names.error().message);
  opened.columns_.count = static_cast<std::int64_t>(names->size());
  opened.columns_.names = std::move(*names);
  return opened;
}

Result<TextFile> TextFile::open(const std::filesystem::path& file,
                                std::optional<PairFormat> format) {
  return begin(file, LineFile::open(file), format);
}

Result<TextFile> TextFile::open_to_seek(const std::filesystem::path& file,
                                        const std::function<bool(double)>& on_progress) {
  return begin(file, LineFile::open_to_seek(file, on_progress), std::nullopt);
}

Status TextFile::check_columns(const std::function<Result<std::string>(const json&)>& record_of) {
  if (!names_columns()) return {};
  json object = json::object();
  for (const std::string& name : columns_.names) object[name] = "1";
  const auto record = record_of(object);
  if (!record) {
    return fail(
        "{} names columns but {}; use the names in docs/scoring.md, or, if it is a text, set "
        "the format tsv-texts ({})",
        place(1), record.error().message, format_option);
  }
  std::string unread;
  for (const std::string& name : columns_.names) {
    object[name] = "2";
    const auto other = record_of(object);
    object[name] = "1";
    if (other && *other == *record)
      unread += fmt::format("{}'{}'", unread.empty() ? "" : ", ", in_a_sentence(name));
  }
  if (!unread.empty()) {
    unread_ = fmt::format("{}: these columns are ignored: {}", name(), unread);
  }
  return {};
}

std::string TextFile::notes() const {
  std::string notes = unread_;
  if (const std::string doubt = lines_.missing_line_end(); !doubt.empty())
    notes += (notes.empty() ? "" : "; ") + doubt;
  return notes;
}

Result<std::optional<LineFile::Line>> TextFile::next() {
  if (is_array_) return lines_.next_element();
  auto line = lines_.next();
  if (line && *line && (*line)->begin == 0 && names_columns()) return lines_.next();
  return line;
}

}  // namespace attnscope
