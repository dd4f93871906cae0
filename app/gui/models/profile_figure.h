#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A figure of the mass that each token receives, along the sequence: one series per token group.

#include <span>

#include "engine/inspect/dump.h"
#include "engine/report/figure.h"

namespace attnscope::gui {

/// `mass`: by token, NaN where there is none; empty: no series. For very many tokens, only the
/// largest of each stretch is shown. A point's cell is its token.
[[nodiscard]] report::Figure profile_figure(const DumpInfo& info, std::span<const double> mass);

}  // namespace attnscope::gui
