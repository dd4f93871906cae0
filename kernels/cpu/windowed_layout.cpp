// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/windowed_layout.h"

namespace attnscope::cpu {

std::int64_t ScoreCursor::seek(const Task& task) {
  for (; &plan_.tasks[task_] != &task; ++task_) {
    before_ += rows_of(plan_.tasks[task_]) * columns_of(plan_, plan_.tasks[task_]);
  }
  return before_;
}

}  // namespace attnscope::cpu
