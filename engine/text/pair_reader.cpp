// SPDX-License-Identifier: Apache-2.0
#include "engine/text/pair_reader.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/line_file.h"
#include "base/sentences.h"
#include "engine/text/characters.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// The columns of a TSV file: the index of each part in a line, from 0; -1: absent.
struct Columns {
  PairParts parts;
  std::int64_t count;
  int query_id, document_id, query, document;
  int title = -1, url = -1;
};
constexpr std::array known_columns{Columns{PairParts::both, 2, -1, -1, 0, 1},
                                   Columns{PairParts::both, 4, 0, 1, 2, 3},
                                   Columns{PairParts::named_document, 3, 0, 1, 2, -1},
                                   Columns{PairParts::named_document, 4, 0, 1, 2, -1},
                                   Columns{PairParts::query, 2, 0, -1, 1, -1},
                                   Columns{PairParts::document, 2, -1, 0, -1, 1},
                                   Columns{PairParts::document, 4, -1, 0, -1, 3, 2, 1}};

/// "a pair is QUERY, DOCUMENT or ...".
std::string_view columns_in_words(PairParts parts) {
  switch (parts) {
    case PairParts::both:
      return "a pair is QUERY, DOCUMENT or QID, DOCID, QUERY, DOCUMENT";
    case PairParts::named_document:
      return "a query for a document in a cache is QID, DOCID, QUERY";
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

Result<TextPair> parse_tsv(std::string_view line, TextColumns& columns, PairParts parts) {
  const auto split = split_columns(line, columns);
  if (!split) return tl::unexpected(split.error());
  const std::vector<std::string_view>& fields = *split;
  const auto count = static_cast<std::int64_t>(fields.size());
  const auto* const known = std::ranges::find_if(known_columns, [&](const Columns& form) {
    return form.parts == parts && form.count == count;
  });
  if (known == known_columns.end()) {
    return fail("has {} columns; {}, separated by tabs, unless the first line names the columns",
                count, columns_in_words(parts));
  }
  const auto field = [&](int at) {
    return at < 0 ? std::string_view() : fields[static_cast<std::size_t>(at)];
  };
  // ir_datasets exports the same number of other columns.
  if (known->url >= 0 && columns.count == 0 && !field(known->url).starts_with("http")) {
    return fail(
        "has 4 columns, but the second is not a URL, so it is not DOCID, URL, TITLE, BODY; add a "
        "first line that names the columns");
  }
  columns.count = count;
  return TextPair{.query = std::string(field(known->query)),
                  .document = known->title < 0 ? std::string(field(known->document))
                                               : text_with_title(field(known->title), "",
                                                                 field(known->document)),
                  .query_id = std::string(field(known->query_id)),
                  .document_id = std::string(field(known->document_id))};
}

/// An id that breaks lines or columns could not be found again.
Status check_id(std::string_view id, std::string_view whose) {
  if (!has_control_character(id)) return {};
  return fail("has {} id with a tab, a line end or another control character ('{}'); rename it",
              whose, in_a_sentence(id));
}

bool has_query(PairParts parts) {
  return parts != PairParts::document;
}
bool has_document(PairParts parts) {
  return parts == PairParts::both || parts == PairParts::document;
}
/// Whether only the id identifies the document.
bool needs_document_id(PairParts parts) {
  return parts == PairParts::named_document || parts == PairParts::document;
}

using field_names::Names;

/// The id in the fields of the first group that has one, or in `own_ids`: "" if none has. An error
/// if two of them differ.
Result<std::string> id_in(const json& object, std::initializer_list<Names> groups, Names own_ids,
                          std::string_view whose) {
  std::vector<std::string_view> names;
  for (const Names group : groups) {
    const auto is_there = [&](std::string_view name) {
      const auto found = object.find(name);
      return found != object.end() && !found->is_null();
    };
    if (names.empty() && std::ranges::any_of(group, is_there))
      names.assign(group.begin(), group.end());
  }
  names.insert(names.end(), own_ids.begin(), own_ids.end());
  for (const std::string_view name : names) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null() || found->is_string() ||
        found->is_number_integer()) {
      continue;
    }
    return fail("has {} id that is neither a text nor a whole number", whose);
  }
  auto id = text_in(object, names, /*or_number=*/true);
  if (!id) return tl::unexpected(id.error());
  return *id ? std::move(**id) : std::string();
}

Result<std::string> query_in(const json& object, PairParts parts) {
  static constexpr std::array<std::string_view, 1> text{"text"};
  auto query = text_in(object, field_names::queries);
  // In a file of queries alone, generic text fields are queries.
  if (query && !*query && parts == PairParts::query) query = text_in(object, text);
  if (query && !*query) query = text_in(object, field_names::other_queries);
  if (!query) return tl::unexpected(query.error());
  if (!*query) return fail("has no text 'query'{}", parts == PairParts::query ? " or 'text'" : "");
  return std::move(**query);
}

