#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The answers of a run, as sentences and as data: the fastest contender at each length, where one
// contender overtakes another, and the longest length that fits; or, for a question, which
// contender to use for re-ranking a given number of documents of given lengths: the time and memory
// of the whole candidate list, ordered by time among the contenders within the limits.
//
//   Result<Table> table = make_answer_table(store, run, "full/sdpa", {}, XAxis::length);
//   print(write_answers(table->run, make_answers(*table, XAxis::length)));
//   Question question{.query_tokens = 10, .documents = DocumentLengths(512), .candidates = 100};
//   print(write_answers(table->run, make_answers(*table, question)));
//
// Times are read from a run's cells, per document. Times at lengths that were not measured are
// interpolated between two measured lengths and marked; there is no extrapolation beyond the
// longest.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/crossovers.h"
#include "engine/report/effectiveness_figure.h"
#include "engine/report/length_curve.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/report/published.h"
#include "engine/report/question.h"
#include "engine/report/table.h"

namespace attnscope::report {

/// The pattern of full attention: the default baseline of an answer.
inline constexpr std::string_view full_pattern = "full";

/// One contender at one place of x.
struct Ranked {
  Row row;
  /// Time per document relative to the fastest contender at this x; exactly 1, with an interval of
  /// zero width, for the fastest itself.
  std::optional<statistics::Ratio> to_fastest;
  std::optional<PublishedNdcg> published;  // looked up only if no effectiveness was measured
};

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

enum class Standing : std::uint8_t { within_limits, too_slow, too_large, without_time };
[[nodiscard]] std::string_view name_of(Standing standing);

/// The longest document that fits into the available memory.
struct LongestDocument {
  std::int64_t document_tokens = 0;
  enum class From : std::uint8_t { measured, between, predicted } from = From::measured;
  bool at_least = false;  // lower bound; the maximum is not known
};

/// The answer to a question for one contender.
struct Advised {
  std::string contender, name, pattern;
  std::optional<Window> window;
  bool is_baseline = false;
  Standing standing = Standing::without_time;
  std::string reason;  // why it has no time or exceeds the limits, as part of a sentence

  std::optional<Estimate> time_ns;               // for all candidates
  std::optional<statistics::Ratio> to_baseline;  // for the same list
  std::optional<double> peak_bytes,
      need_bytes;  // all candidates in one call; need_bytes includes their tensors
  bool memory_is_predicted = false;
  std::optional<std::int64_t> at_once;  // number of documents that fit the memory limit in one call
  std::optional<LongestDocument> longest;
  std::optional<double> times_longer;  // `longest` divided by the baseline's
  statistics::Crossovers crossovers;   // with the baseline, in tokens of the whole sequence

  bool is_interpolated = false, is_rough = false;
  std::int64_t lower = 0,
               upper = 0;                  // lengths around an interpolated time; 0: several
  std::optional<std::int64_t> counted_as;  // total tokens that shorter documents count as

  std::optional<MeasuredEffectiveness> measured;
  std::optional<PublishedNdcg> published;  // only if no effectiveness was measured
  std::optional<double> published_loss;    // difference to full attention

  std::string sentence;
  std::vector<std::string> remarks;  // sentences: caveats of this answer
};

/// The answer for one setting of all axes except x and, for a question, except the query.
struct Answer {
  RunInfo run;
  XAxis x = XAxis::length;
  std::optional<std::string> baseline;  // contender id, with or without its window
  std::string shared;                   // words for the axes that all settings share
  std::string setting;                  // what distinguishes it from the run's other settings

  EffectivenessFrom effectiveness = EffectivenessFrom::nothing;

  // Without a question.
  std::vector<Ranking> rankings;
  std::vector<CrossoverAnswer> crossovers;
  std::vector<FitAnswer> fits;  // only for x = length

