#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What of a long document a model scores: its beginning, overlapping passages of which the best one
// counts, or all of it.
//
//   for (const Passage& passage : passages_of(3000, {.room = 500}, LongDocuments::max_p)) ...

#include <cstdint>
#include <vector>

namespace attnscope {

enum class LongDocuments : std::uint8_t {
  first_p,  // as many tokens as there is room for
  max_p,  // passages that overlap by half and hold every token; the last one ends with the document
  /// The passages of the sparse cross-encoders' own code (parse_max_p): they begin where those
  /// begin, and the end of the longest candidate, up to half a passage, is in none of them.
  max_p_as_published,
  whole  // all tokens, within the room or not
};

/// Tokens [begin, end) of a document, without its [SEP].
struct Passage {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Passage&) const = default;
};

struct PassageRoom {
  std::int64_t room = 0;  // for a document's tokens beside the query, without [SEP]
  /// Of max_p_as_published alone: the model's positions, and the tokens of the query's longest
  /// candidate; both without [SEP], which is added there.
  std::int64_t positions = 0, longest = 0;
};

/// At least one; of first_p and whole exactly one.
[[nodiscard]] std::vector<Passage> passages_of(std::int64_t tokens, const PassageRoom& room,
                                               LongDocuments how);

}  // namespace attnscope
