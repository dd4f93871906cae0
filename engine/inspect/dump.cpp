// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/dump.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/sentences.h"
#include "kernels/plan/number_formats.h"

namespace attnscope {
namespace {

using Metadata = std::map<std::string, std::string>;
using nlohmann::json;

constexpr std::size_t longest_token = 1000;  // bytes
constexpr double largest_scale = 1000;

Result<std::string> text_of(const Metadata& metadata, const char* key, const std::string& file) {
  const auto found = metadata.find(key);
  if (found != metadata.end()) return found->second;
  return fail("{}: has no metadata '{}'; it is not a dump of scripts/attnscope_dump.py", file, key);
}

Result<json> list_of(const std::string& text, const char* key, const std::string& file) {
  json list = parse_json(text);
  if (!list.is_array()) return fail("{}: metadata '{}' is not a JSON list", file, key);
  return list;
}

Result<std::vector<std::string>> read_tokens(const std::string& text, const std::string& file) {
  const Result<json> list = list_of(text, "tokens", file);
  if (!list) return tl::unexpected(list.error());
  std::vector<std::string> tokens;
  tokens.reserve(list->size());
  for (const json& token : *list) {
    if (!token.is_string() || token.get_ref<const std::string&>().size() > longest_token) {
      return fail("{}: metadata 'tokens': entry {} is not a text of at most {} bytes", file,
                  tokens.size(), longest_token);
    }
    tokens.push_back(token.get<std::string>());
  }
  return tokens;
}

Result<SequenceLayout> read_layout(const std::string& text, const std::string& file) {
  Result<SequenceLayout> layout = parse_layout(text, file + ": metadata 'layout'");
  if (!layout) return layout;
  if (layout->item_count() != 1 || layout->shares_query()) {
    return fail("{}: metadata 'layout' has {} items{}; a dump has one, with its own query", file,
                layout->item_count(), layout->shares_query() ? " and a shared query" : "");
  }
  if (layout->tokens() < 1 || layout->tokens() > Dump::most_tokens) {
    return fail("{}: metadata 'layout' has {} tokens; a dump has 1 to {}", file, layout->tokens(),
                Dump::most_tokens);
  }
  return layout;
}

std::vector<TokenGroup> groups_of(const SequenceLayout& layout) {
  std::vector<TokenGroup> groups(static_cast<std::size_t>(layout.tokens()), TokenGroup::document);
  const auto paint = [&](TokenRange range, TokenGroup group) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      groups[static_cast<std::size_t>(i)] = group;
    }
  };
  paint(layout.cls(0), TokenGroup::cls);
  paint(layout.query(0), TokenGroup::query);
  const std::int64_t first = layout.documents(0).begin;
  for (const std::int64_t start : layout.item(0).sentences) {
    paint({first + start, first + start + 1}, TokenGroup::sentence);
  }
  return groups;
}

Result<AttentionPattern> read_pattern(const std::string& text, const std::string& file) {
  if (text.starts_with('{')) return parse_pattern(text, file + ": metadata 'pattern'");
  for (const AttentionPattern& pattern : built_in_patterns()) {
    if (pattern.name == text) return pattern;
  }
  return fail(
      "{}: metadata 'pattern' is '{}', which is neither a built-in pattern nor a pattern's "
      "JSON",
      file, in_a_sentence(text));
}

/// One pattern for all layers, or a JSON list with one per layer.
Result<std::vector<AttentionPattern>> read_patterns(const std::string& text,
                                                    const std::string& file) {
  std::vector<std::string> given{text};
  if (text.starts_with('[')) {
    const Result<json> list = list_of(text, "pattern", file);
    if (!list) return tl::unexpected(list.error());
    given.clear();
    for (const json& entry : *list)
      given.push_back(entry.is_string() ? entry.get<std::string>() : entry.dump());
  }
  std::vector<AttentionPattern> patterns;
  for (const std::string& pattern_text : given) {
    Result<AttentionPattern> pattern = read_pattern(pattern_text, file);
    if (!pattern) return tl::unexpected(pattern.error());
    patterns.push_back(*std::move(pattern));
  }
  return patterns;
}

