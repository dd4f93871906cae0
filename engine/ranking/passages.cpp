// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/passages.h"

#include <fmt/format.h>

#include <algorithm>

namespace attnscope {
namespace {

std::vector<Passage> overlapping(std::int64_t tokens, std::int64_t room) {
  std::vector<Passage> passages;
  const std::int64_t stride = std::max<std::int64_t>(room / 2, 1);
  for (std::int64_t begin = 0; begin + room < tokens; begin += stride)
    passages.push_back({begin, begin + room});
  passages.push_back({std::max<std::int64_t>(tokens - room, 0), tokens});
  return passages;
}

/// chunk_starts = range(0, longest - most, most // 2), restricted to starts below the document's
/// length; all lengths there include [SEP].
std::vector<Passage> as_published(std::int64_t tokens, const PassageRoom& room) {
  const std::int64_t longest = room.longest + 1, most = room.room + 1;
  if (longest <= room.positions) return {{0, std::min(tokens, room.room)}};
  std::vector<Passage> passages;
  const std::int64_t stride = std::max<std::int64_t>(most / 2, 1);
  for (std::int64_t begin = 0; begin < longest - most && begin <= tokens; begin += stride)
    passages.push_back({begin, std::min(tokens, begin + room.room)});
  return passages;
}

}  // namespace

std::vector<Passage> passages_of(std::int64_t tokens, const PassageRoom& room, LongDocuments how) {
  switch (how) {
    case LongDocuments::first_p:
      return {{0, std::min(tokens, room.room)}};
    case LongDocuments::max_p:
      return overlapping(tokens, room.room);
    case LongDocuments::max_p_as_published:
      return as_published(tokens, room);
    case LongDocuments::whole:
      break;
  }
  return {{0, tokens}};
}

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
