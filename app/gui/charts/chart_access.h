#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What assistive programs see of a RunChart: a chart (not a nameless pane) with the value that the
// keyboard stands on.

namespace attnscope::charts {

/// Once for the program; further calls do nothing.
void install_chart_access();

}  // namespace attnscope::charts
