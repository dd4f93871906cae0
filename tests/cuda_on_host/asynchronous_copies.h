#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// cp.async: copies from global to shared memory that a thread starts, gathers in groups and waits
// for. What a copy writes may be read by its thread after the wait, by others after a barrier
// behind it, and by nobody before. A launch does all its copies either at once or as late as their
// wait, as the seed says; until then the destination holds NaN.

#include <cstdint>

namespace attnscope::on_host {

void start_copy(void* shared, const void* global, int bytes, bool valid);
void commit_copies();
/// All groups of the thread but the latest `pending`.
void wait_for_copies(int pending);

/// At the beginning of a block.
void forget_copies();

}  // namespace attnscope::on_host
