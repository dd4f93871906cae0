// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/latency.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/ranking/text_scorer.h"
#include "engine/statistics/interval.h"

namespace attnscope {

std::size_t QuerySample::place_of(std::string document) {
  const auto [known, is_new] = document_places_.try_emplace(std::move(document), documents_.size());
  if (is_new) documents_.emplace_back(known->first);
  return known->second;
}

bool QuerySample::add(TextPair pair) {
  const std::string key = pair.query_id.empty() ? "text " + pair.query : "id " + pair.query_id;
  const auto known = query_numbers_.find(key);
  const bool is_full = static_cast<std::int64_t>(queries_.size()) == most_queries_;
  if (known == query_numbers_.end() && is_full) {
    is_past_ = true;
    if (documents() < most_documents) place_of(std::move(pair.document));
  } else {
    const std::size_t number = known == query_numbers_.end() ? queries_.size() : known->second;
    if (number == queries_.size()) {
      query_numbers_.emplace(key, number);
      queries_.push_back({.text = std::move(pair.query), .line = pair.line});
    }
    std::vector<std::size_t>& own = queries_[number].own;
    if (static_cast<std::int64_t>(own.size()) == most_documents) return true;
    const std::size_t place = place_of(std::move(pair.document));
    if (std::ranges::find(own, place) == own.end()) own.push_back(place);
  }
  return !is_past_ || documents() < most_documents;
}

std::int64_t QuerySample::documents() const {
  return std::min(static_cast<std::int64_t>(documents_.size()), most_documents);
}

std::vector<PairView> QuerySample::ranking(std::size_t query, std::int64_t top_k) const {
  const Query& requested = queries_[query];
  const auto wanted = static_cast<std::size_t>(top_k);
  std::vector<bool> is_taken(documents_.size());
  std::vector<PairView> pairs;
  pairs.reserve(wanted);
  const auto take = [&](std::size_t place) {
    if (pairs.size() == wanted || is_taken[place]) return;
    is_taken[place] = true;
    pairs.push_back(
        {.query = requested.text, .document = documents_[place], .line = requested.line});
  };
  for (const std::size_t place : requested.own) take(place);
  for (std::size_t i = 0; i < documents_.size() && pairs.size() < wanted; ++i)
    take((requested.own.front() + i) % documents_.size());
  return pairs;
}

QuerySample::Borrowed QuerySample::borrowed(std::int64_t top_k) const {
  Borrowed borrowed;
  for (const Query& query : queries_) {
    const std::int64_t missing = top_k - static_cast<std::int64_t>(query.own.size());
    if (missing <= 0) continue;
    ++borrowed.queries;
    borrowed.documents += missing;
  }
  return borrowed;
}

std::int64_t least_calls(int percent) {
  return 100 / (100 - percent);
}

bool has_too_few(const TopKLatency& calls, int percent) {
  return static_cast<std::int64_t>(calls.seconds.size()) < least_calls(percent);
}

double latency_at(const TopKLatency& calls, int percent) {
  return statistics::quantile_of(calls.seconds, has_too_few(calls, percent) ? 1 : percent / 100.0);
}

Result<LargestTopK> largest_within(
    const LatencyLimit& limit, std::span<const TopKLatency> known,
    const std::function<Result<TopKLatency>(std::int64_t)>& measure) {
  const auto is_within = [&](const TopKLatency& calls) {
    return latency_at(calls, limit.percent) <= limit.seconds;
  };
  LargestTopK found;
  for (const TopKLatency& calls : known) {
    if (!is_within(calls) && (!found.beyond || calls.top_k < found.beyond->top_k))
      found.beyond = calls;
  }
  for (const TopKLatency& calls : known) {
    if (is_within(calls) && (!found.beyond || calls.top_k < found.beyond->top_k) &&
        (!found.within || calls.top_k > found.within->top_k)) {
      found.within = calls;
    }
  }
  constexpr std::int64_t least_step = 20;  // 5 %
  while (true) {
    const std::int64_t low = found.within ? found.within->top_k : 0;
    if (!found.beyond && low >= limit.most) break;
    const std::int64_t high = found.beyond ? found.beyond->top_k : 0;
    if (found.beyond && high - low <= std::max<std::int64_t>(1, low / least_step)) break;
    // Measures up to twice as many documents; starting small is cheap, since time grows with the
    // number.
    const std::int64_t doubled = std::max<std::int64_t>(1, 2 * low);
    auto calls = measure(std::min(doubled, found.beyond ? low + (high - low) / 2 : limit.most));
    if (!calls) return tl::unexpected(calls.error());
    (is_within(*calls) ? found.within : found.beyond) = std::move(*calls);
  }
  return found;
}

Result<double> LatencyMeter::seconds_for(const std::vector<std::int64_t>& top_k,
                                         const LatencyLimit& limit) {
  const std::int64_t most = top_k.back();
  if (const auto first = seconds_of(0, 1, most, 1); !first) return first;
  const auto of_one = seconds_of(0, 1, 1, 1), of_most = seconds_of(0, 1, most, 1);
  if (!of_one) return of_one;
  if (!of_most) return of_most;
  const double slope = std::max(*of_most - *of_one, 0.0) / static_cast<double>(most);
  double seconds = 0;
  const auto call = [&](std::int64_t documents) {
    return *of_one + slope * static_cast<double>(documents - 1);
  };
  std::vector<TopKLatency> rows;
  for (const std::int64_t k : top_k) {
    constexpr double ways = 2;  // single stream and offline
    seconds += ways * static_cast<double>(calls()) * call(k);
    rows.push_back({.top_k = k, .seconds = {call(k)}});
  }
  const auto searched = largest_within(limit, rows, [&](std::int64_t k) -> Result<TopKLatency> {
    seconds += static_cast<double>(calls()) * call(k);
    return TopKLatency{.top_k = k, .seconds = {call(k)}};
  });
  if (!searched) return tl::unexpected(searched.error());
  return seconds;
}

std::int64_t LatencyMeter::calls() const {
  const auto queries = static_cast<std::int64_t>(sample_.queries());
  return (least_calls_ + queries - 1) / queries * queries;
}

Result<TopKLatency> LatencyMeter::single_stream(
    std::int64_t top_k, const std::function<void(std::size_t calls)>& on_call) {
  TopKLatency calls{.top_k = top_k};
  if (const auto first = seconds_of(0, 1, top_k, 1); !first) return tl::unexpected(first.error());
  while (static_cast<std::int64_t>(calls.seconds.size()) < this->calls()) {
    for (std::size_t query = 0; query < sample_.queries(); ++query) {
      const auto seconds = seconds_of(query, query + 1, top_k, 1);
      if (!seconds) return tl::unexpected(seconds.error());
      calls.seconds.push_back(*seconds);
      if (on_call) on_call(calls.seconds.size());
    }
  }
  return calls;
}

Status LatencyMeter::add_offline(TopKLatency& calls) {
  constexpr std::size_t queued = 4;  // batches
  const std::size_t passes = calls.seconds.size() / sample_.queries();
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const auto seconds = seconds_of(0, sample_.queries(), calls.top_k, queued);
    if (!seconds) return tl::unexpected(seconds.error());
    calls.offline_seconds += *seconds / static_cast<double>(passes);
  }
  return {};
}

