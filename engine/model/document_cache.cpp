// SPDX-License-Identifier: Apache-2.0
#include "engine/model/document_cache.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

constexpr const char* version = "1";
constexpr const char* version_key = "attnscope_documents";

std::string_view name_in_file(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "F32";
    case DType::float16:
      return "F16";
    case DType::bfloat16:
      break;
  }
  return "BF16";
}

std::string in_words(std::uint64_t weights) {
  return fmt::format("{:016x}", weights);
}

/// `file` is empty for one in memory.
Status made_by(const std::string& file, std::string_view family, std::string_view weights,
               std::string_view dtype, const DocumentCache::Maker& wanted) {
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
  return made_by(name, text("family"), text("weights"), text("dtype"), wanted);
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

}  // namespace

DocumentCache::DocumentCache(Maker maker, std::int64_t width, std::vector<std::int64_t> offsets,
                             std::vector<std::byte> rows)
    : maker_(std::move(maker)),
      width_(width),
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
  const auto address = reinterpret_cast<std::uintptr_t>(rows->bytes.data());
  if (rows->dtype != name_in_file(maker.dtype) || rows->shape.size() != 2 ||
      address % static_cast<std::uintptr_t>(size_of(maker.dtype)) != 0) {
    return fail("{}: 'rows' is no aligned matrix of {}; is the file damaged?", name,
                name_of(maker.dtype));
  }
  const auto view = file->tensor("offsets");
  if (!view) return tl::unexpected(view.error());
  auto offsets = read_offsets(*view, rows->shape.front(), name);
  if (!offsets) return tl::unexpected(offsets.error());
  DocumentCache cache;
  cache.maker_ = maker;
  cache.width_ = rows->shape.back();
  cache.offsets_ = std::move(*offsets);
  cache.rows_ = rows->bytes;
  cache.file_ = std::make_shared<const SafetensorsFile>(std::move(*file));
  return cache;
}

Status DocumentCache::write(const std::filesystem::path& path) const {
  const std::vector<NamedView> tensors{
      {"offsets", {"I64", {documents() + 1}, std::as_bytes(std::span(offsets_))}},
      {"rows", {std::string(name_in_file(maker_.dtype)), {offsets_.back(), width_}, rows_}}};
  return write_safetensors(path, tensors,
                           {{version_key, version},
                            {"family", maker_.family},
                            {"weights", in_words(maker_.weights)},
                            {"dtype", std::string(name_of(maker_.dtype))}});
}

Status DocumentCache::fits(const Maker& maker) const {
  return made_by("", maker_.family, in_words(maker_.weights), name_of(maker_.dtype), maker);
}

std::int64_t DocumentCache::rows_of(std::int64_t document) const {
  const auto at = static_cast<std::size_t>(document);
  return offsets_[at + 1] - offsets_[at];
}

std::span<const std::byte> DocumentCache::document(std::int64_t document) const {
  const std::int64_t row_bytes = width_ * size_of(maker_.dtype);
  return rows_.subspan(
      static_cast<std::size_t>(offsets_[static_cast<std::size_t>(document)] * row_bytes),
      static_cast<std::size_t>(rows_of(document) * row_bytes));
}

}  // namespace attnscope
