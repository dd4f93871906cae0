// SPDX-License-Identifier: Apache-2.0
//
// Interpolated values are marked with "≈", values extrapolated from growth with "predicted".
#include "engine/report/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/sentences.h"
#include "engine/heat/axes.h"
#include "engine/report/length_curve.h"
#include "engine/report/number_text.h"
#include "engine/report/provenance.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"
#include "engine/sweep/run_plan.h"
#include "engine/sweep/sweep.h"

namespace attnscope::report {
namespace {

using Reach = LengthCurve::Reach;
using statistics::Crossing;
using statistics::Ratio;
using statistics::Verdict;

/// The pattern of full attention: the default baseline of an answer.
constexpr std::string_view full_pattern = "full";

/// The length of the whole sequence for one of the question's lengths, in tokens.
std::int64_t tokens_with(const Advice& advice, std::int64_t length) {
  const Question& question = advice.question;
  return question.of_sequences ? length : sequence_of(advice.point, *question.query_tokens, length);
}

// Sentences.

/// Smaller factors are not mentioned.
constexpr double shown_times = 1.05;

/// The baseline's name. For a contender that is also full attention it is the display name, because
/// "full attention" would be ambiguous.
std::string baseline_of(const Advised& advised, const Advice& advice) {
  const auto own = std::ranges::find(advice.contenders, true, &Advised::is_baseline);
  const bool by_name = advised.pattern == full_pattern && own != advice.contenders.end();
  return by_name ? own->name : advice.baseline_words;
}

std::string speed_in_words(const Advised& advised, const Advice& advice) {
  if (advised.is_baseline) return ", the baseline";
  if (!advised.to_baseline) return "";
  const std::string baseline = baseline_of(advised, advice);
  const bool is_shown = advised.to_baseline->verdict != Verdict::no_difference_shown;
  if (!is_known(*advised.to_baseline)) {
    return is_shown ? fmt::format(", {} than {}", name_of(advised.to_baseline->verdict), baseline)
                    : fmt::format(", {} to distinguish it from {}", interval_too_wide, baseline);
  }
  switch (advised.to_baseline->verdict) {
    case Verdict::faster:
      return fmt::format(", {} as fast as {}", times_in_words(1 / advised.to_baseline->ratio),
                         baseline);
    case Verdict::slower:
      return fmt::format(", {} the time of {}", times_in_words(advised.to_baseline->ratio),
                         baseline);
    case Verdict::no_difference_shown:
      break;
  }
  return fmt::format(", no difference from {} shown", baseline);
}

std::string longer_in_words(const Advised& advised) {
  if (!advised.times_longer || !advised.longest) return "";
  const double times = *advised.times_longer;
  const bool is_longer = times > shown_times;
  if (!is_longer && (times * shown_times > 1 || advised.longest->at_least || !(times > 0)))
    return "";
  return fmt::format(", fits {}{} {} documents", advised.longest->at_least ? "at least " : "",
                     times_in_words(is_longer ? times : 1 / times),
                     is_longer ? "longer" : "shorter");
}

/// A text that would be identical in the sentences of all contenders other than the baseline; it is
/// printed once, below them.
std::string longer_of_all(const Advice& advice) {
  std::vector<std::string> of_each;
  for (const Advised& advised : advice.contenders) {
    if (!advised.is_baseline) of_each.push_back(longer_in_words(advised));
  }
  const bool same =
      of_each.size() > 1 && !of_each.front().empty() &&
      std::ranges::count(of_each, of_each.front()) == static_cast<std::ptrdiff_t>(of_each.size());
  return same ? of_each.front() : std::string();
}

std::string own_length_in_words(const Advised& advised, const Advice& advice) {
  return longer_of_all(advice).empty() ? longer_in_words(advised) : std::string();
}

std::string crossover_in_words(const Advised& advised) {
  const std::vector<Crossing>& crossings = advised.crossovers.crossings;
  if (crossings.empty()) return "";
  if (crossings.size() > 1) return "; faster at some lengths and slower at others";
  const Crossing& only = crossings.front();
  if (!only.at) {
    return fmt::format("; becomes {} between {:.0f} and {:.0f} tokens",
                       only.a_overtakes ? "faster" : "slower", only.after, only.before);
  }
  return fmt::format("; faster {} {:.0f} tokens", only.a_overtakes ? "from" : "up to", *only.at);
}

std::string numbers_in_words(const Advised& advised, const Advice& advice) {
  return fmt::format("{}{} for {}", advised.is_interpolated || advised.counted_as ? "≈ " : "",
                     format_time(advised.time_ns->value),
                     counted(static_cast<std::size_t>(advice.question.candidates), "document")) +
         speed_in_words(advised, advice) + own_length_in_words(advised, advice) +
         crossover_in_words(advised);
}

std::string sentence_of(const Advised& advised, const Advice& advice) {
  switch (advised.standing) {
    case Standing::within_limits:
      return fmt::format("{}: {}.", advised.name, numbers_in_words(advised, advice));
    case Standing::too_slow:
      return fmt::format("{} is too slow ({}): {}.", advised.name, advised.reason,
                         numbers_in_words(advised, advice));
    case Standing::too_large:
      return fmt::format(
          "{} does not fit ({}){}.", advised.name, advised.reason,
          advised.time_ns ? ": " + numbers_in_words(advised, advice) : std::string());
    case Standing::without_time:
      break;
  }
  return fmt::format("{} has no time here: {}{}.", advised.name, without_stop(advised.reason),
                     own_length_in_words(advised, advice));
}

std::string longest_in_words(const LongestDocument& longest) {
  const bool is_predicted = longest.from == LongestDocument::From::predicted;
  std::string text =
      fmt::format("Documents of {} {} tokens fit", longest.at_least ? "at least" : "up to",
                  is_predicted ? two_digits(static_cast<double>(longest.document_tokens))
                               : longest.document_tokens);
  if (is_predicted) text += " (predicted from memory's growth)";
  if (longest.from == LongestDocument::From::between) text += " (≈, between two measured lengths)";
  return text + ".";
}

std::string memory_in_words(const Advised& advised, const Advice& advice) {
  // What a call needs whatever its batch is counted once for each item.
  const std::int64_t measured = advice.point.batch_max * advice.point.documents;
  const bool is_scaled = measured < advice.question.candidates;
  std::string text =
      fmt::format("Memory for {} at once: {}{}",
                  counted(static_cast<std::size_t>(advice.question.candidates), "document"),
                  is_scaled ? "at most " : "", format_bytes(*advised.peak_bytes));
  if (advice.point.operation == Operation::model) {
    text += ", in addition to the weights";
  } else {
    text += fmt::format(", {} with the tensors themselves", format_bytes(*advised.need_bytes));
  }
  if (is_scaled) {
    text += fmt::format(" (scaled from batches of {})",
                        counted(static_cast<std::size_t>(measured), "document"));
  }
  if (advised.memory_is_predicted) text += " (predicted from its growth)";
  if (advised.at_once && *advised.at_once > 0 && *advised.at_once < advice.question.candidates) {
    text += fmt::format("; {} at a time fit within the limit", *advised.at_once);
  }
  return text + ".";
}

std::string published_in_words(const Advised& advised) {
  std::string text =
      fmt::format("nDCG@10 {:.3f} over {}", advised.published->ndcg10, advised.published->task);
  if (advised.published_loss && *advised.published_loss >= 0.01) {
    text += fmt::format(", about {:.2f} below full attention", *advised.published_loss);
  }
  text += fmt::format(" ({}; {}", published_label, advised.published->source);
  if (!advised.published->note.empty()) text += fmt::format("; {}", advised.published->note);
  return text + ").";
}

/// The baseline of the effectiveness tests, as shown to the reader.
std::string tested_against(const std::string& contender, const Advice& advice) {
  const auto own = std::ranges::find(advice.contenders, contender, &Advised::contender);
  if (own == advice.contenders.end()) return contender;
  return own->pattern == full_pattern ? "full attention" : own->name;
}

std::vector<std::string> remarks_on(const Advised& advised, const Advice& advice) {
  std::vector<std::string> remarks;
  if (advised.is_interpolated) {
    const std::string between = advised.lower > 0 ? fmt::format("measured at {} and {} tokens",
                                                                advised.lower, advised.upper)
                                                  : "each between two measured lengths";
    remarks.push_back(
        fmt::format("≈: interpolated, {}{}.", between,
                    advised.is_rough ? ", which are far apart: a rough estimate" : ""));
  }
  if (advised.counted_as) {
    remarks.push_back(
        fmt::format("≈: documents shorter than every measured length count as sequences of {} "
                    "tokens, the shortest measured length.",
                    *advised.counted_as));
  }
  if (advised.to_baseline && !advised.is_baseline && !is_known(*advised.to_baseline)) {
    remarks.push_back(fmt::format("Speed-up 95 %: {}.", interval_too_wide));
  } else if (advised.to_baseline && !advised.is_baseline) {
    const double low = 1 / advised.to_baseline->high, high = 1 / advised.to_baseline->low;
    remarks.push_back(fmt::format("Speed-up 95 %: {} to {}{}.", format_times(low),
                                  format_times(high),
                                  advised.to_baseline->paired ? "" : ", unpaired"));
  }
  for (const Crossing& crossing : advised.crossovers.crossings) {
    if (crossing.at) {
      remarks.push_back(fmt::format("They cross at about {:.0f} tokens (95 %: {:.0f} to {:.0f}).",
                                    *crossing.at, std::floor(crossing.low),
                                    std::ceil(crossing.high)));
    }
  }
  if (advised.need_bytes) remarks.push_back(memory_in_words(advised, advice));
  if (advised.longest) remarks.push_back(longest_in_words(*advised.longest));
  if (advised.measured) {
    remarks.push_back(
        in_words(*advised.measured, tested_against(advised.measured->baseline, advice)) + ".");
  }
  if (advised.published) remarks.push_back(published_in_words(advised));
  return remarks;
}

std::string lengths_in_words(const Question& question) {
  const DocumentLengths& documents = question.documents;
  const std::string_view what = question.of_sequences ? "sequences" : "documents";
  if (documents.is_one()) return fmt::format("{} of {} tokens", what, documents.shortest());
  return fmt::format(
      "{} with the lengths of a sample of {} ({} to {} tokens, mean {:.0f}, p50 {}, p95 {})", what,
      documents.count(), documents.shortest(), documents.longest(), documents.mean(),
      documents.percentile(50), documents.percentile(95));
}

std::string_view times_are_of(Operation operation) {
  switch (operation) {
    case Operation::windowed_matmul:
      return "Times are those of one layer's two products";
    case Operation::attention:
      return "Times are those of one layer's attention";
    case Operation::model:
      break;
  }
  return "Times are those of the whole model";
}

std::string heading_of(const Advice& advice) {
  const Question& question = advice.question;
  const bool has_query = advice.point.operation != Operation::windowed_matmul;
  std::string text =
      fmt::format("{} candidate{}{}, {}", question.candidates, question.candidates == 1 ? "" : "s",
                  has_query ? fmt::format(", a query of {} token{}", *question.query_tokens,
                                          *question.query_tokens == 1 ? "" : "s")
                            : std::string(),
                  lengths_in_words(question));
  if (question.documents.is_one() && !question.of_sequences) {
    text +=
        fmt::format(": sequences of {} tokens", tokens_with(advice, question.documents.shortest()));
  }
  std::vector<std::string> limits;
  if (question.memory_bytes) limits.push_back(format_bytes(*question.memory_bytes));
  if (question.latency_ns) limits.push_back(format_time(*question.latency_ns));
  if (!limits.empty()) text += fmt::format("; at most {}", fmt::join(limits, " and "));
  return text + ".";
}

/// The evidence for the fastest equivalent contender, for a question about one list.
std::string shown_of(const Advice& advice) {
  const Advised* const best = fastest_equivalent(advice);
  if (best == nullptr || !advice.leaders.of_equivalent->is_clear()) return "";
  std::string text = speed_in_words(*best, advice);
  if (!best->measured) return text;
  if (best->measured->is_baseline) return text + "; its ranking is the same";
  return text + fmt::format("; {} (paired TOST, {} queries)", test_in_words(*best->measured->tests),
                            best->measured->tests->n);
}

Candidate candidate_of(const Advised& advised) {
  return {advised.name, advised.contender, advised.measured ? &*advised.measured : nullptr,
          &advised.published, &advised.to_baseline};
}

std::vector<std::string> notes_on(const Advice& advice) {
  const HeatPoint& point = advice.point;
  std::string of = fmt::format("{}, {}, {}", times_are_of(point.operation),
                               name_of(point.direction), name_of(point.dtype));
  if (point.device == DeviceKind::cuda) of += ", on the GPU";
  std::vector<std::string> notes = headline_of(advice).sentences();
  notes.push_back(of + "; crossovers count the tokens of whole sequences.");
  if (const std::string longer = longer_of_all(advice); !longer.empty()) {
    notes.push_back(
        fmt::format("Each of the others{} than {}.", longer.substr(1), advice.baseline_words));
  }
  if (point.operation != Operation::windowed_matmul &&
      point.query_tokens != *advice.question.query_tokens) {
    notes.push_back(
        fmt::format("The run has queries of {} tokens; its times are looked up by the length of "
                    "the whole sequence.",
                    point.query_tokens));
  }
  return notes;
}

/// Fills in the sentences, remarks, heading and notes from the numbers.
void add_sentences(Advice& advice) {
  advice.heading = heading_of(advice);
  advice.notes = notes_on(advice);
  for (Advised& advised : advice.contenders) {
    advised.sentence = sentence_of(advised, advice);
    advised.remarks = remarks_on(advised, advice);
  }
}

// Numbers.

/// Computes one contender's part of the advice.
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
    return static_cast<double>(tokens_with(advice_, length));
  }

