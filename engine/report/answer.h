#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The answers of a run, as sentences and as data: the fastest contender at each length, where one
// contender overtakes another, and the longest length that fits.
//
//   Result<Table> table = make_answer_table(store, run, "full/sdpa", {}, XAxis::length);
//   print(write_answers(table->run, make_answers(*table, XAxis::length)));

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/length_curve.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/report/published.h"
#include "engine/report/row.h"
#include "engine/report/sheet.h"
#include "engine/report/table.h"

namespace attnscope::report {

// Who is fastest, overall and among the contenders that are shown to be equivalent in
// effectiveness, at one place or at several, and the sentences that say so.

/// The contender with the lowest median time of a set.
struct Leader {
  std::size_t contender = 0;  // index in the contenders of the ranking or answer
  /// The runner-up's time divided by the leader's. The runner-up is the contender with the next
  /// median, or a slower one whose difference to the leader is not shown. Empty if there is no
  /// other contender.
  std::optional<statistics::Ratio> runner_up;
  [[nodiscard]] bool is_alone() const { return !runner_up; }
  /// Whether the interval shows that the leader is the fastest.
  [[nodiscard]] bool is_clear() const;
};

/// The leader among all contenders with a time (within the limits), and the leader among those
/// shown to be equivalent in effectiveness, if effectiveness is known.
struct Leaders {
  std::optional<Leader> of_all, of_equivalent;
};

/// The source of the contenders' effectiveness: measured with the run, or published for the
/// patterns of some of them. `nothing` if all contenders have one pattern.
enum class EffectivenessFrom : std::uint8_t { nothing, published, measured };
[[nodiscard]] EffectivenessFrom effectiveness_known_of(const std::vector<const Row*>& rows);

/// The properties of a contender at a place that headlines report. Its effectiveness is null if it
/// was not measured.
struct Candidate {
  std::string_view name;
  std::string id;
  const MeasuredEffectiveness* measured = nullptr;
  const std::optional<PublishedNdcg>* published = nullptr;
  const std::optional<statistics::Ratio>* to_baseline = nullptr;
};
/// Whether it is shown to be equivalent to the reference of `from`.
[[nodiscard]] bool is_shown_equivalent(EffectivenessFrom from, const Candidate& candidate);

/// The leader of contenders sorted by time. `to_first` gives the time of another contender over
/// that of the first.
[[nodiscard]] std::optional<Leader> leader_of(
    const std::vector<std::size_t>& by_time,
    const std::function<std::optional<statistics::Ratio>(std::size_t)>& to_first);

/// A length or window; for a question the whole list of documents, with empty words.
struct Place {
  std::string words;
  std::vector<Candidate> candidates;
  const Leaders* leaders = nullptr;
};

/// The result in sentences, for the rankings of a setting or for its question. The first sentence
/// names the contender to use: if effectiveness is known, the fastest that is shown to be
/// equivalent. A contender is called the fastest only if the interval shows its lead. Empty if
/// nothing was measured or shown.
struct Headline {
  std::string sentence;          // for drawn lengths, which share one x, starts with that x
  std::string of_all;            // the fastest of all with its loss, if another
  std::string against_baseline;  // the fastest at the last x, with its interval
  /// The non-empty sentences.
  [[nodiscard]] std::vector<std::string> sentences() const;
};
/// The places of one setting, which a headline summarizes.
struct Contest {
  std::vector<Place> places;
  EffectivenessFrom effectiveness = EffectivenessFrom::nothing;
  bool is_drawn = false;   // documents' lengths are drawn, so that there is no length to name
  std::string baseline{};  // name of the contender that speeds are relative to; empty: none
  std::string evidence{};  // follows the fastest equivalent contender
};
[[nodiscard]] Headline headline_of(const Contest& contest);

/// "2.9x", "12x"; two decimals if one decimal would give "1.0x".
[[nodiscard]] std::string times_in_words(double times);

/// One contender at one place of x.
struct Ranked {
  Row row;
  /// Time per document relative to the fastest contender at this x; exactly 1, with an interval of
  /// zero width, for the fastest itself.
  std::optional<statistics::Ratio> to_fastest;
  std::optional<PublishedNdcg> published;  // looked up only if no effectiveness was measured
  std::string implausible = {};  // why its time is implausible, and therefore not in `row`
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
