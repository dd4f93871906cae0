#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a run answers, in sentences and as data: who is fastest at each length,
// where one contender overtakes another, and the longest length that fits; or,
// to a question, which contender a person should take who re-ranks so many
// documents of these lengths: the time and the memory of the whole list of
// candidates, the fastest within the limits first.
//
//   Result<Table> table = make_answer_table(store, run, "full/sdpa", {},
//   XAxis::length); fmt::print("{}", write_answers(table->run,
//   make_answers(*table, XAxis::length))); Question question{.query_tokens =
//   10, .documents = DocumentLengths(512), .candidates = 100}; fmt::print("{}",
//   write_answers(table->run, make_answers(*table, question)));
//
// Times are read from a run's cells, per document. Lengths that were not
// measured are carried between two that were, and marked; beyond the longest
// there is no time.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/crossovers.h"
#include "engine/report/length_curve.h"
#include "engine/report/measured_effectiveness.h"
#include "engine/report/published.h"
#include "engine/report/question.h"
#include "engine/report/table.h"

namespace attnscope::report {

/// What attends to everything: the baseline of an answer where nobody chose.
inline constexpr std::string_view full_pattern = "full";

/// One contender at one place of x.
struct Ranked {
  Row row;
  /// Against the fastest of the place, per document; 1 without width for the
  /// fastest itself.
  std::optional<statistics::Ratio> to_fastest;
  std::optional<PublishedNdcg> published;  // looked at where nothing was measured
};

/// The one with the lowest median of some contenders.
struct Leader {
  std::size_t contender = 0;  // its place among the ranking's, or the answer's, contenders
  /// The runner-up's time over its own: of the next by the median, or of one that is farther behind
  /// and no difference is shown to. Nothing: there is no other contender.
  std::optional<statistics::Ratio> runner_up;
  [[nodiscard]] bool is_alone() const { return !runner_up; }
  /// The interval shows that it is the fastest.
  [[nodiscard]] bool is_clear() const;
};

/// Of all that have a time (within the limits), and of those that are shown to be equivalent in
/// effectiveness, where that is known.
struct Leaders {
  std::optional<Leader> of_all, of_equivalent;
};

/// What is known of the contenders' effectiveness: measured with the run, or else published for the
/// patterns of some of them. Nothing where all have one pattern.
enum class EffectivenessFrom : std::uint8_t { nothing, published, measured };

/// All contenders at one length or window, the fastest first, those without a
/// time last.
struct Ranking {
  std::string place;  // "256 tokens", "w = 64"
  std::vector<Ranked> contenders;
  Leaders leaders;
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

enum class Standing : std::uint8_t { within_limits, too_slow, too_large, without_time };
[[nodiscard]] std::string_view name_of(Standing standing);

/// The longest document that fits into the memory there is.
struct LongestDocument {
  std::int64_t document_tokens = 0;
  enum class From : std::uint8_t { measured, between, predicted } from = From::measured;
  bool at_least = false;  // nothing says where it ends
};

/// What a question's answer says of one contender.
struct Advised {
  std::string contender, name, pattern;
  std::optional<Window> window;
  bool is_baseline = false;
  Standing standing = Standing::without_time;
  std::string reason;  // why it has no time, or is not within the limits: part
                       // of a sentence

  std::optional<Estimate> time_ns;               // of all candidates
  std::optional<statistics::Ratio> to_baseline;  // of the same list
  std::optional<double> peak_bytes,
      need_bytes;  // all candidates at once; need: with their tensors
  bool memory_is_predicted = false;
  std::optional<std::int64_t> at_once;  // documents that the memory limit holds at a time
  std::optional<LongestDocument> longest;
  std::optional<double> times_longer;  // than the baseline's longest
  statistics::Crossovers crossovers;   // against the baseline, in tokens of the whole sequence

  bool is_interpolated = false, is_rough = false;
  std::int64_t lower = 0,
               upper = 0;                  // lengths of one interpolated time; 0: several
  std::optional<std::int64_t> counted_as;  // shorter documents count as this many tokens in all

  std::optional<MeasuredEffectiveness> measured;
  std::optional<PublishedNdcg> published;  // where nothing was measured
  std::optional<double> published_loss;    // below full attention's

  std::string sentence;
  std::vector<std::string> remarks;  // sentences: what one must know beside it
};

/// Of one setting of all axes but x, and with a question but the query.
struct Answer {
  RunInfo run;
  XAxis x = XAxis::length;
  std::optional<std::string> baseline;  // id, or id without window
  std::string shared;                   // words of the axes that all settings share
  std::string setting;                  // what tells it from the run's other settings

  EffectivenessFrom effectiveness = EffectivenessFrom::nothing;

