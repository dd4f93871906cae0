// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/passages.h"

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

}  // namespace attnscope
