#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run whose heats are divided among several drivers, on one machine or many: every part has its
// own store with the same run in it, and the stores are merged at the end. A heat is always
// measured completely by one driver.
//
//   for (const RunPart& part : divide_heats(heats, 8))
//     Store::create_with(file_of_the_next, part_of(run, part.heats));
//   ...                                    // each by `attnscope run --resume UUID --db FILE`
//   Result<MergedParts> all = merge_parts(store, run.id, stores_in(folder));

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/heat/heat.h"
#include "engine/store/store.h"

namespace attnscope {

struct RunPart {
  std::vector<Heat> heats;  // in the order of the sweep
  double seconds = 0;       // upper bound from their stop rules
};

/// Returns `parts` parts, at most one per heat, of similar expected duration: heats are assigned in
/// descending order of duration, each to the part with the smallest total. The result is
/// deterministic.
[[nodiscard]] std::vector<RunPart> divide_heats(const std::vector<Heat>& heats, int parts);

/// The run as the driver of a part sees it: the same identity, with a plan of only these heats.
[[nodiscard]] RunInfo part_of(const RunInfo& run, const std::vector<Heat>& heats);
/// Whether the run is a part: its store has fewer heats than the run.
[[nodiscard]] bool is_part(const RunInfo& run);

/// The stores in a folder, sorted by name: databases (.db) and exported files (.attn, .attn.gz).
[[nodiscard]] std::vector<std::filesystem::path> stores_in(const std::filesystem::path& folder);

struct MergedParts {
  int heats_added = 0;
  std::vector<std::string> skipped;  // one sentence for each file not completely merged
  struct Missing {
    Heat heat;
    std::filesystem::path part;  // the given file that had this heat; empty: none of them
  };
  std::vector<Missing> missing;  // heats of the plan, in its order
};
/// Copies the missing heats of the run from the files into the store; a run without missing heats
/// becomes done. Existing data is never replaced, so files may be merged again, also by two
/// processes at once. A file that contains anything else is skipped. Errors: the store does not
/// contain the run, or does not accept the data.
[[nodiscard]] Result<MergedParts> merge_parts(Store& store, const RunId& run,
                                              const std::vector<std::filesystem::path>& files);

}  // namespace attnscope
