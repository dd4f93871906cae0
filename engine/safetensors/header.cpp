// SPDX-License-Identifier: Apache-2.0
#include "engine/safetensors/header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kernels/base/json.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// Where an entry stands, for messages.
struct Place {
  std::string_view file;
  std::string_view tensor;
};

template <typename... Args>
tl::unexpected<Error> fail_at(const Place& place, fmt::format_string<Args...> text,
                              Args&&... args) {
  return fail("{}: tensor '{}': {}", place.file, in_a_sentence(place.tensor),
              fmt::format(text, std::forward<Args>(args)...));
}

/// A JSON integer from 0 to 2^63-1.
std::optional<std::int64_t> size_from(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(INT64_MAX)) return static_cast<std::int64_t>(number);
  }
  return std::nullopt;
}

/// A value for a message: scalars as they stand, the rest (of any size and depth) by its kind.
std::string shown(const json& value) {
  constexpr std::size_t longest = 40;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return in_a_sentence(value.dump(), longest);
}

std::string shape_in_words(const std::vector<std::int64_t>& shape) {
  constexpr std::size_t longest = 100;
  return in_a_sentence(fmt::format("[{}]", fmt::join(shape, ", ")), longest);
}

Status read_shape(const json& value, const Place& place, std::vector<std::int64_t>& shape) {
  if (!value.is_array()) return fail_at(place, "'shape' is not a list of sizes");
  for (const json& element : value) {
    const auto size = size_from(element);
    if (!size) {
      return fail_at(place, "'shape' holds {}, which is no size from 0 to 2^63-1", shown(element));
    }
    shape.push_back(*size);
  }
  return {};
}

Status read_offsets(const json& value, const Place& place, std::int64_t data_bytes,
                    HeaderEntry& entry) {
  if (!value.is_array() || value.size() != 2) {
    return fail_at(place, "'data_offsets' is not a pair of byte offsets");
  }
  const auto begin = size_from(value[0]);
  const auto end = size_from(value[1]);
  if (!begin || !end || *begin > *end) {
    return fail_at(place, "'data_offsets' {} and {} are no ascending pair of byte offsets",
                   shown(value[0]), shown(value[1]));
  }
  if (*end > data_bytes) {
    return fail_at(place,
                   "its bytes {} to {} lie outside the file, which holds {} bytes of data: it is "
                   "damaged or was cut short",
                   *begin, *end, data_bytes);
  }
  entry.begin = *begin;
  entry.end = *end;
  return {};
}

Status check_byte_count(const Place& place, const HeaderEntry& entry) {
  std::int64_t bytes = element_bytes(entry.dtype);
  // A size of 0 anywhere makes the product 0, however large the others are.
  if (std::ranges::find(entry.shape, 0) != entry.shape.end()) bytes = 0;
  for (const std::int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      return fail_at(place, "its shape {} has more than 2^63 bytes", shape_in_words(entry.shape));
    }
  }
  if (bytes != entry.end - entry.begin) {
    return fail_at(place, "shape {} of {} needs {} bytes, and 'data_offsets' gives {}",
                   shape_in_words(entry.shape), entry.dtype, bytes, entry.end - entry.begin);
  }
  return {};
}

Result<HeaderEntry> read_entry(const std::string& name, const json& value, std::int64_t data_bytes,
                               std::string_view file) {
  const Place place{file, name};
  if (!value.is_object()) return fail_at(place, "its entry in the header is not an object");
  for (const char* field : {"dtype", "shape", "data_offsets"}) {
    if (!value.contains(field)) return fail_at(place, "the header lacks its '{}'", field);
  }
  HeaderEntry entry{.name = name};
  if (value["dtype"].is_string()) entry.dtype = value["dtype"].get<std::string>();
  if (element_bytes(entry.dtype) == 0) {
    return fail_at(place, "unknown dtype {}", shown(value["dtype"]));
  }
  if (Status ok = read_shape(value["shape"], place, entry.shape); !ok) {
    return tl::unexpected(ok.error());
  }
  if (Status ok = read_offsets(value["data_offsets"], place, data_bytes, entry); !ok) {
    return tl::unexpected(ok.error());
  }
  if (Status ok = check_byte_count(place, entry); !ok) return tl::unexpected(ok.error());
  return entry;
}

