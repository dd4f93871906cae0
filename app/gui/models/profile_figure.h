#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What each token receives as a figure, along the sequence: a series for each token group.

#include <span>

#include "engine/inspect/dump.h"
#include "engine/report/figure.h"

namespace attnscope::gui {

/// `mass` by token, NaN where there is none; empty: no series. Of very many tokens the largest of
/// each stretch. A point's cell is its token.
[[nodiscard]] report::Figure profile_figure(const DumpInfo& info, std::span<const double> mass);

}  // namespace attnscope::gui
