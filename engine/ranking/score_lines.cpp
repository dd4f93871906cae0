// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/score_lines.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/sentences.h"

namespace attnscope {
namespace {

bool is_one_word(std::string_view id) {
  return !id.empty() && id.find_first_of(" \t\r\n\v\f") == std::string_view::npos;
}

}  // namespace

Result<ScoreFormat> parse_score_format(std::string_view text) {
  if (text == "tsv") return ScoreFormat::tsv;
  if (text == "trec") return ScoreFormat::trec;
  if (text == "jsonl") return ScoreFormat::jsonl;
  return fail("'{}' is not a format of scores; known: tsv, trec, jsonl", in_a_sentence(text));
}

Status ScoreLines::check_id(std::string_view id, std::string_view whose) const {
  if (format_ == ScoreFormat::trec && !is_one_word(id)) {
    return fail("a TREC run needs a {} id without blanks, not '{}'", whose, in_a_sentence(id));
  }
  if (format_ == ScoreFormat::jsonl || visible(id) == id) return {};
  return fail(
      "the {} id '{}' has an invisible or control character, or is not UTF-8; use another id, or "
      "--format jsonl",
      whose, in_a_sentence(id));
}

Status ScoreLines::check_document_id(std::string_view id) const {
  return check_id(id, "document");
}

Result<std::string> ScoreLines::add(const PairIds& ids, float score) {
  if (Status may = check_id(ids.query_id, "query"); !may) return tl::unexpected(may.error());
  if (Status may = check_document_id(ids.document_id); !may) return tl::unexpected(may.error());
  if (format_ == ScoreFormat::trec || options_.top > 0) return add_ranked(ids, score);
  ++count_;
  return line_of(ids, score);
}

float ScoreLines::written(float score) const {
  return options_.applies_sigmoid ? 1 / (1 + std::exp(-score)) : score;
}

std::string ScoreLines::line_of(const PairIds& ids, float raw) const {
  const float score = written(raw);
  if (format_ == ScoreFormat::jsonl) {
    nlohmann::ordered_json line = nlohmann::ordered_json::object();
    if (!ids.query_id.empty()) line["qid"] = ids.query_id;
    if (!ids.document_id.empty()) line["docno"] = ids.document_id;
    // Written with the digits of the float, not of the converted double.
    line["score"] = nlohmann::json::parse(fmt::format("{}", score));
    const auto written = [&](bool is_ascii) {
      return line.dump(-1, ' ', is_ascii, nlohmann::json::error_handler_t::replace);
    };
    const std::string text = written(false);
    return (visible(text) == text ? text : written(true)) + "\n";
  }
  if (ids.query_id.empty() && ids.document_id.empty()) return fmt::format("{}\n", score);
  return fmt::format("{}\t{}\t{}\n", ids.query_id, ids.document_id, score);
}

Result<std::string> ScoreLines::add_ranked(const PairIds& ids, float score) {
  if (format_ != ScoreFormat::trec && (ids.query_id.empty() || ids.document_id.empty())) {
    return fail(
        "ranking the documents of a query needs pairs with the ids of both, and a pair has none");
  }
  std::string text;
  if (ids.query_id != query_id_) {
    text = finish();
    query_id_ = ids.query_id;
    query_ = ids.query;
    seen_documents_.clear();
    if (!seen_.insert(std::hash<std::string>{}(query_id_)).second) {
      return fail(
          "the pairs of query '{}' are not consecutive, so they cannot be ranked while they are "
          "read; sort the pairs by query",
          in_a_sentence(query_id_));
    }
  }
  if (ids.query != query_) {
    return fail("query '{}' has a different text in earlier lines; give each query its own id",
                in_a_sentence(query_id_));
  }
  if (options_.best_of_passages && !documents_.empty() &&
      documents_.back().document_id == ids.document_id) {
    documents_.back().score = std::max(documents_.back().score, score);
  } else {
    if (!options_.documents_differ &&
        !seen_documents_.insert(std::hash<std::string>{}(ids.document_id)).second) {
      return fail(
          "document '{}' occurs twice for query '{}', and a ranking has each once; remove one",
          in_a_sentence(ids.document_id), in_a_sentence(query_id_));
    }
    documents_.push_back({ids.document_id, score});
  }
  // Keeps memory independent of the number of documents in a cache.
  constexpr std::size_t least_gathered = 1024;
  if (options_.top > 0 && documents_.size() > least_gathered + 2 * best_count()) sort();
  return text;
}

/// Sorts the best first, ties in input order, and drops the rest.
void ScoreLines::sort() {
  std::ranges::stable_sort(documents_, std::ranges::greater(), &Ranked::score);
  if (options_.top > 0 && documents_.size() > best_count())
    documents_.erase(documents_.begin() + options_.top, documents_.end());
}

std::string ScoreLines::finish() {
  sort();
  std::string text;
  std::int64_t rank = 0;
  for (const Ranked& document : documents_) {
    if (format_ == ScoreFormat::trec) {
      fmt::format_to(std::back_inserter(text), "{} Q0 {} {} {} {}\n", query_id_,
                     document.document_id, ++rank, written(document.score), tag_);
    } else {
      text += line_of({query_id_, document.document_id}, document.score);
    }
  }
  count_ += static_cast<std::int64_t>(documents_.size());
  documents_.clear();
  return text;
}

void ScoreTies::add(const std::string& query, const std::string& document, float score) {
  std::vector<float>& scores = queries_[query];
  if (!document.empty() && query == last_query_ && document == last_document_) {
    scores.back() = std::max(scores.back(), score);
    return;
  }
  last_query_ = query;
  last_document_ = document;
  scores.push_back(score);
}

std::string ScoreTies::in_words() const {
  std::size_t pairs = 0, tied_queries = 0;
  for (auto [query, scores] : queries_) {
    std::ranges::sort(scores);
    std::size_t own = 0;
    for (auto at = scores.begin(); at != scores.end();) {
      const auto end = std::upper_bound(at, scores.end(), *at);
      const auto alike = static_cast<std::size_t>(end - at);
      own += alike * (alike - 1) / 2;
      at = end;
    }
    pairs += own;
    tied_queries += own > 0 ? 1 : 0;
  }
  if (pairs == 0) return {};
  return fmt::format("{} of documents {} a score, in {} of {}", counted(pairs, "pair"),
                     pairs == 1 ? "shares" : "share", tied_queries,
                     queries_.size() == 1 ? "1 query" : fmt::format("{} queries", queries_.size()));
}

}  // namespace attnscope
