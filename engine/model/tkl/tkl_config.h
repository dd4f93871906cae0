#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Parameters of TKL other than its layers (Hofstaetter et al., SIGIR 2020, Sec. 3).

#include <cstdint>

namespace attnscope {

/// Saturation function for the kernel sums of a region.
enum class Saturation : std::uint8_t { embedding, idf, linear, log };

struct TklConfig {
  Saturation saturation = Saturation::embedding;
  /// As in the authors' program: up to four words at the end of a long document are in no chunk.
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
