// SPDX-License-Identifier: Apache-2.0
#include "engine/report/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attnscope::report {
namespace {

using Reach = LengthCurve::Reach;
using statistics::Ratio;

double tokens_of(const Row* row) {
  return static_cast<double>(row->cell.point.sequence_tokens);
}

/// One contender's share of the question.
class Adviser {
 public:
  Adviser(const Advice& advice, const std::vector<const Row*>& rows, std::optional<double> memory)
      : advice_(advice), curve_(rows), memory_(memory) {
    const Contender& contender = rows.front()->cell.cell.contender;
    advised_.contender = contender.id();
    advised_.name = contender.name;
    advised_.pattern = contender.pattern;
    advised_.window = contender.window;
    advised_.is_baseline = advice.baseline == advised_.contender;
  }

  Advised advised() && {
    add_up();
    find_longest();
    set_published();
    return std::move(advised_);
  }

 private:
  [[nodiscard]] double sequence(std::int64_t document_tokens) const {
    return static_cast<double>(
        sequence_of(advice_.point, *advice_.question.query_tokens, document_tokens));
  }

  /// Sums over the lengths; a list of candidates is made up like the lengths.
  void add_up() {
    const Question& question = advice_.question;
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
      // Weighted by what the baseline takes at each length; the ends of the intervals are added as
      // if all lengths were off the same way.
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
    return static_cast<double>(std::max<std::int64_t>(advice_.point.documents, 1));
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

  /// What is carried between lengths, or counted as another one, is said.
  void mark(const LengthCurve::Place& place) {
    if (place.reach == Reach::shorter)
      advised_.counted_as = place.before->cell.point.sequence_tokens;
    if (place.reach != Reach::between) return;
    advised_.is_rough = advised_.is_rough || place.is_rough();
    const bool first = !std::exchange(advised_.is_interpolated, true);
    const bool is_one = advice_.question.documents.is_one();
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
    const Question& question = advice_.question;
    if (question.memory_bytes && largest_item_ > 0 && advised_.need_bytes) {
      // A batch is of whole items, of which the largest must fit.
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
    return cell.reason.empty() ? std::string(name_of(cell.status))
                               : fmt::format("{}: {}", name_of(cell.status), cell.reason);
  }

  [[nodiscard]] std::string why_without_time() const {
    const Row* const next = curve_.next();
    if (missing_reach_ == Reach::nowhere) {
      return next == nullptr ? "nothing of it was measured" : outcome(*next);
    }
    const bool is_one = advice_.question.documents.is_one();
    if (missing_reach_ == Reach::broken) {
      return is_one ? "it has no time at a length beside this one"
                    : "it has no time at a length among these";
    }
    const std::string longest = fmt::format("{} tokens, the longest measured of it",
                                            curve_.longest()->cell.point.sequence_tokens);
    std::string text =
        is_one ? fmt::format("{:.0f} tokens are more than {}", sequence(longest_missing_), longest)
               : fmt::format("{} of {} documents {} longer than {}", missing_,
                             advice_.question.documents.count(), missing_ == 1 ? "is" : "are",
                             longest);
    if (next != nullptr) {
      text += fmt::format("; at {} {}", next->cell.point.sequence_tokens, outcome(*next));
    }
    return text;
  }

  [[nodiscard]] LongestDocument document(double tokens, LongestDocument::From from,
                                         bool at_least) const {
    return {document_of(advice_.point, *advice_.question.query_tokens, tokens), from, at_least};
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
    // Where it was seen not to fit, a prediction that it does is wrong, unless the limit is larger
    // than what the run had.
    const bool was_tried = ended && tokens >= tokens_of(next);
    if (was_tried && !advice_.question.memory_bytes) return;
    const bool at_least = tokens >= farthest_prediction * tokens_of(longest);
    advised_.longest = document(tokens, From::predicted, at_least);
  }

  /// The limit lies below what the longest measured length needs.
  void find_longest_measured() {
    const Row *fits = nullptr, *too_long = nullptr;
    for (const Row* row : curve_.rows()) {
      if (!is_measured(*row)) continue;
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

  /// Of passages or documents, by the length that 95 of 100 do not exceed.
  void set_published() {
    const auto tokens =
        static_cast<std::int64_t>(sequence(advice_.question.documents.percentile(95)));
    advised_.published = published_ndcg(advised_.pattern, advised_.window, tokens);
    const auto full = published_ndcg(full_pattern, std::nullopt, tokens);
    if (!advised_.published || !full || advised_.pattern == full_pattern) return;
    advised_.published_loss = full->ndcg10 - advised_.published->ndcg10;
  }

  const Advice& advice_;
  LengthCurve curve_;
  std::optional<double> memory_;
  Advised advised_;
  double largest_item_ = 0;
  std::int64_t missing_ = 0, longest_missing_ = 0;
  Reach missing_reach_ = Reach::measured;
};

}  // namespace

Advised advise(const Advice& advice, const std::vector<const Row*>& rows,
               std::optional<double> memory) {
  return Adviser(advice, rows, memory).advised();
}

}  // namespace attnscope::report
