#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Counts queries and documents that were truncated to a model's limits, and reports them in the
// same words for every command.
//
//   CutTexts cut;
//   cut.add_query(pair.query_cut);
//   note(cut.in_words(model.limits));   // "1 of 60 queries was truncated to 32 tokens"

#include <cstdint>
#include <string>

#include "engine/text/tokenizer.h"

namespace attnscope {

class CutTexts {
 public:
  void add_query(bool is_cut) { queries_.add(is_cut); }
  void add_document(bool is_cut) { documents_.add(is_cut); }
  [[nodiscard]] bool has_cut_documents() const { return documents_.cut > 0; }
  /// "" if nothing was truncated.
  [[nodiscard]] std::string in_words(const PairLimits& limits) const;

 private:
  struct Count {
    std::int64_t cut = 0, all = 0;
    void add(bool is_cut) {
      ++all;
      cut += is_cut ? 1 : 0;
    }
  };
  Count queries_, documents_;
};

}  // namespace attnscope
