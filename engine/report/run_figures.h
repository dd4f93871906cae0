#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The figures of a run: its rows as the points of a view.

#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/report/figure.h"
#include "engine/report/row.h"

namespace attnscope::report {

/// With x = length or candidates, each window of a contender is a series. With x = window,
/// contenders without a window are drawn at every window. `title` names the axes that are fixed. If
/// the cells mix values of another axis (dtype, batch limit, ...), an error names the axis and
/// --only.
[[nodiscard]] Result<Figure> make_figure(const Table& table, XAxis x, YAxis y);

/// Marks where contenders overtake the table's baseline in time; the figure must be of that table
/// and that x. Figures that do not show time get no marks.
void mark_crossovers(Figure& figure, const Table& table, XAxis x, YAxis y);

/// One figure for each value of `key`, which is a key of --only, in the table's order; an empty key
/// gives one figure of all rows. Several `ys` are the columns of one row per value. Contenders
/// without a window are in the panel of every window. An error if the key is unknown or already
/// runs along x, or if a panel would mix values of yet another axis. `crossovers`: marked in every
/// panel that shows time.
[[nodiscard]] Result<Facets> make_facets(const Table& table, XAxis x, const std::vector<YAxis>& ys,
                                         std::string_view key, bool crossovers = false);

}  // namespace attnscope::report
