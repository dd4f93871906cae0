#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The regions of a document that made its score, as TKL has them (Hofstaetter et al., SIGIR 2020,
// Sec. 3.4 and Fig. 3): stretches of 30 words, 2 apart. A file of them is what `inspect` has a
// worker write of such a model; docs/attention-dumps.md says what stands in it.
//
//   Result<DocumentRegions> regions = read_regions("regions.safetensors");
//   for (const RegionPeak& peak : regions->peaks) draw(peak.words, peak.score);
//   print(regions_in_words(*regions));   // what adds up to the document's score

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope {

/// What a query word adds to a region's score through one kernel, beside a word that matches
/// nothing.
struct RegionShare {
  std::int64_t query_word = 0, kernel = 0;
  double share = 0;
};

/// One of the best regions, at least 30 words from the others.
struct RegionPeak {
  std::int64_t region = 0;
  TokenRange words;              // of the region, cut at the document's end
  TokenRange with_neighbours{};  // and of the two regions before and behind, which count, too
  double score = 0;
  double unmatched = 0;               // what is left of it where nothing matches
  double weight = 0;                  // of it in the document's score
  double beside = 0;                  // what the two before and the two behind add to that
  std::vector<RegionShare> shares{};  // the largest by size first, all of them
  /// What it adds to the document's score, without those beside it.
  [[nodiscard]] double adds() const { return weight * score; }
};

struct DocumentRegions {
  std::string model, note;
  double score = 0;                          // of the document
  bool makes_score = true;                   // false: all words at once do, as TK's
  std::vector<std::string> query, document;  // words; of the document those not read, too
  std::vector<bool> unknown;                 // which of the query's are not in the model's list
  std::int64_t read = 0;                     // words of the document that the model took
  std::int64_t kept = 0;                     // and that are in a chunk
  std::vector<float> scores;                 // of all regions; 0: no words
  std::vector<RegionPeak> peaks;             // the best first; no two of the same region
  /// What regions add beside a place where short documents have no third or second peak.
  double without_peak = 0;
  /// The words of region r, cut at the last one kept.
  [[nodiscard]] TokenRange words_of(std::int64_t region) const;
};

/// Whether the file says that it holds some.
[[nodiscard]] bool holds_regions(const std::filesystem::path& path);

/// Errors name the file and what is wrong with it: no such file, none of regions, lengths that
/// contradict each other, values that are not finite.
[[nodiscard]] Result<DocumentRegions> read_regions(const std::filesystem::path& path);

/// The centres of the eleven kernels: cosines of 1, 0.9, 0.7, ... -0.9.
[[nodiscard]] double kernel_centre(std::int64_t kernel);

/// A region's place in the strip: its middle, as far as halfway to the next.
struct StripCell {
  std::int64_t region = 0;
  double begin = 0, end = 0;  // words
  double heat = 0;            // 0 ... 1
};
/// All regions along the document. Heat grows with the score from the lowest tenth of whole regions
/// to their highest: those of a document's few last words would leave no difference among others.
struct RegionStrip {
  double least = 0, most = 0;
  std::vector<StripCell> cells;
};
[[nodiscard]] RegionStrip strip_of(const DocumentRegions& regions);

// All numbers of a document are written with as many decimals, so that they can be added up.

/// "-25.31"; with a sign "+1.44".
[[nodiscard]] std::string number_in_words(const DocumentRegions& regions, double value,
                                          bool with_sign = false);
/// "kernel", "kernel (2nd)" where the query has it twice, "zzyzx (unknown)".
[[nodiscard]] std::string query_word(const DocumentRegions& regions, std::int64_t word);
/// What the regions are of that score: whether they make it.
[[nodiscard]] std::string about_in_words(const DocumentRegions& regions);
/// "The model read the first 200 of 350 words.": what of the document was not read or is in no
/// chunk, and of the query not in the list of words; "" where there is nothing to be told.
[[nodiscard]] std::string notes_in_words(const DocumentRegions& regions);
/// "tower near cosine 1 (+2.10), tall near cosine 0.9 (+0.82), others (+0.03)": which query words
/// and kernels made a region's score, the most important `most` of them, and the sum of the rest.
[[nodiscard]] std::string shares_in_words(const DocumentRegions& regions, const RegionPeak& peak,
                                          std::size_t most);
/// A region's words, its score, what that is made of and what it adds to the document's.
[[nodiscard]] std::string peak_in_words(const DocumentRegions& regions, const RegionPeak& peak);
/// "Score -71.30 = -22.80 (region 1) - 48.50 (beside it)": the document's.
[[nodiscard]] std::string score_in_words(const DocumentRegions& regions);
/// All of that, a line each.
[[nodiscard]] std::string regions_in_words(const DocumentRegions& regions);

/// One page without anything from outside: the document with its best regions marked, their scores
/// and what made them, all of it as a strip of heat.
[[nodiscard]] std::string regions_html(const DocumentRegions& regions);

}  // namespace attnscope
