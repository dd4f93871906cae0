#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What the trial worker can run in addition to the real implementations: misbehaviour in the real
// measuring process, and differences of known size.

#include <vector>

#include "engine/attention/implementation.h"

namespace attnscope::trial {

/// segment-twin, windowed-twin, sdpa-twin: the same code under another id, between which no
/// difference may be shown. segment-slowed and segment-twice: segment, with 3% or 100% of each
/// call's own time added.
[[nodiscard]] std::vector<Implementation> twins();

/// trial-...: segment, with one fault each (faults.cpp lists them).
[[nodiscard]] std::vector<Implementation> faulty();

}  // namespace attnscope::trial
