#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The states of page Patterns that attnscope_screenshots takes.

#include <QString>
#include <functional>

namespace attnscope::gui {

class PatternsPage;

/// `save` is called with the name of each state, e.g. "patterns-split"; false stops.
[[nodiscard]] bool shoot_patterns(PatternsPage& page,
                                  const std::function<bool(const QString&)>& save);

}  // namespace attnscope::gui
