#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The regions of a document that made its score, as TKL has them (Hofstaetter et al., SIGIR 2020,
// Sec. 3.4 and Fig. 3): stretches of 30 words, 2 apart. A file of them is what `inspect` has a
// worker write of such a model; docs/attention-dumps.md says what stands in it.
//
//   Result<DocumentRegions> regions = read_regions("regions.safetensors");
//   for (const RegionPeak& peak : regions->peaks) draw(peak.words, peak.score);

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
  std::vector<RegionShare> shares{};  // the largest by size first, all of them
};

struct DocumentRegions {
  std::string model, note;
  std::vector<std::string> query, document;  // words; of the document those not read, too
  std::int64_t read = 0;                     // words of the document that the model took
  std::int64_t kept = 0;                     // and that are in a chunk
  std::vector<float> scores;                 // of all regions; 0: no words
  std::vector<RegionPeak> peaks;             // the best first; no two of the same region
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

/// "The model read the first 200 of 350 words.": what of the document was not read or is in no
/// chunk; "" where all of it is.
[[nodiscard]] std::string left_out_in_words(const DocumentRegions& regions);

/// "tower near 1 (+2.1), tall near 0.9 (+0.8)": which query words and kernels made a region's
/// score, the most important `most` of them.
[[nodiscard]] std::string shares_in_words(const DocumentRegions& regions, const RegionPeak& peak,
                                          std::size_t most);

/// One page without anything from outside: the document with its best regions marked, their scores
/// and what made them, all of it as a strip of heat.
[[nodiscard]] std::string regions_html(const DocumentRegions& regions);

}  // namespace attnscope
