#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The file of a document cache, whose size is known before the first document is encoded: a
// safetensors file whose metadata record the model, the source and the encoding, with the tensors
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
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/pattern/axes.h"
#include "engine/safetensors/safetensors.h"
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

}  // namespace attnscope
