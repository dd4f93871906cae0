// SPDX-License-Identifier: Apache-2.0
#include "engine/report/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "engine/report/axes_in_words.h"
#include "engine/report/conditions.h"

namespace attnscope::report {
namespace {

/// Rows grouped by contender, in their original order.
std::vector<std::vector<const Row*>> by_contender(const std::vector<const Row*>& rows) {
  std::vector<std::vector<const Row*>> contenders;
  std::map<std::string, std::size_t> known;
  for (const Row* row : rows) {
    const auto [place, is_new] = known.emplace(row->cell.cell.contender.id(), contenders.size());
    if (is_new) contenders.emplace_back();
    contenders[place->second].push_back(row);
  }
  return contenders;
}

constexpr statistics::Ratio itself{.ratio = 1, .low = 1, .high = 1, .paired = true};

double time_per_document(const Row& row) {
  return row.cell.summary.median_ns / documents_of(row);
}

/// The leader of contenders sorted by time. `to_first` gives the time of another contender over
/// that of the first.
template <typename ToFirst>
std::optional<Leader> leader_of(const std::vector<std::size_t>& by_time, const ToFirst& to_first) {
  if (by_time.empty()) return std::nullopt;
  Leader leader{.contender = by_time.front(), .runner_up = {}};
  for (const std::size_t other : std::span(by_time).subspan(1)) {
    const std::optional<statistics::Ratio> ratio = to_first(other);
    if (leader.is_alone()) leader.runner_up = ratio.value_or(statistics::Ratio());
    if (!leader.is_clear()) break;
    // A much slower contender with too few samples for a verdict does not count.
    if (ratio && is_known(*ratio) && ratio->verdict != statistics::Verdict::slower)
      leader.runner_up = ratio;
  }
  return leader;
}

EffectivenessFrom effectiveness_known_of(const std::vector<const Row*>& rows) {
  std::set<std::pair<std::string, std::string>> patterns;
  bool any_published = false;
  for (const Row* row : rows) {
    // Means without a baseline to test against do not show equivalence.
    if (row->effectiveness) {
      return row->effectiveness->baseline.empty() ? EffectivenessFrom::nothing
                                                  : EffectivenessFrom::measured;
    }
    const Contender& contender = row->cell.cell.contender;
    patterns.emplace(contender.pattern, contender.window ? contender.window->text() : "");
    any_published =
        any_published || published_ndcg(contender, row->cell.point.sequence_tokens).has_value();
  }
  return any_published && patterns.size() > 1 ? EffectivenessFrom::published
                                              : EffectivenessFrom::nothing;
}

bool is_shown_equivalent(EffectivenessFrom from, const MeasuredEffectiveness* measured,
                         const std::optional<PublishedNdcg>& published) {
  switch (from) {
    case EffectivenessFrom::measured:
      return measured != nullptr && !measured->baseline.empty() && measured->is_equivalent();
    case EffectivenessFrom::published:
      return published && (published->is_equivalent || published->is_reference);
    case EffectivenessFrom::nothing:
      break;
  }
  return false;
}

/// The leaders at one x; rows with a time come first, sorted by time.
Leaders leaders_of(const std::vector<Ranked>& contenders, const std::vector<const Row*>& rows,
                   EffectivenessFrom from) {
  std::vector<std::size_t> all, equivalent;
  for (std::size_t i = 0; i < contenders.size() && contenders[i].to_fastest; ++i) {
    all.push_back(i);
    if (is_shown_equivalent(from, contenders[i].row.effectiveness.get(), contenders[i].published))
      equivalent.push_back(i);
  }
  return {.of_all = leader_of(all, [&](std::size_t i) { return contenders[i].to_fastest; }),
          .of_equivalent = leader_of(equivalent, [&](std::size_t i) {
            return equivalent.front() == 0 ? contenders[i].to_fastest
                                           : ratio_between(*rows[i], *rows[equivalent.front()]);
          })};
}

/// The rows at one x: the fastest first, those without a time last.
Ranking ranking_of(std::string place, std::vector<const Row*> rows, EffectivenessFrom from) {
  std::ranges::stable_sort(rows, [](const Row* a, const Row* b) {
    const bool timed_a = has_time(*a), timed_b = has_time(*b);
    return timed_a && timed_b ? time_per_document(*a) < time_per_document(*b) : timed_a && !timed_b;
  });
  Ranking ranking{.place = std::move(place), .contenders = {}, .leaders = {}};
  for (const Row* row : rows) {
    Ranked ranked{.row = *row, .to_fastest = {}, .published = {}};
    if (!row->effectiveness)
      ranked.published = published_ndcg(row->cell.cell.contender, row->cell.point.sequence_tokens);
    if (is_implausible(*row)) {
      ranked.row.cell.cell.status = CellStatus::wrong;
      ranked.row.cell.cell.reason = why_implausible(*row);
    }
    ranked.row.cell.cell.samples.clear();  // an answer does not need them
    if (has_time(*row)) {
      ranked.to_fastest = row == rows.front() ? itself : ratio_between(*row, *rows.front());
    }
    ranking.contenders.push_back(std::move(ranked));
  }
  ranking.leaders = leaders_of(ranking.contenders, rows, from);
  return ranking;
}

/// Contender ids without window, each with the ids of all its windows.
std::map<std::string, std::vector<std::string>> windows_of(const Table& table) {
  std::map<std::string, std::vector<std::string>> ids;
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    if (!contender.window || row.cell.damaged) continue;
    std::vector<std::string>& own = ids[contender_along(contender, XAxis::window)];
    if (std::ranges::find(own, contender.id()) == own.end()) own.push_back(contender.id());
  }
  return ids;
}

/// The id without window if `text` names all windows of one contender.
std::optional<std::string> windowed_baseline(const Table& table, std::string_view text) {
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    const std::string id = contender_along(contender, XAxis::window);
    if (contender.window && (id == text || base_name(contender) == text)) return id;
  }
  return std::nullopt;
}

