#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The interface between the drivers (segment.cpp, windowed.cpp) and the inner loops (inner/): plain
// structs and one table of functions per instruction set. The inner loops use nothing of the
// standard library with external linkage, so that no instruction of a higher set can be linked into
// the baseline path.

#include <cstddef>
#include <cstdint>

#include "kernels/plan/attention_plan.h"
#include "kernels/plan/tensor.h"

namespace attnscope::cpu {

struct BackwardGroup;
struct SlotRegion;
struct TaskRows;

/// One head of a packed tensor; strides in elements, as in StridedTensor.
template <typename Byte>
struct HeadView {
  Byte* data;
  DType dtype;
  std::int64_t token_stride;
  std::int64_t item_tokens;
  std::int64_t item_stride;
};

/// Rows of one task and head. All results depend only on these fields.
struct RowChunk {
  HeadView<const std::byte> q, k, v;
  HeadView<std::byte> o;
  const std::int64_t* indices;  // the plan's
  const Segment* segments;
  std::int64_t segment_count;
  TokenRun queries;       // the rows of this chunk
  std::int64_t head_dim;  // 1 ... 256
  float scale;            // of q k^T, times log2(e) before an exponential; in the unfused values
                          // step, of the outputs
  float* lse;             // of token 0 and this head, or null
  std::int64_t lse_stride;
};

/// A chunk of the fused kernel, at most chunk_rows(head_dim) rows if keys are processed in blocks.
struct SegmentChunk {
  RowChunk rows;
  // tile_keys(head_dim) if no tile of rows has more keys and processes them all at once; 0: keys
  // are processed in blocks.
  std::int64_t tile_keys;
  // If rows are split over key chunks: the positions [first_key, last_key) in the concatenated keys
  // of the segments, and the location of the partial result: head_dim + 2 floats per row, which are
  // the sum of exp2(s - m) v, the maximum m of the scores s, and the sum of exp2(s - m).
  std::int64_t first_key;
  std::int64_t last_key;
  float* partial;  // null: the rows are not split; o and lse are written
  float* scratch;  // scratch_floats(head_dim) floats, aligned to 64 bytes
};

/// A chunk of the three unfused steps, at most chunk_rows(head_dim) rows.
struct WindowedChunk {
  RowChunk rows;
  float* scores;         // [rows, columns], the segments consecutively
  const float* weights;  // the same layout, if a step reads both
  std::int64_t columns;  // a row's length
  float outside;         // entry of a pair outside the pattern: 0, or -inf before a softmax
};

/// One head of a chunk of the backward pass (work_units.h).
struct BackwardUnit {
  HeadView<const std::byte> q, k, v, o, grad_o;
  HeadView<std::byte> grad_q, grad_k, grad_v;
  const float* lse;  // of token 0 and this head
  std::int64_t lse_stride;
  const Task* tasks;  // the plan's
  const Segment* segments;
  const std::int64_t* indices;
  const TaskRows* task_rows;
  const SlotRegion* regions;
  const BackwardGroup* group;
  std::int64_t chunk;
  std::int64_t head;
  std::int64_t head_dim;
  float scale;
  float* slots;    // [2 (keys, values), slot_rows, pitch], this unit's own
  float* split;    // [split_rows, pitch]
  float* scratch;  // backward_scratch_floats() floats, aligned to 64 bytes
  std::int64_t largest_strip;
  std::int64_t largest_halo;
};

/// Rows of one task and head that attend to keys of one chunk through one segment: the operands of
/// the transposed product sums_j += sum over rows i of scores[i][j] * x_i.
struct TransposedPart {
  HeadView<const std::byte> x;
  const std::int64_t* indices;  // the plan's
  const Segment* segment;
  TokenRun queries;                  // the rows
  std::int64_t head_dim;             // 1 ... 256
  const float* scores;               // of the first row, at the segment's first column
  std::int64_t columns;              // between rows
  std::int64_t first_key, last_key;  // positions of the segment's key run
  std::int64_t first_token;          // token of the first row of `sums`
  float* sums;  // one row of head_dim floats per token, padded to a multiple of the lanes
};

/// Sums of a chunk of keys to be written to a tensor: `parts` of them, added up in their order.
struct KeySums {
  const float* sums;
  std::int64_t parts;
  std::int64_t part_stride;
  TokenRange tokens;
  std::int64_t head_dim;
  float scale;
  HeadView<std::byte> out;
};

/// Rows of a cache and packed queries (document_vectors.cpp).
struct VectorCall {
  const std::byte* data;
  VectorFormat format;
  std::int64_t width;
  const float* scales;   // int8 only, one per row
  const float* queries;  // for one query: [width]; for several: [width, padded_queries]
  std::int64_t query_count;
  std::int64_t padded_queries;  // rounded up to a multiple of the widest vector
  std::int64_t rows_at_once;
  float* scratch;  // rows_at_once rows, padded, and as many floats as padded queries
};

/// LayerNorm of a row; none if `weight` is null.
struct RowNorm {
  const float* weight = nullptr;
  const float* bias = nullptr;
  std::int64_t width = 0;
  float epsilon = 0;
};

/// Some rows and outputs of a linear layer (linear.cpp).
struct LinearPiece {
  const float* x;  // the first row
  std::int64_t x_stride;
  std::int64_t rows;  // 1 ... linear_rows, or narrow_rows divided by a row's parts
  std::int64_t in;
  Products products;
  const std::byte* weights;           // packed, of the first output, which begins a panel
  std::int64_t groups;                // narrow weights: groups of 4 bytes per output
  const float* weight_scales;         // int8 only, of the first output
  const std::int32_t* sums_too_much;  // int8 only: excess of its sums over those of signed rows
  std::int64_t outputs;               // 1 ... linear_outputs
  const float* bias;                  // of the first output, or null
  bool gelu;
  bool relu;
  const float* rest;  // of the first row and output, or null
  std::int64_t rest_stride;
  bool rest_multiplies;  // else it is added
  RowNorm norm;          // none unless `outputs` are whole rows
  float* y;
  std::int64_t y_stride;
  float* scratch;   // linear_scratch_floats() for the rows
  bool in_scratch;  // the rows are already there, and `in` is at most linear_depth
};

/// A query and rows of documents (kernel_pooling.cpp).
struct PoolingTokens {
  const float* query;         // as packed by pooling_query()
  const float* query_scales;  // [query_rows]: 1 / length
  std::int64_t query_rows;
  std::int64_t width;
  const float* tokens;
  std::int64_t token_stride;
  const std::int64_t* numbers;  // row of each token, or null: the token's own number
  bool normalised;              // the tokens' rows
  float ratio;                  // by which the first kernel is narrower than the others
  std::int64_t cosine_pitch;    // between query rows, in scratch
};

/// Some regions of a document.
struct RegionPiece {
  PoolingTokens of;
  std::int64_t first;         // index among all tokens
  std::int64_t count;         // tokens that are needed, 0 ... pooling_piece_tokens + 28
  std::int64_t tokens_left;   // of the document from the first token on
  std::int64_t regions;       // 1 ... pooling_piece_tokens / 2
  std::int64_t regions_full;  // number of those with 30 tokens; they come first
  const float* kernel_weights;
  const float* query_weights;                 // or null
  const float *factor, *exponent, *constant;  // [query_rows, 31], or null
  const float* alpha;                         // or null
};

/// Tokens of a document, and the inputs and outputs of their gradients in kernel pooling.
struct PoolingBackwardPiece {
  PoolingTokens of;
  const float* query;  // [query_rows, query_pitch], zeros beyond the width
  std::int64_t query_pitch;
  bool query_normalised;
  std::int64_t first;      // index among all tokens
  std::int64_t count;      // 1 ... pooling_backward_tokens
  const float* grad_sums;  // [query_rows, 11], of the document; null: regions are used
  // The regions that contain a token of the piece; they may begin `pairs_before` pairs before it.
  RegionPiece regions;
  std::int64_t pairs_before;
  const float* gradients;      // of the regions' scores, zeros up to a multiple of the lanes
  const float* own_gradients;  // the same, 0 for regions that begin before the piece
  float* grad_query;           // [query_rows, query_pitch], added to, or null
  float* grad_tokens;          // of the first token, or null
  std::int64_t grad_token_stride;
  float *grad_weights, *grad_alpha, *grad_factor, *grad_exponent, *grad_constant;  // added to
};

struct KernelTable {
  void (*segment_chunk)(const SegmentChunk&);
  void (*windowed_scores)(const WindowedChunk&);
  void (*windowed_softmax)(const WindowedChunk&);
  void (*windowed_values)(const WindowedChunk&);
  void (*segment_backward_unit)(const BackwardUnit&);
  void (*windowed_score_gradients)(const WindowedChunk&);
  void (*windowed_transposed)(const TransposedPart&);
  void (*windowed_store_keys)(const KeySums&);
  void (*row_products)(const VectorCall&, const std::int64_t* numbers, std::int64_t count,
                       float* products);
  void (*largest_products)(const VectorCall&, TokenRange rows, float least, float* largest);
  void (*pooling_query)(const float* rows, std::int64_t stride, std::int64_t count,
                        std::int64_t width, bool normalised, float* packed, float* scales);
  void (*pooling_sums)(const PoolingTokens&, std::int64_t first, std::int64_t count, float* scratch,
                       float* sums);
  void (*region_scores)(const RegionPiece&, float* scratch, float* scores);
  void (*pooling_backward)(const PoolingBackwardPiece&, float* scratch);
  void (*exponentials)(const float* x, std::int64_t count, float* exp2_of_x);
  /// Writes from[0 ... d) * factor in the view's type, at `offset` elements. `from` is readable up
  /// to a multiple of widest_vector.
  void (*store_row)(const float* from, std::int64_t d, float factor,
                    const HeadView<std::byte>& view, std::int64_t offset);
};

/// Linear layers have separate instruction sets.
struct LinearKernels {
  void (*piece)(const LinearPiece&);
  void (*normalise_row)(const RowNorm&, float* y);
};

const KernelTable* baseline_kernels();
const KernelTable* avx2_kernels();
const KernelTable* avx512_kernels();
const KernelTable* avx512_bf16_kernels();

const LinearKernels* baseline_linear_kernels();
const LinearKernels* avx2_linear_kernels();
const LinearKernels* avx512_linear_kernels();
const LinearKernels* avx512_vnni_linear_kernels();
const LinearKernels* avx512_bf16_linear_kernels();
const LinearKernels* amx_linear_kernels();

inline constexpr std::int64_t largest_head_dim = 256;
inline constexpr double log2_e = 1.4426950408889634;
inline constexpr double ln_2 = 0.6931471805599453;

/// Keys are visited in blocks whose packed keys, and likewise values, fit 32 kB at d >= 32, so that
/// they stay in the first-level cache for a tile; chunks of rows have the same size.
inline constexpr std::int64_t piece_floats = 8192;
inline constexpr std::int64_t largest_key_block = 256;
inline constexpr std::int64_t smallest_key_block = 32;
inline constexpr std::int64_t largest_row_chunk = 128;
inline constexpr std::int64_t smallest_row_chunk = 32;

/// If a tile of rows processes its keys at once, the chunk may be longer: its packed keys slide
/// through a buffer for 1.5 times the keys of a tile.
inline constexpr std::int64_t largest_sliding_chunk = 256;
/// Runs of keys that one visit supports.
inline constexpr std::int64_t most_key_spans = 16;

/// Weights of a linear layer are stored in panels of this many outputs: [panel][in][output].
inline constexpr std::int64_t linear_panel = 32;
/// The rows and inputs of a piece are copied to where tiles of rows read them, next to a panel of
/// as many inputs, and the sums of its outputs: 263, 98 and 258 kB in the second-level cache. Rows
/// there are an odd number of cache lines apart, so that those of a tile do not map to the same
/// sets of the first-level cache.
inline constexpr std::int64_t linear_rows = 84;
inline constexpr std::int64_t linear_rows_unit = 42;  // whole tiles of 6 and of 14 rows
inline constexpr std::int64_t linear_depth = 768;
/// Each addition to a sum rounds once, by half a unit of the current sum. In chains of 128, which
/// are then added up, n terms of one size have an error of at most (128 + n / 128) / 2 such
/// roundings instead of n / 2: 5e-6 of the magnitude for 6,200 inputs instead of 2e-4.
inline constexpr std::int64_t linear_chain = 128;
inline constexpr std::int64_t linear_outputs = 768;
inline constexpr std::int64_t linear_pitch = linear_depth + 16;

/// Narrow weights are stored in groups of 4 bytes per output, [panel][group][output], with enough
/// groups to fill whole tiles of the matrix unit; pieces have whole tiles of rows, and the bytes of
/// a row have the memory of as many floats.
inline constexpr std::int64_t narrow_groups_unit = 16;
inline constexpr std::int64_t narrow_rows_unit = 16;
inline constexpr std::int64_t narrow_rows = 96;
inline constexpr std::int64_t narrow_parts_of_int8 = 2;     // rows of the scratch for each
inline constexpr std::int64_t narrow_depth = linear_depth;  // groups

/// Kernel pooling processes pieces of this many tokens; regions extend 28 tokens beyond. Rows of
/// tokens and of pairs have an odd number of cache lines.
inline constexpr int pooling_kernel_count = 11;
inline constexpr std::int64_t pooling_table_columns = 31;
inline constexpr std::int64_t pooling_piece_tokens = 1024;
inline constexpr std::int64_t pooling_halo_tokens = 28;
inline constexpr std::int64_t pooling_cosine_pitch = 1072;
inline constexpr std::int64_t pooling_pair_pitch = 560;
/// Backward pieces are smaller, because few regions have a gradient.
inline constexpr std::int64_t pooling_backward_tokens = 256;
inline constexpr std::int64_t pooling_backward_pitch = 368;
/// sqrt(50 log2(e)): cosines are stored in units of its inverse.
inline constexpr float pooling_unit = 8.493218f;

// For the drivers only: being inline these have external linkage, so inner/ may not call them.

/// The widest vector: rows of a tile, and the unit to which rows of scratch are padded.
inline constexpr std::int64_t widest_vector = 16;

[[nodiscard]] constexpr std::int64_t chunk_rows(std::int64_t head_dim) {
  const std::int64_t rows = piece_floats / head_dim / widest_vector * widest_vector;
  return rows < smallest_row_chunk ? smallest_row_chunk
                                   : (rows > largest_row_chunk ? largest_row_chunk : rows);
}

/// Keys that a tile of rows processes at once: the number that a window of 64 on both sides and a
/// query need up to head dimension 64, fewer if they would exceed the second-level cache.
[[nodiscard]] constexpr std::int64_t tile_keys(std::int64_t head_dim) {
  const std::int64_t keys = 11264 / head_dim / widest_vector * widest_vector;
  return keys < 64 ? 64 : (keys > 304 ? 304 : keys);
}

/// Scratch of one thread in the fused kernel. Block by block: transposed queries, outputs, maxima
/// and sums of a chunk, scores of a tile, packed keys and values of a block. Tile by tile: scores,
/// transposed queries, outputs of a few rows, packed keys and values that slide with the tiles.
[[nodiscard]] constexpr std::int64_t scratch_floats(std::int64_t head_dim) {
  const std::int64_t padded = (head_dim + widest_vector - 1) / widest_vector * widest_vector;
  const std::int64_t fitting = piece_floats / head_dim;
  const std::int64_t keys = fitting < smallest_key_block
                                ? smallest_key_block
                                : (fitting > largest_key_block ? largest_key_block : fitting);
  const std::int64_t by_blocks = 2 * chunk_rows(head_dim) * (padded + 1) +
                                 (keys + widest_vector) * widest_vector + 2 * keys * padded;
  const std::int64_t by_tiles = (tile_keys(head_dim) + widest_vector) * widest_vector +
                                2 * widest_vector * padded +
                                2 * (tile_keys(head_dim) + tile_keys(head_dim) / 2) * padded;
  return by_blocks > by_tiles ? by_blocks : by_tiles;
}

/// Scratch of a piece of a linear layer.
[[nodiscard]] constexpr std::int64_t linear_scratch_floats(std::int64_t rows) {
  const std::int64_t units = (rows + narrow_rows_unit - 1) / narrow_rows_unit;
  const std::int64_t padded = units * narrow_rows_unit * narrow_parts_of_int8;
  return (padded < narrow_rows ? padded : narrow_rows) * (linear_pitch + linear_outputs);
}

/// Rows of a cache that are widened at once: 128 kB of them.
[[nodiscard]] constexpr std::int64_t vector_rows_at_once(std::int64_t width) {
  const std::int64_t rows = 32768 / width / 8 * 8;
  return rows < 8 ? 8 : (rows > 256 ? 256 : rows);
}

/// Keys whose scores a tile of the backward pass stores at once, and keys outside the strip that
/// are packed for it.
inline constexpr std::int64_t backward_keys = 256;
inline constexpr std::int64_t backward_arena_keys = 512;

/// Scratch of one thread in the backward pass: five tiles of rows (queries and incoming gradients,
/// plain and transposed, and gradients of queries); scores and their gradients; packed keys and
/// values and their gradients of a strip; packed keys and values from elsewhere.
[[nodiscard]] constexpr std::int64_t backward_scratch_floats(std::int64_t head_dim,
                                                             std::int64_t largest_strip,
                                                             std::int64_t largest_halo) {
  const std::int64_t padded = (head_dim + widest_vector - 1) / widest_vector * widest_vector;
  return 5 * widest_vector * padded + 2 * widest_vector +
         2 * (backward_keys + widest_vector) * widest_vector +
         (4 * largest_strip + 4 * largest_halo + 2 * backward_arena_keys) * padded;
}

}  // namespace attnscope::cpu
