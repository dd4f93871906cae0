// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/training_data.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/sentences.h"
#include "engine/text/text_collection.h"
#include "engine/text/tokenizer.h"

namespace attnscope {

namespace {

/// Repeats the text in upper case until it has about `tokens` tokens.
std::string longer_than(const std::string& text, std::int64_t tokens) {
  constexpr std::size_t bytes_of_token = 16;
  const std::size_t enough = bytes_of_token * static_cast<std::size_t>(tokens);
  std::string capitals = text;
  for (char& c : capitals)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  std::string all;
  for (std::int64_t i = 0; i <= tokens && all.size() < enough; ++i) all += capitals + " ";
  return all;
}

}  // namespace

Result<std::vector<TextPair>> TrainingData::some_pairs() {
  constexpr std::int64_t few = 3;
  std::vector<TextPair> pairs;
  for (std::int64_t i = 0; i < std::min(few, file_.size()); ++i) {
    auto line = file_.line(i);
    if (!line) return tl::unexpected(line.error());
    if (Status found = look_up(*line); !found)
      return fail("{}: {}", file_.place(line->number), found.error().message);
    for (std::size_t d = 0; d < 2; ++d)
      pairs.push_back({.query = line->query, .document = line->documents[d]});
    if (i > 0) continue;
    const std::int64_t most = model_.limits.most_tokens;
    const std::string document = longer_than(line->documents.front(), most);
    pairs.push_back({.query = line->query, .document = document});
    pairs.push_back({.query = longer_than(line->query, most), .document = document});
  }
  return pairs;
}

Result<protocol::TrainStepRequest> TrainingData::request_of(std::int64_t step) {
  protocol::TrainStepRequest request{.cls = model_.tokenizer->cls()};
  std::int64_t at = (step - 1) * groups_of_step();
  for (std::int64_t a = 0; a < shape_.accumulate; ++a) {
    std::vector<protocol::TrainGroup>& batch = request.batches.emplace_back();
    for (std::int64_t i = 0; i < shape_.batch; ++i) {
      auto group = group_at(at++);
      if (!group) return tl::unexpected(group.error());
      batch.push_back(std::move(*group));
    }
  }
  return request;
}

Result<protocol::TrainGroup> TrainingData::group_at(std::int64_t at) {
  const std::int64_t epoch = at / file_.size();
  if (epoch != epoch_) {
    order_ = drawn_order(file_.size(), static_cast<std::uint64_t>(shape_.seed), epoch);
    epoch_ = epoch;
  }
  auto line = file_.line(order_[static_cast<std::size_t>(at % file_.size())]);
  if (!line) return tl::unexpected(line.error());
  if (Status found = look_up(*line); !found)
    return fail("{}: {}", file_.place(line->number), found.error().message);
  protocol::TrainGroup group;
  for (const std::string& document : line->documents) {
    auto pair = model_.tokenizer->encode(line->query, document, model_.limits);
    if (!pair) return fail("{}: {}", file_.place(line->number), pair.error().message);
    group.query = std::move(pair->query);
    group.documents.push_back(std::move(pair->document));
  }
  if (shape_.with_margin) group.margin = line->margin;
  return group;
}

Status TrainingData::look_up(TrainingLine& line) {
  if (!texts_) return {};
  const auto replace = [](TextCollection& texts, std::string_view what, std::string& id) -> Status {
    auto text = texts.find(id);
    if (!text) return tl::unexpected(text.error());
    if (!*text) return fail("its {} '{}' is not in {}", what, in_a_sentence(id), texts.name());
    id = std::move(**text);
    return {};
  };
  for (std::string& document : line.documents) {
    if (Status found = replace(texts_->documents, "document", document); !found) return found;
  }
  return replace(texts_->queries, "query", line.query);
}

}  // namespace attnscope
