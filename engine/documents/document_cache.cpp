// SPDX-License-Identifier: Apache-2.0
#include "engine/documents/document_cache.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <system_error>
#include <utility>

#include "base/sentences.h"
#include "base/written_file.h"
#include "kernels/plan/number_formats.h"

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

namespace {

/// Reads `offsets` or `id_offsets`; `most` is the number of rows or bytes.
Result<std::vector<std::int64_t>> read_offsets(const SafetensorsFile& file, const char* tensor,
                                               std::int64_t most, const std::string& name) {
  const auto view = file.tensor(tensor);
  if (!view) return tl::unexpected(view.error());
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(view->shape.front()));
  std::memcpy(offsets.data(), view->bytes.data(), view->bytes.size());
  if (offsets.front() != 0 || offsets.back() != most || !std::ranges::is_sorted(offsets)) {
    return fail("{}: its {} do not ascend from 0 to its {} {}; is the file damaged?", name, tensor,
                most, std::string_view(tensor) == "offsets" ? "rows" : "bytes of ids");
  }
  return offsets;
}

/// Reads the scale of each row, for int8.
Result<std::span<const float>> read_scales(const SafetensorsFile& file, VectorFormat format,
                                           std::int64_t rows) {
  if (format != VectorFormat::int8) return std::span<const float>();
  const std::array<std::int64_t, 1> shape{rows};
  return file.floats("scales", shape);
}

/// Ids are unique and fit into a line.
Status check_ids(const DocumentCache& cache, const std::string& name) {
  for (std::int64_t document = 0; document < cache.documents(); ++document) {
    const std::string_view id = cache.id(document);
    if (id.empty() || has_control_character(id)) {
      return fail("{}: the id of its document {} {}; encode the documents again", name,
                  document + 1, id.empty() ? "is empty" : "has a control character");
    }
  }
  if (const auto duplicate = DocumentNumbers(cache).first_duplicate()) {
    return fail("{}: two of its documents have the id '{}'; encode the documents again", name,
                in_a_sentence(cache.id(*duplicate)));
  }
  return {};
}

float value_at(std::span<const std::byte> rows, VectorFormat format, std::int64_t index) {
  if (format == VectorFormat::float32) return read_value(rows.data(), DType::float32, index);
  return read_value(rows.data(), format == VectorFormat::float16 ? DType::float16 : DType::bfloat16,
                    index);
}

/// Numbers whose exponent bits are all ones are infinite or NaN.
template <typename Bits>
bool all_finite(const std::byte* numbers, std::int64_t count, Bits exponent) {
  const auto* bits = reinterpret_cast<const Bits*>(numbers);
  Bits largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, static_cast<Bits>(bits[i] & exponent));
  return largest != exponent;
}

/// The relative error of a row: the Euclidean norm of the difference over that of the row.
class RelativeError {
 public:
  void add(double before, double after) {
    difference_ += (before - after) * (before - after);
    length_ += before * before;
  }
  [[nodiscard]] double value() const {
    if (difference_ == 0) return 0;
    return std::sqrt(difference_ / length_);
  }

 private:
  double difference_ = 0, length_ = 0;
};

}  // namespace

DocumentCache::DocumentCache(Maker maker, std::int64_t width, std::vector<std::int64_t> offsets,
                             std::vector<std::byte> rows)
    : maker_(std::move(maker)),
      width_(width),
      format_(format_of(maker_.dtype)),
      offsets_(std::move(offsets)),
      rows_(rows),
      own_(std::move(rows)) {}

Result<DocumentCache> DocumentCache::open(const std::filesystem::path& path) {
  auto file = SafetensorsFile::open(path);
  if (!file) return tl::unexpected(file.error());
  const std::string name = path.string();
  const auto contents = cache_file::read_contents(*file, name);
  if (!contents) return tl::unexpected(contents.error());
  const auto state = cache_file::read_state(*file, *contents, name);
  if (!state) return tl::unexpected(state.error());
  if (state->encoded < contents->documents) {
    return fail(
        "{}: only {} of its {} documents are encoded; repeat the command that started it to encode "
        "the others",
        name, state->encoded, contents->documents);
  }
  const auto scales = read_scales(*file, contents->format, contents->rows);
  if (!scales) return tl::unexpected(scales.error());
  auto offsets = read_offsets(*file, "offsets", contents->rows, name);
  if (!offsets) return tl::unexpected(offsets.error());
  DocumentCache cache;
  if (contents->id_bytes) {
    auto id_offsets = read_offsets(*file, "id_offsets", *contents->id_bytes, name);
    if (!id_offsets) return tl::unexpected(id_offsets.error());
    cache.id_offsets_ = std::move(*id_offsets);
    // Copies the ids, so that reading ids does not access the file, which may be truncated in the
    // meantime.
    const std::span<const std::byte> ids = file->tensor("ids")->bytes;
    cache.own_.assign(ids.begin(), ids.end());
    cache.ids_ = {reinterpret_cast<const char*>(cache.own_.data()), cache.own_.size()};
  }
  cache.maker_ = contents->maker;
  cache.source_ = contents->source;
  cache.kept_ = state->kept;
  cache.width_ = contents->width;
  cache.offsets_ = std::move(*offsets);
  cache.rows_ = file->tensor("rows")->bytes;
  cache.scales_ = *scales;
  cache.format_ = contents->format;
  if (contents->format != format_of(contents->maker.dtype)) cache.error_ = state->errors;
  cache.file_ = std::make_shared<const SafetensorsFile>(std::move(*file));
  if (cache.has_ids()) {
    if (Status named = check_ids(cache, name); !named) return tl::unexpected(named.error());
  }
  return cache;
}

