// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/dump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "kernels/base/number_formats.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

constexpr std::int64_t length_bytes = 8;
// Token texts are the longest part: 65,536 of a hundred bytes are 7 MB.
constexpr std::uint64_t longest_header = 32'000'000;
constexpr std::int64_t most_heads = 512;
constexpr std::int64_t most_head_dim = 1024;
// Larger finite values could overflow a product of two; no projection comes near.
constexpr float largest_value = 1e15F;

std::string tensor_name(std::int64_t layer, std::string_view part) {
  return fmt::format("layer.{}.{}", layer, part);
}

/// N of "layer.N.q".
std::optional<std::int64_t> layer_of(std::string_view name) {
  constexpr std::string_view begin = "layer.";
  constexpr std::string_view end = ".q";
  if (!name.starts_with(begin) || !name.ends_with(end)) return std::nullopt;
  name.remove_prefix(begin.size());
  if (name.size() <= end.size()) return std::nullopt;
  name.remove_suffix(end.size());
  std::int64_t layer = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  const bool plain = error == std::errc() && stop == name.data() + name.size() && layer >= 0 &&
                     std::to_string(layer) == name;
  return plain ? std::optional(layer) : std::nullopt;
}

std::optional<DType> dtype_of(std::string_view name) {
  if (name == "F32") return DType::float32;
  if (name == "F16") return DType::float16;
  if (name == "BF16") return DType::bfloat16;
  return std::nullopt;
}

Result<std::uint64_t> header_length(const ByteSource& source) {
  if (source.size() < length_bytes) {
    return fail("{}: holds {} bytes, too few for a dump", source.name(), source.size());
  }
  std::array<std::byte, length_bytes> bytes{};
  if (Status read = source.read(0, bytes); !read) return tl::unexpected(read.error());
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8U * static_cast<unsigned>(i));
  }
  const auto behind = static_cast<std::uint64_t>(source.size() - length_bytes);
  if (length > behind) {
    return fail(
        "{}: says its header has {} bytes, and only {} follow: no safetensors file, or cut short",
        source.name(), length, behind);
  }
  if (length > longest_header) {
    return fail("{}: says its header has {} bytes; a dump's has at most {}", source.name(), length,
                longest_header);
  }
  return length;
}

}  // namespace

Result<Dump> Dump::open(const std::filesystem::path& path) {
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return tl::unexpected(source.error());
  return read(*std::move(source));
}

Result<Dump> Dump::read(ByteSource source) {
  Dump dump(std::move(source));
  const Result<std::uint64_t> length = header_length(dump.source_);
  if (!length) return tl::unexpected(length.error());
  std::string text(*length, '\0');
  if (Status read = dump.source_.read(length_bytes, std::as_writable_bytes(std::span(text)));
      !read) {
    return tl::unexpected(read.error());
  }
  dump.data_begin_ = length_bytes + static_cast<std::int64_t>(*length);
  Result<Header> header =
      parse_header(text, dump.source_.size() - dump.data_begin_, dump.source_.name());
  if (!header) return tl::unexpected(header.error());
  for (HeaderEntry& entry : header->entries) {
    std::string name = entry.name;
    dump.tensors_.emplace(std::move(name), std::move(entry));
  }
  Result<DumpInfo> info = parse_dump_metadata(header->metadata, dump.source_.name());
  if (!info) return tl::unexpected(info.error());
  dump.info_ = *std::move(info);
  if (Status checked = dump.check_tensors(); !checked) return tl::unexpected(checked.error());
  return dump;
}

