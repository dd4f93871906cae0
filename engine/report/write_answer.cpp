// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/report/answer.h"
#include "engine/report/number_text.h"
#include "engine/report/places.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

using nlohmann::json;
using statistics::Ratio;
using statistics::Verdict;

/// The fastest, and those of whom nothing shows that they are slower.
bool may_be_fastest(const Ranked& ranked) {
  return ranked.to_fastest && ranked.to_fastest->verdict != Verdict::slower;
}

double per_document_ns(const Row& row) {
  return row.cell.summary.median_ns / documents_of(row);
}

double bytes_per_document(const Row& row) {
  return static_cast<double>(peak_bytes(row.cell.cell.memory)) / documents_of(row);
}

/// "256 tokens: sparse/segment, w = 4 is fastest; no difference to it is shown for ..."
std::string head_of(const Ranking& ranking) {
  std::vector<std::string> fastest;
  for (const Ranked& one : ranking.contenders) {
    if (may_be_fastest(one)) fastest.push_back(one.row.cell.cell.contender.name);
  }
  if (fastest.empty()) return fmt::format("{}: nothing was measured.", ranking.place);
  std::string text = fmt::format("{}: {} is fastest", ranking.place, fastest.front());
  if (fastest.size() > 1) {
    text += fmt::format(", with no difference shown to {}",
                        fmt::join(fastest.begin() + 1, fastest.end(), "; "));
  }
  return text + ".";
}

constexpr std::size_t columns_of_ranking = 5;
using Line = std::array<std::string, columns_of_ranking>;

bool is_baseline(const Row& row, const Answer& answer) {
  const Contender& contender = row.cell.cell.contender;
  return answer.baseline && (contender.id() == *answer.baseline ||
                             contender_along(contender, answer.x) == *answer.baseline);
}

Line line_of(const Ranked& ranked, const Answer& answer) {
  const Row& row = ranked.row;
  Line line{row.cell.cell.contender.name, "", "", "", ""};
  if (!is_measured(row)) {
    const Outcome outcome = outcome_of(row);
    line[1] = outcome.status;
    return line;
  }
  line[1] = format_time(per_document_ns(row));
  if (ranked.to_fastest) line[2] = format_times(ranked.to_fastest->ratio);
  line[3] = format_bytes(bytes_per_document(row));
  if (is_baseline(row, answer)) {
    line[4] = "baseline";
  } else if (row.ratio) {
    line[4] =
        fmt::format("{} ({})", name_of(row.ratio->verdict), format_relative(row.ratio->ratio));
  }
  return line;
}

std::string write_ranking(const Ranking& ranking, const Answer& answer) {
  std::vector<Line> lines{{"", "time/doc", "of fastest", "mem/doc", "against the baseline"}};
  if (!answer.baseline) lines.front()[4].clear();
  for (const Ranked& one : ranking.contenders) lines.push_back(line_of(one, answer));
  std::array<std::size_t, columns_of_ranking> widths{};
  for (std::size_t i = 0; i < columns_of_ranking; ++i) {
    for (const Line& line : lines) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  std::string text = wrapped(head_of(ranking), "  ");
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < columns_of_ranking; ++i) {
      row.append("  ").append(padded(line[i], widths[i], i == 0 || i == 4));
    }
    text += without_trailing_blanks(row) + "\n";
  }
  return text;
}

std::string write_setting(const AnswerOfSetting& setting, const Answer& answer) {
  std::string text;
  if (!setting.crossovers.empty()) {
    text += fmt::format("\nAlong the {}:\n", answer.x == XAxis::length ? "length" : "window");
    for (const CrossoverAnswer& one : setting.crossovers) {
      text += wrapped("  " + one.sentence, "      ");
    }
  }
  if (!setting.fits.empty()) {
    text += "\nLongest length that fits:\n";
    for (const FitAnswer& one : setting.fits) text += wrapped("  " + one.sentence, "      ");
  }
  for (const Ranking& ranking : setting.rankings) {
    text.append("\n").append(write_ranking(ranking, answer));
  }
  return text;
}

json number(double value) {
  return std::isfinite(value) ? json(value) : json();
}

json json_of(const std::optional<Ratio>& ratio) {
  if (!ratio) return nullptr;
  return {{"ratio", number(ratio->ratio)},
          {"low", number(ratio->low)},
          {"high", number(ratio->high)},
          {"paired", ratio->paired},
          {"verdict", name_of(ratio->verdict)}};
}