/// "4", "inf", or one per layer: "256,256,512".
Result<std::vector<std::optional<Window>>> read_windows(std::string_view text,
                                                        const std::string& file) {
  std::vector<std::optional<Window>> windows;
  while (true) {
    const std::size_t comma = text.find(',');
    const Result<Window> window = parse_window(text.substr(0, comma));
    if (!window) return fail("{}: metadata 'window': {}", file, window.error().message);
    windows.emplace_back(*window);
    if (comma == std::string_view::npos) return windows;
    text.remove_prefix(comma + 1);
  }
}

Result<double> read_scale(const std::string& text, const std::string& file) {
  double scale = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && scale > 0 && scale <= largest_scale) return scale;
  return fail("{}: metadata 'scale' is '{}', which is not a number above 0 and up to {}", file,
              in_a_sentence(text), largest_scale);
}

Result<std::vector<std::int64_t>> read_rows(const std::string& text, std::int64_t tokens,
                                            const std::string& file) {
  const Result<json> list = list_of(text, "global_rows", file);
  if (!list) return tl::unexpected(list.error());
  std::vector<std::int64_t> rows;
  rows.reserve(list->size());
  for (const json& row : *list) {
    const bool number = row.is_number_unsigned();
    const std::uint64_t value = number ? row.get<std::uint64_t>() : 0;
    const bool ascending = rows.empty() || value > static_cast<std::uint64_t>(rows.back());
    if (!number || value >= static_cast<std::uint64_t>(tokens) || !ascending) {
      return fail(
          "{}: metadata 'global_rows': entry {} is not a token number below {} in ascending order",
          file, rows.size(), tokens);
    }
    rows.push_back(static_cast<std::int64_t>(value));
  }
  return rows;
}

constexpr std::int64_t length_bytes = 8;
// Token texts are the longest part: 65,536 texts of a hundred bytes are 7 MB.
constexpr std::int64_t longest_header = 32'000'000;
constexpr std::int64_t most_heads = 512;
constexpr std::int64_t most_head_dim = 1024;
// Larger finite values could overflow the product of two; no projection comes near this value.
constexpr float largest_value = 1e15F;

/// Parses the metadata before tensors are checked: `layers`, `heads`, `head_dim` are left unset,
/// and `patterns` and `windows` contain the given values, one or one per layer.
Result<DumpInfo> parse_dump_metadata(const Metadata& metadata, const std::string& file) {
  DumpInfo info;
  const Result<std::string> version = text_of(metadata, "attnscope_dump", file);
  if (!version) return tl::unexpected(version.error());
  if (*version != "1") {
    return fail("{}: is a dump of version '{}'; this program reads version 1", file,
                in_a_sentence(*version));
  }
  for (const char* key : {"model", "layout", "tokens", "pattern", "scale"}) {
    if (const Result<std::string> text = text_of(metadata, key, file); !text) {
      return tl::unexpected(text.error());
    }
  }
  const auto optional_text = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  constexpr std::size_t longest_note = 400;
  info.model = in_a_sentence(metadata.at("model"), 120);
  info.note = in_a_sentence(optional_text("note"), longest_note);

  Result<SequenceLayout> layout = read_layout(metadata.at("layout"), file);
  if (!layout) return tl::unexpected(layout.error());
  info.layout = *std::move(layout);
  info.groups = groups_of(info.layout);
  Result<std::vector<std::string>> tokens = read_tokens(metadata.at("tokens"), file);
  if (!tokens) return tl::unexpected(tokens.error());
  info.tokens = *std::move(tokens);
  if (static_cast<std::int64_t>(info.tokens.size()) != info.layout.tokens()) {
    return fail("{}: has {} token texts, and its layout {} tokens", file, info.tokens.size(),
                info.layout.tokens());
  }
  Result<std::vector<AttentionPattern>> patterns = read_patterns(metadata.at("pattern"), file);
  if (!patterns) return tl::unexpected(patterns.error());
  info.patterns = *std::move(patterns);
  info.windows = {std::nullopt};
  if (const std::string windows = optional_text("window"); !windows.empty()) {
    Result<std::vector<std::optional<Window>>> read = read_windows(windows, file);
    if (!read) return tl::unexpected(read.error());
    info.windows = *std::move(read);
  }
  for (const AttentionPattern& pattern : info.patterns) {
    if (info.windows.front() || !pattern.has_window()) continue;
    return fail("{}: its pattern '{}' has a window and there is no metadata 'window'", file,
                pattern.name);
  }
  const Result<double> scale = read_scale(metadata.at("scale"), file);
  if (!scale) return tl::unexpected(scale.error());
  info.scale = *scale;
  if (const std::string rows = optional_text("global_rows"); !rows.empty()) {
    Result<std::vector<std::int64_t>> read = read_rows(rows, info.layout.tokens(), file);
    if (!read) return tl::unexpected(read.error());
    info.global_rows = *std::move(read);
  }
  return info;
}

