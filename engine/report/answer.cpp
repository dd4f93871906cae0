// SPDX-License-Identifier: Apache-2.0
#include "engine/report/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/sentences.h"
#include "engine/report/length_curve.h"
#include "engine/report/number_text.h"
#include "engine/report/published.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"

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
      text += fmt::format("no clear winner{}; {}: {}", places,
                          part.lowest.size() > 1 ? "lowest medians" : "lowest median",
                          fmt::join(part.lowest, " and "));
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
  std::string_view measure = "nDCG@10";
  std::string known, label(published_label);
  std::map<std::string_view, std::string_view> references;  // by the paper's task
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
        const PublishedNdcg& published = **candidate.published;
        references.emplace(published.task, published.reference);
      }
    }
  }
  for (const auto& [task, reference] : references) {
    known += known.empty() ? "" : " or ";
    known += references.size() == 1 ? std::string(reference)
                                    : fmt::format("{} (over {})", reference, task);
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
    // A much slower contender whose interval is too wide for a verdict does not count.
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

namespace {

constexpr statistics::Ratio itself{.ratio = 1, .low = 1, .high = 1, .paired = true};

Candidate candidate_of(const Ranked& ranked) {
  const Contender& contender = ranked.row.cell.cell.contender;
  return {contender.name, contender.id(), ranked.row.effectiveness.get(), &ranked.published,
          &ranked.row.ratio};
}

/// The leaders at one x; rows with a time come first, sorted by time.
Leaders leaders_of(const std::vector<Ranked>& contenders, const std::vector<const Row*>& rows,
                   EffectivenessFrom from) {
  std::vector<std::size_t> all, equivalent;
  for (std::size_t i = 0; i < contenders.size() && contenders[i].to_fastest; ++i) {
    all.push_back(i);
    if (is_shown_equivalent(from, candidate_of(contenders[i]))) equivalent.push_back(i);
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
    return timed_a && timed_b ? ns_per_document(*a) < ns_per_document(*b) : timed_a && !timed_b;
  });
  Ranking ranking{.place = std::move(place), .contenders = {}, .leaders = {}};
  for (const Row* row : rows) {
    Ranked ranked{.row = *row, .to_fastest = {}, .published = {}};
    if (!row->effectiveness)
      ranked.published = published_ndcg(row->cell.cell.contender, row->cell.point.sequence_tokens);
    if (is_implausible(*row)) {
      ranked.implausible = why_implausible(*row);
      ranked.row.cell.summary.samples = 0;  // it has no time that could be used
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
    add_once(ids[contender_along(contender, XAxis::window)], contender.id());
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

std::string reason_in_words(const FitAnswer& fit) {
  return fit.next_reason.empty() ? std::string(name_of(fit.next_status))
                                 : fmt::format("{}: {}", name_of(fit.next_status), fit.next_reason);
}

std::string sentence_of(const FitAnswer& fit) {
  if (!fit.longest) {
    return fmt::format("{} has no time at any measured length ({}).", fit.name,
                       without_stop(reason_in_words(fit)));
  }
  std::string text = fmt::format("{} fits {} tokens", fit.name, *fit.longest);
  if (fit.next) {
    text += fmt::format(", not {} ({})", *fit.next, without_stop(reason_in_words(fit)));
  } else {
    text += ", the longest measured";
  }
  if (fit.bytes_per_document) {
    text += fmt::format("; {} per document at that length", format_bytes(*fit.bytes_per_document));
  }
  if (fit.predicted) {
    text += fmt::format("; predicted from the growth of its memory: {} {} tokens",
                        fit.predicted_is_least ? "more than" : "up to about", *fit.predicted);
  }
  return text + ".";
}

/// The baseline's name as in the legend.
std::string baseline_name(const Answer& answer) {
  for (const Ranking& ranking : answer.rankings) {
    for (const auto& ranked : ranking.contenders) {
      const Contender& contender = ranked.row.cell.cell.contender;
      if (contender.id() == *answer.baseline) return contender.name;
    }
  }
  return *answer.baseline;
}

}  // namespace

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
    fit.bytes_per_document = bytes_per_document(*longest);
    if (available_bytes) predict(fit, curve.before_longest(), *longest, *available_bytes);
  }
  fit.sentence = sentence_of(fit);
  return fit;
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

std::vector<Answer> make_answers(const Table& table, XAxis x) {
  std::vector<Answer> answers;
  if (table.rows.empty()) return answers;
  std::vector<bool> varying = varying_axes(table.rows);
  // x itself is stated with every ranking.
  std::vector<bool> reported = varying;
  if (x != XAxis::window) {
    const std::size_t along = place_of_axis(key_along(x));
    varying[along] = true;
    reported[along] = false;
  }
  const std::string shared = words_of(table.rows.front().cell.point, varying, false);
  for (const std::vector<const Row*>& rows : rows_by_setting(table, x)) {
    Answer& answer = answers.emplace_back();
    answer.run = table.run;
    answer.x = x;
    answer.baseline = table.baseline;
    answer.shared = shared;
    answer.point = rows.front()->cell.point;
    answer.setting = words_of(answer.point, reported, true);
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
    std::ranges::move(doubts_about(table.run, rows), std::back_inserter(answer.notes));
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

Headline headline_of(const Answer& answer) {
  Contest contest{.places = {},
                  .effectiveness = answer.effectiveness,
                  .is_drawn = answer.point.document_lengths.is_drawn(),
                  .baseline = answer.baseline ? baseline_name(answer) : ""};
  for (const Ranking& ranking : answer.rankings) {
    Place& place = contest.places.emplace_back(Place{ranking.place, {}, &ranking.leaders});
    for (const Ranked& ranked : ranking.contenders)
      place.candidates.push_back(candidate_of(ranked));
  }
  return headline_of(contest);
}

std::string sentence_of(const Ranking& ranking) {
  if (ranking.contenders.empty() || !ranking.contenders.front().to_fastest)
    return fmt::format("{}: nothing was measured.", ranking.place);
  // Contenders that are not shown to be slower.
  std::vector<std::string> equal, unknown;
  for (const Ranked& ranked : std::span(ranking.contenders).subspan(1)) {
    if (!ranked.to_fastest || ranked.to_fastest->verdict == Verdict::slower) continue;
    (is_known(*ranked.to_fastest) ? equal : unknown).push_back(ranked.row.cell.cell.contender.name);
  }
  const std::string& first = ranking.contenders.front().row.cell.cell.contender.name;
  std::string text =
      ranking.leaders.of_all && ranking.leaders.of_all->is_clear()
          ? fmt::format("{}: {} is fastest", ranking.place, first)
          : fmt::format("{}: no clear winner; lowest median: {}", ranking.place, first);
  if (!equal.empty()) text += fmt::format(", not distinguishable from {}", fmt::join(equal, "; "));
  if (!unknown.empty())
    text += fmt::format(", {} to compare it with {}", interval_too_wide, fmt::join(unknown, "; "));
  return text + ".";
}

std::string nothing_measured(const std::vector<const Row*>& rows) {
  std::map<std::string_view, int> counts;
  for (const Row* row : rows) {
    if (is_measured(*row)) return {};
    ++counts[row->cell.damaged ? damaged_status : name_of(row->cell.cell.status)];
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [status, count] : counts)
    parts.push_back(fmt::format("{} {} {}", count, count == 1 ? "cell" : "cells", status));
  return parts.empty() ? "" : fmt::format("Nothing could be measured: {}.", fmt::join(parts, ", "));
}

}  // namespace attnscope::report
