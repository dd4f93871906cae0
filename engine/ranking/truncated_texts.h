#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Counts queries and documents that were truncated to a model's limits, and reports them in the
// same words for every command.
//
//   TruncatedTexts texts;
//   texts.add_query(pair.query_cut);
//   note(texts.in_words(model.limits));   // "1 of 60 queries was truncated to 32 tokens"

#include <cstdint>
#include <string>

#include "engine/text/tokenizer.h"

namespace attnscope {

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
