// SPDX-License-Identifier: Apache-2.0
//
// Answers in sentences. What is carried between measured lengths is marked with
// "≈", what follows from growth alone with "predicted".

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

/// Less than this is not worth a word.
constexpr double shown_times = 1.05;

std::string documents_in_words(std::int64_t count) {
  return fmt::format("{} document{}", count, count == 1 ? "" : "s");
}

std::string without_stop(std::string text) {
  while (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

/// Its name for what attends to everything too: "full attention" would be
/// either of the two.
std::string baseline_of(const Advised& one, const Answer& answer) {
  const auto own = std::ranges::find(answer.contenders, true, &Advised::is_baseline);
  const bool by_name = one.pattern == full_pattern && own != answer.contenders.end();
  return by_name ? own->name : answer.baseline_words;
}

std::string speed_in_words(const Advised& one, const Answer& answer) {
  if (one.is_baseline) return ", what the others are set against";
  if (!one.to_baseline) return "";
  const std::string baseline = baseline_of(one, answer);
  const bool is_shown = one.to_baseline->verdict != Verdict::no_difference_shown;
  if (!is_known(*one.to_baseline)) {
    return is_shown ? fmt::format(", {} than {}", name_of(one.to_baseline->verdict), baseline)
                    : fmt::format(", {} to tell it from {}", too_few_samples, baseline);
  }
  switch (one.to_baseline->verdict) {
    case Verdict::faster:
      return fmt::format(", {} faster than {}", times_in_words(1 / one.to_baseline->ratio),
                         baseline);
    case Verdict::slower:
      return fmt::format(", {} slower than {}", times_in_words(one.to_baseline->ratio), baseline);
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

/// What would stand in the sentence of all others than the baseline tells no one apart: it is said
/// once, beneath them.
std::string longer_of_all(const Answer& answer) {
  std::vector<std::string> of_each;
  for (const Advised& one : answer.contenders) {
    if (!one.is_baseline) of_each.push_back(longer_in_words(one));
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
    return fmt::format("; between {:.0f} and {:.0f} tokens it {}", only.after, only.before,
                       only.a_overtakes ? "begins to win" : "begins to lose");
  }
  return only.a_overtakes ? fmt::format("; from {:.0f} tokens on it wins", *only.at)
                          : fmt::format("; up to {:.0f} tokens it wins", *only.at);
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

/// What the measured effectiveness is tested against, as a reader calls it.
std::string tested_against(const std::string& contender, const Answer& answer) {
  const auto own = std::ranges::find(answer.contenders, contender, &Advised::contender);
  if (own == answer.contenders.end()) return contender;
  return own->pattern == full_pattern ? "full attention" : own->name;
}

/// Empty where no effectiveness was measured against a baseline.
std::string fastest_equivalent_in_words(const Answer& answer) {
  const auto measured = std::ranges::find_if(answer.contenders, [](const Advised& one) {
    return one.measured && !one.measured->baseline.empty();
  });
  if (measured == answer.contenders.end()) return "";
  const MeasuredEffectiveness& any = *measured->measured;
  const std::string baseline = tested_against(any.baseline, answer);
  const std::string within =
      fmt::format("within {} in {} ({})", any.margin, any.measure, measured_label);
  const Advised* const best = fastest_equivalent(answer);
  if (best == nullptr) {
    return fmt::format("Nothing within the limits is shown to be equivalent to {} {}.", baseline,
                       within);
  }
  if (best->contender == any.baseline) {
    return fmt::format("Nothing faster than {} is shown to be equivalent to it {}.", baseline,
                       within);
  }
  const std::string head = fmt::format("Fastest that is equivalent to {} {}: {}{}; ", baseline,
                                       within, best->name, speed_in_words(*best, answer));
  if (best->measured->is_baseline) return head + "its ranking is the same.";
  return head + fmt::format("{} (paired TOST, {} queries).", test_in_words(*best->measured->tests),
                            best->measured->tests->n);
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
  std::vector<std::string> notes;
  if (std::string fastest = fastest_equivalent_in_words(answer); !fastest.empty())
    notes.push_back(std::move(fastest));
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

/// Neighbouring places with the same fastest contender.
struct Reign {
  std::string name;
  const Ranking* first = nullptr;
  const Ranking* last = nullptr;
  int places = 0;
  std::vector<double> leads;                      // over the next, where they are shown
  std::vector<std::vector<const Ranking*>> sure;  // those places, neighbours together
  bool has_next = false;
};

/// "64 to 2048 tokens", "w = 4 to w = 64", "512 tokens".
std::string places_between(const Ranking& first, const Ranking& last) {
  if (&first == &last) return first.place;
  const std::string& from = first.place;
  const std::string tokens = " tokens";
  return fmt::format("{} to {}",
                     from.ends_with(tokens) ? from.substr(0, from.size() - tokens.size()) : from,
                     last.place);
}

std::string places_of(const Reign& reign) {
  return places_between(*reign.first, *reign.last);
}

/// "1.1x to 2.0x", "2.0x".
std::string range_of(const std::vector<double>& times) {
  const auto [least, most] = std::ranges::minmax(times);
  const std::string from = times_in_words(least), to = times_in_words(most);
  return from == to ? from : from + " to " + to;
}

/// Over the next, and whether its 95 % interval shows it.
std::string lead_of(const Reign& reign) {
  if (!reign.has_next) return " (nothing beside it)";
  if (reign.leads.empty()) return " (its lead may be chance)";
  const std::string lead = fmt::format("{} ahead, 95 % sure", range_of(reign.leads));
  if (std::cmp_equal(reign.leads.size(), reign.places)) return fmt::format(" ({})", lead);
  std::vector<std::string> places;
  places.reserve(reign.sure.size());
  for (const auto& neighbours : reign.sure)
    places.push_back(places_between(*neighbours.front(), *neighbours.back()));
  return fmt::format(" ({} at {}; elsewhere its lead may be chance)", lead,
                     fmt::join(places, " and at "));
}

std::vector<Reign> reigns_of(const Answer& answer) {
  std::vector<Reign> reigns;
  for (const Ranking& ranking : answer.rankings) {
    if (ranking.contenders.empty() || !ranking.contenders.front().to_fastest) continue;
    const std::string& name = ranking.contenders.front().row.cell.cell.contender.name;
    if (reigns.empty() || reigns.back().name != name)
      reigns.push_back({.name = name, .first = &ranking, .leads = {}, .sure = {}});
    Reign& reign = reigns.back();
    reign.last = &ranking;
    ++reign.places;
    if (ranking.contenders.size() < 2 || !ranking.contenders[1].to_fastest) continue;
    reign.has_next = true;
    const statistics::Ratio& next = *ranking.contenders[1].to_fastest;
    if (next.verdict != statistics::Verdict::slower || !is_known(next)) continue;
    const bool is_neighbour = !reign.sure.empty() && reign.sure.back().back() + 1 == &ranking;
    if (!is_neighbour) reign.sure.emplace_back();
    reign.sure.back().push_back(&ranking);
    reign.leads.push_back(next.ratio);
  }
  return reigns;
}

/// As the legend has it.
std::string baseline_name(const Answer& answer) {
  for (const Ranking& ranking : answer.rankings) {
    for (const auto& ranked : ranking.contenders) {
      const Contender& contender = ranked.row.cell.cell.contender;
      if (contender.id() == *answer.baseline) return contender.name;
    }
  }
  return *answer.baseline;
}

bool is_drawn(const Answer& answer) {
  return answer.point.document_lengths.is_drawn();
}

/// "It is 8.2x (95 %: 8.1x to 8.3x) faster than full/dense at 2048 tokens; 1.9x to 8.2x at 64 to
/// 2048 tokens.": with the interval at its last place, then over all. `subject`: "It is".
std::string lead_over_baseline(const Answer& answer, const Reign& reign,
                               const std::string& subject) {
  std::vector<double> speed_ups;
  const statistics::Ratio* at_last = nullptr;
  for (const Ranking* ranking = reign.first; ranking <= reign.last; ++ranking) {
    if (ranking->contenders.empty()) continue;
    const std::optional<statistics::Ratio>& ratio = ranking->contenders.front().row.ratio;
    const bool is_faster = ratio && is_known(*ratio) && ratio->verdict == Verdict::faster;
    at_last = is_faster ? &*ratio : nullptr;
    if (is_faster) speed_ups.push_back(1 / ratio->ratio);
  }
  if (at_last == nullptr || !answer.baseline) return "";
  std::string text = fmt::format(
      "{} {} (95 %: {} to {}) faster than {}", subject, times_in_words(1 / at_last->ratio),
      times_in_words(1 / at_last->high), times_in_words(1 / at_last->low), baseline_name(answer));
  if (!is_drawn(answer)) text += " at " + reign.last->place;
  const std::string all = range_of(speed_ups);
  if (static_cast<int>(speed_ups.size()) == reign.places && all.find(' ') != std::string::npos)
    text += fmt::format("; {} at {}", all, places_of(reign));
  return text + ".";
}

}  // namespace

Headline headline_of(const Answer& answer) {
  constexpr std::size_t most = 3;  // more is a table
  std::vector<Reign> reigns = reigns_of(answer);
  if (reigns.empty()) return {};
  const std::string subject = is_drawn(answer)    ? reigns.front().first->place + ":"
                              : reigns.size() > 1 ? reigns.back().name + " is"
                                                  : "It is";
  Headline headline{.sentence = {},
                    .against_baseline = lead_over_baseline(answer, reigns.back(), subject)};
  if (is_drawn(answer)) {
    const Reign& only = reigns.front();
    headline.sentence =
        fmt::format("{}: {} is fastest{}.", only.first->place, only.name, lead_of(only));
    return headline;
  }
  const std::size_t all = reigns.size();
  if (all > most) {
    std::ranges::stable_sort(reigns, std::ranges::greater(), &Reign::places);
    reigns.resize(most);
  }
  for (const Reign& reign : reigns) {
    headline.sentence += fmt::format("{}{}{} at {}{}", headline.sentence.empty() ? "" : "; ",
                                     reign.name, headline.sentence.empty() ? " is fastest" : "",
                                     places_of(reign), lead_of(reign));
  }
  if (all > most) headline.sentence += fmt::format("; and others at {} more", all - most);
  headline.sentence += '.';
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
  for (Advised& one : answer.contenders) {
    one.sentence = sentence_of(one, answer);
    one.remarks = remarks_on(one, answer);
  }
}

}  // namespace attnscope::report
