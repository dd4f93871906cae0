// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/truncated_texts.h"

#include <fmt/format.h>

namespace attnscope {

std::string TruncatedTexts::in_words(const PairLimits& limits) const {
  const bool apart = limits.most_document_tokens > 0;
  std::string words;
  const auto add = [&](const Count& count, const char* what, std::int64_t most) {
    if (count.truncated == 0) return;
    words += fmt::format("{}{} of {} {} {} truncated", words.empty() ? "" : ", ", count.truncated,
                         count.all, what, count.truncated == 1 ? "was" : "were");
    if (most > 0) words += fmt::format(" to {} tokens", most);
  };
  add(documents_, "documents", apart ? limits.most_tokens : 0);
  add(queries_, "queries", limits.most_query_tokens);
  if (words.empty() || apart) return words;
  return fmt::format("{}; a pair has at most {} tokens", words, limits.most_tokens);
}

}  // namespace attnscope
