// SPDX-License-Identifier: Apache-2.0
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/text/pair_reader.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using nlohmann::json;

std::optional<std::int64_t> first_byte_that_is_no_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto size = static_cast<std::int64_t>(text.size());
  for (std::int64_t i = 0; i < size;) {
    const std::int64_t begin = i;
    UChar32 c = 0;
    U8_NEXT(bytes, i, size, c);
    if (c < 0) return begin;
  }
  return std::nullopt;
}

Result<TextPair> parse_tsv(std::string_view line, std::int64_t& columns) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto count = static_cast<std::int64_t>(fields.size());
  if (columns == 0 && count != 2 && count != 4) {
    return fail(
        "has {} columns; a pair is QUERY, DOCUMENT or QID, DOCID, QUERY, DOCUMENT with tabs "
        "between",
        count);
  }
  if (columns != 0 && count != columns) {
    return fail("has {} columns, and the first line has {}", count, columns);
  }
  columns = count;
  TextPair pair{.query = std::string(fields[fields.size() - 2]),
                .document = std::string(fields.back())};
  if (count == 4) {
    pair.query_id = fields[0];
    pair.document_id = fields[1];
  }
  return pair;
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

/// An id may be written as a text or a number.
Result<std::string> id_of(const json& value, const char* what) {
  if (value.is_null()) return std::string();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  return fail("has {} id that is neither a text nor a whole number", what);
}

Result<TextPair> parse_jsonl(std::string_view line) {
  const json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return fail("is no JSON object");
  const json& query = first_of(object, std::array{"query"});
  const json& document = first_of(object, std::array{"document", "text", "passage"});
  if (!query.is_string()) return fail("has no text 'query'");
  if (!document.is_string()) return fail("has no text 'document', 'text' or 'passage'");
  TextPair pair{.query = query.get<std::string>(), .document = document.get<std::string>()};
  Result<std::string> query_id = id_of(first_of(object, std::array{"qid", "query_id"}), "a query");
  if (!query_id) return tl::unexpected(query_id.error());
  Result<std::string> document_id =
      id_of(first_of(object, std::array{"docno", "docid", "doc_id", "pid"}), "a document");
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

Result<TextPair> parse_pair(std::string_view line, PairFormat format, std::int64_t& columns) {
  if (const auto byte = first_byte_that_is_no_utf8(line)) {
    return fail("is no UTF-8 from its byte {} on; convert the file", *byte + 1);
  }
  Result<TextPair> pair = format == PairFormat::tsv ? parse_tsv(line, columns) : parse_jsonl(line);
  if (pair && pair->query.empty()) return fail("has an empty query");
  return pair;
}

}  // namespace attnscope
