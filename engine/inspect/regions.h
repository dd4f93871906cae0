#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The regions of a document that determine its score in TKL (Hofstaetter et al., SIGIR 2020, Sec.
// 3.4 and Fig. 3): stretches of 30 words, 2 apart. `inspect` has a worker write a file of them for
// such a model; docs/attention-dumps.md describes its format.
//
//   Result<DocumentRegions> regions = read_regions("regions.safetensors");
//   for (const RegionPeak& peak : regions->peaks) draw(peak.words, peak.score);
//   print(regions_in_words(*regions));   // what adds up to the document's score

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// The contribution of a query word through one kernel to a region's score, relative to a word that
/// matches nothing.
struct RegionShare {
  std::int64_t query_word = 0, kernel = 0;
  double share = 0;
};

/// One of the best regions, at least 30 words from the others.
struct RegionPeak {
  std::int64_t region = 0;
  TokenRange words;              // of the region, cut at the end of the document
  TokenRange with_neighbours{};  // including two regions before and two after
  double score = 0;
  double unmatched = 0;               // the score if nothing matches
  double weight = 0;                  // weight of `score` in the document's score
  double alongside = 0;               // contribution of the four neighbouring regions
  std::vector<RegionShare> shares{};  // all shares, by descending magnitude
  /// The contribution to the document's score, without the neighbouring regions.
  [[nodiscard]] double adds() const { return weight * score; }
};

struct DocumentRegions {
  std::string model, note;
  double score = 0;                          // of the document
  bool makes_score = true;                   // false: all words at once make it, as in TK
  std::vector<std::string> query, document;  // words; the document's include those not read
  std::vector<bool> unknown;                 // by query word: not in the model's vocabulary
  std::int64_t read = 0;                     // words of the document that the model read
  std::int64_t kept = 0;                     // words of these that are in a chunk
  std::vector<float> scores;                 // by region; 0: no words
  std::vector<RegionPeak> peaks;             // the best first; regions are distinct
  /// The score added in place of a missing second or third peak of a short document.
  double without_peak = 0;
  /// The words of a region, cut at the last kept word.
  [[nodiscard]] TokenRange words_of(std::int64_t region) const;
};

/// Whether the file's metadata state that it holds regions.
[[nodiscard]] bool holds_regions(const std::filesystem::path& path);

/// Errors name the file and the problem: no such file, a file without regions, lengths that
/// contradict each other, values that are not finite.
[[nodiscard]] Result<DocumentRegions> read_regions(const std::filesystem::path& path);

/// A region's cell in the strip: its middle, extended halfway to its neighbours.
struct StripCell {
  std::int64_t region = 0;
  double begin = 0, end = 0;  // words
  double heat = 0;            // 0 ... 1
};
/// All regions along the document. Heat grows with the score from the lowest decile of whole
/// regions to their maximum: the incomplete regions at the document's end would otherwise hide the
/// differences among the others.
struct RegionStrip {
  double least = 0, most = 0;
  std::vector<StripCell> cells;
};
[[nodiscard]] RegionStrip strip_of(const DocumentRegions& regions);

// All numbers of a document have the same number of decimals, so that they can be added.

/// "-25.31"; with a sign "+1.44".
[[nodiscard]] std::string number_in_words(const DocumentRegions& regions, double value,
                                          bool with_sign = false);
/// "kernel", "kernel (2nd)" if the query has it twice, "zzyzx (unknown)".
[[nodiscard]] std::string query_word(const DocumentRegions& regions, std::int64_t word);
/// The role of the regions in the score: whether they make it.
[[nodiscard]] std::string about_in_words(const DocumentRegions& regions);
/// "The model read the first 200 of 350 words.": which parts of the document were not read or are
/// in no chunk, and which query words are not in the vocabulary; "" if there is nothing to report.
[[nodiscard]] std::string notes_in_words(const DocumentRegions& regions);
/// "tower near cosine 1 (+2.10), tall near cosine 0.9 (+0.82), others (+0.03)": the query words and
/// kernels that made a region's score, the `most` largest of them, and the sum of the rest.
[[nodiscard]] std::string shares_in_words(const DocumentRegions& regions, const RegionPeak& peak,
                                          std::size_t most);
/// A region's words, its score, the score's shares and its contribution to the document's score.
[[nodiscard]] std::string peak_in_words(const DocumentRegions& regions, const RegionPeak& peak);
/// The document's score as a sum: "Score -71.30 = -22.80 (region 1) - 48.50 (next to it)".
[[nodiscard]] std::string score_in_words(const DocumentRegions& regions);
/// All of these texts, one per line.
[[nodiscard]] std::string regions_in_words(const DocumentRegions& regions);

/// A self-contained page: the document with its best regions marked, their scores with the shares,
/// and all regions as a heat strip.
[[nodiscard]] std::string regions_html(const DocumentRegions& regions);

}  // namespace attnscope