std::string tensor_name(std::int64_t layer, std::string_view part) {
  return fmt::format("layer.{}.{}", layer, part);
}

/// The N in "layer.N.q".
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

Result<std::int64_t> length_of_header(const ByteSource& source) {
  if (source.size() < length_bytes) {
    return fail("{}: has {} bytes, too few for a dump", source.name(), source.size());
  }
  std::array<std::byte, length_bytes> bytes{};
  if (Status read = source.read(0, bytes); !read) return tl::unexpected(read.error());
  return header_length(bytes, source.size(), longest_header, source.name());
}

}  // namespace

Result<ByteSource> ByteSource::open(const std::filesystem::path& path) {
  auto file = OpenFile::to_read(path);
  if (!file) return tl::unexpected(file.error());
  ByteSource source;
  source.name_ = path.string();
  source.size_ = file->size();
  source.file_ = std::make_shared<const OpenFile>(std::move(*file));
  return source;
}

ByteSource ByteSource::of(std::vector<std::byte> bytes, std::string name) {
  ByteSource source;
  source.name_ = std::move(name);
  source.size_ = static_cast<std::int64_t>(bytes.size());
  source.memory_ = std::move(bytes);
  return source;
}

Status ByteSource::read(std::int64_t offset, std::span<std::byte> bytes) const {
  const auto wanted = static_cast<std::int64_t>(bytes.size());
  if (offset < 0 || wanted > size_ || offset > size_ - wanted) {
    return fail("{}: ends before byte {}", name_, offset + wanted);
  }
  if (file_ == nullptr) {
    std::copy_n(memory_.begin() + offset, wanted, bytes.begin());
    return {};
  }
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file_->number(), bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail("{}: cannot be read: {}", name_, system_reason(errno));
    if (got == 0) {
      return fail("{}: was truncated after it was opened; open it again", name_);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
  return {};
}

Result<Dump> Dump::open(const std::filesystem::path& path) {
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return tl::unexpected(source.error());
  return read(*std::move(source));
}

Result<Dump> Dump::read(ByteSource source) {
  Dump dump(std::move(source));
  const Result<std::int64_t> length = length_of_header(dump.source_);
  if (!length) return tl::unexpected(length.error());
  std::string text(static_cast<std::size_t>(*length), '\0');
  if (Status read = dump.source_.read(length_bytes, std::as_writable_bytes(std::span(text)));
      !read) {
    return tl::unexpected(read.error());
  }
  dump.data_begin_ = length_bytes + *length;
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
  const std::size_t layers = info_.layers.size();
  const auto one_a_layer = [&](auto& given, std::string_view key) -> Status {
    if (given.size() == 1) given.resize(layers, given.front());
    if (given.size() == layers) return {};
    return fail("{0}: metadata '{1}' gives {2} {1}s for {3} layers; give one, or one per layer",
                source_.name(), key, given.size(), layers);
  };
  if (Status windows = one_a_layer(info_.windows, "window"); !windows) return windows;
  return one_a_layer(info_.patterns, "pattern");
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
    return fail("{}: tensor '{}' is {}; a dump has F32, F16 or BF16", source_.name(), name,
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
              "{}: tensor '{}' has {} at token {}, head {}; weights need finite numbers "
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
