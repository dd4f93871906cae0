#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The answers of a run, as sentences and as data: the fastest contender at each length, where one
// contender overtakes another, and the longest length that fits.
//
//   Result<Table> table = make_answer_table(store, run, "full/sdpa", {}, XAxis::length);
//   print(write_answers(table->run, make_answers(*table, XAxis::length)));

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/headline.h"
#include "engine/report/length_curve.h"
#include "engine/report/sheet.h"
#include "engine/report/table.h"

namespace attnscope::report {

/// One contender at one place of x.
struct Ranked {
  Row row;
  /// Time per document relative to the fastest contender at this x; exactly 1, with an interval of
  /// zero width, for the fastest itself.
  std::optional<statistics::Ratio> to_fastest;
  std::optional<PublishedNdcg> published;  // looked up only if no effectiveness was measured
};

/// All contenders at one length or window, the fastest first, those without a time last.
struct Ranking {
  std::string place;  // "256 tokens", "w = 64"
  std::vector<Ranked> contenders;
  Leaders leaders;
};

/// The longest length that fits for a contender, and the first that does not.
struct FitAnswer {
  std::string contender, name;
  std::optional<std::int64_t> longest;       // measured
  std::optional<std::int64_t> next;          // the shortest length above `longest` without a time
  CellStatus next_status = CellStatus::oom;  // the reason as a status
  std::string next_reason;                   // the reason as a sentence
  std::optional<double> bytes_per_document;  // peak memory of the call at `longest`
  std::optional<std::int64_t> predicted;     // longest that fits, extrapolated from growth
  bool predicted_is_least = false;           // `predicted` is only a lower bound
  std::string sentence;
};

/// The answers for one setting of all axes except x.
struct Answer {
  RunInfo run;
  XAxis x = XAxis::length;
  HeatPoint point;                      // its first cell's
  std::optional<std::string> baseline;  // contender id, with or without its window
  std::string shared;                   // words for the axes that all settings share
  std::string setting;                  // what distinguishes it from the run's other settings
  EffectivenessFrom effectiveness = EffectivenessFrom::nothing;
  std::vector<Ranking> rankings;
  std::vector<CrossoverAnswer> crossovers;
  std::vector<FitAnswer> fits;  // only for x = length
  std::vector<std::string> notes;
};

/// The note for rows whose document lengths are drawn from a distribution.
inline constexpr std::string_view no_answer_to_one_length =
    "Document lengths are drawn from a distribution, so results are for all lengths together, not "
    "for a single length.";

/// Like make_table, but always with a baseline: by default the first measured contender of the
/// sweep. For x = window, the baseline may be named without its window; each window is then
/// compared with the baseline at the same window.
[[nodiscard]] Result<Table> make_answer_table(const Store& store, const RunInfo& run,
                                              std::optional<std::string_view> baseline,
                                              const OnlyFilter& filter, XAxis x);

/// One answer for each setting, with the table's ratios unchanged.
[[nodiscard]] std::vector<Answer> make_answers(const Table& table, XAxis x);
/// The longest lengths that fit, for rows of one setting. `available_bytes`: free memory of the
/// device at the start of the run, if known.
[[nodiscard]] std::vector<FitAnswer> find_fits(const std::vector<const Row*>& rows,
                                               std::optional<double> available_bytes);

/// "256 tokens: Sparse, fused, w = 4 is fastest, with no difference shown to ..."
[[nodiscard]] std::string sentence_of(const Ranking& ranking);
[[nodiscard]] Headline headline_of(const Answer& answer);
/// Why there is no headline: "Nothing could be measured: 12 cells oom." Empty if a cell was
/// measured or there are no cells.
[[nodiscard]] std::string nothing_measured(const std::vector<const Row*>& rows);

/// Text consists of sentences; the other formats for people and CSV are tables; JSON is an object
/// for the run.
[[nodiscard]] std::string write_answers(const RunInfo& run, std::span<const Answer> answers,
                                        TableFormat format = TableFormat::text);

}  // namespace attnscope::report
