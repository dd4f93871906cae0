// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/chunk_work.h"

#include <algorithm>

namespace attnscope {

PaddedRuns::PaddedRuns(const Problem& problem, const ChunkStructure& structure)
    : heads(problem.plan.heads), head_dim(problem.head_dim) {
  std::int64_t longest = 0;
  for (const ChunkedItem& item : structure.items) {
    for (const ChunkedRun& run : item.runs) {
      slots += item.block.batch;
      ++runs;
      longest = std::max(longest, run.tokens.size());
      shape.globals = std::max(shape.globals, size_of(run.globals));
      direct = run.tokens == item.block.queries;
    }
  }
  const std::int64_t chunk = 2 * structure.window;
  shape.window = structure.window;
  shape.tokens = (longest + chunk - 1) / chunk * chunk;
  shape.matrices = slots * heads;
  direct = direct && runs == 1 && structure.items.size() == 1 && longest == shape.tokens &&
           (problem.memory_order == MemoryOrder::head_major || heads == 1);
}

ExecutedWork executed_by_chunks(const Problem&, const ChunkStructure&) { return {}; }
std::int64_t peak_bytes_of_chunks(const Problem&, const ChunkStructure&) { return 0; }

}  // namespace attnscope
