// SPDX-License-Identifier: Apache-2.0
//
// Answers in sentences. Interpolated values are marked with "≈", values extrapolated from growth
// with "predicted".

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/report/answer.h"

namespace attnscope::report {
namespace {

using statistics::Crossing;
using statistics::Verdict;

/// Smaller factors are not mentioned.
constexpr double shown_times = 1.05;

std::string documents_in_words(std::int64_t count) {
  return fmt::format("{} document{}", count, count == 1 ? "" : "s");
}

std::string without_stop(std::string text) {
  while (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

/// The baseline's name. For a contender that is also full attention it is the display name, because
/// "full attention" would be ambiguous.
std::string baseline_of(const Advised& one, const Answer& answer) {
  const auto own = std::ranges::find(answer.contenders, true, &Advised::is_baseline);
  const bool by_name = one.pattern == full_pattern && own != answer.contenders.end();
  return by_name ? own->name : answer.baseline_words;
}

std::string speed_in_words(const Advised& one, const Answer& answer) {
  if (one.is_baseline) return ", the baseline";
  if (!one.to_baseline) return "";
  const std::string baseline = baseline_of(one, answer);
  const bool is_shown = one.to_baseline->verdict != Verdict::no_difference_shown;
  if (!is_known(*one.to_baseline)) {
    return is_shown ? fmt::format(", {} than {}", name_of(one.to_baseline->verdict), baseline)
                    : fmt::format(", {} to tell it from {}", too_few_samples, baseline);
  }
  switch (one.to_baseline->verdict) {
    case Verdict::faster:
      return fmt::format(", {} as fast as {}", times_in_words(1 / one.to_baseline->ratio),
                         baseline);
    case Verdict::slower:
      return fmt::format(", {} the time of {}", times_in_words(one.to_baseline->ratio), baseline);
    case Verdict::no_difference_shown:
      break;
  }
  return fmt::format(", no difference to {} shown", baseline);
}

std::string longer_in_words(const Advised& one) {
  if (!one.times_longer || !one.longest) return "";
  const double times = *one.times_longer;
  const bool is_longer = times > shown_times;
  if (!is_longer && (times * shown_times > 1 || one.longest->at_least || !(times > 0))) return "";
  return fmt::format(", fits {}{} {} documents", one.longest->at_least ? "at least " : "",
                     times_in_words(is_longer ? times : 1 / times),
                     is_longer ? "longer" : "shorter");
}

/// A text that would be identical in the sentences of all contenders other than the baseline; it is
/// printed once, below them.
std::string longer_of_all(const Answer& answer) {
  std::vector<std::string> of_each;
  for (const Advised& advised : answer.contenders) {
    if (!advised.is_baseline) of_each.push_back(longer_in_words(advised));
  }
  const bool same =
      of_each.size() > 1 && !of_each.front().empty() &&
      std::ranges::count(of_each, of_each.front()) == static_cast<std::ptrdiff_t>(of_each.size());
  return same ? of_each.front() : std::string();
}

std::string own_length_in_words(const Advised& one, const Answer& answer) {
  return longer_of_all(answer).empty() ? longer_in_words(one) : std::string();
}

std::string crossover_in_words(const Advised& one) {
  const std::vector<Crossing>& crossings = one.crossovers.crossings;
  if (crossings.empty()) return "";
  if (crossings.size() > 1) return "; it overtakes and falls behind along the length";
  const Crossing& only = crossings.front();
  if (!only.at) {
    return fmt::format("; becomes {} between {:.0f} and {:.0f} tokens",
                       only.a_overtakes ? "faster" : "slower", only.after, only.before);
  }
  return fmt::format("; faster {} {:.0f} tokens", only.a_overtakes ? "from" : "up to", *only.at);
}

std::string numbers_in_words(const Advised& one, const Answer& answer) {
  return fmt::format("{}{} for {}", one.is_interpolated || one.counted_as ? "≈ " : "",
                     format_time(one.time_ns->value),
                     documents_in_words(answer.question->candidates)) +
         speed_in_words(one, answer) + own_length_in_words(one, answer) + crossover_in_words(one);
}

std::string sentence_of(const Advised& one, const Answer& answer) {
  switch (one.standing) {
    case Standing::within_limits:
      return fmt::format("{}: {}.", one.name, numbers_in_words(one, answer));
    case Standing::too_slow:
      return fmt::format("{} is too slow ({}): {}.", one.name, one.reason,
                         numbers_in_words(one, answer));
    case Standing::too_large:
      return fmt::format("{} does not fit ({}){}.", one.name, one.reason,
                         one.time_ns ? ": " + numbers_in_words(one, answer) : std::string());
    case Standing::without_time:
      break;
  }
  return fmt::format("{} has no time here: {}{}.", one.name, without_stop(one.reason),
                     own_length_in_words(one, answer));
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

std::string memory_in_words(const Advised& one, const Answer& answer) {
  std::string text =
      fmt::format("Memory for {} at once: {}", documents_in_words(answer.question->candidates),
                  format_bytes(*one.peak_bytes));
  if (answer.point.operation == Operation::model) {
    text += ", beside the weights";
  } else {
    text += fmt::format(", {} with the tensors themselves", format_bytes(*one.need_bytes));
  }
  if (one.memory_is_predicted) text += " (predicted from its growth)";
  if (one.at_once && *one.at_once > 0 && *one.at_once < answer.question->candidates) {
    text += fmt::format("; the limit holds {} at a time", *one.at_once);
  }
  return text + ".";
}

std::string published_in_words(const Advised& one) {
  std::string text =
      fmt::format("nDCG@10 {:.3f} over {}", one.published->ndcg10, one.published->task);
  if (one.published_loss && *one.published_loss >= 0.01) {
    text += fmt::format(", about {:.2f} below full attention", *one.published_loss);
  }
  text += fmt::format(" ({}; {}", published_label, one.published->source);
  if (!one.published->note.empty()) text += fmt::format("; {}", one.published->note);
  return text + ").";
}

/// The baseline of the effectiveness tests, as shown to the reader.
std::string tested_against(const std::string& contender, const Answer& answer) {
  const auto own = std::ranges::find(answer.contenders, contender, &Advised::contender);
  if (own == answer.contenders.end()) return contender;
  return own->pattern == full_pattern ? "full attention" : own->name;
}

std::vector<std::string> remarks_on(const Advised& one, const Answer& answer) {
  std::vector<std::string> remarks;
  if (one.is_interpolated) {
    const std::string between =
        one.lower > 0 ? fmt::format("measured at {} and {} tokens", one.lower, one.upper)
                      : "each between two measured lengths";
    remarks.push_back(fmt::format("≈: interpolated, {}{}.", between,
                                  one.is_rough ? ", which lie far apart: a rough estimate" : ""));
  }
  if (one.counted_as) {
    remarks.push_back(
        fmt::format("≈: shorter than anything measured counts as "
                    "{} tokens in all, the shortest measured.",
                    *one.counted_as));
  }
  if (one.to_baseline && !one.is_baseline && !is_known(*one.to_baseline)) {
    remarks.push_back(fmt::format("Speed-up 95 %: {}.", too_few_samples));
  } else if (one.to_baseline && !one.is_baseline) {
    const double low = 1 / one.to_baseline->high, high = 1 / one.to_baseline->low;
    remarks.push_back(fmt::format("Speed-up 95 %: {} to {}{}.", format_times(low),
                                  format_times(high), one.to_baseline->paired ? "" : ", unpaired"));
  }
  for (const Crossing& crossing : one.crossovers.crossings) {
    if (crossing.at) {
      remarks.push_back(fmt::format("They cross at about {:.0f} tokens (95 %: {:.0f} to {:.0f}).",
                                    *crossing.at, std::floor(crossing.low),
                                    std::ceil(crossing.high)));
    }
  }
  if (one.need_bytes) remarks.push_back(memory_in_words(one, answer));
  if (one.longest) remarks.push_back(longest_in_words(*one.longest));
  if (one.measured) {
    remarks.push_back(in_words(*one.measured, tested_against(one.measured->baseline, answer)) +
                      ".");
  }
  if (one.published) remarks.push_back(published_in_words(one));
  return remarks;
}

std::string lengths_in_words(const Question& question) {
  const DocumentLengths& documents = question.documents;
  const std::string_view what = question.of_sequences ? "sequences" : "documents";
  if (documents.is_one()) return fmt::format("{} of {} tokens", what, documents.shortest());
  return fmt::format("{} as {} given ({} to {} tokens, mean {:.0f}, p50 {}, p95 {})", what,
                     documents.count(), documents.shortest(), documents.longest(), documents.mean(),
                     documents.percentile(50), documents.percentile(95));
}

std::string_view times_are_of(Operation operation) {
  switch (operation) {
    case Operation::windowed_matmul:
      return "Times are of one layer's two products alone";
    case Operation::attention:
      return "Times are of one layer's attention";
    case Operation::model:
      break;
  }
  return "Times are of the whole model";
}

std::string heading_of(const Answer& answer) {
  const Question& question = *answer.question;
  const bool has_query = answer.point.operation != Operation::windowed_matmul;
  std::string text =
      fmt::format("{} candidate{}{}, {}", question.candidates, question.candidates == 1 ? "" : "s",
                  has_query ? fmt::format(", a query of {} token{}", *question.query_tokens,
                                          *question.query_tokens == 1 ? "" : "s")
                            : std::string(),
                  lengths_in_words(question));
  if (question.documents.is_one() && !question.of_sequences) {
    text +=
        fmt::format(": sequences of {} tokens", sequence_of(answer, question.documents.shortest()));
  }
  std::vector<std::string> limits;
  if (question.memory_bytes) limits.push_back(format_bytes(*question.memory_bytes));
  if (question.latency_ns) limits.push_back(format_time(*question.latency_ns));
  if (!limits.empty()) text += fmt::format("; at most {}", fmt::join(limits, " and "));
  return text + ".";
}

std::vector<std::string> notes_on(const Answer& answer) {
  const HeatPoint& point = answer.point;
  std::string of = fmt::format("{}, {}, {}", times_are_of(point.operation),
                               name_of(point.direction), name_of(point.dtype));
  if (point.device == DeviceKind::cuda) of += ", on the GPU";
  std::vector<std::string> notes = headline_of(answer).sentences();
  notes.push_back(of + "; crossovers count the tokens of whole sequences.");
  if (const std::string longer = longer_of_all(answer); !longer.empty()) {
    notes.push_back(
        fmt::format("Each of the others{} than {}.", longer.substr(1), answer.baseline_words));
  }
  if (point.operation != Operation::windowed_matmul &&
      point.query_tokens != *answer.question->query_tokens) {
    notes.push_back(
        fmt::format("It was measured with queries of {} tokens; "
                    "the length of the whole sequence "
                    "is what counts "
                    "here.",
                    point.query_tokens));
  }
  return notes;
}

std::string reason_in_words(const FitAnswer& fit) {
  return fit.next_reason.empty() ? std::string(name_of(fit.next_status))
                                 : fmt::format("{}: {}", name_of(fit.next_status), fit.next_reason);
}

}  // namespace

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
    text += fmt::format("; {} a document there", format_bytes(*fit.bytes_per_document));
  }
  if (fit.predicted) {
    text += fmt::format("; predicted from its growth: {} {} tokens",
                        fit.predicted_is_least ? "more than" : "up to about", *fit.predicted);
  }
  return text + ".";
}

std::string times_in_words(double times) {
  if (!std::isfinite(times)) return "–";
  if (times < 1.095) return fmt::format("{:.2f}x", times);
  return times < 9.95 ? fmt::format("{:.1f}x", times) : fmt::format("{:.0f}x", times);
}

namespace {

/// A contender in a headline.
struct Candidate {
  std::string_view name;
  std::string id;
  const MeasuredEffectiveness* measured = nullptr;
  const std::optional<PublishedNdcg>* published = nullptr;
  const std::optional<statistics::Ratio>* to_baseline = nullptr;
};

/// A length or window; for a question the whole list, with empty words.
struct Place {
  std::string words;
  std::vector<Candidate> candidates;
  const Leaders* leaders = nullptr;
};

using Which = std::optional<Leader> Leaders::*;

std::vector<Place> places_in(const Answer& answer) {
  std::vector<Place> places;
  if (answer.question) {
    Place& only = places.emplace_back(Place{{}, {}, &answer.leaders});
    for (const Advised& advised : answer.contenders) {
      only.candidates.push_back({advised.name, advised.contender,
                                 advised.measured ? &*advised.measured : nullptr,
                                 &advised.published, &advised.to_baseline});
    }
  }
  for (const Ranking& ranking : answer.rankings) {
    Place& place = places.emplace_back(Place{ranking.place, {}, &ranking.leaders});
    for (const auto& [row, to_fastest, published] : ranking.contenders) {
      const std::string& name = row.cell.cell.contender.name;
      place.candidates.push_back(
          {name, row.cell.cell.contender.id(), row.effectiveness.get(), &published, &row.ratio});
    }
  }
  return places;
}

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
std::string loss_of(const Candidate& one, const Place& place, EffectivenessFrom from) {
  if (from == EffectivenessFrom::measured) {
    if (one.measured == nullptr) return "effectiveness not measured";
    if (one.measured->is_equivalent()) return "";
    const auto baseline = std::ranges::find_if(place.candidates, [](const Candidate& other) {
      return other.measured != nullptr && other.measured->is_baseline;
    });
    const std::string against = baseline == place.candidates.end()
                                    ? ""
                                    : fmt::format(" against {:.3f}", baseline->measured->mean);
    return fmt::format("{} {:.3f}{}, not shown to be equivalent", one.measured->measure,
                       one.measured->mean, against);
  }
  if (from == EffectivenessFrom::nothing) return "";
  const std::optional<PublishedNdcg>& published = *one.published;
  if (!published) return "effectiveness not known";
  if (published->is_equivalent || published->is_reference) return "";
  return fmt::format("nDCG@10 over {} {:.3f} against {:.3f}, not shown to be equivalent",
                     published->task, published->ndcg10, published->reference_ndcg10);
}

void add_once(std::vector<std::string>& texts, std::string text) {
  if (!text.empty() && std::ranges::find(texts, text) == texts.end())
    texts.push_back(std::move(text));
}

/// One part for each contender that is the fastest somewhere, in the order of the places; the part
/// without a winner is last.
std::vector<Part> parts_of(const std::vector<Place>& places, Which which, EffectivenessFrom from) {
  std::vector<Part> parts;
  Part unclear;
  for (const Place& place : places) {
    const std::optional<Leader>& leader = place.leaders->*which;
    if (!leader) continue;
    const Candidate& one = place.candidates[leader->contender];
    const std::string loss = loss_of(one, place, from);
    Part* part = &unclear;
    if (leader->is_clear()) {
      const auto known = std::ranges::find(parts, one.name, &Part::name);
      part = known == parts.end() ? &parts.emplace_back() : &*known;
      part->name = one.name;
      if (!leader->is_alone()) part->leads.push_back(leader->runner_up->ratio);
      add_once(part->losses, loss);
    } else {
      add_once(part->lowest,
               loss.empty() ? std::string(one.name) : fmt::format("{} ({})", one.name, loss));
    }
    ++part->places;
    const bool is_reference = one.measured != nullptr
                                  ? one.measured->is_baseline
                                  : *one.published && (*one.published)->is_reference;
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

bool is_drawn(const Answer& answer) {
  return answer.point.document_lengths.is_drawn();
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
std::string equivalent_to(const Answer& answer, const std::vector<Place>& places) {
  std::string_view reference, measure = "nDCG@10";
  std::string known, label(published_label);
  double margin = published_margin;
  for (const Place& place : places) {
    for (const Candidate& candidate : place.candidates) {
      if (answer.effectiveness == EffectivenessFrom::measured) {
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

/// The evidence for the fastest equivalent contender, for a question about one list.
std::string shown_of(const Answer& answer) {
  const Advised* const best = fastest_equivalent(answer);
  if (best == nullptr || !answer.leaders.of_equivalent->is_clear()) return "";
  std::string text = speed_in_words(*best, answer);
  if (!best->measured) return text;
  if (best->measured->is_baseline) return text + "; its ranking is the same";
  return text + fmt::format("; {} (paired TOST, {} queries)", test_in_words(*best->measured->tests),
                            best->measured->tests->n);
}

/// The contender to use if effectiveness is known.
std::string fastest_that_is_equivalent(const Answer& answer, const std::vector<Place>& places) {
  const std::vector<Part> parts = parts_of(places, &Leaders::of_equivalent, answer.effectiveness);
  const std::string to = equivalent_to(answer, places);
  if (parts.empty()) return fmt::format("Nothing here is shown to be equivalent to {}.", to);
  const bool is_alone = parts.size() == 1 && parts.front().leads.empty();
  if (is_alone && parts.front().is_reference && !parts.front().name.empty()) {
    return fmt::format("Nothing faster than {} is shown to be equivalent to {}.",
                       parts.front().name, to);
  }
  std::string text = fmt::format("Fastest that is equivalent to {}: {}{}", to,
                                 in_words(parts, "", !is_drawn(answer)), shown_of(answer));
  int named = 0, all = 0;
  for (const Part& part : parts) named += part.places;
  for (const Place& place : places) all += place.leaders->of_all ? 1 : 0;
  if (named < all) text += "; none at the other lengths";
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

/// "X is 8.2x (95 %: 8.1x to 8.3x) as fast as full/dense at 2048 tokens; 1.9x to 8.2x at 64 to 2048
/// tokens.": the fastest at the last place, with the interval there, then the range over all its
/// places.
std::string against_baseline_of(const Answer& answer, const std::vector<Place>& places,
                                Which which) {
  if (!answer.baseline || answer.question) return "";
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
      times_in_words(1 / at_last->high), times_in_words(1 / at_last->low), baseline_name(answer));
  if (!is_drawn(answer)) text += " at " + last->words;
  const std::string all = range_of(speed_ups);
  if (all.find(' ') != std::string::npos)
    text += fmt::format("; {} at {}", all, places_between(*first, *last));
  return text + ".";
}

}  // namespace

std::vector<std::string> Headline::sentences() const {
  std::vector<std::string> all{sentence, of_all, against_baseline};
  std::erase(all, "");
  return all;
}

Headline headline_of(const Answer& answer) {
  const std::vector<Place> places = places_in(answer);
  const std::vector<Part> parts = parts_of(places, &Leaders::of_all, answer.effectiveness);
  if (parts.empty()) return {};
  const bool is_known = answer.effectiveness != EffectivenessFrom::nothing;
  const std::string place = is_drawn(answer) && !places.front().words.empty()
                                ? places.front().words + ": "
                                : std::string();
  Headline headline;
  if (!is_known) {
    headline.sentence = in_words(parts, " is fastest", place.empty()) + ".";
    if (place.empty()) headline.sentence = with_capital(headline.sentence);
    headline.sentence.insert(0, place);
    headline.against_baseline = against_baseline_of(answer, places, &Leaders::of_all);
    return headline;
  }
  headline.sentence = place + fastest_that_is_equivalent(answer, places);
  const auto differs = [](const Place& one) {
    const Leaders& leaders = *one.leaders;
    return leaders.of_all && (!leaders.of_equivalent ||
                              leaders.of_all->contender != leaders.of_equivalent->contender);
  };
  if (std::ranges::any_of(places, differs))
    headline.of_all = fmt::format("Fastest of all: {}.", in_words(parts, "", place.empty()));
  headline.against_baseline = against_baseline_of(answer, places, &Leaders::of_equivalent);
  return headline;
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

void say(Answer& answer) {
  answer.heading = heading_of(answer);
  answer.notes = notes_on(answer);
  for (Advised& advised : answer.contenders) {
    advised.sentence = sentence_of(advised, answer);
    advised.remarks = remarks_on(advised, answer);
  }
}

}  // namespace attnscope::report
