#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The parts of a long document that a model scores: its beginning, overlapping passages with the
// best score, or the whole document.
//
//   for (const Passage& passage : passages_of(3000, {.room = 500}, LongDocuments::max_p)) ...

#include <cstdint>
#include <vector>

namespace attnscope {

enum class LongDocuments : std::uint8_t {
  first_p,  // the first tokens, as many as fit
  max_p,    // passages that overlap by half and cover every token; the last one ends with the
            // document
  /// The passages of the sparse cross-encoders' own code (parse_max_p), with the same beginnings;
  /// the end of the longest candidate, up to half a passage, is in no passage.
  max_p_as_published,
  whole  // all tokens, regardless of the room
};

/// Tokens [begin, end) of a document, without its [SEP].
struct Passage {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Passage&) const = default;
};

struct PassageRoom {
  std::int64_t room = 0;  // for a document's tokens next to the query, without [SEP]
  /// Only for max_p_as_published: the model's positions, and the tokens of the query's longest
  /// candidate; both without [SEP], which is added by it.
  std::int64_t positions = 0, longest = 0;
};

/// Returns at least one passage, exactly one for first_p and whole.
[[nodiscard]] std::vector<Passage> passages_of(std::int64_t tokens, const PassageRoom& room,
                                               LongDocuments how);

}  // namespace attnscope