/// Compares each row with the baseline of the same heat and the same window.
void set_window_by_window(Table& table, const Table& all, const std::string& baseline) {
  const auto key = [](const Row& row) {
    return std::tuple(row.cell.heat_number, point_key(row.cell.point),
                      row.cell.cell.contender.window->text());
  };
  std::map<std::tuple<std::int64_t, std::string, std::string>, const Row*> places;
  for (const Row& row : all.rows) {
    const Contender& contender = row.cell.cell.contender;
    if (contender.window && contender_along(contender, XAxis::window) == baseline) {
      places.emplace(key(row), &row);
    }
  }
  for (Row& row : table.rows) {
    if (!row.cell.cell.contender.window) continue;
    const auto place = places.find(key(row));
    if (place != places.end()) row.ratio = ratio_between(row, *place->second);
  }
  table.baseline = baseline;
}

/// The sweep's first contender with a time; for x = window without its window.
std::optional<std::string> first_measured(const Table& table, XAxis x) {
  const Row* first = nullptr;
  for (const Row& row : table.rows) {
    if (has_time(row) && (first == nullptr || row.cell.cell_number < first->cell.cell_number)) {
      first = &row;
    }
  }
  if (first == nullptr) return std::nullopt;
  return contender_along(first->cell.cell.contender, x);
}

std::vector<Ranking> rank(const std::vector<const Row*>& rows, XAxis x, EffectivenessFrom from) {
  const Places places(rows, x);
  std::map<double, std::vector<const Row*>> by_place;
  for (const Row* row : rows) {
    if (x != XAxis::window || row->cell.cell.contender.window) {
      by_place[places.of(*row)].push_back(row);
    }
  }
  std::vector<Ranking> rankings;
  for (auto& [place, own] : by_place) {
    for (const Row* row : rows) {
      // Contenders without a window are compared at every window.
      if (x == XAxis::window && !row->cell.cell.contender.window) own.push_back(row);
    }
    // If lengths are drawn, a time does not belong to a single length.
    const LengthDistribution& lengths = own.front()->cell.point.document_lengths;
    const std::string words = x == XAxis::length && lengths.is_drawn()
                                  ? fmt::format("Documents of {} words", text_of(lengths))
                                  : places.words(place);
    rankings.push_back(ranking_of(words, own, from));
  }
  return rankings;
}

