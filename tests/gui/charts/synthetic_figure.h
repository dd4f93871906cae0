#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A figure like that of the quick sweep: five contenders, three of them at two windows, lengths 64
// to 4096, the dense contender out of memory at the end.

#include <cmath>
#include <string>

#include "engine/report/figure.h"

namespace attnscope::charts {

struct SyntheticContender {
  const char* id;
  const char* name;
  double scale;  // ms
  double exponent;
};

inline report::Figure synthetic_figure() {
  constexpr SyntheticContender contenders[] = {
      {"full/dense", "Full, dense", 2e-5, 2.0},
      {"full/sdpa", "Full, scaled dot product", 9e-6, 2.0},
      {"sparse/sdpa-mask/4", "Sparse, boolean mask, w = 4", 1.6e-5, 1.95},
      {"sparse/sdpa-mask/64", "Sparse, boolean mask, w = 64", 1.65e-5, 1.97},
      {"sparse/windowed/4", "Sparse, windowed, w = 4", 4e-4, 1.05},
      {"sparse/windowed/64", "Sparse, windowed, w = 64", 1.2e-3, 1.1},
      {"sparse/segment/4", "Sparse, segment, w = 4", 1.5e-4, 1.05},
      {"sparse/segment/64", "Sparse, segment, w = 64", 6e-4, 1.08},
  };
  report::Figure figure;
  figure.title = "Attention, forward: 12 heads x 32, float32, 2 threads";
  figure.x_label = "Sequence length (tokens)";
  figure.y_label = "Time (ms per document)";
  figure.provenance = "AttnScope, commit 0123456, a test";
  for (const SyntheticContender& contender : contenders) {
    report::Series series;
    series.name = contender.name;
    series.style_key = contender.id;
    for (int tokens = 64; tokens <= 4096; tokens *= 2) {
      if (tokens == 4096 && series.style_key == "full/dense") {
        series.rail.push_back({4096.0, CellStatus::oom, "asked for 9.7 GB, 3.1 GB are free"});
        continue;
      }
      const double ms = 0.01 + contender.scale * std::pow(tokens, contender.exponent);
      series.points.push_back({static_cast<double>(tokens), ms, 0.93 * ms, 1.09 * ms});
    }
    figure.series.push_back(series);
  }
  return figure;
}

/// Panels of that figure, each with larger values than the previous panel.
inline report::Facets synthetic_facets(int panels) {
  report::Facets facets{.title = "All of them", .panels = {}, .provenance = "A test"};
  for (int i = 0; i < panels; ++i) {
    report::Figure panel = synthetic_figure();
    panel.title = "panel " + std::to_string(i);
    for (report::Series& series : panel.series) {
      for (report::Point& point : series.points) point.y *= 1 + 10 * i;
    }
    facets.panels.push_back(panel);
  }
  return facets;
}

}  // namespace attnscope::charts
