// SPDX-License-Identifier: Apache-2.0
#include "engine/text/text_file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/text/characters.h"
#include "kernels/base/gzip.h"
#include "kernels/base/json.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// Names of columns that no text consists of, and such as a text may consist of.
constexpr std::array<std::string_view, 24> clear_names{"qid",
                                                       "query_id",
                                                       "query-id",
                                                       "query_text",
                                                       "docno",
                                                       "docid",
                                                       "doc_id",
                                                       "doc-id",
                                                       "pid",
                                                       "passage_id",
                                                       "corpus-id",
                                                       "corpus_id",
                                                       "_id",
                                                       "pos_id",
                                                       "neg_id",
                                                       "positive_id",
                                                       "negative_id",
                                                       "pos_pid",
                                                       "neg_pid",
                                                       "positive_passage",
                                                       "negative_passage",
                                                       "score_pos",
                                                       "score_neg",
                                                       "query_txt"};
constexpr std::array<std::string_view, 24> plain_names{
    "id",       "query",    "text",   "passage", "document", "body",   "contents",  "segment",
    "title",    "headings", "url",    "score",   "rank",     "label",  "relevance", "iteration",
    "positive", "negative", "margin", "pos",     "neg",      "anchor", "question",  "content"};

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

/// Of a first line, where the file's name does not show it.
Result<PairFormat> format_of(std::string_view line, const std::string& name) {
  if (line.starts_with('{') && parse_json(line).is_object()) return PairFormat::jsonl;
  if (line.starts_with('[')) {
    const std::size_t next = line.find_first_not_of(" \t", 1);
    if (next == std::string_view::npos || line[next] == '{') return PairFormat::jsonl;
  }
  if (line.find('\t') != std::string_view::npos) return PairFormat::tsv;
  return fail(
      "{}: neither its name nor its first line shows whether it is tsv or jsonl; give it a name "
      "that ends in .tsv, .jsonl or .json, or in one of these and .gz, or set --pairs-format where "
      "the command has it",
      name);
}

}  // namespace

Result<PairFormat> parse_pair_format(std::string_view text) {
  if (text == "tsv") return PairFormat::tsv;
  if (text == "jsonl" || text == "json") return PairFormat::jsonl;
  return fail("'{}' is no format of pairs; known: tsv, jsonl, json", in_a_sentence(text));
}

std::optional<PairFormat> pair_format_by_name(const std::filesystem::path& file) {
  const std::string extension = lower_case(without_gzip_ending(file).extension().string());
  if (extension == ".tsv" || extension == ".txt") return PairFormat::tsv;
  if (extension == ".jsonl" || extension == ".ndjson" || extension == ".json")
    return PairFormat::jsonl;
  return std::nullopt;
}

std::vector<std::string_view> split_columns(std::string_view line) {
  std::vector<std::string_view> columns;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    columns.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return columns;
}

Result<std::vector<std::string>> column_names_in(std::string_view first_line) {
  std::vector<std::string> names;
  std::size_t clear = 0, known = 0;
  const std::string* unknown = nullptr;
  for (const std::string_view column : split_columns(first_line)) {
    names.push_back(lower_case(column));
    const bool is_clear = std::ranges::find(clear_names, names.back()) != clear_names.end();
    const bool is_known =
        is_clear || std::ranges::find(plain_names, names.back()) != plain_names.end();
    clear += is_clear ? 1 : 0;
    known += is_known ? 1 : 0;
  }
  if (known < 2) return std::vector<std::string>();
  if (clear == 0 && known < names.size()) {
    for (const std::string& name : names) {
      if (unknown == nullptr && std::ranges::find(plain_names, name) == plain_names.end())
        unknown = &name;
    }
    return fail(
        "seems to name columns, but '{}' is no known name of one; leave the line out, or name the "
        "columns as docs/models.md has them",
        in_a_sentence(*unknown));
  }
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fail("names two columns '{}'; name one of them otherwise", in_a_sentence(*twice));
  return names;
}

Result<json> parse_text_object(std::string_view line, PairFormat format,
                               const TextColumns& columns) {
  if (format == PairFormat::jsonl) {
    json object = parse_json(line);
    if (!object.is_object()) return fail("is no JSON object");
    return object;
  }
  const std::vector<std::string_view> fields = split_columns(line);
  if (fields.size() != columns.names.size()) {
    return fail("has {} columns, and the first line has {}", fields.size(), columns.names.size());
  }
  json object = json::object();
  for (std::size_t i = 0; i < fields.size(); ++i) object[columns.names[i]] = fields[i];
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
      return fail("has '{}' and '{}', which differ; leave out the one that is not meant", first,
                  name);
    }
    if (!text) first = name;
    text = std::move(value);
  }
  return text;
}

Result<std::string> document_text_in(const json& object) {
  static constexpr std::array<std::string_view, 6> names{"document", "text", "passage",
                                                         "contents", "body", "segment"};
  auto text = text_in(object, names);
  if (!text) return tl::unexpected(text.error());
  if (!*text)
    return fail("has no text 'document', 'text', 'passage', 'contents', 'body' or 'segment'");
  std::array<std::string, 2> before;
  bool has_some = false;
  for (const auto& [name, part] :
       {std::pair("title", before.data()), std::pair("headings", before.data() + 1)}) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) continue;
    if (!found->is_string()) return fail("has a '{}' that is no text", name);
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
  if (!format) format = pair_format_by_name(file);
  if (!format && !first->empty()) {
    const Result<PairFormat> seen = format_of(*first, opened.name());
    if (!seen) return tl::unexpected(seen.error());
    format = *seen;
  }
  opened.format_ = format.value_or(PairFormat::tsv);
  if (opened.format_ == PairFormat::jsonl) {
    const std::size_t begin = first->find_first_not_of(" \t");
    opened.is_array_ = begin != std::string_view::npos && (*first)[begin] == '[';
    return opened;
  }
  Result<std::vector<std::string>> names = column_names_in(*first);
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

Result<std::optional<LineFile::Line>> TextFile::next() {
  if (is_array_) return lines_.next_element();
  auto line = lines_.next();
  if (line && *line && (*line)->begin == 0 && names_columns()) return lines_.next();
  return line;
}

}  // namespace attnscope
