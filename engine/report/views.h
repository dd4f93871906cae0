#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a figure of a run has on x and on y, and the names of these views, axes and scales in `plot`
// and in the window.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace attnscope::report {

enum class XAxis : std::uint8_t { length, window, candidates };
/// The --only key of the x axis, and its name in --x.
[[nodiscard]] std::string_view key_along(XAxis x);
[[nodiscard]] std::string_view name_of(XAxis x);
/// "Sequence length (tokens)".
[[nodiscard]] std::string_view label_along(XAxis x);
/// The views of a run, most of them over an XAxis. Three views have another quantity on x: the
/// roofline the work per byte, space the time of a query, and the published nDCG@10 of a model the
/// documents scored here per millisecond; they join a contender's points in the order of the XAxis.
/// Effectiveness is plotted over the time of a document, one point per contender. Stages are bars,
/// one per contender, and so are the parts of a call, at each length.
enum class YAxis : std::uint8_t {
  time,
  memory,
  limit,
  ratio,
  per_token,
  per_ms,
  executed,
  roofline,
  per_query,
  cache,
  space,
  trec_ndcg,
  dev_ndcg,
  effectiveness,
  stages,
  parts
};
enum class Scale : std::uint8_t { linear, log2, log10 };

/// A view, with its title in the window and its key in `plot --y`.
struct View {
  YAxis y;
  std::string_view key;    // "per-token"
  std::string_view title;  // "Time per token"
  bool needs_baseline = false;
  bool of_models = false;      // only for re-rankers
  bool of_one_length = false;  // shown in the window's answers
};
/// Every view, in display order.
[[nodiscard]] std::span<const View> views();
[[nodiscard]] const View& view_of(YAxis y);

[[nodiscard]] Result<XAxis> parse_x(std::string_view text);
[[nodiscard]] Result<YAxis> parse_y(std::string_view text);
/// "time,memory": several values are drawn side by side.
[[nodiscard]] Result<std::vector<YAxis>> parse_ys(std::string_view text);
/// `option` is named in the error: "--scale-x".
[[nodiscard]] Result<Scale> parse_scale(std::string_view option, std::string_view text);
[[nodiscard]] std::string_view name_of(Scale scale);

[[nodiscard]] bool has_time(YAxis y);
/// Whether the view has stacked bars, on axes of their own.
[[nodiscard]] bool has_bars(YAxis y);
/// Whether the view depends on measured times, so that disturbances affect it: false for bytes and
/// planned work.
[[nodiscard]] bool rests_on_times(YAxis y);

}  // namespace attnscope::report