// The longest lengths that fit.

void predict(FitAnswer& fit, const Row* before, const Row& longest, double available) {
  if (before == nullptr) return;
  const double tokens = longest_within(available, need_of(*before), need_of(longest));
  fit.predicted_is_least = tokens >= farthest_prediction * static_cast<double>(*fit.longest);
  fit.predicted = std::max(*fit.longest, fit.predicted_is_least ? static_cast<std::int64_t>(tokens)
                                                                : two_digits(tokens));
  if (fit.next && fit.next_status == CellStatus::oom && *fit.predicted >= *fit.next) {
    // The measurement takes precedence: this length did not fit.
    fit.predicted.reset();
    fit.predicted_is_least = false;
  }
}

FitAnswer fit_of(const std::vector<const Row*>& own, std::optional<double> available_bytes) {
  const LengthCurve curve(own);
  const Contender& contender = own.front()->cell.cell.contender;
  FitAnswer fit;
  fit.contender = contender.id();
  fit.name = contender.name;
  if (const Row* next = curve.next()) {
    fit.next = next->cell.point.sequence_tokens;
    fit.next_status = next->cell.cell.status;
    fit.next_reason = next->cell.cell.reason;
  }
  if (const Row* longest = curve.longest()) {
    fit.longest = longest->cell.point.sequence_tokens;
    fit.bytes_per_document =
        static_cast<double>(peak_bytes(longest->cell.cell.memory)) / documents_of(*longest);
    if (available_bytes) predict(fit, curve.before_longest(), *longest, *available_bytes);
  }
  fit.sentence = sentence_of(fit);
  return fit;
}

// Answers to a question.

using Reach = LengthCurve::Reach;
using statistics::Ratio;

/// Computes one contender's part of the answer.
class Adviser {
 public:
  Adviser(const Answer& answer, const std::vector<const Row*>& rows, std::optional<double> memory)
      : answer_(answer), curve_(rows), memory_(memory) {
    const Contender& contender = rows.front()->cell.cell.contender;
    advised_.contender = contender.id();
    advised_.name = contender.name;
    advised_.pattern = contender.pattern;
    advised_.window = contender.window;
    advised_.is_baseline = answer.baseline == advised_.contender;
    if (const auto& own = rows.front()->effectiveness) advised_.measured = *own;
    is_cross_encoder_ = is_papers_cross_encoder(contender);
  }

  Advised advised() && {
    add_up();
    find_longest();
    set_published();
    return std::move(advised_);
  }

 private:
  [[nodiscard]] double sequence(std::int64_t length) const {
    return static_cast<double>(sequence_of(answer_, length));
  }

  /// Sums over the lengths; a candidate list has the same distribution of lengths.
  void add_up() {
    const Question& question = *answer_.question;
    const double lists =
        static_cast<double>(question.candidates) / static_cast<double>(question.documents.count());
    Estimate time;
    Ratio ratio{.ratio = 0, .low = 0, .high = 0, .paired = true};
    double baseline_time = 0;
    Need need;
    bool has_time = true, has_ratio = true, has_need = true;
    for (const auto& [tokens, count] : question.documents.counted()) {
      const double length = sequence(tokens);
      const auto place = curve_.place(length);
      const double times = lists * static_cast<double>(count);
      has_need = add_need(need, length, place, times / documents_per_item()) && has_need;
      if (!place.has_value()) {
        has_time = false;
        miss(tokens, count, place);
        continue;
      }
      mark(place);
      const Estimate one = LengthCurve::time_ns(place);
      time.value += times * one.value;
      time.low += times * one.low;
      time.high += times * one.high;
      const std::optional<Ratio> there = LengthCurve::ratio(place);
      if (!there) {
        has_ratio = false;
        continue;
      }
      // Weighted by the baseline's time at each length; the ends of the intervals are added as if
      // the errors at all lengths were fully correlated.
      const double weight = times * one.value / there->ratio;
      baseline_time += weight;
      ratio.ratio += weight * there->ratio;
      ratio.low += weight * there->low;
      ratio.high += weight * there->high;
      ratio.paired = ratio.paired && there->paired;
    }
    if (has_time) advised_.time_ns = time;
    if (has_time && has_ratio && baseline_time > 0) set_ratio(ratio, baseline_time);
    if (has_need) {
      advised_.peak_bytes = need.peak;
      advised_.need_bytes = need.bytes();
    }
    judge();
  }

