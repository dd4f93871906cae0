// SPDX-License-Identifier: Apache-2.0
#include "engine/model/document_cache.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/base/number_formats.h"
#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

constexpr const char* version = "1";
constexpr const char* version_key = "attnscope_documents";

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

VectorFormat format_of(DType dtype) {
  if (dtype == DType::float32) return VectorFormat::float32;
  return dtype == DType::float16 ? VectorFormat::float16 : VectorFormat::bfloat16;
}

std::string in_words(std::uint64_t weights) {
  return fmt::format("{:016x}", weights);
}

/// `file` is empty for one in memory.
Status made_by(const std::string& file, std::string_view family, std::string_view weights,
               std::string_view dtype, std::string_view encoding,
               const DocumentCache::Maker& wanted) {
  const std::string documents = file.empty() ? "the documents were" : file + ": its documents were";
  if (family != wanted.family) {
    return fail(
        "{} encoded by a model of the family '{}', and this one is of '{}'; encode them again",
        documents, in_a_sentence(family), wanted.family);
  }
  if (weights != in_words(wanted.weights)) {
    return fail("{} encoded with other weights ({}; the model's are {}); encode them again",
                documents, in_a_sentence(weights), in_words(wanted.weights));
  }
  if (dtype != name_of(wanted.dtype)) {
    return fail("{} encoded in {}, and the model computes in {}; encode them again", documents,
                in_a_sentence(dtype), name_of(wanted.dtype));
  }
  if (encoding != wanted.encoding) {
    return fail("{} encoded as '{}', and the model encodes them as '{}'; encode them again",
                documents, in_a_sentence(encoding), wanted.encoding);
  }
  return {};
}

Status check_maker(const SafetensorsFile& file, const std::string& name,
                   const DocumentCache::Maker& wanted) {
  const auto text = [&](const char* key) {
    const auto found = file.metadata(key);
    return found ? *found : std::string_view();
  };
  if (text(version_key) != version) {
    return fail("{}: holds no encoded documents of this version ('{}' is not {})", name,
                version_key, version);
  }
  return made_by(name, text("family"), text("weights"), text("dtype"), text("encoding"), wanted);
}

Result<std::vector<std::int64_t>> read_offsets(const TensorView& view, std::int64_t rows,
                                               const std::string& name) {
  if (view.dtype != "I64" || view.shape.size() != 1 || view.shape.front() < 1) {
    return fail("{}: 'offsets' is no list of whole numbers (I64)", name);
  }
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(view.shape.front()));
  std::memcpy(offsets.data(), view.bytes.data(), view.bytes.size());
  if (offsets.front() != 0 || offsets.back() != rows || !std::ranges::is_sorted(offsets)) {
    return fail("{}: its offsets do not ascend from 0 to its {} rows; is the file damaged?", name,
                rows);
  }
  return offsets;
}

