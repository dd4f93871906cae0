#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The answer to a question: which contender to use for re-ranking a given number of documents of
// given lengths. It has the time and memory of the whole candidate list, ordered by time among the
// contenders within the limits.
//
//   Question question{.query_tokens = 10, .documents = DocumentLengths(512), .candidates = 100};
//   print(write_advice(table.run, make_advice(table, question)));
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

#include "engine/report/answer.h"
#include "engine/report/length_curve.h"
#include "engine/report/row.h"
#include "engine/report/scatter_figures.h"
#include "engine/report/sheet.h"
#include "engine/report/text_statistics.h"
#include "engine/statistics/crossover.h"

namespace attnscope::report {

/// The user's re-ranking task: one query against a number of candidates, within given limits.
struct Question {
  std::optional<std::int64_t> query_tokens = {};  // without [SEP]; empty: as measured
  DocumentLengths documents{512};
  bool of_sequences = false;      // the lengths are those of whole sequences, including all [SEP]
  std::int64_t candidates = 100;  // of one query
  std::optional<double> memory_bytes = {};
  std::optional<double> latency_ns = {};  // for all candidates
  friend bool operator==(const Question&, const Question&) = default;
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

/// The advice for one setting of all axes except the length and the query.
struct Advice {
  RunInfo run;
  std::optional<std::string> baseline;  // contender id
  std::string setting;                  // what distinguishes it from the run's other settings
  EffectivenessFrom effectiveness = EffectivenessFrom::nothing;

  Question question;
  HeatPoint point;             // query and length are those of its first cell
  std::string baseline_words;  // "full attention", or its display name
  std::string heading;         // the question, and what the times refer to
  Leaders leaders;
  std::vector<std::string> notes;
  std::vector<Advised> contenders;       // in display order
  std::vector<std::int64_t> to_measure;  // total sequence lengths to measure for exact numbers
};

/// The first contender with full attention and a time, in the sweep's order, else the first
/// contender with a time: the default baseline of a question's answer.
[[nodiscard]] std::optional<std::string> full_contender(const Table& table);

/// If the query was measured with several lengths, the nearest is used. Ratios are those of the
/// rows, against `baseline`.
[[nodiscard]] std::vector<Advice> make_advice(const RunInfo& run,
                                              const std::optional<std::string>& baseline,
                                              const std::vector<const Row*>& rows,
                                              const Question& question);
[[nodiscard]] std::vector<Advice> make_advice(const Table& table, const Question& question);

[[nodiscard]] Headline headline_of(const Advice& advice);
/// The contender with the lowest median among those within the limits that are shown to be
/// equivalent in effectiveness (including the baseline of the measured effectiveness). Null if
/// there is none or effectiveness is not known.
[[nodiscard]] const Advised* fastest_equivalent(const Advice& advice);
/// Effectiveness of the contenders over their time.
[[nodiscard]] Figure effectiveness_figure(const Advice& advice);

/// Conversion between the length of a document and that of the whole sequence, in tokens.
[[nodiscard]] std::int64_t sequence_of(const HeatPoint& point, std::int64_t query_tokens,
                                       std::int64_t document_tokens);
[[nodiscard]] std::int64_t document_of(const HeatPoint& point, std::int64_t query_tokens,
                                       double sequence_tokens);

/// The run's sweep, restricted to the setting of a question's answer and the lengths that are
/// missing for exact numbers.
[[nodiscard]] std::string exact_sweep(const Advice& advice);

/// Text consists of sentences; the other formats for people and CSV are tables; JSON is an array of
/// the settings. Without advice, the output of write_answers without answers.
[[nodiscard]] std::string write_advice(const RunInfo& run, std::span<const Advice> all,
                                       TableFormat format = TableFormat::text);

}  // namespace attnscope::report
