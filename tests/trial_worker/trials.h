#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the trial worker can run beside the real implementations: the measuring process meets real
// misbehaviour on its real path, and differences whose size is known.

#include <vector>

#include "engine/attention/implementation.h"

namespace attnscope::trial {

/// segment-twin, windowed-twin, sdpa-twin: the same code under another id, between which no
/// difference may be shown. segment-slowed and segment-twice: segment, and then 3% of each call's
/// own time once more, or all of it.
[[nodiscard]] std::vector<Implementation> twins();

/// trial-...: segment, with one fault each (faults.cpp lists them).
[[nodiscard]] std::vector<Implementation> faulty();

}  // namespace attnscope::trial
