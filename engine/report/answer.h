#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a run answers, in sentences and as data: who is fastest at each length, where one contender
// overtakes another, and the longest length that fits.
//
//   Result<Table> table = make_answer_table(store, run, "full/sdpa", {}, XAxis::length);
//   fmt::print("{}", write_answer(make_answer(*table, XAxis::length)));

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/figure.h"
#include "engine/report/table.h"
#include "engine/statistics/crossover.h"

namespace attnscope::report {

/// One contender at one place of x.
struct Ranked {
  Row row;
  /// Against the fastest of the place, per document; 1 without width for the fastest itself.
  std::optional<statistics::Ratio> to_fastest;
};

/// All contenders at one length or window, the fastest first, those without a time last.
struct Ranking {
  std::string place;  // "256 tokens", "w = 64"
  std::vector<Ranked> contenders;
};

/// Where a contender overtakes the baseline or falls behind it.
struct CrossoverAnswer {
  std::string contender, name;  // id (along windows without the window) and display name
  std::string baseline;         // display name
  statistics::Crossovers found;
  std::string sentence;
};

/// The longest length that fits a contender, and the first that does not.
struct FitAnswer {
  std::string contender, name;
  std::optional<std::int64_t> longest;       // measured
  std::optional<std::int64_t> next;          // the shortest longer one without a time
  CellStatus next_status = CellStatus::oom;  // why, in a word
  std::string next_reason;                   // and in a sentence
  std::optional<double> bytes_per_document;  // peak of the call at the longest
  std::optional<std::int64_t> predicted;     // the longest that would fit, from memory's growth
  bool predicted_is_least = false;           // more than that: too far away to say
  std::string sentence;
};

/// One setting of all axes but x.
struct AnswerOfSetting {
  std::string words;  // "attention, forward, query 10, ..."; what all settings share is left out
  std::vector<Ranking> rankings;
  std::vector<CrossoverAnswer> crossovers;
  std::vector<FitAnswer> fits;  // only along lengths
};

struct Answer {
  RunInfo run;
  XAxis x = XAxis::length;
  std::optional<std::string> baseline;  // id, or id without window
  std::string shared_words;             // the axes that all settings share
  std::vector<AnswerOfSetting> settings;
};

/// As make_table, with a baseline in any case: without one it is the sweep's first contender that
/// was measured. Along windows a baseline may be named without its window; every window is then
/// set against the baseline's own.
[[nodiscard]] Result<Table> make_answer_table(const Store& store, const RunInfo& run,
                                              std::optional<std::string_view> baseline,
                                              const OnlyFilter& filter, XAxis x);

/// The table's ratios are taken as they are.
[[nodiscard]] Answer make_answer(const Table& table, XAxis x);

/// The parts of it, for rows of one setting (`rows` differ in x and contender alone).
[[nodiscard]] std::vector<Ranking> rank(const std::vector<const Row*>& rows, XAxis x);
[[nodiscard]] std::vector<CrossoverAnswer> find_crossover_answers(
    const std::vector<const Row*>& rows, XAxis x, const std::string& baseline);
/// `available_bytes`: what the device had free when the run began, where that is known.
[[nodiscard]] std::vector<FitAnswer> find_fits(const std::vector<const Row*>& rows,
                                               std::optional<double> available_bytes);

/// Rows by setting, in the table's order.
[[nodiscard]] std::vector<std::vector<const Row*>> rows_by_setting(const Table& table, XAxis x);

[[nodiscard]] std::string write_answer(const Answer& answer);
[[nodiscard]] std::string write_answer_json(const Answer& answer);

}  // namespace attnscope::report