Result<DocumentCache> DocumentCache::open(const std::filesystem::path& path, const Maker& maker) {
  auto cache = open(path);
  if (!cache) return cache;
  if (const std::string other = difference(cache->maker(), maker); !other.empty()) {
    return fail("{}: its documents were {}; encode them again", path.string(), other);
  }
  return cache;
}

std::uint64_t DocumentCache::sum_of_all() const {
  RunningSum sum;
  for (std::int64_t document = 0; document < documents(); ++document)
    add_to_sum(sum, document, has_ids() ? id(document) : "");
  return sum.value();
}

Status DocumentCache::check_sum() const {
  if (file_ == nullptr || sum_of_all() == kept_) return {};
  return fail(
      "the cache is damaged: its checksum differs from the one that was written; encode "
      "its documents again");
}

Status DocumentCache::write(const std::filesystem::path& path) const {
  const CacheContents contents{.maker = maker_,
                               .format = format_,
                               .width = width_,
                               .documents = documents(),
                               .rows = offsets_.back()};
  const cache_file::State state{
      .encoded = documents(), .errors = error_.value_or(RowError{}), .kept = sum_of_all()};
  auto file = WrittenFile::next_to(path, Readers::owner_only, Packing::never);
  if (!file) return tl::unexpected(file.error());
  file->write(cache_file::header(contents));
  file->write(std::as_bytes(std::span(&state, 1)));
  file->write(std::as_bytes(std::span(offsets_)));
  file->write(std::as_bytes(scales_));
  file->write(rows_);
  return file->commit();
}

DocumentCache DocumentCache::in_memory() const {
  DocumentCache copy;
  copy.maker_ = maker_;
  copy.width_ = width_;
  copy.format_ = format_;
  copy.error_ = error_;
  copy.offsets_ = offsets_;
  copy.own_.assign(rows_.begin(), rows_.end());
  copy.own_scales_.assign(scales_.begin(), scales_.end());
  copy.rows_ = copy.own_;
  copy.scales_ = copy.own_scales_;
  return copy;
}

Result<DocumentCache> DocumentCache::narrowed(VectorFormat format) const {
  if (format_ != format_of(maker_.dtype) || format == format_) {
    return fail("documents stored in {} do not take less space in {}", name_of(format_),
                name_of(format));
  }
  if (Status may = may_be_kept_in(format, maker_.dtype); !may) return tl::unexpected(may.error());
  DocumentCache smaller;
  smaller.maker_ = maker_;
  smaller.width_ = width_;
  smaller.offsets_ = offsets_;
  smaller.format_ = format;
  smaller.own_.resize(static_cast<std::size_t>(offsets_.back() * width_ * size_of(format)));
  RowError reported;
  for (std::int64_t row = 0; row < offsets_.back(); ++row) {
    const auto error = format == VectorFormat::int8 ? smaller.append_int8(*this, row)
                                                    : smaller.append_float16(*this, row);
    if (!error) return tl::unexpected(error.error());
    reported.largest = std::isnan(*error) ? *error : std::max(reported.largest, *error);
    reported.mean += *error / static_cast<double>(offsets_.back());
  }
  smaller.error_ = reported;
  smaller.rows_ = smaller.own_;
  smaller.scales_ = smaller.own_scales_;
  return smaller;
}

Result<double> DocumentCache::append_float16(const DocumentCache& from, std::int64_t row) {
  RelativeError error;
  for (std::int64_t i = row * width_; i < (row + 1) * width_; ++i) {
    const float value = value_at(from.rows_, from.format_, i);
    write_value(own_.data(), DType::float16, i, value);
    const float kept = read_value(own_.data(), DType::float16, i);
    if (std::isinf(kept) && std::isfinite(value)) {
      return fail("float16 has no number as large as {}; store these documents in {}", value,
                  name_of(from.format_));
    }
    error.add(value, kept);
  }
  return error.value();
}