Result<TextPair> parse_object(const json& object, PairParts parts) {
  const auto own_ids_of = [&](PairParts part) {
    return parts == part ? Names(field_names::own_ids) : Names();
  };
  TextPair pair;
  if (has_query(parts)) {
    auto query = query_in(object, parts);
    if (!query) return tl::unexpected(query.error());
    pair.query = std::move(*query);
  }
  if (has_document(parts)) {
    auto document = document_text_in(object);
    if (!document) return tl::unexpected(document.error());
    pair.document = std::move(*document);
  }
  auto query_id = id_in(object, {field_names::query_ids}, own_ids_of(PairParts::query), "a query");
  if (!query_id) return tl::unexpected(query_id.error());
  auto document_id = id_in(object, {field_names::passage_ids, field_names::document_ids},
                           own_ids_of(PairParts::document), "a document");
  if (!document_id) return tl::unexpected(document_id.error());
  pair.query_id = std::move(*query_id);
  pair.document_id = std::move(*document_id);
  return pair;
}

Status check_pair(const TextPair& pair, PairParts parts) {
  if (needs_document_id(parts) && pair.document_id.empty())
    return fail("has no document id, which identifies the document");
  if (Status plain = check_id(pair.query_id, "a query"); !plain) return plain;
  return check_id(pair.document_id, "a document");
}

}  // namespace

Result<TextPair> parse_pair(std::string_view line, PairFormat format, TextColumns& columns,
                            PairParts parts) {
  if (const auto byte = first_byte_that_is_no_utf8(line)) {
    return fail("is not UTF-8 from byte {} on; convert the file", *byte + 1);
  }
  const auto of_object = [&]() -> Result<TextPair> {
    const Result<json> object = parse_text_object(line, format, columns);
    if (!object) return tl::unexpected(object.error());
    return parse_object(*object, parts);
  };
  Result<TextPair> pair = format == PairFormat::tsv && columns.names.empty()
                              ? parse_tsv(line, columns, parts)
                              : of_object();
  if (!pair) return pair;
  if (Status is_one = check_pair(*pair, parts); !is_one) return tl::unexpected(is_one.error());
  return pair;
}

Status check_columns(TextFile& file, PairParts parts, bool needs_id) {
  return file.check_columns([&](const json& object) -> Result<std::string> {
    const auto pair = parse_object(object, parts);
    if (!pair) return tl::unexpected(pair.error());
    if (Status is_one = check_pair(*pair, parts); !is_one) return tl::unexpected(is_one.error());
    if (needs_id && parts == PairParts::query && pair->query_id.empty())
      return fail("has no query id");
    if (parts == PairParts::both && pair->query_id.empty() != pair->document_id.empty()) {
      for (const auto& [name, value] : object.items()) {
        if (is_known_name(name) || name.empty()) continue;
        return fail("has no {} id, unless it is '{}', which is not a known column name",
                    pair->query_id.empty() ? "query" : "document", in_a_sentence(name));
      }
    }
    return fmt::format("{}\n{}\n{}\n{}", pair->query_id, pair->document_id, pair->query,
                       pair->document);
  });
}

struct PairReader::Source {
  TextFile file;
  PairParts parts = PairParts::both;
  std::int64_t empty_line = 0;
  bool has_any = false;
  std::int64_t empty_queries = 0;
};

PairReader::PairReader(std::unique_ptr<Source> source) : source_(std::move(source)) {}
PairReader::PairReader(PairReader&&) noexcept = default;
PairReader& PairReader::operator=(PairReader&&) noexcept = default;
PairReader::~PairReader() = default;

Result<PairReader> PairReader::open(const std::filesystem::path& file,
                                    std::optional<PairFormat> format, PairParts parts) {
  Result<TextFile> opened = TextFile::open(file, format);
  if (!opened) return tl::unexpected(opened.error());
  if (Status named = check_columns(*opened, parts); !named) return tl::unexpected(named.error());
  return PairReader(std::make_unique<Source>(Source{.file = std::move(*opened), .parts = parts}));
}

Result<std::optional<TextPair>> PairReader::next() {
  Source& source = *source_;
  while (true) {
    const auto line = source.file.next();
    if (!line) return tl::unexpected(line.error());
    if (!*line && !source.has_any) {
      return fail("{}: has no {}s; each line must be one", source.file.name(),
                  line_in_words(source.parts));
    }
    if (!*line) return std::optional<TextPair>();
    if ((*line)->text.empty()) {
      if (source.empty_line == 0) source.empty_line = (*line)->number;
      continue;
    }
    if (source.empty_line != 0) {
      return fail("{}: is empty; each line must be a {}", place(source.empty_line),
                  line_in_words(source.parts));
    }
    Result<TextPair> pair =
        parse_pair((*line)->text, source.file.format(), source.file.columns(), source.parts);
    if (!pair) return fail("{}: {}", place((*line)->number), pair.error().message);
    pair->line = (*line)->number;
    source.has_any = true;
    source.empty_queries += has_query(source.parts) && pair->query.empty() ? 1 : 0;
    return std::optional(std::move(*pair));
  }
}

std::string PairReader::place(std::int64_t line) const {
  return source_->file.place(line);
}

std::string PairReader::notes() const {
  std::string notes = source_->file.notes();
  if (const std::int64_t empty = source_->empty_queries; empty > 0) {
    notes += fmt::format("{}{}: {} an empty query", notes.empty() ? "" : "; ", source_->file.name(),
                         empty == 1 ? "1 record has" : fmt::format("{} records have", empty));
  }
  return notes;
}

std::optional<double> PairReader::progress() const {
  return source_->file.progress();
}

}  // namespace attnscope
