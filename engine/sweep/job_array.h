#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A run that several drivers measure, a part of its heats each, on one machine or many: the heats
// are dealt out, every part has a store of its own with the same run in it, and what the stores
// hold is brought together in the end. A heat is always measured whole, by one driver.
//
//   for (const RunPart& part : deal_out(heats, 8))
//     Store::create_with(file_of_the_next, part_of(run, part.heats));
//   ...                                    // each by `attnscope run --resume UUID --db FILE`
//   Result<BroughtTogether> all = bring_together(store, run.id, stores_in(folder));

#include <filesystem>
#include <string>
#include <vector>

#include "engine/heat/heat.h"
#include "engine/store/store.h"
#include "kernels/base/result.h"

namespace attnscope {

struct RunPart {
  std::vector<Heat> heats;  // in the order of the sweep
  double seconds = 0;       // that their stop rules allow at most
};

/// As many parts as asked for, at most one for each heat, none of which is foreseen to take much
/// longer than another: the longest heat goes first, each to the part with the least to do. The
/// same heats are always dealt out alike.
[[nodiscard]] std::vector<RunPart> deal_out(const std::vector<Heat>& heats, int parts);

/// The run as the driver of a part knows it: the same identity, with the plan of these heats alone.
[[nodiscard]] RunInfo part_of(const RunInfo& run, const std::vector<Heat>& heats);
/// Whether it is one: its store holds less than the run.
[[nodiscard]] bool is_part(const RunInfo& run);

/// The stores that lie in a folder, by name: databases (.db) and exported files (.attn, .attn.gz).
[[nodiscard]] std::vector<std::filesystem::path> stores_in(const std::filesystem::path& folder);

struct BroughtTogether {
  int heats_added = 0;
  std::vector<std::string> left_out;  // a sentence for each file that was not taken, or not wholly
  struct Missing {
    Heat heat;
    std::filesystem::path part;  // whose it was, of the files that were given; empty: of none
  };
  std::vector<Missing> missing;  // of the plan, in its order
};
/// Takes into the store what the files have of the run and it lacks; a run that then lacks nothing
/// is done. What is there is never replaced, so the same files may be brought in again, also by
/// two at once. A file with anything else in it is left out. Errors: the store has no such run, or
/// does not take it.
[[nodiscard]] Result<BroughtTogether> bring_together(
    Store& store, const RunId& run, const std::vector<std::filesystem::path>& files);

}  // namespace attnscope
