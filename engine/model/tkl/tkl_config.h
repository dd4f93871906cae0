#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// TKL's chunks, and its parameters other than those of its layers (Hofstaetter et al., SIGIR 2020,
// Sec. 3; sizes from the authors' program).

#include <algorithm>
#include <cstdint>
#include <vector>

namespace attnscope {

inline constexpr std::int64_t chunk_words = 40, chunk_overlap = 5;

/// Number of chunks of a document of `words` words, at least one. `drops_tail`: as in the authors'
/// program, the last one to four words of a document of more than 40 words are in no chunk's
/// centre.
[[nodiscard]] constexpr std::int64_t chunks_of(std::int64_t words, bool drops_tail) {
  if (words <= chunk_overlap) return 1;
  if (drops_tail) return (words - chunk_overlap) / chunk_words + 1;
  return (words + chunk_words - 1) / chunk_words;
}

/// Number of words in some chunk's centre, which are kept.
[[nodiscard]] constexpr std::int64_t kept_words(std::int64_t words, bool drops_tail) {
  return std::min(words, chunks_of(words, drops_tail) * chunk_words);
}

/// The words that a chunk attends to.
struct ChunkWords {
  std::int64_t begin = 0, end = 0;
  std::int64_t first_position = 0;  // of `begin` within the chunk
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// No chunks for an empty document.
[[nodiscard]] inline std::vector<ChunkWords> chunks_in(std::int64_t words, bool drops_tail) {
  std::vector<ChunkWords> chunks;
  if (words == 0) return chunks;
  const std::int64_t count = chunks_of(words, drops_tail);
  chunks.reserve(static_cast<std::size_t>(count));
  for (std::int64_t c = 0; c < count; ++c) {
    const std::int64_t begin = std::max<std::int64_t>(c * chunk_words - chunk_overlap, 0);
    chunks.push_back({begin, std::min((c + 1) * chunk_words + chunk_overlap, words),
                      begin - c * chunk_words + chunk_overlap});
  }
  return chunks;
}

/// Saturation function for the kernel sums of a region.
enum class Saturation : std::uint8_t { embedding, idf, linear, log };

struct TklConfig {
  Saturation saturation = Saturation::embedding;
  /// Up to four words at the end of a long document are in no chunk, as in the authors' program.
  bool drops_tail = false;
  std::int64_t query_positions = 30;
  std::int64_t document_positions = 2050;  // only the first chunk_words + 2 overlap are used
};

namespace tkl_names {
inline constexpr const char* query_positions = "positional_features_q";  // [1, positions, hidden]
inline constexpr const char* document_positions = "positional_features_d";  // likewise
inline constexpr const char* mixer = "mixer";                               // [1]
inline constexpr const char* factor = "saturation_linear";                  // a: [1, 2], bias
inline constexpr const char* exponent = "saturation_linear2";               // 1 / b
inline constexpr const char* offset = "saturation_linear3";                 // c
inline constexpr const char* salience_norm = "sat_normer";                  // [2]
inline constexpr const char* salience = "sat_emb_reduce1.weight";           // [1, hidden]
inline constexpr const char* kernels = "dense.weight";                      // [1, 11]
inline constexpr const char* regions = "chunk_scoring";                     // [1, 15]
inline constexpr const char* kernel_factors = "kernel_mult";                // [4, 1, 1, 1, 11]
}  // namespace tkl_names

}  // namespace attnscope
