// SPDX-License-Identifier: Apache-2.0
#include "engine/report/headline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "engine/report/number_text.h"

namespace attnscope::report {
namespace {

using statistics::Verdict;

using Which = std::optional<Leader> Leaders::*;

/// The places where one contender is the fastest, or where there is no clear winner.
struct Part {
  std::string_view name;            // empty: no clear winner
  std::vector<std::string> lowest;  // without a winner: lowest medians, with their loss
  std::vector<std::string> losses;  // without duplicates
  std::vector<std::pair<const Place*, const Place*>> stretches;  // ranges of adjacent places
  std::vector<double> leads;                                     // over the runner-up
  int places = 0;
  bool is_reference = true;  // the winner is the reference of the equivalence
};

/// "nDCG@10 0.560 against 0.619, not shown to be equivalent"; empty if it is equivalent or nothing
/// is known.
std::string loss_of(const Candidate& candidate, const Place& place, EffectivenessFrom from) {
  if (from == EffectivenessFrom::measured) {
    if (candidate.measured == nullptr) return "effectiveness not measured";
    if (candidate.measured->is_equivalent()) return "";
    const auto baseline = std::ranges::find_if(place.candidates, [](const Candidate& other) {
      return other.measured != nullptr && other.measured->is_baseline;
    });
    const std::string against = baseline == place.candidates.end()
                                    ? ""
                                    : fmt::format(" against {:.3f}", baseline->measured->mean);
    return fmt::format("{} {:.3f}{}, not shown to be equivalent", candidate.measured->measure,
                       candidate.measured->mean, against);
  }
  if (from == EffectivenessFrom::nothing) return "";
  const std::optional<PublishedNdcg>& published = *candidate.published;
  if (!published) return "effectiveness not known";
  if (published->is_equivalent || published->is_reference) return "";
  return fmt::format("nDCG@10 over {} {:.3f} against {:.3f}, not shown to be equivalent",
                     published->task, published->ndcg10, published->reference_ndcg10);
}

/// One part for each contender that is the fastest somewhere, in the order of the places; the part
/// without a winner is last.
std::vector<Part> parts_of(const Contest& contest, Which which) {
  std::vector<Part> parts;
  Part unclear;
  for (const Place& place : contest.places) {
    const std::optional<Leader>& leader = place.leaders->*which;
    if (!leader) continue;
    const Candidate& candidate = place.candidates[leader->contender];
    const std::string loss = loss_of(candidate, place, contest.effectiveness);
    Part* part = &unclear;
    if (leader->is_clear()) {
      const auto known = std::ranges::find(parts, candidate.name, &Part::name);
      part = known == parts.end() ? &parts.emplace_back() : &*known;
      part->name = candidate.name;
      if (!leader->is_alone()) part->leads.push_back(leader->runner_up->ratio);
      if (!loss.empty()) add_once(part->losses, loss);
    } else {
      add_once(part->lowest, loss.empty() ? std::string(candidate.name)
                                          : fmt::format("{} ({})", candidate.name, loss));
    }
    ++part->places;
    const bool is_reference = candidate.measured != nullptr
                                  ? candidate.measured->is_baseline
                                  : *candidate.published && (*candidate.published)->is_reference;
    part->is_reference = part->is_reference && is_reference;
    if (!part->stretches.empty() && part->stretches.back().second + 1 == &place) {
      part->stretches.back().second = &place;
    } else {
      part->stretches.emplace_back(&place, &place);
    }
  }
  if (unclear.places > 0) parts.push_back(std::move(unclear));
  return parts;
}

/// "64 to 2048 tokens", "w = 4 to w = 64", "512 tokens".
std::string places_between(const Place& first, const Place& last) {
  if (&first == &last) return first.words;
  const std::string& from = first.words;
  const std::string tokens = " tokens";
  return fmt::format("{} to {}",
                     from.ends_with(tokens) ? from.substr(0, from.size() - tokens.size()) : from,
                     last.words);
}

/// " at 64 to 128 tokens and at 512 tokens".
std::string at_places(const Part& part) {
  std::vector<std::string> all;
  for (const auto& [first, last] : part.stretches) all.push_back(places_between(*first, *last));
  return all.front().empty() ? "" : fmt::format(" at {}", fmt::join(all, " and at "));
}

/// "1.1x to 2.0x", "2.0x".
std::string range_of(const std::vector<double>& times) {
  const auto [least, most] = std::ranges::minmax(times);
  const std::string from = times_in_words(least), to = times_in_words(most);
  return from == to ? from : from + " to " + to;
}

/// "A at 64 to 128 tokens (4.0x as fast as the next, significant); no clear winner at 256 tokens;
/// lowest median: B". `is_fastest` follows the first name.
std::string in_words(std::vector<Part> parts, std::string_view is_fastest, bool with_places) {
  constexpr std::size_t most = 3;  // more would need a table
  const std::size_t all = parts.size();
  if (all > most) {
    std::ranges::stable_sort(parts, std::ranges::greater(), &Part::places);
    parts.resize(most);
  }
  std::string text;
  for (const Part& part : parts) {
    const std::string places = with_places ? at_places(part) : std::string();
    if (!text.empty()) text += "; ";
    if (part.name.empty()) {
      text +=
          fmt::format("no clear winner{}; lowest median: {}", places, fmt::join(part.lowest, ", "));
      continue;
    }
    text += fmt::format("{}{}{}", part.name, text.empty() ? is_fastest : "", places);
    text += part.leads.empty()
                ? " (the only one)"
                : fmt::format(" ({} as fast as the next, significant)", range_of(part.leads));
    if (!part.losses.empty()) text += fmt::format(", {}", fmt::join(part.losses, "; "));
  }
  if (all > most) text += fmt::format("; and others at {} more", all - most);
  return text;
}

std::string with_capital(std::string text) {
  if (text.starts_with("no ")) text.front() = 'N';
  return text;
}

/// "full attention in nDCG@10 within 0.02 (measured here)".
std::string equivalent_to(const Contest& contest) {
  std::string_view reference, measure = "nDCG@10";
  std::string known, label(published_label);
  double margin = published_margin;
  for (const Place& place : contest.places) {
    for (const Candidate& candidate : place.candidates) {
      if (contest.effectiveness == EffectivenessFrom::measured) {
        if (candidate.measured == nullptr) continue;
        measure = candidate.measured->measure;
        margin = candidate.measured->margin;
        label = measured_label;
        if (known.empty() || candidate.id == candidate.measured->baseline) {
          known = candidate.id == candidate.measured->baseline ? candidate.name
                                                               : candidate.measured->baseline;
        }
      } else if (*candidate.published) {
        if (reference.empty()) reference = (*candidate.published)->reference;
        if (reference != (*candidate.published)->reference) reference = "the paper's reference";
        known = reference;
      }
    }
  }
  return fmt::format("{} in {} within {} ({})", known, measure, margin, label);
}

/// The contender to use if effectiveness is known.
std::string fastest_that_is_equivalent(const Contest& contest) {
  const std::vector<Part> parts = parts_of(contest, &Leaders::of_equivalent);
  const std::string to = equivalent_to(contest);
  if (parts.empty()) return fmt::format("Nothing here is shown to be equivalent to {}.", to);
  const bool is_alone = parts.size() == 1 && parts.front().leads.empty();
  if (is_alone && parts.front().is_reference && !parts.front().name.empty()) {
    return fmt::format("Nothing faster than {} is shown to be equivalent to {}.",
                       parts.front().name, to);
  }
  std::string text = fmt::format("Fastest that is equivalent to {}: {}{}", to,
                                 in_words(parts, "", !contest.is_drawn), contest.evidence);
  int named = 0, all = 0;
  for (const Part& part : parts) named += part.places;
  for (const Place& place : contest.places) all += place.leaders->of_all ? 1 : 0;
  if (named < all) text += "; none at the other lengths";
  return text + ".";
}

/// "X is 8.2x (95 %: 8.1x to 8.3x) as fast as full/dense at 2048 tokens; 1.9x to 8.2x at 64 to 2048
/// tokens.": the fastest at the last place, with the interval there, then the range over all its
/// places.
std::string against_baseline_of(const Contest& contest, Which which) {
  if (contest.baseline.empty()) return "";
  const std::vector<Place>& places = contest.places;
  const auto has_leader = [which](const Place& place) {
    return (place.leaders->*which).has_value();
  };
  const auto last = std::ranges::find_if(places.rbegin(), places.rend(), has_leader);
  if (last == places.rend()) return "";
  const Candidate& own = last->candidates[(last->leaders->*which)->contender];
  std::vector<double> speed_ups;
  const Place* first = nullptr;
  const statistics::Ratio* at_last = nullptr;
  for (auto place = last; place != places.rend(); ++place) {
    const std::optional<Leader>& leader = place->leaders->*which;
    if (!leader || place->candidates[leader->contender].id != own.id) break;
    const std::optional<statistics::Ratio>& ratio =
        *place->candidates[leader->contender].to_baseline;
    if (!ratio || !is_known(*ratio) || ratio->verdict != Verdict::faster) break;
    if (at_last == nullptr) at_last = &*ratio;
    first = &*place;
    speed_ups.push_back(1 / ratio->ratio);
  }
  if (at_last == nullptr) return "";
  std::string text = fmt::format(
      "{} is {} (95 %: {} to {}) as fast as {}", own.name, times_in_words(1 / at_last->ratio),
      times_in_words(1 / at_last->high), times_in_words(1 / at_last->low), contest.baseline);
  if (!contest.is_drawn) text += " at " + last->words;
  const std::string all = range_of(speed_ups);
  if (all.find(' ') != std::string::npos)
    text += fmt::format("; {} at {}", all, places_between(*first, *last));
  return text + ".";
}

}  // namespace

bool Leader::is_clear() const {
  return is_alone() || (is_known(*runner_up) && runner_up->verdict == statistics::Verdict::slower);
}

std::optional<Leader> leader_of(
    const std::vector<std::size_t>& by_time,
    const std::function<std::optional<statistics::Ratio>(std::size_t)>& to_first) {
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

bool is_shown_equivalent(EffectivenessFrom from, const Candidate& candidate) {
  const MeasuredEffectiveness* const measured = candidate.measured;
  const std::optional<PublishedNdcg>& published = *candidate.published;
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

std::string times_in_words(double times) {
  if (!std::isfinite(times)) return "–";
  if (times < 1.095) return fmt::format("{:.2f}x", times);
  return times < 9.95 ? fmt::format("{:.1f}x", times) : fmt::format("{:.0f}x", times);
}

std::vector<std::string> Headline::sentences() const {
  std::vector<std::string> all{sentence, of_all, against_baseline};
  std::erase(all, "");
  return all;
}

Headline headline_of(const Contest& contest) {
  const std::vector<Part> parts = parts_of(contest, &Leaders::of_all);
  if (parts.empty()) return {};
  const bool is_known = contest.effectiveness != EffectivenessFrom::nothing;
  const std::string place = contest.is_drawn ? contest.places.front().words + ": " : std::string();
  Headline headline;
  if (!is_known) {
    headline.sentence = in_words(parts, " is fastest", place.empty()) + ".";
    if (place.empty()) headline.sentence = with_capital(headline.sentence);
    headline.sentence.insert(0, place);
    headline.against_baseline = against_baseline_of(contest, &Leaders::of_all);
    return headline;
  }
  headline.sentence = place + fastest_that_is_equivalent(contest);
  const auto differs = [](const Place& listed) {
    const Leaders& leaders = *listed.leaders;
    return leaders.of_all && (!leaders.of_equivalent ||
                              leaders.of_all->contender != leaders.of_equivalent->contender);
  };
  if (std::ranges::any_of(contest.places, differs))
    headline.of_all = fmt::format("Fastest of all: {}.", in_words(parts, "", place.empty()));
  headline.against_baseline = against_baseline_of(contest, &Leaders::of_equivalent);
  return headline;
}

}  // namespace attnscope::report
