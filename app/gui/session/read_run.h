#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Reads a run into the snapshot a page shows: its cells, one slice of them drawn in every view, and
// the same slice set out along two keys.

#include "app/gui/session/snapshot.h"
#include "engine/store/store.h"

namespace attnscope::gui {

/// `before` is what was read last: where it holds the same cells of an ended run against the same
/// baseline, they are taken from it, so that another slice costs no reading.
[[nodiscard]] RunPointer read_run(const Store& store, const RunRequest& request,
                                  const RunPointer& before = nullptr);

[[nodiscard]] Result<RunListPointer> read_run_list(const Store& store);

}  // namespace attnscope::gui
