#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How much of a text a model reads: the parts of a long document (its beginning, overlapping
// passages with the best score, or the whole document), and counts of texts that were truncated to
// its limits.
//
//   for (const Passage& passage : passages_of(3000, {.room = 500}, LongDocuments::max_p)) ...
//   TruncatedTexts texts;
//   texts.add_query(pair.query_cut);
//   note(texts.in_words(model.limits));   // "1 of 60 queries was truncated to 32 tokens"

#include <cstdint>
#include <string>
#include <vector>

#include "engine/text/tokenizer.h"

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

/// Counts queries and documents that were truncated to a model's limits, and reports them in the
/// same words for every command.
class TruncatedTexts {
 public:
  void add_query(bool is_truncated) { queries_.add(is_truncated); }
  void add_document(bool is_truncated) { documents_.add(is_truncated); }
  [[nodiscard]] bool has_truncated_documents() const { return documents_.truncated > 0; }
  /// "" if nothing was truncated.
  [[nodiscard]] std::string in_words(const PairLimits& limits) const;

 private:
  struct Count {
    std::int64_t truncated = 0, all = 0;
    void add(bool is_truncated) {
      ++all;
      truncated += is_truncated ? 1 : 0;
    }
  };
  Count queries_, documents_;
};

}  // namespace attnscope
