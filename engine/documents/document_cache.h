#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Documents encoded before any query is known: some rows of numbers per document, whose meaning
// depends on the model family (one vector, one for each token, keys and values of every layer). The
// cache is in memory, or mapped from a file that records the model that made it. A cache larger
// than memory is written by a DocumentCacheWriter.
//
//   Result<DocumentCache> cache = model->encode_documents(documents, cls);
//   Result<DocumentCache> smaller = cache->narrowed(VectorFormat::int8);
//   smaller->write("documents.safetensors");
//   auto mapped = DocumentCache::open("documents.safetensors", cache->maker());
//
// The file, whose size is known before the first document is encoded, is a safetensors file whose
// metadata record the model, the source and the encoding, with the tensors
//
//   encoded     I64 [1]              documents encoded; fewer than all while it is being written
//   errors      F64 [2]              relative error of rows in a smaller format: largest, mean
//   sums        I64 [2]              of the encoded documents: the fingerprint of their ids
//                                    and tokens so far, and a checksum of their stored data
//   offsets     I64 [documents + 1]  a document's first row, and the end of the last one's
//   id_offsets  I64 [documents + 1]  likewise for its id's bytes; if documents have ids
//   scales      F32 [rows]           for int8
//   rows            [rows, width]    in float32, float16, bfloat16 or int8
//   ids         U8  [id bytes]
//
// The data begin at a multiple of 64 bytes, so that `encoded`, `errors` and `sums` are in one page
// and are updated together.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fingerprint.h"
#include "base/result.h"
#include "engine/pattern/axes.h"
#include "engine/safetensors/safetensors.h"
#include "kernels/cpu/document_vectors.h"
#include "kernels/plan/tensor.h"

namespace attnscope {

/// "float32", "float16", "bfloat16", "int8".
[[nodiscard]] std::string_view name_of(VectorFormat format);
[[nodiscard]] Result<VectorFormat> parse_vector_format(std::string_view text);
/// The format of rows computed in `dtype`.
[[nodiscard]] VectorFormat format_of(DType dtype);
/// Ok, or why rows computed in `dtype` cannot be stored in `format`: apart from the same format,
/// only a smaller float16 or int8 is allowed.
[[nodiscard]] Status may_be_kept_in(VectorFormat format, DType dtype);

/// The model that encoded the documents; they are valid for no other.
struct CacheMaker {
  std::string family;
  std::uint64_t weights = 0;  // fingerprint
  DType dtype = DType::float32;
  std::string encoding{};  // other settings that affect the rows: pattern, window, layers
  friend bool operator==(const CacheMaker&, const CacheMaker&) = default;
};
/// Empty if both are equal; else how `theirs` differs: "encoded with other weights (...)".
[[nodiscard]] std::string difference(const CacheMaker& theirs, const CacheMaker& ours);

/// The reason in both error messages for a different tokenizer.
inline constexpr const char* of_another_tokenizer =
    "tokenized by another tokenizer than the checkpoint has now";

/// The loss of a smaller format: the relative error (Euclidean) of rows, maximum and mean.
struct CacheRowError {
  double largest = 0, mean = 0;
  friend bool operator==(const CacheRowError&, const CacheRowError&) = default;
};

/// The source of the encoded documents. Zeros and an empty name: no file.
struct CacheSource {
  std::string file;  // file name, for messages
  /// The limit that documents were truncated to, including [CLS] and [SEP] if they have them. 0:
  /// not truncated.
  std::int64_t most_tokens = 0;
  std::uint64_t fingerprint = 0;  // of all ids and tokens
  std::uint64_t tokenizer = 0;    // fingerprint of the tokenizer of their texts
  friend bool operator==(const CacheSource&, const CacheSource&) = default;
};

/// "truncated to 512 tokens", "not truncated".
[[nodiscard]] std::string cut_in_words(const CacheSource& source);

struct CacheContents {
  CacheMaker maker;
  VectorFormat format = VectorFormat::float32;
  std::int64_t width = 0, documents = 0, rows = 0;
  std::optional<std::int64_t> id_bytes{};  // empty: documents have no ids
  CacheSource source{};
  friend bool operator==(const CacheContents&, const CacheContents&) = default;
};
/// How `theirs` differs: "stored in float32, but int8 is requested".
[[nodiscard]] std::string difference(const CacheContents& theirs, const CacheContents& ours);

namespace cache_file {

inline constexpr const char* version_key = "attnscope_documents";

/// The part that changes while the file is written: its first 40 bytes of data.
struct State {
  std::int64_t encoded = 0;
  CacheRowError errors{};
  std::uint64_t documents = 0;  // like CacheSource::fingerprint, of the encoded ones
  std::uint64_t kept = 0;       // a RunningSum
};
static_assert(sizeof(State) == 40);

/// All bytes before the data.
[[nodiscard]] std::string header(const CacheContents& contents);

/// The offset of a tensor's bytes in the file, and their number.
struct Part {
  std::int64_t begin = 0, size = 0;
};
struct Parts {
  Part state, offsets, id_offsets, scales, rows, ids;
  std::int64_t end = 0;  // the file's size
};
[[nodiscard]] Parts parts(const CacheContents& contents);

/// Errors: a file of another kind or version, metadata that contradict each other or the tensors.
[[nodiscard]] Result<CacheContents> read_contents(const SafetensorsFile& file,
                                                  const std::string& name);
/// Errors: more encoded documents than the contents have, or a negative number.
[[nodiscard]] Result<State> read_state(const SafetensorsFile& file, const CacheContents& contents,
                                       const std::string& name);

}  // namespace cache_file

class DocumentCache {
 public:
  using Maker = CacheMaker;
  using RowError = CacheRowError;

