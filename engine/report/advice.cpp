// SPDX-License-Identifier: Apache-2.0
#include "engine/report/advice.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "engine/report/advise.h"
#include "engine/report/answer.h"
#include "engine/report/axes_in_words.h"
#include "engine/report/memory_growth.h"

namespace attnscope::report {
namespace {

bool has_query(const HeatPoint& point) {
  return point.operation != Operation::windowed_matmul;
}

HeatPoint setting_of(HeatPoint point) {
  point.sequence_tokens = 0;
  point.query_tokens = 0;
  return point;
}

/// Of the queries that a setting was measured with, the one that comes nearest.
std::vector<const Row*> with_nearest_query(const std::vector<const Row*>& rows,
                                           std::optional<std::int64_t> query_tokens) {
  std::int64_t nearest = rows.front()->cell.point.query_tokens;
  for (const Row* row : rows) {
    const std::int64_t own = row->cell.point.query_tokens;
    if (query_tokens && std::abs(own - *query_tokens) < std::abs(nearest - *query_tokens)) {
      nearest = own;
    }
  }
  std::vector<const Row*> kept;
  std::ranges::copy_if(rows, std::back_inserter(kept), [nearest](const Row* row) {
    return row->cell.point.query_tokens == nearest;
  });
  return kept;
}

/// Lengths that were measured of no contender, so that their numbers are carried or missing.
std::vector<std::int64_t> lengths_to_measure(const Advice& advice,
                                             const std::vector<const Row*>& rows) {
  const DocumentLengths& documents = advice.question.documents;
  const std::int64_t query = *advice.question.query_tokens;
  std::vector<std::int64_t> lengths;
  for (const std::int64_t document : {documents.shortest(), documents.percentile(50),
                                      documents.percentile(95), documents.longest()}) {
    const std::int64_t tokens = sequence_of(advice.point, query, document);
    const auto is_there = [&](const Row* row) {
      return row->cell.point.sequence_tokens == tokens && row->cell.point.query_tokens == query;
    };
    if (std::ranges::none_of(rows, is_there) && (lengths.empty() || lengths.back() != tokens)) {
      lengths.push_back(tokens);
    }
  }
  return lengths;
}

std::vector<Advised> advise_all(const Advice& advice, const std::vector<const Row*>& rows) {
  std::optional<double> memory = advice.question.memory_bytes;
  if (!memory) memory = free_bytes_at_start(advice.run, advice.point.device);
  std::vector<std::vector<const Row*>> by_contender;
  std::map<std::string, std::size_t> known;
  for (const Row* row : rows) {
    const auto [place, is_new] = known.emplace(row->cell.cell.contender.id(), by_contender.size());
    if (is_new) by_contender.emplace_back();
    by_contender[place->second].push_back(row);
  }
  std::vector<Advised> contenders;
  contenders.reserve(by_contender.size());
  for (const std::vector<const Row*>& own : by_contender) {
    contenders.push_back(advise(advice, own, memory));
  }
  return contenders;
}

void compare(Advice& advice, const std::vector<const Row*>& rows) {
  if (!advice.baseline) return;
  for (CrossoverAnswer& one : find_crossover_answers(rows, XAxis::length, *advice.baseline)) {
    const auto own = std::ranges::find(advice.contenders, one.contender, &Advised::contender);
    if (own != advice.contenders.end()) own->crossovers = std::move(one.found);
  }
  const auto baseline = std::ranges::find(advice.contenders, true, &Advised::is_baseline);
  if (baseline == advice.contenders.end()) return;
  advice.baseline_words = baseline->pattern == full_pattern ? "full attention" : baseline->name;
  const std::optional<LongestDocument> theirs = baseline->longest;
  if (!theirs || theirs->at_least) return;
  for (Advised& one : advice.contenders) {
    if (!one.longest || one.is_baseline) continue;
    one.times_longer = static_cast<double>(one.longest->document_tokens) /
                       static_cast<double>(std::max<std::int64_t>(theirs->document_tokens, 1));
  }
}

void order(std::vector<Advised>& contenders) {
  std::ranges::stable_sort(contenders, [](const Advised& a, const Advised& b) {
    if (a.standing != b.standing) return a.standing < b.standing;
    return a.time_ns && b.time_ns && a.time_ns->value < b.time_ns->value;
  });
}

}  // namespace

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::within_limits:
      return "within limits";
    case Standing::too_slow:
      return "too slow";
    case Standing::too_large:
      return "does not fit";
    case Standing::without_time:
      break;
  }
  return "no time";
}

std::int64_t sequence_of(const HeatPoint& point, std::int64_t query_tokens,
                         std::int64_t document_tokens) {
  const std::int64_t documents = std::max<std::int64_t>(point.documents, 1);
  if (!has_query(point)) return documents * document_tokens;
  return 1 + (query_tokens + 1) + documents * (document_tokens + 1);
}

std::int64_t document_of(const HeatPoint& point, std::int64_t query_tokens,
                         double sequence_tokens) {
  const double documents = static_cast<double>(std::max<std::int64_t>(point.documents, 1));
  const double around = has_query(point) ? static_cast<double>(query_tokens) + 2 : 0;
  const double own = (sequence_tokens - around) / documents - (has_query(point) ? 1 : 0);
  return static_cast<std::int64_t>(std::max(0.0, std::floor(own)));
}

std::vector<Advice> make_advice(const RunInfo& run, const std::optional<std::string>& baseline,
                                const std::vector<const Row*>& rows, const Question& question) {
  std::vector<std::vector<const Row*>> settings;
  std::map<std::string, std::size_t> known;
  std::vector<Row> of_points;
  for (const Row* row : rows) {
    const auto [place, is_new] =
        known.emplace(point_key(setting_of(row->cell.point)), settings.size());
    if (is_new) {
      settings.emplace_back();
      of_points.emplace_back();
      of_points.back().cell.point = setting_of(row->cell.point);
    }
    settings[place->second].push_back(row);
  }
  const std::vector<bool> varying = varying_axes(of_points);
  std::vector<Advice> all;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const std::vector<const Row*> own = with_nearest_query(settings[i], question.query_tokens);
    Advice& advice = all.emplace_back();
    advice.run = run;
    advice.question = question;
    advice.point = own.front()->cell.point;
    advice.setting = words_of(of_points[i].cell.point, varying, true);
    advice.baseline = baseline;
    if (!question.query_tokens) advice.question.query_tokens = advice.point.query_tokens;
    advice.contenders = advise_all(advice, own);
    compare(advice, own);
    order(advice.contenders);
    advice.to_measure = lengths_to_measure(advice, own);
    say(advice);
  }
  return all;
}

std::vector<Advice> make_advice(const Table& table, const Question& question) {
  std::vector<const Row*> rows;
  rows.reserve(table.rows.size());
  for (const Row& row : table.rows) rows.push_back(&row);
  return make_advice(table.run, table.baseline, rows, question);
}

std::optional<std::string> full_contender(const Table& table) {
  const Row *full = nullptr, *any = nullptr;
  for (const Row& row : table.rows) {
    if (!is_measured(row)) continue;
    const auto comes_first = [&row](const Row* other) {
      return other == nullptr || row.cell.cell_number < other->cell.cell_number;
    };
    if (comes_first(any)) any = &row;
    if (row.cell.cell.contender.pattern == full_pattern && comes_first(full)) full = &row;
  }
  const Row* const chosen = full != nullptr ? full : any;
  if (chosen == nullptr) return std::nullopt;
  return chosen->cell.cell.contender.id();
}

}  // namespace attnscope::report
