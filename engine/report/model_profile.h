#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A model's time: by the parts of the model, and as the latency of re-ranking.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ranking/latency.h"
#include "engine/report/figure.h"
#include "engine/report/row.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

// Where a model's time goes: from texts to scores, by the parts of the model, compared with the
// machine's ceiling.
//
//   ModelProfile profile({.model = "minilm", .flop_per_second = ceilings.flop_per_second});
//   profile.add(round);                     // some passes over the same pairs
//   print(write_profile(profile, TableFormat::text));
//   parts_of(table, row);                   // the same of a sweep's cell

/// A pass over the pairs.
struct ProfiledRound {
  double whole_seconds = 0;      // from texts to scores
  double tokenizer_seconds = 0;  // part of whole_seconds
  /// Parts of whole_seconds, in the model's order: "embeddings", "projections", ...
  std::vector<std::pair<std::string, double>> part_seconds{};
};

/// The profiled model and pairs, identical in all rounds.
struct ProfiledPairs {
  std::string model, pairs, implementation, dtype;
  int threads = 0;
  std::int64_t count = 0, tokens = 0;
  std::vector<std::pair<std::string, double>> part_flop{};  // useful FLOP, for parts that have any
  double flop_per_second = 0;                               // of the machine; 0: not measured
};

inline constexpr std::string_view whole_part = "whole";

struct ProfiledPart {
  std::string name;
  double seconds = 0, least = 0, most = 0;  // median and range over the rounds
  double share = 0;                         // of the median whole time
  double flop_per_second = 0;               // 0: FLOP are not counted
  double of_ceiling = 0;
};
/// "45 % of the time, 71 % of the ceiling".
[[nodiscard]] std::string share_in_words(const ProfiledPart& part);
/// The share of the ceiling in a figure, "71 %"; empty if it is not known.
[[nodiscard]] std::string mark_of(const ProfiledPart& part);
/// Explains these marks, appended to an axis label.
inline constexpr std::string_view marks_in_words = "; %: of the float32 ceiling";

/// The parts of a measured cell, as shares of its median; empty if no parts are known. The ceiling
/// is the run's float32 ceiling.
[[nodiscard]] std::vector<ProfiledPart> parts_of(const Table& table, const Row& row);

class ModelProfile {
 public:
  explicit ModelProfile(ProfiledPairs of) : of_(std::move(of)) {}
  void add(ProfiledRound round) { rounds_.push_back(std::move(round)); }

  [[nodiscard]] const ProfiledPairs& of() const { return of_; }
  [[nodiscard]] std::size_t rounds() const { return rounds_.size(); }
  /// The tokenizer, the model's parts, "other" (batching, communication between processes, time
  /// outside all parts), then "whole". Precondition: at least one round.
  [[nodiscard]] std::vector<ProfiledPart> parts() const;

 private:
  ProfiledPairs of_;
  std::vector<ProfiledRound> rounds_;
};

/// One bar: the stacked times of the parts for a pair.
[[nodiscard]] Figure profile_figure(const ModelProfile& profile);
[[nodiscard]] std::string write_profile(const ModelProfile& profile, TableFormat format);

// A model's measured latency as a table and as an answer.
//
//   print(write_latency({.model = "minilm", .limit = limit, .rows = measured, .largest = *largest},
//                       TableFormat::text));

struct ModelLatency {
  std::string model, pairs, implementation, dtype;
  std::string device;  // "2 threads", "cuda"
  std::int64_t queries = 0;
  double tokens = 0;  // mean per pair
  LatencyLimit limit;
  std::string most_in_words;  // why limit.most has its value: "all that pairs.tsv has"
  std::vector<TopKLatency> rows{};
  LargestTopK largest{};
  std::vector<std::string> notes{};  // about the measurement
};

/// "Up to 43 documents per query are re-ranked within 200 ms (p95 of 60 queries: 196 ms; 45 took
/// 204 ms)"
[[nodiscard]] std::string answer_in_words(const ModelLatency& latency);
[[nodiscard]] std::string write_latency(const ModelLatency& latency, TableFormat format);

}  // namespace attnscope::report