Status Dump::check_tensors() {
  for (const auto& [name, entry] : tensors_) {
    const std::optional<std::int64_t> layer = layer_of(name);
    if (!layer) continue;
    if (info_.layers.empty() && entry.shape.size() == 3) {
      if (entry.shape[1] < 1 || entry.shape[1] > most_heads || entry.shape[2] < 1 ||
          entry.shape[2] > most_head_dim) {
        return fail(
            "{}: tensor '{}' has {} heads of {} values; a dump has 1 to {} heads of 1 to {}",
            source_.name(), name, entry.shape[1], entry.shape[2], most_heads, most_head_dim);
      }
      info_.heads = static_cast<std::int32_t>(entry.shape[1]);
      info_.head_dim = entry.shape[2];
    }
    info_.layers.push_back(*layer);
  }
  if (info_.layers.empty()) {
    return fail("{}: has no tensor 'layer.N.q'; scripts/attnscope_dump.py writes dumps",
                source_.name());
  }
  std::ranges::sort(info_.layers);
  for (const std::int64_t layer : info_.layers) {
    for (const std::string_view part : {"q", "k", "v", "q_global", "k_global"}) {
      if (part.ends_with("_global") && info_.global_rows.empty()) continue;
      if (Status checked = check_tensor(tensor_name(layer, part)); !checked) return checked;
    }
  }
  if (info_.windows.size() == 1) info_.windows.resize(info_.layers.size(), info_.windows.front());
  if (info_.windows.size() != info_.layers.size()) {
    return fail("{}: metadata 'window' gives {} windows for {} layers; give one, or one a layer",
                source_.name(), info_.windows.size(), info_.layers.size());
  }
  return {};
}

Status Dump::check_tensor(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return fail(
        "{}: lacks tensor '{}'; each layer has 'q', 'k' and 'v', and 'q_global' and "
        "'k_global' where 'global_rows' are given",
        source_.name(), name);
  }
  const HeaderEntry& entry = found->second;
  const std::vector<std::int64_t> wanted{info_.layout.tokens(), info_.heads, info_.head_dim};
  if (entry.shape != wanted) {
    return fail(
        "{}: tensor '{}' has shape [{}]; [{}] (tokens, heads, head dimension) is expected "
        "from the layout and the other tensors",
        source_.name(), name, in_a_sentence(fmt::format("{}", fmt::join(entry.shape, ", "))),
        fmt::join(wanted, ", "));
  }
  if (!dtype_of(entry.dtype)) {
    return fail("{}: tensor '{}' is {}; a dump holds F32, F16 or BF16", source_.name(), name,
                in_a_sentence(entry.dtype));
  }
  return {};
}

Result<std::vector<float>> Dump::read_head(const std::string& name, std::int32_t head) const {
  const HeaderEntry& entry = tensors_.at(name);
  const DType dtype = *dtype_of(entry.dtype);
  const std::int64_t tokens = info_.layout.tokens();
  const std::int64_t row_values = info_.heads * info_.head_dim;
  const std::int64_t row_bytes = row_values * size_of(dtype);
  constexpr std::int64_t piece_bytes = 1 << 22;
  const std::int64_t piece_rows = std::clamp<std::int64_t>(piece_bytes / row_bytes, 1, tokens);

  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(tokens * info_.head_dim));
  std::vector<std::byte> piece;
  for (std::int64_t first = 0; first < tokens; first += piece_rows) {
    const std::int64_t rows = std::min(piece_rows, tokens - first);
    piece.resize(static_cast<std::size_t>(rows * row_bytes));
    if (Status read = source_.read(data_begin_ + entry.begin + first * row_bytes, piece); !read) {
      return tl::unexpected(read.error());
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t begin = row * row_values + head * info_.head_dim;
      for (std::int64_t d = 0; d < info_.head_dim; ++d) {
        const float value = read_value(piece.data(), dtype, begin + d);
        if (!(std::abs(value) <= largest_value)) {
          return fail(
              "{}: tensor '{}' holds {} at token {}, head {}; weights need finite numbers "
              "of at most 1e15",
              source_.name(), name, value, first + row, head);
        }
        values.push_back(value);
      }
    }
  }
  return values;
}

Result<HeadVectors> Dump::head(std::size_t layer, std::int32_t head) const {
  const std::int64_t number = info_.layers.at(layer);
  HeadVectors vectors(info_.layout.tokens(), info_.head_dim);
  const auto take = [&](std::string_view part) {
    return read_head(tensor_name(number, part), head);
  };
  const Result<std::vector<float>> q = take("q");
  if (!q) return tl::unexpected(q.error());
  const Result<std::vector<float>> k = take("k");
  if (!k) return tl::unexpected(k.error());
  vectors.set(*q, *k);
  if (info_.global_rows.empty()) return vectors;
  const Result<std::vector<float>> q_global = take("q_global");
  if (!q_global) return tl::unexpected(q_global.error());
  const Result<std::vector<float>> k_global = take("k_global");
  if (!k_global) return tl::unexpected(k_global.error());
  vectors.set_global(info_.global_rows, *q_global, *k_global);
  return vectors;
}

}  // namespace attnscope
