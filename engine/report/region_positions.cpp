// SPDX-License-Identifier: Apache-2.0
#include "engine/report/region_positions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace attnscope::report {
namespace {

constexpr std::array<std::string_view, RegionPositions::places> names{"best", "second", "third"};

/// Two bins a doubling, of whole words: the bin's first word, counted from 1.
std::int64_t first_of_bin(std::int64_t word) {
  constexpr double bins = 2;
  const double bin = std::floor(std::log2(static_cast<double>(word)) * bins + 1e-9);
  return static_cast<std::int64_t>(std::ceil(std::exp2(bin / bins) - 1e-9));
}

}  // namespace

void RegionPositions::add(std::span<const std::int64_t> first_words) {
  ++documents_;
  for (std::size_t place = 0; place < std::min(first_words.size(), places); ++place)
    begins_[place].push_back(first_words[place]);
}

double RegionPositions::share_behind(std::size_t place, std::int64_t word) const {
  const std::vector<std::int64_t>& begins = begins_[place];
  if (begins.empty()) return 0;
  const auto behind = std::ranges::count_if(begins, [&](std::int64_t b) { return b >= word; });
  return static_cast<double>(behind) / static_cast<double>(begins.size());
}

std::string RegionPositions::in_words() const {
  constexpr std::int64_t paper_word = 500;
  constexpr double percent = 100;
  return fmt::format(
      "behind word {} begin {:.1f} % of the best regions of {} documents, {:.1f} % of the second "
      "and {:.1f} % of the third",
      paper_word, percent * share_behind(0, paper_word), documents_,
      percent * share_behind(1, paper_word), percent * share_behind(2, paper_word));
}

Result<Figure> RegionPositions::figure(const std::string& model) const {
  Figure figure{.title = fmt::format("Where the best regions of {} documents begin", documents_),
                .x_label = "First word of the region",
                .y_label = "Documents",
                .x_scale = Scale::log10,
                .y_scale = Scale::log10,
                .series = {},
                .provenance = fmt::format("Regions that made the scores of {} in {} documents; {}.",
                                          model, documents_, in_words())};
  for (std::size_t place = 0; place < places; ++place) {
    std::map<std::int64_t, std::int64_t> bins;
    for (const std::int64_t begin : begins_[place]) ++bins[first_of_bin(begin + 1)];
    Series& series =
        figure.series.emplace_back(Series{.name = fmt::format("{} region", names[place]),
                                          .style_key = std::string(names[place]),
                                          .points = {},
                                          .rail = {}});
    for (const auto& [word, count] : bins) {
      const auto documents = static_cast<double>(count);
      series.points.push_back(
          {.x = static_cast<double>(word), .y = documents, .low = documents, .high = documents});
    }
    if (series.points.empty()) figure.series.pop_back();
  }
  if (figure.series.empty()) return fail("there is no document with words, so no region");
  return figure;
}

}  // namespace attnscope::report