json json_of(const Ranked& ranked) {
  const Row& row = ranked.row;
  const Contender& contender = row.cell.cell.contender;
  const bool measured = is_measured(row);
  const Outcome outcome = outcome_of(row);
  return {{"contender", contender.id()},
          {"name", contender.name},
          {"sequence_tokens", row.cell.point.sequence_tokens},
          {"window", contender.window ? json(contender.window->text()) : json()},
          {"status", measured ? "ok" : outcome.status},
          {"reason", measured ? "" : outcome.reason},
          {"ms_per_document", measured ? number(per_document_ns(row) / 1e6) : json()},
          {"peak_bytes_per_document", measured ? number(bytes_per_document(row)) : json()},
          {"to_fastest", json_of(ranked.to_fastest)},
          {"to_baseline", json_of(row.ratio)}};
}

/// Windows are told as w, which may be a fraction where it was not measured; null when infinite.
json place(double x, const Answer& answer) {
  return number(answer.x == XAxis::window ? (x - 1) / 2 : x);
}

json json_of(const CrossoverAnswer& one, const Answer& answer) {
  json stretches = json::array(), crossings = json::array();
  for (const statistics::Stretch& stretch : one.found.stretches) {
    stretches.push_back({{"verdict", name_of(stretch.verdict)},
                         {"first", place(stretch.first, answer)},
                         {"last", place(stretch.last, answer)}});
  }
  for (const statistics::Crossing& crossing : one.found.crossings) {
    crossings.push_back({{"overtakes", crossing.a_overtakes},
                         {"at", crossing.at ? place(*crossing.at, answer) : json()},
                         {"low", place(crossing.low, answer)},
                         {"high", place(crossing.high, answer)},
                         {"after", place(crossing.after, answer)},
                         {"before", place(crossing.before, answer)}});
  }
  return {{"contender", one.contender},
          {"name", one.name},
          {"sentence", one.sentence},
          {"stretches", stretches},
          {"crossings", crossings}};
}

template <typename T>
json json_of(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json json_of(const FitAnswer& fit) {
  return {{"contender", fit.contender},
          {"name", fit.name},
          {"longest_tokens", json_of(fit.longest)},
          {"next_tokens", json_of(fit.next)},
          {"next_status", fit.next ? json(name_of(fit.next_status)) : json()},
          {"next_reason", fit.next ? json(fit.next_reason) : json()},
          {"peak_bytes_per_document", json_of(fit.bytes_per_document)},
          {"predicted_longest_tokens", json_of(fit.predicted)},
          {"predicted_is_least", fit.predicted_is_least},
          {"sentence", fit.sentence}};
}

}  // namespace

std::string write_answer(const Answer& answer) {
  if (answer.settings.empty()) {
    return wrapped(provenance_line(answer.run), "  ") + "No heat of this run is finished yet.\n";
  }
  std::string text = answer.shared_words;
  if (answer.baseline) text += fmt::format("; baseline: {}", *answer.baseline);
  text = wrapped(text, "  ");
  for (const AnswerOfSetting& setting : answer.settings) {
    if (!setting.words.empty()) text += "\n" + wrapped("== " + setting.words, "   ");
    text += write_setting(setting, answer);
  }
  return text + "\n" + wrapped(provenance_line(answer.run), "  ");
}

std::string write_answer_json(const Answer& answer) {
  json settings = json::array();
  for (const AnswerOfSetting& setting : answer.settings) {
    json rankings = json::array(), crossovers = json::array(), fits = json::array();
    for (const Ranking& ranking : setting.rankings) {
      json contenders = json::array();
      for (const Ranked& one : ranking.contenders) contenders.push_back(json_of(one));
      rankings.push_back({{"place", ranking.place}, {"contenders", contenders}});
    }
    for (const CrossoverAnswer& one : setting.crossovers) {
      crossovers.push_back(json_of(one, answer));
    }
    for (const FitAnswer& fit : setting.fits) fits.push_back(json_of(fit));
    settings.push_back({{"setting", setting.words},
                        {"rankings", rankings},
                        {"crossovers", crossovers},
                        {"longest_that_fits", fits}});
  }
  const json whole = {{"run", answer.run.id.uuid},
                      {"x", answer.x == XAxis::length ? "length" : "window"},
                      {"baseline", json_of(answer.baseline)},
                      {"shared", answer.shared_words},
                      {"settings", settings},
                      {"provenance", provenance_line(answer.run)}};
  return whole.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace attnscope::report
