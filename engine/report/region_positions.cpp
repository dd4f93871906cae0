// SPDX-License-Identifier: Apache-2.0
#include "engine/report/region_positions.h"

#include <algorithm>
#include <array>
#include <utility>

namespace attnscope::report {
namespace {

constexpr std::array<std::string_view, RegionPositions::places> place_names{"best", "second",
                                                                            "third"};

/// The width of a bin in words: the first of 10, 20, 50, 100 ... that gives at most forty bins.
std::int64_t words_of_bin(std::int64_t last) {
  constexpr std::int64_t most_bins = 40;
  for (std::int64_t ten = 10;; ten *= 10) {
    for (const std::int64_t width : {ten, 2 * ten, 5 * ten})
      if (last / width < most_bins) return width;
  }
}

}  // namespace

void RegionPositions::add(std::span<const std::int64_t> first_words) {
  ++documents_;
  for (std::size_t place = 0; place < std::min(first_words.size(), places); ++place)
    begins_[place].push_back(first_words[place]);
}

double RegionPositions::share_after(std::size_t place, std::int64_t word) const {
  const std::vector<std::int64_t>& begins = begins_[place];
  if (begins.empty()) return 0;
  const auto after = std::ranges::count_if(begins, [&](std::int64_t b) { return b >= word; });
  return static_cast<double>(after) / static_cast<double>(begins.size());
}

std::string RegionPositions::in_words() const {
  constexpr std::int64_t paper_word = 500;
  constexpr double percent = 100;
  return fmt::format(
      "{:.1f} % of the best regions of {} documents, {:.1f} % of the second and {:.1f} % of the "
      "third begin after word {}",
      percent * share_after(0, paper_word), documents_, percent * share_after(1, paper_word),
      percent * share_after(2, paper_word), paper_word);
}

Result<Figure> RegionPositions::figure(const std::string& model) const {
  std::int64_t last = -1;
  for (const std::vector<std::int64_t>& begins : begins_) {
    for (const std::int64_t begin : begins) last = std::max(last, begin);
  }
  if (last < 0) return fail("no document has words, so there are no regions");
  const std::int64_t width = words_of_bin(last);
  Figure figure{
      .title = fmt::format("Where the best regions of {} begin in {} documents", model, documents_),
      .x_label = fmt::format("First word of the region, in bins of {} words", width),
      .y_label = "Documents (%)",
      .x_scale = Scale::linear,
      .y_scale = Scale::linear,
      .provenance = fmt::format("Regions that determine the scores of {} in {} documents, by the "
                                "word at which they begin, in bins of {} words; {}.",
                                model, documents_, width, in_words())};
  for (std::size_t place = 0; place < places; ++place) {
    const std::vector<std::int64_t>& begins = begins_[place];
    if (begins.empty()) continue;
    std::vector<std::int64_t> bins(static_cast<std::size_t>(last / width + 1));
    for (const std::int64_t begin : begins) ++bins[static_cast<std::size_t>(begin / width)];
    Series series{.name = fmt::format("{} region", place_names[place]),
                  .style_key = fmt::format("region {}", place + 1)};
    series.points.reserve(bins.size());
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      constexpr double percent = 100;
      const std::int64_t first = static_cast<std::int64_t>(bin) * width;
      const double share =
          percent * static_cast<double>(bins[bin]) / static_cast<double>(begins.size());
      series.points.push_back({.x = static_cast<double>(first) + static_cast<double>(width) / 2,
                               .y = share,
                               .low = share,
                               .high = share,
                               .label = fmt::format("words {} to {}", first + 1, first + width)});
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

}  // namespace attnscope::report
