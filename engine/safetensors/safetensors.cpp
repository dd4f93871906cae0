// SPDX-License-Identifier: Apache-2.0
#include "engine/safetensors/safetensors.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/fingerprint.h"
#include "base/json.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "kernels/plan/number_formats.h"

namespace attnscope {
namespace {

constexpr std::int64_t length_bytes = 8;
// The limit of the reference reader; a longer header is malicious or has a damaged length.
constexpr std::int64_t longest_header = 100'000'000;

// Prefix of the digits; other versions used a different algorithm.
constexpr std::string_view checksum_version = "2-";

bool fits(const std::vector<std::int64_t>& shape, std::span<const std::int64_t> wanted) {
  return std::ranges::equal(shape, wanted, [](std::int64_t size, std::int64_t want) {
    return want == -1 || size == want;
  });
}

/// The header of these tensors; each must have as many values as its shape specifies.
Result<std::string> header_of(const std::filesystem::path& path, std::span<const NamedView> tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::vector<HeaderEntry> entries;
  for (const auto& [name, view] : tensors) {
    HeaderEntry entry{.name = std::string(name), .dtype = view.dtype, .shape = view.shape};
    if (bytes_of(entry) != static_cast<std::int64_t>(view.bytes.size())) {
      return fail("{}: tensor '{}' of {} and shape [{}] has {} bytes", path.string(), name,
                  view.dtype, fmt::join(view.shape, ", "), view.bytes.size());
    }
    if (std::ranges::find(entries, name, &HeaderEntry::name) != entries.end()) {
      return fail("{}: tensor '{}' is given twice", path.string(), name);
    }
    entries.push_back(std::move(entry));
  }
  return header_text(entries, metadata);
}

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

std::string shape_text(std::span<const std::int64_t> shape) {
  constexpr std::size_t longest = 100;
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += size == -1 ? std::string("any") : std::to_string(size);
  }
  return in_a_sentence(text + "]", longest);
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
      return fail_at(place, "its shape {} has more than 2^63 bits", shape_text(entry.shape));
    }
  }
  if (bits % 8 != 0 || bits / 8 != entry.end - entry.begin) {
    return fail_at(place, "shape {} of {} needs {} bytes, but 'data_offsets' gives {}",
                   shape_text(entry.shape), entry.dtype, static_cast<double>(bits) / 8,
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

struct SafetensorsFile::Mapping {
  MappedFile mapped;
  std::string file = mapped.name();
  std::int64_t data_begin = 0;
  std::vector<HeaderEntry> entries{};
  std::map<std::string, std::string> metadata{};

  Status read_header();
  [[nodiscard]] TensorView view(const HeaderEntry& entry) const {
    return {entry.dtype, entry.shape,
            mapped.bytes().subspan(static_cast<std::size_t>(data_begin + entry.begin),
                                   static_cast<std::size_t>(entry.end - entry.begin))};
  }
};

Status SafetensorsFile::Mapping::read_header() {
  const std::span<const std::byte> bytes = mapped.bytes();
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size < length_bytes) {
    return fail("{}: has {} bytes, too few for a safetensors file", file, size);
  }
  const auto length = header_length(bytes.first<length_bytes>(), size, longest_header, file);
  if (!length) return tl::unexpected(length.error());
  data_begin = length_bytes + *length;
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()) + length_bytes,
                              static_cast<std::size_t>(*length));
  auto parsed = parse_header(head, size - data_begin, file);
  if (!parsed) return tl::unexpected(parsed.error());
  entries = std::move(parsed->entries);
  metadata = std::move(parsed->metadata);
  return {};
}

SafetensorsFile::SafetensorsFile(std::unique_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped) return tl::unexpected(mapped.error());
  std::unique_ptr<Mapping> mapping(new Mapping{std::move(*mapped)});
  if (Status ok = mapping->read_header(); !ok) return tl::unexpected(ok.error());
  return SafetensorsFile(std::move(mapping));
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const HeaderEntry& entry : mapping_->entries) names.push_back(entry.name);
  return names;
}

std::vector<NamedView> SafetensorsFile::tensors() const {
  std::vector<NamedView> all;
  all.reserve(mapping_->entries.size());
  for (const HeaderEntry& entry : mapping_->entries) {
    all.push_back({entry.name, mapping_->view(entry)});
  }
  return all;
}

