#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What another process' lock refused may succeed when it is asked again.
//
//   Status removed = store.remove_run(run);
//   if (!removed && is_locked(removed.error())) ...  // later

#include "kernels/plan/result.h"

namespace attnscope {

/// Whether an error of the store says that another process holds the database.
[[nodiscard]] bool is_locked(const Error& error);

}  // namespace attnscope