/// A number of the file's own words; not a number where it is none.
double number_in(const SafetensorsFile& file, const char* key) {
  const auto text = file.metadata(key);
  double value = std::numeric_limits<double>::quiet_NaN();
  if (text) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

/// The model's own where the file says nothing.
Result<VectorFormat> read_format(const SafetensorsFile& file, const std::string& name,
                                 DType dtype) {
  const auto said = file.metadata("format");
  if (!said) return format_of(dtype);
  const auto format = parse_vector_format(*said);
  if (!format) return fail("{}: the format of its rows {}", name, format.error().message);
  if (*format == format_of(dtype) || *format == VectorFormat::float16 ||
      *format == VectorFormat::int8) {
    return *format;
  }
  return fail("{}: its rows are in {}, and its model computes in {}; is the file damaged?", name,
              *said, name_of(dtype));
}

/// Of int8, a scale for each row.
Result<std::span<const float>> read_scales(const SafetensorsFile& file, VectorFormat format,
                                           std::int64_t rows) {
  if (format != VectorFormat::int8) return std::span<const float>();
  const std::array<std::int64_t, 1> shape{rows};
  return file.floats("scales", shape);
}

float value_at(std::span<const std::byte> rows, VectorFormat format, std::int64_t index) {
  if (format == VectorFormat::float32) return read_value(rows.data(), DType::float32, index);
  return read_value(rows.data(), format == VectorFormat::float16 ? DType::float16 : DType::bfloat16,
                    index);
}

/// Of a row before and after: the Euclidean length of the difference over that of the row.
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

std::string_view name_of(VectorFormat format) {
  return names_of(format).name;
}

Result<VectorFormat> parse_vector_format(std::string_view text) {
  std::vector<std::string_view> known;
  for (const FormatNames& one : formats) {
    if (one.name == text) return one.format;
    known.push_back(one.name);
  }
  return fail("is '{}'; {}", in_a_sentence(text), suggest(in_a_sentence(text), known));
}

DocumentCache::DocumentCache(Maker maker, std::int64_t width, std::vector<std::int64_t> offsets,
                             std::vector<std::byte> rows)
    : maker_(std::move(maker)),
      width_(width),
      format_(format_of(maker_.dtype)),
      offsets_(std::move(offsets)),
      rows_(rows),
      own_(std::move(rows)) {}

Result<DocumentCache> DocumentCache::open(const std::filesystem::path& path, const Maker& maker) {
  auto file = SafetensorsFile::open(path);
  if (!file) return tl::unexpected(file.error());
  const std::string name = path.string();
  if (Status made = check_maker(*file, name, maker); !made) return tl::unexpected(made.error());
  const auto rows = file->tensor("rows");
  if (!rows) return tl::unexpected(rows.error());
  const auto format = read_format(*file, name, maker.dtype);
  if (!format) return tl::unexpected(format.error());
  const auto address = reinterpret_cast<std::uintptr_t>(rows->bytes.data());
  if (rows->dtype != names_of(*format).in_file || rows->shape.size() != 2 ||
      address % static_cast<std::uintptr_t>(size_of(*format)) != 0) {
    return fail("{}: 'rows' is no aligned matrix of {}; is the file damaged?", name,
                name_of(*format));
  }
  const auto scales = read_scales(*file, *format, rows->shape.front());
  if (!scales) return tl::unexpected(scales.error());
  const auto view = file->tensor("offsets");
  if (!view) return tl::unexpected(view.error());
  auto offsets = read_offsets(*view, rows->shape.front(), name);
  if (!offsets) return tl::unexpected(offsets.error());
  DocumentCache cache;
  cache.maker_ = maker;
  cache.width_ = rows->shape.back();
  cache.offsets_ = std::move(*offsets);
  cache.rows_ = rows->bytes;
  cache.scales_ = *scales;
  cache.format_ = *format;
  if (*format != format_of(maker.dtype)) {
    cache.error_ = {.largest = number_in(*file, "largest_relative_error"),
                    .mean = number_in(*file, "mean_relative_error")};
  }
  cache.file_ = std::make_shared<const SafetensorsFile>(std::move(*file));
  return cache;
}

Status DocumentCache::write(const std::filesystem::path& path) const {
  std::vector<NamedView> tensors{
      {"offsets", {"I64", {documents() + 1}, std::as_bytes(std::span(offsets_))}},
      {"rows", {std::string(names_of(format_).in_file), {offsets_.back(), width_}, rows_}}};
  // In front of rows of single bytes, so that it is aligned.
  if (format_ == VectorFormat::int8) {
    tensors.insert(tensors.begin() + 1,
                   {"scales", {"F32", {offsets_.back()}, std::as_bytes(scales_)}});
  }
  std::map<std::string, std::string> words{{version_key, version},
                                           {"family", maker_.family},
                                           {"weights", in_words(maker_.weights)},
                                           {"dtype", std::string(name_of(maker_.dtype))},
                                           {"encoding", maker_.encoding},
                                           {"format", std::string(name_of(format_))}};
  if (error_) {
    words["largest_relative_error"] = fmt::format("{}", error_->largest);
    words["mean_relative_error"] = fmt::format("{}", error_->mean);
  }
  return write_safetensors(path, tensors, words);
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
  if (format != VectorFormat::float16 && format != VectorFormat::int8) {
    return fail("documents are kept smaller in float16 or int8, not in {}", name_of(format));
  }
  if (format_ != format_of(maker_.dtype) || size_of(format) >= size_of(format_)) {
    return fail("documents kept in {} do not become smaller in {}", name_of(format_),
                name_of(format));
  }
  DocumentCache smaller;
  smaller.maker_ = maker_;
  smaller.width_ = width_;
  smaller.offsets_ = offsets_;
  smaller.format_ = format;
  smaller.own_.resize(static_cast<std::size_t>(offsets_.back() * width_ * size_of(format)));
  RowError told;
  for (std::int64_t row = 0; row < offsets_.back(); ++row) {
    const auto error = format == VectorFormat::int8 ? smaller.keep_as_int8(*this, row)
                                                    : smaller.keep_as_float16(*this, row);
    if (!error) return tl::unexpected(error.error());
    told.largest = std::isnan(*error) ? *error : std::max(told.largest, *error);
    told.mean += *error / static_cast<double>(offsets_.back());
  }
  smaller.error_ = told;
  smaller.rows_ = smaller.own_;
  smaller.scales_ = smaller.own_scales_;
  return smaller;
}

Result<double> DocumentCache::keep_as_float16(const DocumentCache& from, std::int64_t row) {
  RelativeError error;
  for (std::int64_t i = row * width_; i < (row + 1) * width_; ++i) {
    const float value = value_at(from.rows_, from.format_, i);
    write_value(own_.data(), DType::float16, i, value);
    const float kept = read_value(own_.data(), DType::float16, i);
    if (std::isinf(kept) && std::isfinite(value)) {
      return fail("float16 has no number as large as {}; keep these documents in {}", value,
                  name_of(from.format_));
    }
    error.add(value, kept);
  }
  return error.value();
}

Result<double> DocumentCache::keep_as_int8(const DocumentCache& from, std::int64_t row) {
  constexpr float most = 127;
  float largest = 0;
  bool is_finite = true;
  for (std::int64_t i = row * width_; i < (row + 1) * width_; ++i) {
    const float value = value_at(from.rows_, from.format_, i);
    is_finite = is_finite && std::isfinite(value);
    largest = std::max(largest, std::abs(value));
  }
  // A row that is not of numbers stays none: its scale is not a number.
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
  return made_by("", maker_.family, in_words(maker_.weights), name_of(maker_.dtype),
                 maker_.encoding, maker);
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

cpu::VectorRows DocumentCache::vectors() const {
  return {.data = rows_.data(),
          .format = format_,
          .width = width_,
          .rows = offsets_.back(),
          .scales = scales_.empty() ? nullptr : scales_.data()};
}

}  // namespace attnscope