  void set_ratio(Ratio sums, double baseline_time) {
    sums.ratio /= baseline_time;
    sums.low /= baseline_time;
    sums.high /= baseline_time;
    sums.verdict = verdict_of(sums.low, sums.high);
    advised_.to_baseline = sums;
  }

  [[nodiscard]] double documents_per_item() const {
    return static_cast<double>(std::max<std::int64_t>(answer_.point.documents, 1));
  }

  bool add_need(Need& sum, double length, const LengthCurve::Place& place, double items) {
    std::optional<Need> one;
    if (place.has_value()) one = LengthCurve::need(length, place);
    if (place.reach == Reach::longer) {
      one = curve_.predicted_need(length);
      advised_.memory_is_predicted = advised_.memory_is_predicted || one.has_value();
    }
    if (!one) return false;
    sum.peak += items * one->peak;
    sum.tensors += items * one->tensors;
    largest_item_ = std::max(largest_item_, one->bytes());
    return true;
  }

  /// Marks times that are interpolated, or taken from another length.
  void mark(const LengthCurve::Place& place) {
    if (place.reach == Reach::shorter)
      advised_.counted_as = place.before->cell.point.sequence_tokens;
    if (place.reach != Reach::between) return;
    advised_.is_rough = advised_.is_rough || place.is_rough();
    const bool first = !std::exchange(advised_.is_interpolated, true);
    const bool is_one = answer_.question->documents.is_one();
    if (first && is_one) {
      advised_.lower = place.before->cell.point.sequence_tokens;
      advised_.upper = place.after->cell.point.sequence_tokens;
    }
  }

  void miss(std::int64_t document_tokens, std::int64_t count, const LengthCurve::Place& place) {
    missing_ += count;
    longest_missing_ = std::max(longest_missing_, document_tokens);
    if (missing_reach_ == Reach::measured || place.reach == Reach::longer) {
      missing_reach_ = place.reach;
    }
  }

  void judge() {
    const Question& question = *answer_.question;
    if (question.memory_bytes && largest_item_ > 0 && advised_.need_bytes) {
      // A batch consists of whole items, and the largest item must fit.
      const double items = std::floor(*question.memory_bytes / largest_item_);
      const double documents = items * documents_per_item();
      advised_.at_once =
          static_cast<std::int64_t>(std::min(documents, static_cast<double>(question.candidates)));
    }
    if (advised_.at_once == 0) {
      advised_.standing = Standing::too_large;
      advised_.reason = fmt::format("one document takes {}, the limit is {}",
                                    format_bytes(largest_item_ / documents_per_item()),
                                    format_bytes(*question.memory_bytes));
    } else if (!advised_.time_ns) {
      advised_.standing = Standing::without_time;
      advised_.reason = why_without_time();
    } else if (question.latency_ns && advised_.time_ns->value > *question.latency_ns) {
      advised_.standing = Standing::too_slow;
      advised_.reason = fmt::format("the limit is {}", format_time(*question.latency_ns));
    } else {
      advised_.standing = Standing::within_limits;
    }
  }