  // With a question.
  std::optional<Question> question;
  HeatPoint point;             // query and length are those of its first cell
  std::string baseline_words;  // "full attention", or its display name
  std::string heading;         // the question, and what the times refer to
  Leaders leaders;
  std::vector<std::string> notes;
  std::vector<Advised> contenders;       // in display order
  std::vector<std::int64_t> to_measure;  // total sequence lengths to measure for exact numbers
};

/// The note for rows whose document lengths are drawn from a distribution.
inline constexpr std::string_view no_answer_to_one_length =
    "Documents' lengths are drawn: what is said holds for all of them together, and no answer is "
    "given about one length.";

/// Like make_table, but always with a baseline: by default the first measured contender of the
/// sweep. For x = window, the baseline may be named without its window; each window is then
/// compared with the baseline at the same window.
[[nodiscard]] Result<Table> make_answer_table(const Store& store, const RunInfo& run,
                                              std::optional<std::string_view> baseline,
                                              const OnlyFilter& filter, XAxis x);
/// The first contender with full attention and a time, in the sweep's order, else the first
/// contender with a time: the default baseline of a question's answer.
[[nodiscard]] std::optional<std::string> full_contender(const Table& table);

/// One answer for each setting, with the table's ratios unchanged.
[[nodiscard]] std::vector<Answer> make_answers(const Table& table, XAxis x);
/// If the query was measured with several lengths, the nearest is used. Ratios are those of the
/// rows, against `baseline`.
[[nodiscard]] std::vector<Answer> make_answers(const RunInfo& run,
                                               const std::optional<std::string>& baseline,
                                               const std::vector<const Row*>& rows,
                                               const Question& question);
[[nodiscard]] std::vector<Answer> make_answers(const Table& table, const Question& question);

/// The contender with the lowest median among those within the limits that are shown to be
/// equivalent in effectiveness (including the baseline of the measured effectiveness). Null if
/// there is none or effectiveness is not known.
[[nodiscard]] const Advised* fastest_equivalent(const Answer& answer);
/// Effectiveness of the contenders over their time.
[[nodiscard]] Figure effectiveness_figure(const Answer& answer);

/// The longest lengths that fit, for rows of one setting. `available_bytes`: free memory of the
/// device at the start of the run, if known.
[[nodiscard]] std::vector<FitAnswer> find_fits(const std::vector<const Row*>& rows,
                                               std::optional<double> available_bytes);

/// The length of the whole sequence for one of the question's lengths, in tokens.
[[nodiscard]] std::int64_t sequence_of(const Answer& answer, std::int64_t length);
/// Conversion between the length of a document and that of the whole sequence, in tokens.
[[nodiscard]] std::int64_t sequence_of(const HeatPoint& point, std::int64_t query_tokens,
                                       std::int64_t document_tokens);
[[nodiscard]] std::int64_t document_of(const HeatPoint& point, std::int64_t query_tokens,
                                       double sequence_tokens);

/// Fills in the sentences, remarks, heading and notes of a question's answer from its numbers.
void say(Answer& answer);
[[nodiscard]] std::string sentence_of(const FitAnswer& fit);
/// "2.9x", "12x"; two decimals if one decimal would give "1.0x".
[[nodiscard]] std::string times_in_words(double times);

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
[[nodiscard]] Headline headline_of(const Answer& answer);
/// Why there is no headline: "Nothing could be measured: 12 cells oom." Empty if a cell was
/// measured or there are no cells.
[[nodiscard]] std::string nothing_measured(const std::vector<const Row*>& rows);

/// The run's sweep, restricted to the setting of a question's answer and the lengths that are
/// missing for exact numbers.
[[nodiscard]] std::string exact_sweep(const Answer& answer);

/// Text consists of sentences; the other formats for people and CSV are tables; JSON is an object
/// for the run or, for a question, an array of the settings.
[[nodiscard]] std::string write_answers(const RunInfo& run, std::span<const Answer> answers,
                                        TableFormat format = TableFormat::text);

}  // namespace attnscope::report
