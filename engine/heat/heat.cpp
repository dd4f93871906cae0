// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/heat.h"

#include <fmt/format.h>

#include <algorithm>

namespace attnscope {
namespace {

std::vector<std::int64_t> shared_out(std::int64_t tokens, std::int64_t documents) {
  std::vector<std::int64_t> each(static_cast<std::size_t>(documents), tokens / documents);
  const auto rest = static_cast<std::size_t>(tokens % documents);
  for (std::size_t i = 0; i < rest; ++i) ++each[i];
  return each;
}

}  // namespace

std::string Contender::id_without_window() const {
  return (model.empty() ? pattern : model) + "/" + implementation;
}

std::string Contender::id() const {
  std::string id = id_without_window();
  if (window) id.append("/").append(window->text());
  return id;
}

Result<GroupSizes> group_sizes(const HeatPoint& point) {
  if (point.documents < 1) return fail("documents {} is too small: at least 1", point.documents);
  // Every document has at least one token, its [SEP].
  const std::string several =
      point.documents > 1 ? fmt::format("one [SEP] for each of {} documents", point.documents)
                          : "the document's [SEP]";
  if (point.operation == Operation::windowed_matmul) {
    if (point.sequence_tokens < point.documents) {
      return fail("sequence_tokens {} is too small: operation windowed-matmul needs at least {}{}",
                  point.sequence_tokens, point.documents,
                  point.documents > 1 ? ", one for each document" : "");
    }
    return GroupSizes{.cls = 0,
                      .query = 0,
                      .document = point.sequence_tokens,
                      .documents = shared_out(point.sequence_tokens, point.documents)};
  }
  // [CLS] and the [SEP] of the query and of each document are always present.
  const std::int64_t query = point.query_tokens + 1;
  const std::int64_t document = point.sequence_tokens - 1 - query;
  if (point.query_tokens < 0 || document < point.documents) {
    return fail(
        "sequence_tokens {} is too small for query_tokens {}: [CLS], the query with its [SEP] and "
        "{} need at least {}",
        point.sequence_tokens, point.query_tokens, several, query + 1 + point.documents);
  }
  const LengthDistribution& lengths = point.document_lengths;
  if (lengths.is_drawn() && lengths.most + 1 != document) {
    return fail("document_lengths up to {} and query_tokens {} are {} sequence_tokens, not {}",
                lengths.most, point.query_tokens, tokens_with_words(point, lengths.most),
                point.sequence_tokens);
  }
  return GroupSizes{.cls = 1,
                    .query = query,
                    .document = document,
                    .documents = shared_out(document, point.documents)};
}

double item_bytes(const HeatPoint& point) {
  const auto hidden = static_cast<double>(point.heads) * static_cast<double>(point.head_dim);
  double numbers = (point.direction == Direction::forward ? 4 : 8) * hidden;  // of a token
  if (point.operation == Operation::model)
    numbers = std::max(5 * hidden, 2 * hidden + static_cast<double>(point.feed_forward));
  return static_cast<double>(size_of(point.dtype)) * static_cast<double>(point.sequence_tokens) *
         numbers;
}

}  // namespace attnscope