  /// Sums over the lengths; a candidate list has the same distribution of lengths.
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
      const Estimate estimate = LengthCurve::time_ns(place);
      time.value += times * estimate.value;
      time.low += times * estimate.low;
      time.high += times * estimate.high;
      const std::optional<Ratio> there = LengthCurve::ratio(place);
      if (!there) {
        has_ratio = false;
        continue;
      }
      // Weighted by the baseline's time at each length; the ends of the intervals are added as if
      // the errors at all lengths were fully correlated.
      const double weight = times * estimate.value / there->ratio;
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
    std::optional<Need> need;
    if (place.has_value()) need = LengthCurve::need(length, place);
    if (place.reach == Reach::longer) {
      need = curve_.predicted_need(length);
      advised_.memory_is_predicted = advised_.memory_is_predicted || need.has_value();
    }
    if (!need) return false;
    sum.peak += items * need->peak;
    sum.tensors += items * need->tensors;
    largest_item_ = std::max(largest_item_, need->bytes());
    return true;
  }

  /// Marks times that are interpolated, or taken from another length.
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
      // A batch consists of whole items, and the largest item must fit.
      const double items = std::floor(*question.memory_bytes / largest_item_);
      const double documents = items * documents_per_item();
      advised_.at_once =
          static_cast<std::int64_t>(std::min(documents, static_cast<double>(question.candidates)));
    }
    if (advised_.at_once == 0) {
      advised_.standing = Standing::too_large;
      advised_.reason = fmt::format("one document needs {}, the limit is {}",
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
      return next == nullptr ? "it was not measured" : outcome(*next);
    }
    const bool is_one = advice_.question.documents.is_one();
    if (missing_reach_ == Reach::broken) {
      return is_one ? "it has no time at a neighbouring length"
                    : "it has no time at one of these lengths";
    }
    const std::string longest = fmt::format("{} tokens, its longest measured length",
                                            curve_.longest()->cell.point.sequence_tokens);
    std::string text =
        is_one ? fmt::format("{:.0f} tokens exceed {}", sequence(longest_missing_), longest)
               : fmt::format("{} of {} documents {} longer than {}", missing_,
                             advice_.question.documents.count(),
                             missing_ == 1 ? "makes a sequence" : "make sequences", longest);
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
    // If a length was measured not to fit, a prediction that it fits is wrong, unless the limit is
    // larger than the memory the run had.
    const bool was_tried = ended && tokens >= tokens_of(next);
    if (was_tried && !advice_.question.memory_bytes) return;
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
        static_cast<std::int64_t>(sequence(advice_.question.documents.percentile(95)));
    advised_.published = published_ndcg(advised_.pattern, advised_.window, tokens);
    const auto full = published_ndcg(full_pattern, std::nullopt, tokens);
    if (!advised_.published || !full || advised_.pattern == full_pattern) return;
    advised_.published_loss = full->ndcg10 - advised_.published->ndcg10;
  }

  const Advice& advice_;
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
std::vector<std::int64_t> lengths_to_measure(const Advice& advice,
                                             const std::vector<const Row*>& rows) {
  const DocumentLengths& documents = advice.question.documents;
  const std::int64_t query = *advice.question.query_tokens;
  std::vector<std::int64_t> lengths;
  for (const std::int64_t document : {documents.shortest(), documents.percentile(50),
                                      documents.percentile(95), documents.longest()}) {
    const std::int64_t tokens = tokens_with(advice, document);
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
  std::vector<Advised> contenders;
  for (const std::vector<const Row*>& own : by_contender(rows))
    contenders.push_back(Adviser(advice, own, memory).advised());
  return contenders;
}

void compare(Advice& advice, const std::vector<const Row*>& rows) {
  if (!advice.baseline) return;
  for (CrossoverAnswer& crossover : find_crossover_answers(rows, XAxis::length, *advice.baseline)) {
    const auto own = std::ranges::find(advice.contenders, crossover.contender, &Advised::contender);
    if (own != advice.contenders.end()) own->crossovers = std::move(crossover.found);
  }
  const auto baseline = std::ranges::find(advice.contenders, true, &Advised::is_baseline);
  if (baseline == advice.contenders.end()) return;
  const auto is_full = [&](const Row* row) {
    const Contender& contender = row->cell.cell.contender;
    return contender.id() == baseline->contender && contender.pattern == full_pattern &&
           is_papers_cross_encoder(contender);
  };
  // Several implementations of full attention may differ widely in speed: then the baseline is
  // named.
  const bool is_alone = std::ranges::none_of(advice.contenders, [&](const Advised& advised) {
    return advised.pattern == full_pattern && !advised.is_baseline;
  });
  advice.baseline_words = is_alone && std::ranges::any_of(rows, is_full)
                              ? std::string("full attention")
                              : baseline->name;
  const std::optional<LongestDocument> theirs = baseline->longest;
  if (!theirs || theirs->at_least) return;
  for (Advised& advised : advice.contenders) {
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

/// Finds the leaders of a question's advice, whose contenders are sorted.
void find_leaders(Advice& advice, const std::vector<const Row*>& rows) {
  advice.effectiveness = effectiveness_known_of(rows);
  std::map<std::string, std::vector<const Row*>> rows_of;
  for (std::vector<const Row*>& own : by_contender(rows))
    rows_of.emplace(own.front()->cell.cell.contender.id(), std::move(own));
  std::vector<std::size_t> all, equivalent;
  for (std::size_t i = 0; i < advice.contenders.size(); ++i) {
    const Advised& advised = advice.contenders[i];
    if (advised.standing != Standing::within_limits) continue;
    all.push_back(i);
    if (is_shown_equivalent(advice.effectiveness, candidate_of(advised))) equivalent.push_back(i);
  }
  const auto to_first = [&](const std::vector<std::size_t>& by_time) {
    return [&](std::size_t other) {
      const std::vector<Row> against =
          set_against(rows_of[advice.contenders[other].contender],
                      rows_of[advice.contenders[by_time.front()].contender]);
      return Adviser(advice, all_rows(against), std::nullopt).advised().to_baseline;
    };
  };
  advice.leaders = {.of_all = leader_of(all, to_first(all)),
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

Headline headline_of(const Advice& advice) {
  Place list{{}, {}, &advice.leaders};
  for (const Advised& advised : advice.contenders) list.candidates.push_back(candidate_of(advised));
  return headline_of(Contest{
      .places = {list}, .effectiveness = advice.effectiveness, .evidence = shown_of(advice)});
}

const Advised* fastest_equivalent(const Advice& advice) {
  const std::optional<Leader>& leader = advice.leaders.of_equivalent;
  return leader ? &advice.contenders[leader->contender] : nullptr;
}

Figure effectiveness_figure(const Advice& advice) {
  std::vector<TimedEffectiveness> contenders;
  for (const Advised& advised : advice.contenders) {
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
  const auto count = static_cast<std::size_t>(advice.question.candidates);
  Figure figure = effectiveness_figure(contenders, "for " + counted(count, "document"));
  figure.provenance = provenance_line(advice.run);
  return figure;
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

std::vector<Advice> make_advice(const RunInfo& run, const std::optional<std::string>& baseline,
                                const std::vector<const Row*>& rows, const Question& question) {
  // If lengths are drawn, a time does not belong to a single length.
  std::vector<const Row*> of_lengths;
  std::ranges::copy_if(rows, std::back_inserter(of_lengths),
                       [](const Row* row) { return !row->cell.point.document_lengths.is_drawn(); });
  const auto settings =
      grouped(of_lengths, [](const Row& row) { return point_key(setting_of(row.cell.point)); });
  std::vector<Row> of_points(settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i)
    of_points[i].cell.point = setting_of(settings[i].front()->cell.point);
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
    find_leaders(advice, own);
    advice.to_measure = lengths_to_measure(advice, own);
    add_sentences(advice);
    std::ranges::move(doubts_about(run, own), std::back_inserter(advice.notes));
  }
  return all;
}

std::vector<Advice> make_advice(const Table& table, const Question& question) {
  return make_advice(table.run, table.baseline, all_rows(table.rows), question);
}

std::string exact_sweep(const Advice& advice) {
  std::string text = advice.run.start.sweep_text;
  if (const auto runs = stored_runs(advice.run)) text = with_whole_names(text, runs->folder);
  nlohmann::json sweep = parse_json(text);
  if (!sweep.is_object()) return {};
  const HeatPoint& point = advice.point;
  // Fields that the sweep leaves at their defaults stay unset.
  for (const Axis& axis : heat_axes) {
    std::string way(axis.field);
    std::ranges::replace(way, '.', '/');
    const nlohmann::json::json_pointer place("/" + way);
    if (sweep.contains(place)) sweep[place] = json_of(axis, point);
  }
  sweep["sequence_tokens"] = advice.to_measure;
  if (point.operation != Operation::windowed_matmul) {
    sweep["query_tokens"] = *advice.question.query_tokens;
  }
  if (sweep.contains("name") && sweep["name"].is_string()) {
    sweep["name"] = sweep["name"].get<std::string>() + "-exact";
  }
  return sweep.dump(2) + "\n";
}

}  // namespace attnscope::report
