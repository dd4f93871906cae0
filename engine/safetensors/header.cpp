// SPDX-License-Identifier: Apache-2.0
#include "engine/safetensors/header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/sentences.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// Position of an entry, for messages.
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

/// A value for a message: scalars in full, others (of any size and depth) by their type.
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
      return fail_at(place, "'shape' has {}, which is not a size from 0 to 2^63-1", shown(element));
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
    return fail_at(place, "'data_offsets' {} and {} are not an ascending pair of byte offsets",
                   shown(value[0]), shown(value[1]));
  }
  if (*end > data_bytes) {
    return fail_at(place,
                   "its bytes {} to {} are outside the file, which has {} bytes of data: it is "
                   "damaged or truncated",
                   *begin, *end, data_bytes);
  }
  entry.begin = *begin;
  entry.end = *end;
  return {};
}

/// Bits of one element; 0 for an unknown dtype, which a later version of the format may define.
std::int64_t element_bits(std::string_view dtype) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 22> known{{
      {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"BOOL", 8},    {"U8", 8},
      {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
      {"I64", 64},        {"U64", 64},
  }};
  for (const auto& [name, bits] : known) {
    if (name == dtype) return bits;
  }
  return 0;
}

/// Whether the value is a name of capitals, digits and underscores: a known or unknown dtype.
bool is_dtype(const json& value) {
  constexpr std::size_t longest = 30;
  if (!value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return !name.empty() && name.size() <= longest &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
}

Status check_byte_count(const Place& place, const HeaderEntry& entry) {
  std::int64_t bits = element_bits(entry.dtype);
  if (bits == 0) return {};
  for (const std::int64_t size : entry.shape) {
    if (__builtin_mul_overflow(bits, size, &bits)) {
      return fail_at(place, "its shape {} has more than 2^63 bits", shape_in_words(entry.shape));
    }
  }
  if (bits % 8 != 0 || bits / 8 != entry.end - entry.begin) {
    return fail_at(place, "shape {} of {} needs {} bytes, but 'data_offsets' gives {}",
                   shape_in_words(entry.shape), entry.dtype, static_cast<double>(bits) / 8,
                   entry.end - entry.begin);
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
  if (!is_dtype(value["dtype"])) {
    return fail_at(place, "'dtype' is {}, not a name such as \"F32\"", shown(value["dtype"]));
  }
  entry.dtype = value["dtype"].get<std::string>();
  if (Status ok = read_shape(value["shape"], place, entry.shape); !ok) {
    return tl::unexpected(ok.error());
  }
  if (Status ok = read_offsets(value["data_offsets"], place, data_bytes, entry); !ok) {
    return tl::unexpected(ok.error());
  }
  if (Status ok = check_byte_count(place, entry); !ok) return tl::unexpected(ok.error());
  return entry;
}

Status read_metadata(const json& value, std::string_view file,
                     std::map<std::string, std::string>& metadata) {
  if (value.is_null()) return {};
  if (!value.is_object()) return fail("{}: '__metadata__' is not an object", file);
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      return fail("{}: '{}' of '__metadata__' is {}, not a text", file, in_a_sentence(key),
                  shown(text));
    }
    metadata.emplace(key, text.get<std::string>());
  }
  return {};
}

/// Checks that tensors are contiguous and reach the end of the file, as the reference reader
/// requires.
Status check_coverage(const std::vector<HeaderEntry>& entries, std::int64_t data_bytes,
                      std::string_view file) {
  const auto uncovered = [&](std::int64_t begin, std::int64_t end) {
    return fail(
        "{}: the bytes {} to {} of its data belong to no tensor, so the file is damaged; copy it "
        "again",
        file, begin, end);
  };
  std::vector<const HeaderEntry*> in_order;
  in_order.reserve(entries.size());
  for (const HeaderEntry& entry : entries) in_order.push_back(&entry);
  std::ranges::sort(in_order, {},
                    [](const HeaderEntry* entry) { return std::pair(entry->begin, entry->end); });
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    if (in_order[i]->begin > covered) return uncovered(covered, in_order[i]->begin);
    if (in_order[i]->begin < covered) {
      return fail("{}: tensors '{}' and '{}' overlap in the file", file,
                  in_a_sentence(in_order[i - 1]->name), in_a_sentence(in_order[i]->name));
    }
    covered = in_order[i]->end;
  }
  if (covered < data_bytes) return uncovered(covered, data_bytes);
  return {};
}

Result<Header> read_entries(const json& document, std::int64_t data_bytes, std::string_view file) {
  if (!document.is_object()) return fail("{}: its header is not a JSON object", file);
  Header header;
  for (const auto& [name, value] : document.items()) {
    if (name == "__metadata__") {
      if (Status ok = read_metadata(value, file, header.metadata); !ok) {
        return tl::unexpected(ok.error());
      }
      continue;
    }
    Result<HeaderEntry> entry = read_entry(name, value, data_bytes, file);
    if (!entry) return tl::unexpected(entry.error());
    header.entries.push_back(std::move(*entry));
  }
  if (Status ok = check_coverage(header.entries, data_bytes, file); !ok) {
    return tl::unexpected(ok.error());
  }
  return header;
}

}  // namespace

std::int64_t bytes_of(const HeaderEntry& entry) {
  std::int64_t bits = element_bits(entry.dtype);
  for (const std::int64_t size : entry.shape) bits *= size;
  return bits / 8;
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
  const auto after = static_cast<std::uint64_t>(file_bytes) - bytes.size();
  if (length > after) {
    return fail(
        "{}: states a header of {} bytes, but only {} follow: it is not a safetensors file, or is "
        "truncated",
        file, length, after);
  }
  if (length > static_cast<std::uint64_t>(longest)) {
    return fail("{}: states a header of {} bytes; at most {} are supported", file, length, longest);
  }
  return static_cast<std::int64_t>(length);
}

Result<Header> parse_header(std::string_view text, std::int64_t data_bytes, std::string_view file) {
  Result<Header> header;
  const std::string source = fmt::format("{}: its header", file);
  const Status read = with_json(text, source, [&](const JsonField& root) {
    header = read_entries(root.value(), data_bytes, file);
  });
  if (read) return header;
  return fail("{}; this is not a safetensors file, or it is damaged", read.error().message);
}

}  // namespace attnscope
