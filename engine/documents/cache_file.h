#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The file of a document cache, which is known whole before the first document is encoded: a
// safetensors file whose metadata tell by whom, from what and how, with the tensors
//
//   encoded     I64 [1]              documents that are there; fewer than all while it is written
//   errors      F64 [2]              relative error of rows in a smaller format: largest, mean
//   sums        I64 [2]              of the documents that are there: the fingerprint of their ids
//                                    and tokens so far, and a checksum of what is kept of them
//   offsets     I64 [documents + 1]  a document's first row, and behind its last one
//   id_offsets  I64 [documents + 1]  the same of its id's bytes; where documents have ids
//   scales      F32 [rows]           of int8
//   rows            [rows, width]    of float32, float16, bfloat16 or int8
//   ids         U8  [id bytes]
//
// Its data begin at a multiple of 64 bytes, so that `encoded`, `errors` and `sums` lie in one page
// and become others together.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pattern/axes.h"
#include "engine/safetensors/header.h"
#include "engine/safetensors/safetensors.h"
#include "kernels/base/result.h"
#include "kernels/plan/vector_format.h"

namespace attnscope {

/// "float32", "float16", "bfloat16", "int8".
[[nodiscard]] std::string_view name_of(VectorFormat format);
[[nodiscard]] Result<VectorFormat> parse_vector_format(std::string_view text);
/// That of rows as they are computed in.
[[nodiscard]] VectorFormat format_of(DType dtype);
/// Ok, or why rows that are computed in `dtype` are not kept in it: only a smaller float16 or int8
/// is another one.
[[nodiscard]] Status may_be_kept_in(VectorFormat format, DType dtype);

/// By whom documents were encoded; for others they mean nothing.
struct CacheMaker {
  std::string family;
  std::uint64_t weights = 0;  // fingerprint
  DType dtype = DType::float32;
  std::string encoding{};  // what else decides of their rows: pattern, window, layers
  friend bool operator==(const CacheMaker&, const CacheMaker&) = default;
};
/// Nothing where both are the same; else "encoded with other weights (...)": how `theirs` differs.
[[nodiscard]] std::string difference(const CacheMaker& theirs, const CacheMaker& ours);

/// Instead of a model's tokenizer, in both sentences that refuse it.
inline constexpr const char* of_another_tokenizer =
    "cut into tokens by another tokenizer than the checkpoint has now";

/// What a smaller format lost: the relative error (Euclidean) of rows, the largest and the mean.
struct CacheRowError {
  double largest = 0, mean = 0;
  friend bool operator==(const CacheRowError&, const CacheRowError&) = default;
};

/// From what documents were encoded. Zeros and an empty name: from no file.
struct CacheSource {
  std::string file;  // its name, for people
  /// Of a document, with [CLS] and [SEP] where it has them: it was cut to so many. 0: to none.
  std::int64_t most_tokens = 0;
  std::uint64_t fingerprint = 0;  // of all ids and tokens
  std::uint64_t tokenizer = 0;    // fingerprint of that which cut their texts into tokens
  friend bool operator==(const CacheSource&, const CacheSource&) = default;
};

/// "cut to 512 tokens", "not cut".
[[nodiscard]] std::string cut_in_words(const CacheSource& source);

struct CacheContents {
  CacheMaker maker;
  VectorFormat format = VectorFormat::float32;
  std::int64_t width = 0, documents = 0, rows = 0;
  std::optional<std::int64_t> id_bytes{};  // absent: documents have no ids
  CacheSource source{};
  friend bool operator==(const CacheContents&, const CacheContents&) = default;
};
/// The same of contents: "kept in float32, and int8 is asked for".
[[nodiscard]] std::string difference(const CacheContents& theirs, const CacheContents& ours);

namespace cache_file {

inline constexpr const char* version_key = "attnscope_documents";

/// What changes while the file is written: its first 40 bytes of data.
struct State {
  std::int64_t encoded = 0;
  CacheRowError errors{};
  std::uint64_t documents = 0;  // their fingerprint, as CacheSource has it of all
  std::uint64_t kept = 0;       // a RunningSum
};
static_assert(sizeof(State) == 40);

/// All before the data.
[[nodiscard]] std::string header(const CacheContents& contents);

/// Where a tensor's bytes begin in the file, and how many they are.
struct Part {
  std::int64_t begin = 0, size = 0;
};
struct Parts {
  Part state, offsets, id_offsets, scales, rows, ids;
  std::int64_t end = 0;  // the file's size
};
[[nodiscard]] Parts parts(const CacheContents& contents);

/// Errors: a file of something else or of another version, words that contradict each other or the
/// tensors.
[[nodiscard]] Result<CacheContents> read_contents(const SafetensorsFile& file,
                                                  const std::string& name);
/// Errors: more documents than there are, none or fewer.
[[nodiscard]] Result<State> read_state(const SafetensorsFile& file, const CacheContents& contents,
                                       const std::string& name);

}  // namespace cache_file

}  // namespace attnscope