  // Without a question.
  std::vector<Ranking> rankings;
  std::vector<CrossoverAnswer> crossovers;
  std::vector<FitAnswer> fits;  // only along lengths

  // To a question.
  std::optional<Question> question;
  HeatPoint point;             // its query and length are those of its first cell
  std::string baseline_words;  // "full attention", or its display name
  std::string heading;         // what is asked, and of what the times are
  Leaders leaders;
  std::vector<std::string> notes;
  std::vector<Advised> contenders;       // as one should read them
  std::vector<std::int64_t> to_measure;  // tokens in all that would make the numbers exact
};

/// Of rows whose documents' lengths are drawn.
inline constexpr std::string_view no_answer_to_one_length =
    "Documents' lengths are drawn: what is said holds for all of them together, and no answer is "
    "given about one length.";

/// As make_table, with a baseline in any case: without one it is the sweep's
/// first contender that was measured. Along windows a baseline may be named
/// without its window; every window is then set against the baseline's own.
[[nodiscard]] Result<Table> make_answer_table(const Store& store, const RunInfo& run,
                                              std::optional<std::string_view> baseline,
                                              const OnlyFilter& filter, XAxis x);
/// The first contender with a time that attends to everything, in the sweep's
/// order, else the first with a time: what others are set against in the answer
/// to a question where nobody chose.
[[nodiscard]] std::optional<std::string> full_contender(const Table& table);

/// One for each setting. The table's ratios are taken as they are.
[[nodiscard]] std::vector<Answer> make_answers(const Table& table, XAxis x);
/// Of a query that was measured with several lengths the nearest is taken.
/// Ratios are the rows' own, against `baseline`.
[[nodiscard]] std::vector<Answer> make_answers(const RunInfo& run,
                                               const std::optional<std::string>& baseline,
                                               const std::vector<const Row*>& rows,
                                               const Question& question);
[[nodiscard]] std::vector<Answer> make_answers(const Table& table, const Question& question);

/// The contender within the limits with the lowest median of those that are shown to be equivalent
/// in effectiveness, the baseline of what was measured among them; null: none, or nothing is known.
[[nodiscard]] const Advised* fastest_equivalent(const Answer& answer);
/// Its contenders' time against what they are worth.
[[nodiscard]] Figure effectiveness_figure(const Answer& answer);

/// The longest lengths that fit, of rows of one setting. `available_bytes`:
/// what the device had free when the run began, where that is known.
[[nodiscard]] std::vector<FitAnswer> find_fits(const std::vector<const Row*>& rows,
                                               std::optional<double> available_bytes);

/// Tokens of a whole sequence of one of the question's lengths.
[[nodiscard]] std::int64_t sequence_of(const Answer& answer, std::int64_t length);
/// Tokens of a whole sequence with a document of so many, and back.
[[nodiscard]] std::int64_t sequence_of(const HeatPoint& point, std::int64_t query_tokens,
                                       std::int64_t document_tokens);
[[nodiscard]] std::int64_t document_of(const HeatPoint& point, std::int64_t query_tokens,
                                       double sequence_tokens);

/// Fills in sentences, remarks, heading and notes of a question's answer from
/// its numbers.
void say(Answer& answer);
[[nodiscard]] std::string sentence_of(const FitAnswer& fit);
/// "2.9x", "12x"; two decimals where one would say 1.0x.
[[nodiscard]] std::string times_in_words(double times);

/// Who is fastest, in a sentence each: of a setting's rankings, or to its question. The first names
/// whom to take: where effectiveness is known, the fastest that is shown to be equivalent. Nobody
/// is called the fastest whose lead the interval does not show. Empty: nothing was measured, or
/// shown.
struct Headline {
  std::string sentence;          // of drawn lengths, which are one place, that place stands first
  std::string of_all;            // the fastest of all and what it loses, where that is another one
  std::string against_baseline;  // the fastest at the last place, with the interval there
  /// Those that there are.
  [[nodiscard]] std::vector<std::string> sentences() const;
};
[[nodiscard]] Headline headline_of(const Answer& answer);
/// Why there is none: "Nothing could be measured: 12 cells oom." Empty: some
/// cell was measured, or there is none at all.
[[nodiscard]] std::string nothing_measured(const std::vector<const Row*>& rows);

/// The run's sweep with only the setting of a question's answer and the lengths
/// that it lacks.
[[nodiscard]] std::string exact_sweep(const Answer& answer);

/// In sentences as text, as a table in the other forms for people and as CSV;
/// JSON is an object of the run, to a question an array of the settings.
[[nodiscard]] std::string write_answers(const RunInfo& run, std::span<const Answer> answers,
                                        TableFormat format = TableFormat::text);

}  // namespace attnscope::report