std::map<std::string, std::string> read_metadata(const json& value) {
  std::map<std::string, std::string> metadata;
  if (!value.is_object()) return metadata;
  for (const auto& [key, text] : value.items()) {
    if (text.is_string()) metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

Status check_overlaps(const std::vector<HeaderEntry>& entries, std::string_view file) {
  std::vector<const HeaderEntry*> in_order;
  for (const HeaderEntry& entry : entries) {
    if (entry.begin < entry.end) in_order.push_back(&entry);
  }
  std::ranges::sort(in_order, {}, &HeaderEntry::begin);
  for (std::size_t i = 1; i < in_order.size(); ++i) {
    if (in_order[i]->begin < in_order[i - 1]->end) {
      return fail("{}: tensors '{}' and '{}' overlap in the file", file,
                  in_a_sentence(in_order[i - 1]->name), in_a_sentence(in_order[i]->name));
    }
  }
  return {};
}

/// A document and the first top-level name that appears twice, of which nlohmann keeps the last.
struct ParsedHeader {
  json document;
  std::optional<std::string> duplicate;
};

ParsedHeader parse(std::string_view text) {
  ParsedHeader parsed;
  std::vector<std::string> names;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::key && depth == 1) {
      names.push_back(value.get<std::string>());
    }
    return true;
  };
  parsed.document = json::parse(text, watch, /*allow_exceptions=*/false);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) parsed.duplicate = *twice;
  return parsed;
}

}  // namespace

std::int64_t element_bytes(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 15> known{{
      {"BOOL", 1},
      {"U8", 1},
      {"I8", 1},
      {"F8_E5M2", 1},
      {"F8_E4M3", 1},
      {"I16", 2},
      {"U16", 2},
      {"F16", 2},
      {"BF16", 2},
      {"I32", 4},
      {"U32", 4},
      {"F32", 4},
      {"F64", 8},
      {"I64", 8},
      {"U64", 8},
  }};
  for (const auto& [name, bytes] : known) {
    if (name == dtype) return bytes;
  }
  return 0;
}

std::int64_t bytes_of(const HeaderEntry& entry) {
  std::int64_t bytes = element_bytes(entry.dtype);
  for (const std::int64_t size : entry.shape) bytes *= size;
  return bytes;
}

std::string header_text(std::span<const HeaderEntry> entries,
                        const std::map<std::string, std::string>& metadata, std::size_t alignment) {
  constexpr std::size_t length_bytes = 8;
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t offset = 0;
  for (const HeaderEntry& entry : entries) {
    const std::int64_t end = offset + bytes_of(entry);
    header[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string head = header.dump();
  const std::size_t whole = (length_bytes + head.size() + alignment - 1) / alignment * alignment;
  head.resize(whole - length_bytes, ' ');
  std::string text;
  for (unsigned i = 0; i < length_bytes; ++i) {
    text += static_cast<char>((head.size() >> (8U * i)) & 0xFFU);
  }
  return text + head;
}

Result<std::int64_t> header_length(std::span<const std::byte, 8> bytes, std::int64_t file_bytes,
                                   std::int64_t longest, std::string_view file) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8U * static_cast<unsigned>(i));
  }
  const auto behind = static_cast<std::uint64_t>(file_bytes) - bytes.size();
  if (length > behind) {
    return fail(
        "{}: says its header has {} bytes, and only {} follow: no safetensors file, or cut short",
        file, length, behind);
  }
  if (length > static_cast<std::uint64_t>(longest)) {
    return fail("{}: says its header has {} bytes; at most {} are read here", file, length,
                longest);
  }
  return static_cast<std::int64_t>(length);
}

Result<Header> parse_header(std::string_view text, std::int64_t data_bytes, std::string_view file) {
  if (Status bounded = check_json_size(text); !bounded)
    return fail("{}: its header {}", file, bounded.error().message);
  const ParsedHeader parsed = parse(text);
  if (parsed.document.is_discarded()) {
    return fail("{}: its header is not JSON: this is no safetensors file, or it is damaged", file);
  }
  if (!parsed.document.is_object()) return fail("{}: its header is not a JSON object", file);
  if (parsed.duplicate) {
    return fail("{}: tensor '{}' appears twice in the header", file,
                in_a_sentence(*parsed.duplicate));
  }
  Header header;
  for (const auto& [name, value] : parsed.document.items()) {
    if (name == "__metadata__") {
      header.metadata = read_metadata(value);
      continue;
    }
    Result<HeaderEntry> entry = read_entry(name, value, data_bytes, file);
    if (!entry) return tl::unexpected(entry.error());
    header.entries.push_back(std::move(*entry));
  }
  if (Status ok = check_overlaps(header.entries, file); !ok) return tl::unexpected(ok.error());
  return header;
}

}  // namespace attnscope
