// SPDX-License-Identifier: Apache-2.0
#include "engine/documents/cache_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <system_error>

#include "base/sentences.h"

namespace attnscope {
namespace {

constexpr const char* version = "4";
constexpr std::size_t data_alignment = 64, longest_encoding = 400;

struct FormatNames {
  VectorFormat format;
  std::string_view name, in_file;
};
constexpr std::array formats{FormatNames{VectorFormat::float32, "float32", "F32"},
                             FormatNames{VectorFormat::float16, "float16", "F16"},
                             FormatNames{VectorFormat::bfloat16, "bfloat16", "BF16"},
                             FormatNames{VectorFormat::int8, "int8", "I8"}};

const FormatNames& names_of(VectorFormat format) {
  return *std::ranges::find(formats, format, &FormatNames::format);
}

std::string in_words(std::uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

template <typename Int>
Result<Int> number_of(std::string_view text, int base, const char* key, const std::string& name) {
  Int value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failed != std::errc() || end != text.data() + text.size()) {
    return fail("{}: its '{}' is '{}', which is not a valid number; is the file damaged?", name,
                key, in_a_sentence(text));
  }
  return value;
}

std::vector<HeaderEntry> entries_of(const CacheContents& contents) {
  std::vector<HeaderEntry> entries{
      {.name = "encoded", .dtype = "I64", .shape = {1}},
      {.name = "errors", .dtype = "F64", .shape = {2}},
      {.name = "sums", .dtype = "I64", .shape = {2}},
      {.name = "offsets", .dtype = "I64", .shape = {contents.documents + 1}}};
  if (contents.id_bytes) {
    entries.push_back({.name = "id_offsets", .dtype = "I64", .shape = {contents.documents + 1}});
  }
  if (contents.format == VectorFormat::int8) {
    entries.push_back({.name = "scales", .dtype = "F32", .shape = {contents.rows}});
  }
  entries.push_back({.name = "rows",
                     .dtype = std::string(names_of(contents.format).in_file),
                     .shape = {contents.rows, contents.width}});
  if (contents.id_bytes) {
    entries.push_back({.name = "ids", .dtype = "U8", .shape = {*contents.id_bytes}});
  }
  return entries;
}

/// The length of a one-dimensional tensor of the given type.
Result<std::int64_t> length_of(const SafetensorsFile& file, const char* tensor, const char* dtype,
                               const std::string& name) {
  const auto view = file.tensor(tensor);
  if (!view) return tl::unexpected(view.error());
  if (view->dtype != dtype || view->shape.size() != 1) {
    return fail("{}: '{}' is not a list of {}; is the file damaged?", name, tensor, dtype);
  }
  return view->shape.front();
}

/// The number of documents, from a list of their offsets.
Result<std::int64_t> documents_by(const SafetensorsFile& file, const char* tensor,
                                  const std::string& name) {
  const auto length = length_of(file, tensor, "I64", name);
  if (!length) return tl::unexpected(length.error());
  if (*length < 1) return fail("{}: '{}' is empty; is the file damaged?", name, tensor);
  return *length - 1;
}

Status read_words(const SafetensorsFile& file, const std::string& name, CacheContents& contents) {
  const auto text = [&](const char* key) {
    const auto found = file.metadata(key);
    return found ? *found : std::string_view();
  };
  const std::string_view theirs = text(cache_file::version_key);
  if (theirs.empty()) return fail("{}: has no encoded documents", name);
  if (theirs != version) {
    return fail(
        "{}: was written by another version of attnscope, whose checksums differ ('{}' is '{}', "
        "not {}); encode the documents again",
        name, cache_file::version_key, in_a_sentence(theirs), version);
  }
  contents.maker.family = text("family");
  contents.maker.encoding = text("encoding");
  contents.source.file = text("documents_file");
  const auto dtype = parse_dtype(std::string(text("dtype")));
  if (!dtype) return fail("{}: {}; is the file damaged?", name, dtype.error().message);
  contents.maker.dtype = *dtype;
  const auto format = parse_vector_format(text("format"));
  if (!format) return fail("{}: the format of its rows {}", name, format.error().message);
  contents.format = *format;
  if (!may_be_kept_in(*format, *dtype)) {
    return fail("{}: its rows are in {}, but its model computes in {}; is the file damaged?", name,
                name_of(*format), name_of(*dtype));
  }
  constexpr int hex = 16, decimal = 10;
  const auto weights = number_of<std::uint64_t>(text("weights"), hex, "weights", name);
  if (!weights) return tl::unexpected(weights.error());
  contents.maker.weights = *weights;
  if (contents.source.file.empty()) return {};
  const auto most = number_of<std::int64_t>(text("most_tokens"), decimal, "most_tokens", name);
  if (!most) return tl::unexpected(most.error());
  const auto of_all = number_of<std::uint64_t>(text("fingerprint"), hex, "fingerprint", name);
  if (!of_all) return tl::unexpected(of_all.error());
  contents.source.most_tokens = *most;
  contents.source.fingerprint = *of_all;
  const auto tokenizer = number_of<std::uint64_t>(text("tokenizer"), hex, "tokenizer", name);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  contents.source.tokenizer = *tokenizer;
  return {};
}

}  // namespace

std::string_view name_of(VectorFormat format) {
  return names_of(format).name;
}

Result<VectorFormat> parse_vector_format(std::string_view text) {
  std::vector<std::string_view> known;
  for (const FormatNames& entry : formats) {
    if (entry.name == text) return entry.format;
    known.push_back(entry.name);
  }
  return fail("is '{}'; {}", in_a_sentence(text), suggest(in_a_sentence(text), known));
}

VectorFormat format_of(DType dtype) {
  if (dtype == DType::float32) return VectorFormat::float32;
  return dtype == DType::float16 ? VectorFormat::float16 : VectorFormat::bfloat16;
}

Status may_be_kept_in(VectorFormat format, DType dtype) {
  const VectorFormat own = format_of(dtype);
  if (format == own) return {};
  if (format != VectorFormat::float16 && format != VectorFormat::int8) {
    return fail("documents can be stored in float16 or int8 to save space, not in {}",
                name_of(format));
  }
  if (size_of(format) >= size_of(own)) {
    return fail("documents computed in {} do not take less space in {}", name_of(dtype),
                name_of(format));
  }
  return {};
}

std::string cut_in_words(const CacheSource& source) {
  if (source.most_tokens == 0) return "not truncated";
  return fmt::format("truncated to {} tokens", source.most_tokens);
}

std::string difference(const CacheMaker& theirs, const CacheMaker& ours) {
  if (theirs.family != ours.family) {
    return fmt::format("encoded by a model of the family '{}', but this one is of '{}'",
                       in_a_sentence(theirs.family), ours.family);
  }
  if (theirs.weights != ours.weights) {
    return fmt::format("encoded with other weights ({}; the model's are {})",
                       in_words(theirs.weights), in_words(ours.weights));
  }
  if (theirs.dtype != ours.dtype) {
    return fmt::format("encoded in {}, but the model computes in {}", name_of(theirs.dtype),
                       name_of(ours.dtype));
  }
  if (theirs.encoding != ours.encoding) {
    return fmt::format("encoded as '{}', but the model encodes them as '{}'",
                       in_a_sentence(theirs.encoding, longest_encoding), ours.encoding);
  }
  return {};
}

std::string difference(const CacheContents& theirs, const CacheContents& ours) {
  if (std::string other = difference(theirs.maker, ours.maker); !other.empty()) return other;
  if (theirs.format != ours.format) {
    return fmt::format("stored in {}, but {} is requested", name_of(theirs.format),
                       name_of(ours.format));
  }
  if (theirs.source.most_tokens != ours.source.most_tokens) {
    return fmt::format("{}, but {} requested", cut_in_words(theirs.source),
                       ours.source.most_tokens > 0 ? fmt::format("{} are", ours.source.most_tokens)
                                                   : "no limit is");
  }
  if (theirs.source.tokenizer != ours.source.tokenizer) return of_another_tokenizer;
  if (theirs.source.fingerprint != ours.source.fingerprint) {
    return fmt::format("other documents than these ({} of '{}', now {} of '{}')", theirs.documents,
                       in_a_sentence(theirs.source.file), ours.documents,
                       in_a_sentence(ours.source.file));
  }
  return {};
}

namespace cache_file {

std::string header(const CacheContents& contents) {
  std::map<std::string, std::string> words{{version_key, version},
                                           {"family", contents.maker.family},
                                           {"weights", in_words(contents.maker.weights)},
                                           {"dtype", std::string(name_of(contents.maker.dtype))},
                                           {"encoding", contents.maker.encoding},
                                           {"format", std::string(name_of(contents.format))}};
  if (!contents.source.file.empty()) {
    words["documents_file"] = contents.source.file;
    words["most_tokens"] = std::to_string(contents.source.most_tokens);
    words["fingerprint"] = in_words(contents.source.fingerprint);
    words["tokenizer"] = in_words(contents.source.tokenizer);
  }
  return header_text(entries_of(contents), words, data_alignment);
}

Parts parts(const CacheContents& contents) {
  Parts all;
  auto at = static_cast<std::int64_t>(header(contents).size());
  all.state = {at, 0};
  for (const HeaderEntry& entry : entries_of(contents)) {
    const Part part{at, bytes_of(entry)};
    if (entry.name == "encoded" || entry.name == "errors" || entry.name == "sums")
      all.state.size += part.size;
    if (entry.name == "offsets") all.offsets = part;
    if (entry.name == "id_offsets") all.id_offsets = part;
    if (entry.name == "scales") all.scales = part;
    if (entry.name == "rows") all.rows = part;
    if (entry.name == "ids") all.ids = part;
    at += part.size;
  }
  all.end = at;
  return all;
}

Result<CacheContents> read_contents(const SafetensorsFile& file, const std::string& name) {
  CacheContents contents;
  if (Status read = read_words(file, name, contents); !read) return tl::unexpected(read.error());
  const auto rows = file.tensor("rows");
  if (!rows) return tl::unexpected(rows.error());
  const auto address = reinterpret_cast<std::uintptr_t>(rows->bytes.data());
  if (rows->dtype != names_of(contents.format).in_file || rows->shape.size() != 2 ||
      address % static_cast<std::uintptr_t>(size_of(contents.format)) != 0) {
    return fail("{}: 'rows' is not an aligned matrix of {}; is the file damaged?", name,
                name_of(contents.format));
  }
  contents.rows = rows->shape.front();
  contents.width = rows->shape.back();
  const auto documents = documents_by(file, "offsets", name);
  if (!documents) return tl::unexpected(documents.error());
  contents.documents = *documents;
  if (!file.tensor("ids") && !file.tensor("id_offsets")) return contents;
  const auto ids = documents_by(file, "id_offsets", name);
  if (!ids) return tl::unexpected(ids.error());
  if (*ids != *documents) {
    return fail("{}: has {} documents but {} ids; is the file damaged?", name, *documents, *ids);
  }
  const auto bytes = length_of(file, "ids", "U8", name);
  if (!bytes) return tl::unexpected(bytes.error());
  contents.id_bytes = *bytes;
  return contents;
}

Result<State> read_state(const SafetensorsFile& file, const CacheContents& contents,
                         const std::string& name) {
  State state;
  const auto encoded = file.tensor("encoded");
  if (!encoded) return tl::unexpected(encoded.error());
  const auto errors = file.tensor("errors");
  if (!errors) return tl::unexpected(errors.error());
  const auto sums = file.tensor("sums");
  if (!sums) return tl::unexpected(sums.error());
  constexpr std::size_t sum = sizeof(state.documents);
  if (encoded->dtype != "I64" || encoded->bytes.size() != sizeof(state.encoded) ||
      errors->dtype != "F64" || errors->bytes.size() != sizeof(state.errors) ||
      sums->dtype != "I64" || sums->bytes.size() != 2 * sum) {
    return fail(
        "{}: 'encoded', 'errors' and 'sums' are not a count, two errors and two sums; is the file "
        "damaged?",
        name);
  }
  std::memcpy(&state.encoded, encoded->bytes.data(), sizeof(state.encoded));
  std::memcpy(&state.errors, errors->bytes.data(), sizeof(state.errors));
  std::memcpy(&state.documents, sums->bytes.data(), sum);
  std::memcpy(&state.kept, sums->bytes.data() + sum, sum);
  if (state.encoded < 0 || state.encoded > contents.documents) {
    return fail("{}: states that {} of its {} documents are encoded; is the file damaged?", name,
                state.encoded, contents.documents);
  }
  return state;
}

}  // namespace cache_file

}  // namespace attnscope
