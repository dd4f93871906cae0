// SPDX-License-Identifier: Apache-2.0
//
// The step of the unfused backward that is not a row step: the transposed product, which gathers
// for each key of a chunk the rows that attend to it. A chunk of keys belongs to one thread, so
// that no merging between threads is needed.
#pragma once

#include "kernels/cpu/inner/windowed_rows.h"

namespace attnscope::cpu {
namespace {

/// Rows [begin, begin + count) of a run that may span items, packed into `buffer` if necessary.
inline const float* packed_queries(const TransposedPart& part, std::int64_t begin,
                                   std::int64_t count, float* buffer) {
  const std::int64_t d = part.head_dim, padded = padded_dim(d);
  const std::int64_t first = token_of(part.queries, part.indices, begin);
  const bool one_item = part.x.item_tokens == 0 ||
                        first / part.x.item_tokens == (first + count - 1) / part.x.item_tokens;
  if (part.x.dtype == DType::float32 && !part.queries.listed && one_item &&
      part.x.token_stride == d && d == padded) {
    return floats_at(part.x, offset_of(part.x, first));
  }
  const TokenRun rows{part.queries.begin + begin, part.queries.begin + begin + count,
                      part.queries.listed};
  for_each_row(part.x, rows, part.indices, [&](std::int64_t r, std::int64_t offset) {
    load_row(part.x, offset, d, padded, buffer + r * padded);
  });
  return buffer;
}

/// The positions of the tokens [begin, end) within the part's rows.
inline Positions places_of(const TransposedPart& part, std::int64_t begin, std::int64_t end) {
  const TokenRun& rows = part.queries;
  if (rows.listed) {
    return {first_place(part.indices, rows.begin, rows.end, begin) - rows.begin,
            first_place(part.indices, rows.begin, rows.end, end) - rows.begin};
  }
  return {clamped(begin, rows.begin, rows.end) - rows.begin,
          clamped(end, rows.begin, rows.end) - rows.begin};
}

/// Adds to keys [begin, end), positions of the segment's run. seen_from(key) returns the positions
/// of the rows that attend to the key, ascending with it; score(row, key) the row's score of it.
template <typename SeenFrom, typename Score>
ATTNSCOPE_INLINE void add_to_keys(const TransposedPart& part, std::int64_t begin, std::int64_t end,
                                  float* buffer, const SeenFrom& seen_from, const Score& score) {
  const std::int64_t padded = padded_dim(part.head_dim);
  const std::int64_t limit = block_keys(part.head_dim);
  const std::int64_t last = seen_from(end - 1).end;
  for (std::int64_t first = seen_from(begin).begin; first < last; first += limit) {
    const std::int64_t count = least(limit, last - first);
    const float* rows = packed_queries(part, first, count, buffer);
    for (std::int64_t key = begin; key < end; key += group_size) {
      const int keys = static_cast<int>(least(end - key, group_size));
      GroupWindow window;
      float* out[group_size];
      for (int g = 0; g < keys; ++g) {
        set_window(window, g, seen_from(key + g), first, count);
        const std::int64_t token =
            token_of({0, 0, part.segment->keys.listed}, part.indices, key + g);
        out[g] = part.sums + (token - part.first_token) * padded;
      }
      close_windows(window, keys);
      if (window.begin[0] >= window.end[keys - 1]) continue;
      add_windows_to(
          window, [&](int g, std::int64_t p) { return score(first + p, key + g); }, rows, padded,
          keys, out);
    }
  }
}

inline void add_whole(const TransposedPart& part, std::int64_t begin, std::int64_t end,
                      float* buffer) {
  const Positions all{0, part.queries.end - part.queries.begin};
  const std::int64_t first = part.segment->keys.begin;
  add_to_keys(
      part, begin, end, buffer, [&](std::int64_t) { return all; },
      [&](std::int64_t row, std::int64_t key) {
        return part.scores[row * part.columns + key - first];
      });
}

inline void add_band(const TransposedPart& part, std::int64_t begin, std::int64_t end,
                     float* buffer) {
  const std::int64_t w = capped_window(*part.segment), offset = part.segment->offset;
  const auto seen_from = [&](std::int64_t key) {
    return places_of(part, key - offset - w, key - offset + w + 1);
  };
  if (stored_by_key(*part.segment)) {
    const std::int64_t first = part.segment->keys.begin;
    return add_to_keys(part, begin, end, buffer, seen_from,
                       [&](std::int64_t row, std::int64_t key) {
                         return part.scores[row * part.columns + key - first];
                       });
  }
  if (part.queries.listed) {
    const std::int64_t* tokens = part.indices + part.queries.begin;
    return add_to_keys(part, begin, end, buffer, seen_from,
                       [&](std::int64_t row, std::int64_t key) {
                         return part.scores[row * part.columns + key - tokens[row] - offset + w];
                       });
  }
  const std::int64_t first = part.queries.begin + offset - w;
  add_to_keys(part, begin, end, buffer, seen_from, [&](std::int64_t row, std::int64_t key) {
    return part.scores[row * (part.columns - 1) + key - first];
  });
}

/// Blocks one after the other: within a block, all rows that attend to a key attend to the same
/// keys.
inline void add_blocks(const TransposedPart& part, std::int64_t begin, std::int64_t end,
                       float* buffer) {
  const Segment& segment = *part.segment;
  while (begin < end) {
    const Positions block =
        seen_by(segment, part.indices, begin - segment.offset);  // of the rows opposite the block
    const Positions rows =
        places_of(part, block.begin - segment.offset, block.end - segment.offset);
    const std::int64_t stop = least(end, block.end);
    if (rows.begin < rows.end) {
      add_to_keys(
          part, begin, stop, buffer, [&](std::int64_t) { return rows; },
          [&](std::int64_t row, std::int64_t key) {
            return part.scores[row * part.columns + key - block.begin];
          });
    }
    begin = stop;
  }
}

void windowed_transposed(const TransposedPart& part) {
  alignas(64) float buffer[buffer_floats];
  for_each_kept(*part.segment, part.indices, part.first_key, part.last_key,
                [&](std::int64_t begin, std::int64_t end) {
                  switch (part.segment->kind) {
                    case SegmentKind::whole:
                      return add_whole(part, begin, end, buffer);
                    case SegmentKind::band:
                      return add_band(part, begin, end, buffer);
                    case SegmentKind::block:
                      return add_blocks(part, begin, end, buffer);
                  }
                });
}

void windowed_store_keys(const KeySums& keys) {
  const std::int64_t padded = padded_dim(keys.head_dim);
  const TokenRun tokens{keys.tokens.begin, keys.tokens.end, false};
  for_each_row(keys.out, tokens, nullptr, [&](std::int64_t r, std::int64_t offset) {
    const float* sums = keys.sums + r * padded;
    alignas(64) float merged[largest_head_dim];
    if (keys.parts > 1) {
      for (std::int64_t c = 0; c < padded; c += lanes) {
        Vector sum = load(sums + c);
        for (std::int64_t p = 1; p < keys.parts; ++p) sum += load(sums + p * keys.part_stride + c);
        store(merged + c, sum);
      }
      sums = merged;
    }
    store_row(sums, keys.head_dim, keys.scale, keys.out, offset);
  });
}

}  // namespace
}  // namespace attnscope::cpu
