#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Which contender a person should take who re-ranks so many documents of these lengths: the time
// and the memory of the whole list of candidates, the fastest within the limits first, each in a
// sentence.
//
//   Question question{.query_tokens = 10, .documents = DocumentLengths(512), .candidates = 100};
//   for (const Advice& advice : make_advice(table, question)) fmt::print("{}",
//   write_advice(advice));
//
// Times are read from a run's cells, per document. Lengths that were not measured are carried
// between two that were, and marked; beyond the longest there is no time.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/report/length_curve.h"
#include "engine/report/published.h"
#include "engine/report/question.h"
#include "engine/report/table.h"
#include "engine/statistics/crossover.h"

namespace attnscope::report {

enum class Standing : std::uint8_t { within_limits, too_slow, too_large, without_time };
[[nodiscard]] std::string_view name_of(Standing standing);

/// The longest document that fits into the memory there is.
struct LongestDocument {
  std::int64_t document_tokens = 0;
  enum class From : std::uint8_t { measured, between, predicted } from = From::measured;
  bool at_least = false;  // nothing says where it ends
};

struct Advised {
  std::string contender, name, pattern;
  std::optional<Window> window;
  bool is_baseline = false;
  Standing standing = Standing::without_time;
  std::string reason;  // why it has no time, or is not within the limits: part of a sentence

  std::optional<Estimate> time_ns;               // of all candidates
  std::optional<statistics::Ratio> to_baseline;  // of the same list
  std::optional<double> peak_bytes, need_bytes;  // all candidates at once; need: with their tensors
  bool memory_is_predicted = false;
  std::optional<std::int64_t> at_once;  // documents that the memory limit holds at a time
  std::optional<LongestDocument> longest;
  std::optional<double> times_longer;  // than the baseline's longest
  statistics::Crossovers crossovers;   // against the baseline, in tokens of the whole sequence

  bool is_interpolated = false, is_rough = false;
  std::int64_t lower = 0, upper = 0;       // lengths of one interpolated time; 0: several
  std::optional<std::int64_t> counted_as;  // shorter documents count as this many tokens in all

  std::optional<PublishedNdcg> published;
  std::optional<double> published_loss;  // below full attention's

  std::string sentence;
  std::vector<std::string> remarks;  // sentences: what one must know beside it
};

struct Advice {
  RunInfo run;
  Question question;
  HeatPoint point;      // the setting; its query and length are those of its first cell
  std::string setting;  // what tells it from the run's other settings
  std::optional<std::string> baseline;
  std::string baseline_words;  // "full attention", or its display name
  std::string heading;         // what is asked, and of what the times are
  std::vector<std::string> notes;
  std::vector<Advised> contenders;       // as one should read them
  std::vector<std::int64_t> to_measure;  // tokens in all that would make the numbers exact
};

/// Tokens of a whole sequence with a document of so many, and back.
[[nodiscard]] std::int64_t sequence_of(const HeatPoint& point, std::int64_t query_tokens,
                                       std::int64_t document_tokens);
[[nodiscard]] std::int64_t document_of(const HeatPoint& point, std::int64_t query_tokens,
                                       double sequence_tokens);

/// One for each setting of the rows' axes but the length and the query, whose nearest measured
/// length is taken. Ratios are the rows' own, against `baseline`.
[[nodiscard]] std::vector<Advice> make_advice(const RunInfo& run,
                                              const std::optional<std::string>& baseline,
                                              const std::vector<const Row*>& rows,
                                              const Question& question);
[[nodiscard]] std::vector<Advice> make_advice(const Table& table, const Question& question);

/// The first contender with a time that attends to everything, in the sweep's order, else the first
/// with a time: what others are set against where nobody chose.
[[nodiscard]] std::optional<std::string> full_contender(const Table& table);

/// The run's sweep with only the setting of `advice` and the lengths that it lacks.
[[nodiscard]] std::string exact_sweep(const Advice& advice);

[[nodiscard]] std::string write_advice(const Advice& advice);
/// With provenance; as a table in all but text and JSON.
[[nodiscard]] std::string write_advice(const Advice& advice, TableFormat format);
[[nodiscard]] std::string write_advice_json(const std::vector<Advice>& advice);

}  // namespace attnscope::report