  [[nodiscard]] static std::string outcome(const Row& row) {
    const Cell& cell = row.cell.cell;
    if (row.cell.damaged) return std::string(damaged_status);
    if (is_implausible(row)) return why_implausible(row);
    return cell.reason.empty() ? std::string(name_of(cell.status))
                               : fmt::format("{}: {}", name_of(cell.status), cell.reason);
  }

  [[nodiscard]] std::string why_without_time() const {
    const Row* const next = curve_.next();
    if (missing_reach_ == Reach::nowhere) {
      return next == nullptr ? "nothing of it was measured" : outcome(*next);
    }
    const bool is_one = answer_.question->documents.is_one();
    if (missing_reach_ == Reach::broken) {
      return is_one ? "it has no time at a length beside this one"
                    : "it has no time at a length among these";
    }
    const std::string longest = fmt::format("{} tokens, the longest measured of it",
                                            curve_.longest()->cell.point.sequence_tokens);
    std::string text =
        is_one ? fmt::format("{:.0f} tokens are more than {}", sequence(longest_missing_), longest)
               : fmt::format("{} of {} documents {} longer than {}", missing_,
                             answer_.question->documents.count(),
                             missing_ == 1 ? "makes a sequence" : "make sequences", longest);
    if (next != nullptr) {
      text += fmt::format("; at {} {}", next->cell.point.sequence_tokens, outcome(*next));
    }
    return text;
  }

  [[nodiscard]] LongestDocument document(double tokens, LongestDocument::From from,
                                         bool at_least) const {
    return {document_of(answer_.point, *answer_.question->query_tokens, tokens), from, at_least};
  }

  void find_longest() {
    const Row* const longest = curve_.longest();
    if (longest == nullptr) return;
    const Row* const next = curve_.next();
    const bool ended = next != nullptr && next->cell.cell.status == CellStatus::oom;
    using From = LongestDocument::From;
    if (!memory_) {
      advised_.longest = document(tokens_of(longest), From::measured, !ended);
      return;
    }
    if (need_of(*longest).bytes() > *memory_) return find_longest_measured();
    advised_.longest = document(tokens_of(longest), From::measured, !ended);
    if (curve_.before_longest() == nullptr) return;
    const double tokens =
        longest_within(*memory_, need_of(*curve_.before_longest()), need_of(*longest));
    // If a length was measured not to fit, a prediction that it fits is wrong, unless the limit is
    // larger than the memory the run had.
    const bool was_tried = ended && tokens >= tokens_of(next);
    if (was_tried && !answer_.question->memory_bytes) return;
    const bool at_least = tokens >= farthest_prediction * tokens_of(longest);
    advised_.longest = document(tokens, From::predicted, at_least);
  }

  /// The case that the longest measured length needs more than the limit.
  void find_longest_measured() {
    const Row *fits = nullptr, *too_long = nullptr;
    for (const Row* row : curve_.rows()) {
      if (!has_time(*row)) continue;
      if (need_of(*row).bytes() <= *memory_) {
        fits = row;
      } else if (fits != nullptr) {
        too_long = row;
        break;
      }
    }
    if (fits == nullptr) return;
    double low = tokens_of(fits), high = tokens_of(too_long);
    while (high - low > 0.5) {
      const double middle = (low + high) / 2;
      const auto place = curve_.place(middle);
      if (!place.has_value()) break;
      (LengthCurve::need(middle, place).bytes() <= *memory_ ? low : high) = middle;
    }
    const bool is_between = std::floor(low) > tokens_of(fits);
    advised_.longest = document(
        std::floor(low),
        is_between ? LongestDocument::From::between : LongestDocument::From::measured, false);
  }

  /// Chooses the values for passages or documents by the 95th percentile of the lengths.
  void set_published() {
    if (advised_.measured || !is_cross_encoder_) return;
    const auto tokens =
        static_cast<std::int64_t>(sequence(answer_.question->documents.percentile(95)));
    advised_.published = published_ndcg(advised_.pattern, advised_.window, tokens);
    const auto full = published_ndcg(full_pattern, std::nullopt, tokens);
    if (!advised_.published || !full || advised_.pattern == full_pattern) return;
    advised_.published_loss = full->ndcg10 - advised_.published->ndcg10;
  }

