// SPDX-License-Identifier: Apache-2.0
#include "engine/safetensors/safetensors.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/fingerprint.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/safetensors/header.h"
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

std::string shape_text(std::span<const std::int64_t> shape) {
  constexpr std::size_t longest = 100;
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += size == -1 ? std::string("any") : std::to_string(size);
  }
  return in_a_sentence(text + "]", longest);
}

/// The header of these tensors; each must have as many values as its shape specifies.
Result<std::string> header_of(const std::filesystem::path& path, std::span<const NamedView> tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::vector<HeaderEntry> entries;
  for (const auto& [name, view] : tensors) {
    HeaderEntry entry{.name = std::string(name), .dtype = view.dtype, .shape = view.shape};
    if (bytes_of(entry) != static_cast<std::int64_t>(view.bytes.size())) {
      return fail("{}: tensor '{}' of {} and shape [{}] was given {} bytes", path.string(), name,
                  view.dtype, fmt::join(view.shape, ", "), view.bytes.size());
    }
    if (std::ranges::find(entries, name, &HeaderEntry::name) != entries.end()) {
      return fail("{}: tensor '{}' was given twice", path.string(), name);
    }
    entries.push_back(std::move(entry));
  }
  return header_text(entries, metadata);
}

}  // namespace

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
    return fail("{}: holds {} bytes, too few for a safetensors file", file, size);
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
    return fail("{}: has no tensor '{}': it holds no tensors at all", mapping_->file,
                in_a_sentence(name));
  }
  return fail("{}: has no tensor '{}'; it holds {}", mapping_->file, in_a_sentence(name),
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
        "{}: tensor '{}' does not start at a multiple of {} bytes; write the file anew with "
        "a padded header",
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
        "{}: was written by another version of attnscope, whose checksums are others; it cannot be "
        "checked here",
        mapping_->file);
  }
  if (*stated == checksum_of(tensors(), mapping_->metadata)) return {};
  return fail("{}: is damaged: its contents have another checksum than it states", mapping_->file);
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