Result<double> LatencyMeter::seconds_of(std::size_t first, std::size_t end, std::int64_t top_k,
                                        std::size_t most_waiting) {
  std::vector<std::vector<PairView>> rankings;
  rankings.reserve(end - first);
  for (std::size_t query = first; query < end; ++query)
    rankings.push_back(sample_.ranking(query, top_k));
  const auto start = std::chrono::steady_clock::now();
  std::vector<TokenPair> window;
  const auto queue = [&] {
    const Status sent = scorer_.queue(window, most_waiting);
    window.clear();
    return sent;
  };
  for (const std::vector<PairView>& ranking : rankings) {
    for (const PairView& pair : ranking) {
      auto tokens = scorer_.tokens_of(pair.query, pair.document, pair.line);
      if (!tokens) return tl::unexpected(tokens.error());
      tokens_ += tokens_of(*tokens);
      ++pairs_;
      window.push_back(std::move(*tokens));
      if (static_cast<std::int64_t>(window.size()) < window_) continue;
      if (Status sent = queue(); !sent) return tl::unexpected(sent.error());
    }
    if (!ends_with_query_) continue;
    if (Status sent = queue(); !sent) return tl::unexpected(sent.error());
  }
  if (Status sent = queue(); !sent) return tl::unexpected(sent.error());
  if (Status scored = scorer_.finish(); !scored) return tl::unexpected(scored.error());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace attnscope