Result<std::string_view> SafetensorsFile::metadata(std::string_view key) const {
  for (const auto& [name, text] : mapping_->metadata) {
    if (name == key) return std::string_view(text);
  }
  return fail("{}: has no metadata '{}'", mapping_->file, in_a_sentence(key));
}

Result<TensorView> SafetensorsFile::tensor(std::string_view name) const {
  for (const HeaderEntry& entry : mapping_->entries) {
    if (entry.name != name) continue;
    return mapping_->view(entry);
  }
  constexpr std::size_t longest_list = 300;
  if (mapping_->entries.empty()) {
    return fail("{}: has no tensor '{}': it has no tensors", mapping_->file, in_a_sentence(name));
  }
  return fail("{}: has no tensor '{}'; it has {}", mapping_->file, in_a_sentence(name),
              in_a_sentence(fmt::format("{}", fmt::join(names(), ", ")), longest_list));
}

Result<std::span<const float>> SafetensorsFile::floats(std::string_view name,
                                                       std::span<const std::int64_t> shape) const {
  const Result<TensorView> found = tensor(name);
  if (!found) return tl::unexpected(found.error());
  if (found->dtype != "F32") {
    return fail("{}: tensor '{}' is {}; F32 is needed", mapping_->file, in_a_sentence(name),
                found->dtype);
  }
  if (!fits(found->shape, shape)) {
    return fail("{}: tensor '{}' has shape {}; {} is needed", mapping_->file, in_a_sentence(name),
                shape_text(found->shape), shape_text(shape));
  }
  // The mapping is page-aligned, so this checks the alignment of the float data.
  if (reinterpret_cast<std::uintptr_t>(found->bytes.data()) % alignof(float) != 0) {
    return fail(
        "{}: tensor '{}' does not start at a multiple of {} bytes; write the file again with a "
        "padded header",
        mapping_->file, in_a_sentence(name), alignof(float));
  }
  return std::span(reinterpret_cast<const float*>(found->bytes.data()),
                   found->bytes.size() / sizeof(float));
}

std::string checksum_of(std::span<const NamedView> tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::map<std::string_view, std::span<const std::byte>> parts;
  for (const NamedView& tensor : tensors) parts.emplace(tensor.name, tensor.view.bytes);
  RunningSum sum;
  for (const auto& [key, text] : metadata) {
    if (key == checksum_key) continue;
    sum.add(std::string_view(key));
    sum.add(std::string_view(text));
  }
  for (const auto& [name, bytes] : parts) {
    sum.add(name);
    sum.add(bytes);
  }
  return fmt::format("{}{:016x}", checksum_version, sum.value());
}

Status SafetensorsFile::check_sum() const {
  const auto stated = metadata(checksum_key);
  if (!stated) return tl::unexpected(stated.error());
  if (!stated->starts_with(checksum_version)) {
    return fail(
        "{}: was written by another version of attnscope, whose checksums differ, so it cannot be "
        "verified",
        mapping_->file);
  }
  if (*stated == checksum_of(tensors(), mapping_->metadata)) return {};
  return fail("{}: is damaged: its contents do not match its checksum", mapping_->file);
}

Status write_safetensors(const std::filesystem::path& path, std::span<const NamedView> tensors,
                         const std::map<std::string, std::string>& metadata, Readers readers) {
  const Result<std::string> header = header_of(path, tensors, metadata);
  if (!header) return tl::unexpected(header.error());
  auto file = WrittenFile::next_to(path, readers, Packing::never);
  if (!file) return tl::unexpected(file.error());
  file->write(*header);
  for (const NamedView& tensor : tensors) file->write(tensor.view.bytes);
  return file->commit();
}

Status write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                         const SafetensorsOptions& options) {
  std::vector<std::vector<std::uint16_t>> halves(options.half ? tensors.size() : 0);
  std::vector<NamedView> views;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const NamedTensor& tensor = tensors[i];
    if (options.half) {
      halves[i].resize(tensor.values.size());
      std::ranges::transform(tensor.values, halves[i].begin(), float16_from_float);
      views.push_back({tensor.name, {"F16", tensor.shape, std::as_bytes(std::span(halves[i]))}});
    } else {
      views.push_back({tensor.name, {"F32", tensor.shape, std::as_bytes(tensor.values)}});
    }
  }
  return write_safetensors(path, views, options.metadata);
}

}  // namespace attnscope
