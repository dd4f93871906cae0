// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/heat.h"

#include <fmt/format.h>

namespace attnscope {

std::string Contender::id() const {
  std::string id = pattern + "/" + implementation;
  if (window) id.append("/").append(window->text());
  return id;
}

std::string point_key(const HeatPoint& point) {
  return fmt::format(
      "operation={},direction={},sequence_tokens={},query_tokens={},shared_query={},batch_max={},"
      "batch_memory_mb={},heads={},head_dim={},dtype={},memory_order={},cache={},device={},"
      "threads={},seed={}",
      name_of(point.operation), name_of(point.direction), point.sequence_tokens, point.query_tokens,
      point.shared_query, point.batch_max, point.batch_memory_mb, point.heads, point.head_dim,
      name_of(point.dtype), name_of(point.memory_order), name_of(point.cache),
      name_of(point.device), point.threads, point.seed);
}

Result<GroupSizes> group_sizes(const HeatPoint& point) {
  if (point.operation == Operation::windowed_matmul) {
    if (point.sequence_tokens < 1) {
      return fail("sequence_tokens {} is too small: operation windowed-matmul needs at least 1",
                  point.sequence_tokens);
    }
    return GroupSizes{.cls = 0, .query = 0, .document = point.sequence_tokens};
  }
  // [CLS], the query's [SEP] and the document's [SEP] are always there.
  const std::int64_t query = point.query_tokens + 1;
  const std::int64_t document = point.sequence_tokens - 1 - query;
  if (point.query_tokens < 0 || document < 1) {
    return fail(
        "sequence_tokens {} is too small for query_tokens {}: [CLS], the query with its [SEP] and "
        "the document's [SEP] need at least {}",
        point.sequence_tokens, point.query_tokens, query + 2);
  }
  return GroupSizes{.cls = 1, .query = query, .document = document};
}

}  // namespace attnscope