Result<double> DocumentCache::append_int8(const DocumentCache& from, std::int64_t row) {
  constexpr float most = 127;
  float largest = 0;
  bool is_finite = true;
  for (std::int64_t i = row * width_; i < (row + 1) * width_; ++i) {
    const float value = value_at(from.rows_, from.format_, i);
    is_finite = is_finite && std::isfinite(value);
    largest = std::max(largest, std::abs(value));
  }
  // A row with non-finite numbers stays invalid: its scale is NaN.
  const float scale = is_finite ? largest / most : std::numeric_limits<float>::quiet_NaN();
  own_scales_.push_back(scale);
  RelativeError error;
  for (std::int64_t i = row * width_; i < (row + 1) * width_; ++i) {
    const float value = value_at(from.rows_, from.format_, i);
    const float whole = scale > 0 ? std::clamp(std::nearbyint(value / scale), -most, most) : 0;
    own_[static_cast<std::size_t>(i)] = static_cast<std::byte>(static_cast<std::int8_t>(whole));
    error.add(value, whole * scale);
  }
  return error.value();
}

Status DocumentCache::fits(const Maker& maker) const {
  const std::string other = difference(maker_, maker);
  if (other.empty()) return {};
  return fail("the documents were {}; encode them again", other);
}

bool DocumentCache::has_finite_rows(std::int64_t document) const {
  const TokenRange rows = range_of(document);
  const auto* bytes = this->document(document).data();
  const std::int64_t numbers = rows.size() * width_;
  switch (format_) {
    case VectorFormat::float32:
      return all_finite<std::uint32_t>(bytes, numbers, 0x7F800000U);
    case VectorFormat::float16:
      return all_finite<std::uint16_t>(bytes, numbers, 0x7C00U);
    case VectorFormat::bfloat16:
      return all_finite<std::uint16_t>(bytes, numbers, 0x7F80U);
    case VectorFormat::int8:
      break;
  }
  return all_finite<std::uint32_t>(reinterpret_cast<const std::byte*>(scales_.data() + rows.begin),
                                   rows.size(), 0x7F800000U);
}

std::optional<std::int64_t> DocumentCache::first_not_finite() const {
  for (std::int64_t document = 0; document < documents(); ++document) {
    if (!has_finite_rows(document)) return document;
  }
  return std::nullopt;
}

std::string_view DocumentCache::id(std::int64_t document) const {
  const auto at = static_cast<std::size_t>(document);
  const auto begin = static_cast<std::size_t>(id_offsets_[at]);
  const auto end = static_cast<std::size_t>(id_offsets_[at + 1]);
  return {ids_.data() + begin, end - begin};
}

TokenRange DocumentCache::range_of(std::int64_t document) const {
  const auto at = static_cast<std::size_t>(document);
  return {offsets_[at], offsets_[at + 1]};
}

std::int64_t DocumentCache::rows_of(std::int64_t document) const {
  return range_of(document).size();
}

std::span<const std::byte> DocumentCache::document(std::int64_t document) const {
  const std::int64_t row_bytes = width_ * size_of(format_);
  const TokenRange range = range_of(document);
  return rows_.subspan(static_cast<std::size_t>(range.begin * row_bytes),
                       static_cast<std::size_t>(range.size() * row_bytes));
}

void DocumentCache::add_to_sum(RunningSum& sum, std::int64_t document, std::string_view id) const {
  const TokenRange range = range_of(document);
  sum.add(this->document(document));
  sum.add(scales_.empty() ? std::span<const std::byte>()
                          : std::as_bytes(scales_.subspan(static_cast<std::size_t>(range.begin),
                                                          static_cast<std::size_t>(range.size()))));
  sum.add(id);
}

cpu::VectorRows DocumentCache::vectors() const {
  return {.data = rows_.data(),
          .format = format_,
          .width = width_,
          .rows = offsets_.back(),
          .scales = scales_.empty() ? nullptr : scales_.data()};
}

DocumentNumbers::DocumentNumbers(const DocumentCache& cache) : cache_(&cache) {
  entries_.reserve(static_cast<std::size_t>(cache.documents()));
  for (std::int64_t number = 0; number < cache.documents(); ++number)
    entries_.push_back({std::hash<std::string_view>{}(cache.id(number)), number});
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.number < b.number;
  });
}

std::optional<std::int64_t> DocumentNumbers::find(std::string_view id) const {
  const std::size_t hash = std::hash<std::string_view>{}(id);
  for (auto entry = std::ranges::lower_bound(entries_, hash, {}, &Entry::hash);
       entry != entries_.end() && entry->hash == hash; ++entry) {
    if (cache_->id(entry->number) == id) return entry->number;
  }
  return std::nullopt;
}

std::optional<std::int64_t> DocumentNumbers::first_duplicate() const {
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    const Entry& before = entries_[i - 1];
    const bool is_same_hash = before.hash == entries_[i].hash;
    if (is_same_hash && cache_->id(before.number) == cache_->id(entries_[i].number))
      return before.number;
  }
  return std::nullopt;
}

}  // namespace attnscope
