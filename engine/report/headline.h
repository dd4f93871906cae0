#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Who is fastest, overall and among the contenders that are shown to be equivalent in
// effectiveness, at one place or at several, and the sentences that say so.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/measured_effectiveness.h"
#include "engine/report/published.h"
#include "engine/report/row.h"

namespace attnscope::report {

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

}  // namespace attnscope::report
