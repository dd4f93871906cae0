#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// When a line is cut without a word, the worker at its far end measures on for nobody, and the one
// that is reached next would share the machine with it. So each takes the place of the one before
// it of the same run.

#include <string>

namespace attnscope {

/// Ends the process that has called this before with the same `nonce`, if it still runs and is of
/// the same user, and waits for its end. Holds until this process ends; leaves no file.
void be_the_sole_worker(const std::string& nonce);

}  // namespace attnscope