  const Answer& answer_;
  bool is_cross_encoder_ = true;
  LengthCurve curve_;
  std::optional<double> memory_;
  Advised advised_;
  double largest_item_ = 0;
  std::int64_t missing_ = 0, longest_missing_ = 0;
  Reach missing_reach_ = Reach::measured;
};

bool has_query(const HeatPoint& point) {
  return point.operation != Operation::windowed_matmul;
}

HeatPoint setting_of(HeatPoint point) {
  point.sequence_tokens = 0;
  point.query_tokens = 0;
  return point;
}

/// The rows with the measured query length that is nearest to the question's.
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

/// Lengths that were not measured for any contender, so that their numbers are interpolated or
/// missing.
std::vector<std::int64_t> lengths_to_measure(const Answer& answer,
                                             const std::vector<const Row*>& rows) {
  const DocumentLengths& documents = answer.question->documents;
  const std::int64_t query = *answer.question->query_tokens;
  std::vector<std::int64_t> lengths;
  for (const std::int64_t document : {documents.shortest(), documents.percentile(50),
                                      documents.percentile(95), documents.longest()}) {
    const std::int64_t tokens = sequence_of(answer, document);
    const auto is_there = [&](const Row* row) {
      return row->cell.point.sequence_tokens == tokens && row->cell.point.query_tokens == query;
    };
    if (std::ranges::none_of(rows, is_there) && (lengths.empty() || lengths.back() != tokens)) {
      lengths.push_back(tokens);
    }
  }
  return lengths;
}

std::vector<Advised> advise_all(const Answer& answer, const std::vector<const Row*>& rows) {
  std::optional<double> memory = answer.question->memory_bytes;
  if (!memory) memory = free_bytes_at_start(answer.run, answer.point.device);
  std::vector<Advised> contenders;
  for (const std::vector<const Row*>& own : by_contender(rows))
    contenders.push_back(Adviser(answer, own, memory).advised());
  return contenders;
}

void compare(Answer& answer, const std::vector<const Row*>& rows) {
  if (!answer.baseline) return;
  for (CrossoverAnswer& crossover : find_crossover_answers(rows, XAxis::length, *answer.baseline)) {
    const auto own = std::ranges::find(answer.contenders, crossover.contender, &Advised::contender);
    if (own != answer.contenders.end()) own->crossovers = std::move(crossover.found);
  }
  const auto baseline = std::ranges::find(answer.contenders, true, &Advised::is_baseline);
  if (baseline == answer.contenders.end()) return;
  const auto is_full = [&](const Row* row) {
    const Contender& contender = row->cell.cell.contender;
    return contender.id() == baseline->contender && contender.pattern == full_pattern &&
           is_papers_cross_encoder(contender);
  };
  // Several implementations of full attention may differ widely in speed: then the baseline is
  // named.
  const bool is_alone = std::ranges::none_of(answer.contenders, [&](const Advised& one) {
    return one.pattern == full_pattern && !one.is_baseline;
  });
  answer.baseline_words = is_alone && std::ranges::any_of(rows, is_full)
                              ? std::string("full attention")
                              : baseline->name;
  const std::optional<LongestDocument> theirs = baseline->longest;
  if (!theirs || theirs->at_least) return;
  for (Advised& advised : answer.contenders) {
    if (!advised.longest || advised.is_baseline) continue;
    advised.times_longer = static_cast<double>(advised.longest->document_tokens) /
                           static_cast<double>(std::max<std::int64_t>(theirs->document_tokens, 1));
  }
}