  /// `offsets` [documents + 1], ascending from 0: document i has the rows offsets[i] to offsets[i +
  /// 1]. `rows` contains all rows, with `width` numbers of the maker's dtype each.
  DocumentCache(Maker maker, std::int64_t width, std::vector<std::int64_t> offsets,
                std::vector<std::byte> rows);
  DocumentCache(DocumentCache&&) noexcept = default;
  DocumentCache& operator=(DocumentCache&&) noexcept = default;
  ~DocumentCache() = default;

  /// Maps the file and checks its offsets and ids. Errors: no such file, an incomplete file,
  /// offsets that contradict each other, ids that are empty, duplicate or invalid.
  [[nodiscard]] static Result<DocumentCache> open(const std::filesystem::path& path);
  /// Like above, for documents encoded by `maker`: an error if they were encoded by another one.
  [[nodiscard]] static Result<DocumentCache> open(const std::filesystem::path& path,
                                                  const Maker& maker);
  /// Reads all of a mapped file: an error if its checksum differs from the stored one.
  [[nodiscard]] Status check_sum() const;
  /// Writes the cache without ids, which only a mapped cache has.
  [[nodiscard]] Status write(const std::filesystem::path& path) const;
  /// A copy with its own rows, read from the file if they are mapped.
  [[nodiscard]] DocumentCache in_memory() const;
  /// The same documents in float16, or in int8 with a scale per row (its largest magnitude becomes
  /// 127), rounded to nearest. Errors: rows that are already in a smaller format, a number outside
  /// float16's range.
  [[nodiscard]] Result<DocumentCache> narrowed(VectorFormat format) const;

  [[nodiscard]] const Maker& maker() const { return maker_; }
  /// Ok, or which model encoded the documents instead.
  [[nodiscard]] Status fits(const Maker& maker) const;
  [[nodiscard]] std::int64_t documents() const {
    return static_cast<std::int64_t>(offsets_.size()) - 1;
  }
  [[nodiscard]] std::int64_t width() const { return width_; }
  /// The source recorded in the file that it was opened from.
  [[nodiscard]] const CacheSource& source() const { return source_; }
  /// Whether all rows of the document are finite.
  [[nodiscard]] bool has_finite_rows(std::int64_t document) const;
  /// The first document with a row that is not finite.
  [[nodiscard]] std::optional<std::int64_t> first_not_finite() const;
  [[nodiscard]] std::int64_t rows_of(std::int64_t document) const;
  /// The range of the document's rows in all rows.
  [[nodiscard]] TokenRange range_of(std::int64_t document) const;
  /// [rows_of(document), width], aligned for its format.
  [[nodiscard]] std::span<const std::byte> document(std::int64_t document) const;
  /// Adds the document to a sum like cache_file::State::kept, which covers documents in order.
  void add_to_sum(RunningSum& sum, std::int64_t document, std::string_view id) const;
  [[nodiscard]] bool has_ids() const { return !id_offsets_.empty(); }
  /// Precondition: has_ids(). Valid as long as the cache.
  [[nodiscard]] std::string_view id(std::int64_t document) const;
  [[nodiscard]] VectorFormat format() const { return format_; }
  /// All rows in the kernels' form, valid as long as the cache.
  [[nodiscard]] cpu::VectorRows vectors() const;
  /// The error of a format smaller than the model's.
  [[nodiscard]] const std::optional<RowError>& error() const { return error_; }
  /// The size of all rows with their scales: the storage that the offline stage needs.
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(rows_.size() + scales_.size_bytes());
  }

 private:
  DocumentCache() = default;
  [[nodiscard]] std::uint64_t sum_of_all() const;
  /// Converts one row of another cache and returns its relative error.
  [[nodiscard]] Result<double> append_float16(const DocumentCache& from, std::int64_t row);
  [[nodiscard]] Result<double> append_int8(const DocumentCache& from, std::int64_t row);
  Maker maker_;
  CacheSource source_;
  std::uint64_t kept_ = 0;  // checksum in the file
  std::int64_t width_ = 0;
  VectorFormat format_ = VectorFormat::float32;
  std::optional<RowError> error_;
  std::vector<std::int64_t> offsets_, id_offsets_;
  // Views of the file or of own_, whose addresses stay valid when the cache is moved.
  std::span<const std::byte> rows_;
  std::span<const float> scales_;
  std::span<const char> ids_;
  std::vector<std::byte> own_;
  std::vector<float> own_scales_;
  std::shared_ptr<const SafetensorsFile> file_;
};

/// Maps the ids of a cache's documents to their numbers, with 16 bytes per document.
///
///   const DocumentNumbers numbers(cache);   // a cache with ids
///   std::optional<std::int64_t> number = numbers.find("D1021");
class DocumentNumbers {
 public:
  /// The cache must outlive this object.
  explicit DocumentNumbers(const DocumentCache& cache);
  /// The first document with this id.
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view id) const;
  /// A document whose id occurs more than once.
  [[nodiscard]] std::optional<std::int64_t> first_duplicate() const;

 private:
  struct Entry {
    std::size_t hash = 0;
    std::int64_t number = 0;
  };
  const DocumentCache* cache_;
  std::vector<Entry> entries_;  // ascending by hash, then number
};

}  // namespace attnscope