/// The rows with ratios to the other contender of the same heat, instead of the baseline.
std::vector<Row> set_against(const std::vector<const Row*>& rows,
                             const std::vector<const Row*>& others) {
  std::vector<Row> against;
  for (const Row* row : rows) {
    const auto same = std::ranges::find_if(others, [row](const Row* other) {
      return other->cell.heat_number == row->cell.heat_number &&
             point_key(other->cell.point) == point_key(row->cell.point);
    });
    Row& own = against.emplace_back(*row);
    own.ratio = same == others.end() ? std::nullopt : ratio_between(*row, **same);
  }
  return against;
}

/// Finds the leaders of a question's answer, whose contenders are sorted.
void find_leaders(Answer& answer, const std::vector<const Row*>& rows) {
  answer.effectiveness = effectiveness_known_of(rows);
  std::map<std::string, std::vector<const Row*>> rows_of;
  for (std::vector<const Row*>& own : by_contender(rows))
    rows_of.emplace(own.front()->cell.cell.contender.id(), std::move(own));
  std::vector<std::size_t> all, equivalent;
  for (std::size_t i = 0; i < answer.contenders.size(); ++i) {
    const Advised& one = answer.contenders[i];
    if (one.standing != Standing::within_limits) continue;
    all.push_back(i);
    if (is_shown_equivalent(answer.effectiveness, one.measured ? &*one.measured : nullptr,
                            one.published)) {
      equivalent.push_back(i);
    }
  }
  const auto to_first = [&](const std::vector<std::size_t>& by_time) {
    return [&](std::size_t other) {
      const std::vector<Row> against =
          set_against(rows_of[answer.contenders[other].contender],
                      rows_of[answer.contenders[by_time.front()].contender]);
      return Adviser(answer, all_rows(against), std::nullopt).advised().to_baseline;
    };
  };
  answer.leaders = {.of_all = leader_of(all, to_first(all)),
                    .of_equivalent = leader_of(equivalent, to_first(equivalent))};
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

std::int64_t sequence_of(const Answer& answer, std::int64_t length) {
  const Question& question = *answer.question;
  return question.of_sequences ? length : sequence_of(answer.point, *question.query_tokens, length);
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

bool Leader::is_clear() const {
  return is_alone() || (is_known(*runner_up) && runner_up->verdict == statistics::Verdict::slower);
}

const Advised* fastest_equivalent(const Answer& answer) {
  const std::optional<Leader>& leader = answer.leaders.of_equivalent;
  return leader && answer.question ? &answer.contenders[leader->contender] : nullptr;
}

Figure effectiveness_figure(const Answer& answer) {
  std::vector<TimedEffectiveness> contenders;
  for (const Advised& advised : answer.contenders) {
    if (!advised.time_ns) continue;
    contenders.push_back({.name = advised.name,
                          .contender = advised.contender,
                          .time_ns = advised.time_ns->value,
                          .remark = advised.is_interpolated ? "≈ interpolated"
                                    : advised.counted_as    ? "≈ shorter than measured"
                                                            : "",
                          .measured = advised.measured,
                          .published = advised.published});
  }
  const std::int64_t count = answer.question ? answer.question->candidates : 0;
  Figure figure = effectiveness_figure(
      contenders, fmt::format("for {} document{}", count, count == 1 ? "" : "s"));
  figure.provenance = provenance_line(answer.run);
  return figure;
}

Result<Table> make_answer_table(const Store& store, const RunInfo& run,
                                std::optional<std::string_view> baseline, const OnlyFilter& filter,
                                XAxis x) {
  if (!baseline || x == XAxis::window) {
    Result<Table> all = make_table(store, run, std::nullopt, {});
    if (!all) return all;
    const std::optional<std::string> text =
        baseline ? std::optional(std::string(*baseline)) : first_measured(*all, x);
    if (!text) return make_table(store, run, std::nullopt, filter);
    if (x != XAxis::window) return make_table(store, run, *text, filter);
    const std::optional<std::string> windowed = windowed_baseline(*all, *text);
    if (windowed && windows_of(*all)[*windowed].size() > 1) {
      Result<Table> table = make_table(store, run, std::nullopt, filter);
      if (table) set_window_by_window(*table, *all, *windowed);
      return table;
    }
    return make_table(store, run, *text, filter);
  }
  return make_table(store, run, baseline, filter);
}

std::optional<std::string> full_contender(const Table& table) {
  const Row *full = nullptr, *any = nullptr;
  for (const Row& row : table.rows) {
    if (!has_time(row)) continue;
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

namespace {

/// Notes on doubts about the times.
void add_doubts(Answer& answer, const std::vector<const Row*>& rows) {
  for (const std::string& doubt :
       {disturbed_cells_in_words(answer.run, rows), beyond_limit_in_words(rows),
        unchecked_in_words(answer.run, rows)}) {
    if (!doubt.empty()) answer.notes.push_back(doubt + ".");
  }
}

}  // namespace

std::vector<Answer> make_answers(const Table& table, XAxis x) {
  std::vector<Answer> answers;
  if (table.rows.empty()) return answers;
  std::vector<bool> varying = varying_axes(table.rows);
  // x itself is stated with every ranking.
  std::vector<bool> told = varying;
  if (x != XAxis::window) {
    const std::size_t along = place_of_axis(key_along(x));
    varying[along] = true;
    told[along] = false;
  }
  const std::string shared = words_of(table.rows.front().cell.point, varying, false);
  for (const std::vector<const Row*>& rows : rows_by_setting(table, x)) {
    Answer& answer = answers.emplace_back();
    answer.run = table.run;
    answer.x = x;
    answer.baseline = table.baseline;
    answer.shared = shared;
    answer.point = rows.front()->cell.point;
    answer.setting = words_of(answer.point, told, true);
    answer.effectiveness = effectiveness_known_of(rows);
    answer.rankings = rank(rows, x, answer.effectiveness);
    const bool of_a_length = x != XAxis::length || std::ranges::none_of(rows, [](const Row* row) {
                               return row->cell.point.document_lengths.is_drawn();
                             });
    if (table.baseline && of_a_length)
      answer.crossovers = find_crossover_answers(rows, x, *table.baseline);
    if (x == XAxis::length && of_a_length)
      answer.fits = find_fits(rows, free_bytes_at_start(table.run, answer.point.device));
    if (!of_a_length) answer.notes.emplace_back(no_answer_to_one_length);
    add_doubts(answer, rows);
  }
  return answers;
}

std::vector<FitAnswer> find_fits(const std::vector<const Row*>& rows,
                                 std::optional<double> available_bytes) {
  std::vector<FitAnswer> fits;
  for (const std::vector<const Row*>& own : by_contender(rows))
    fits.push_back(fit_of(own, available_bytes));
  return fits;
}

std::vector<Answer> make_answers(const RunInfo& run, const std::optional<std::string>& baseline,
                                 const std::vector<const Row*>& rows, const Question& question) {
  std::vector<std::vector<const Row*>> settings;
  std::map<std::string, std::size_t> known;
  std::vector<Row> of_points;
  for (const Row* row : rows) {
    // If lengths are drawn, a time does not belong to a single length.
    if (row->cell.point.document_lengths.is_drawn()) continue;
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
  std::vector<Answer> all;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const std::vector<const Row*> own = with_nearest_query(settings[i], question.query_tokens);
    Answer& answer = all.emplace_back();
    answer.run = run;
    answer.question = question;
    answer.point = own.front()->cell.point;
    answer.setting = words_of(of_points[i].cell.point, varying, true);
    answer.baseline = baseline;
    if (!question.query_tokens) answer.question->query_tokens = answer.point.query_tokens;
    answer.contenders = advise_all(answer, own);
    compare(answer, own);
    order(answer.contenders);
    find_leaders(answer, own);
    answer.to_measure = lengths_to_measure(answer, own);
    say(answer);
    add_doubts(answer, own);
  }
  return all;
}

std::vector<Answer> make_answers(const Table& table, const Question& question) {
  return make_answers(table.run, table.baseline, all_rows(table.rows), question);
}

}  // namespace attnscope::report
