// SPDX-License-Identifier: Apache-2.0
//
// Prints how often warps execute the parts of the walks' kernels, from the work lists of 100
// documents with their queries (sparse pattern, 12 heads of 32, bfloat16): lines
// `TOKENS TAB WINDOW TAB DIRECTION TAB KERNEL TAB PART TAB EXECUTIONS`, over all warps of a launch.
// The parts are those of scripts/dev/hot_path.py, which compiles it for the host; no kernel runs.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "kernels/cuda/work_list.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::cuda {
namespace {

constexpr std::int64_t documents = 100;
constexpr std::int64_t query_tokens = 11;  // with its [SEP]; [CLS] is one more
constexpr std::int32_t heads = 12;
constexpr std::int64_t head_dim = 32;
constexpr int strip_tokens = 16;

/// The sparse pattern, as in kernels/plan/attention_plan.h.
AttentionPlan sparse_plan(std::int64_t item_tokens, std::int64_t window) {
  AttentionPlan plan;
  plan.tokens = documents * item_tokens;
  plan.heads = heads;
  const auto add = [&](std::int64_t item, const TokenRun& rows, std::vector<Segment> segments) {
    plan.tasks.push_back({.queries = rows,
                          .heads = {0, heads},
                          .item = item,
                          .first_segment = static_cast<std::int64_t>(plan.segments.size()),
                          .segment_count = static_cast<std::int64_t>(segments.size())});
    plan.segments.insert(plan.segments.end(), segments.begin(), segments.end());
  };
  for (std::int64_t item = 0; item < documents; ++item) {
    const std::int64_t begin = item * item_tokens;
    const std::int64_t query = begin + 1, document = query + query_tokens,
                       end = begin + item_tokens;
    add(item, {begin, query}, {Segment{.keys = {begin, end}}});
    add(item, {query, document}, {Segment{.keys = {query, document}}});
    add(item, {document, end},
        {Segment{.keys = {begin, document}},
         Segment{.keys = {document, end}, .kind = SegmentKind::band, .window = window}});
  }
  return plan;
}

/// Executions by part in one head.
using Counts = std::map<std::string, std::int64_t>;

/// Tokens relative to the walk's first row.
struct OwnTokens {
  std::int32_t rows, keys_begin, keys_end, wide_begin, wide_end;

  explicit OwnTokens(const WorkWalk& walk)
      : rows(walk.rows.count),
        keys_begin(walk.keys_begin - walk.rows.begin),
        keys_end(walk.keys_end - walk.rows.begin),
        wide_begin(walk.wide_begin - walk.rows.begin),
        wide_end(walk.wide_end - walk.rows.begin) {}
};

/// Executions for strips whose windows are held at once (walk.cuh).
void count_narrow(const WorkWalk& walk, bool far, Counts& counts) {
  const OwnTokens own(walk);
  const int radius = radius_of(far);
  for (std::int32_t row = 0; row < own.rows; row += strip_tokens) {
    const std::int32_t first = row - radius;
    ++counts["strip"];
    if (first < own.keys_begin || first + strip_tokens + 2 * radius > own.keys_end) ++counts["cut"];
    if (walk.wide.count == 0) continue;
    ++counts["wide"];
    if (first < own.wide_begin || first + 16 > own.wide_end) ++counts["edge"];
  }
}

/// Executions for steps of several strips (broad_walk.cuh).
void count_broad(const WorkWalk& walk, std::int32_t strips, Counts& counts) {
  const OwnTokens own(walk);
  const std::int32_t step = strip_tokens * strips, window = walk.window;
  // The code of a strip occurs `strips` times, that of a window's two edges twice as often.
  std::int64_t seen = 0, edges = 0, cuts = 0;
  for (std::int32_t row = 0; row < own.rows; row += step) {
    const std::int64_t globals = (walk.globals.count + 15) / 16;
    ++counts["step"];
    counts["strip"] += (std::min(step, own.rows - row) + strip_tokens - 1) / strip_tokens;
    counts["globals"] += globals;
    if (globals == 0) ++counts["alone"];
    if (row == 0 && walk.wide_takes_globals != 0) counts["globals, wide"] += globals;
    if (window < 0) continue;
    const std::int32_t inner_begin = std::max(own.keys_begin - row, step - 1 - window);
    const std::int32_t inner_end = std::min(own.keys_end - row - 31, window - 14);
    const std::int32_t band_end =
        std::min(own.keys_end - row, std::min(step, own.rows - row) + window);
    const bool is_whole = row >= own.wide_begin && row + step <= own.wide_end;
    const bool by_wide = walk.wide.count > 0;
    std::int32_t distance = std::max(own.keys_begin - row, -window) & ~15;
    if (row + distance < own.keys_begin || row + distance + 16 > own.keys_end)
      ++counts["step, outside"];
    while (distance < band_end) {
      ++counts["band"];
      const bool is_of_wide = by_wide && distance >= 0 && distance < step;
      const bool is_inner = distance >= inner_begin && distance < inner_end;
      if (is_inner && (!is_of_wide || is_whole)) {
        const std::int32_t end = is_of_wide ? step : by_wide && distance < 0 ? 0 : inner_end;
        ++counts[is_of_wide ? "band, whole" : "band, stretch"];
        for (; distance < std::min(inner_end, end); distance += 16)
          ++counts[is_of_wide ? "whole" : "stretch"];
        continue;
      }
      const std::int32_t first = row + distance;
      const bool is_cut = first < own.keys_begin || first + 16 > own.keys_end;
      ++counts["band, rim"];
      if (distance + 16 < band_end) {
        ++counts["band, next"];
        if (first + 16 < own.keys_begin || first + 32 > own.keys_end) ++counts["band, outside"];
      }
      if (is_of_wide) ++counts["band, wide"];
      for (std::int32_t b = 0; b < strips; ++b) {
        const std::int32_t from_strip = distance - strip_tokens * b;
        if (from_strip <= -16 - window || from_strip >= 16 + window) continue;
        ++seen;
        edges += from_strip < 15 - window ? 1 : 0;
        edges += from_strip > window - 15 ? 1 : 0;
        cuts += is_cut ? 1 : 0;
      }
      distance += 16;
    }
  }
  counts["band, seen"] += seen / strips;
  counts["band, edge"] += edges / (2 * strips);
  counts["band, cut"] += cuts / strips;
}

/// Executions of the backward kernel, for any window (walk_backward.cuh).
void count_backward(const WorkWalk& walk, std::int32_t strips, Counts& counts) {
  const OwnTokens own(walk);
  const std::int32_t step = strip_tokens * strips, window = walk.window, phase = (window + 7) & 8;
  std::int64_t seen = 0, edges = 0, cuts = 0;
  for (std::int32_t row = 0; row < own.rows; row += step) {
    ++counts["step"];
    if (window < 0) continue;
    const std::int32_t left = own.rows - row;
    const std::int32_t inner_begin = std::max(own.keys_begin - row, step - 1 - window);
    const std::int32_t inner_end = std::min(own.keys_end - row - 31, window - 14);
    const std::int32_t end = std::min(own.keys_end - row, std::min(step, left) + window);
    const auto is_there = [&](std::int32_t first) {
      return first >= own.keys_begin && first + 16 <= own.keys_end;
    };
    std::int32_t distance = ((std::max(own.keys_begin - row, -window) + phase) & ~15) - phase;
    if (!is_there(row + distance)) ++counts["step, outside"];
    for (; distance < end; distance += 16) {
      const std::int32_t first = row + distance;
      ++counts["band"];
      if (walk.wide.count > 0 && distance >= -phase && first < own.rows &&
          (distance < step - phase || left <= step)) {
        ++counts["band, wide"];
        if (first < 0 || first + 16 > own.rows) ++counts["band, wide cut"];
      }
      if (distance >= inner_begin && distance < inner_end) {
        ++counts["band, inner"];
        continue;
      }
      ++counts["band, rim"];
      if (distance + 16 < end) {
        ++counts["band, next"];
        if (!is_there(first + 16)) ++counts["band, outside"];
      }
      for (std::int32_t b = 0; b < strips; ++b) {
        const std::int32_t from_strip = distance - strip_tokens * b;
        if (left <= strip_tokens * b || from_strip < -15 - window || from_strip > 15 + window)
          continue;
        ++seen;
        edges += from_strip < 15 - window ? 1 : 0;
        edges += from_strip > window - 15 ? 1 : 0;
        cuts += is_there(first) ? 0 : 1;
      }
    }
  }
  // The code of a strip occurs `strips` times, that of a window's two edges twice as often.
  counts["band, seen"] += seen / strips;
  counts["band, edge"] += edges / (2 * strips);
  counts["band, cut"] += cuts / strips;
}

class Launches {
 public:
  Launches(std::int64_t tokens, std::int32_t window) : tokens_(tokens), window_(window) {}

  void print_forward(const WalkList& list) const {
    const std::string shape = std::string(list.shape.many ? "true" : "false") + ">";
    if (list.shape.broad) {
      print_walks("forward", "segment_broad_walk_kernel<__nv_bfloat16, 32, " + shape, list,
                  broad_strips_of(head_dim));
      return;
    }
    print_walks("forward",
                std::string("segment_walk_kernel<__nv_bfloat16, 32, ") +
                    (list.shape.far ? "true, " : "false, ") + shape,
                list, 1);
  }

  void print_backward(const WalkList& list, bool keys) const {
    print_walks(
        "backward",
        std::string("segment_backward_walk_kernel<__nv_bfloat16, 32, ") + (keys ? "3>" : "0>"),
        list, broad_strips_of(head_dim));
  }

 private:
  void print_walks(const char* direction, const std::string& kernel, const WalkList& list,
                   std::int32_t strips) const {
    Counts counts{{"alone", 0},   {"cut", 0},   {"edge", 0},          {"finish", 0}, {"leave", 0},
                  {"stretch", 0}, {"whole", 0}, {"step, outside", 0}, {"inner", 0},  {"rim", 0}};
    const bool is_backward = kernel.find("backward") != std::string::npos;
    for (const WorkWalk& walk : list.walks) {
      ++counts["walk"];
      if (walk.wide.count > 0) {
        ++counts["walk, wide"];
        ++counts[walk.first_slot < 0 ? "finish" : "leave"];
      }
      counts["first"] += walk.wide_takes_globals;
      if (is_backward) {
        count_backward(walk, strips, counts);
      } else if (list.shape.broad) {
        count_broad(walk, strips, counts);
      } else {
        count_narrow(walk, list.shape.far, counts);
      }
    }
    for (const auto& [part, executions] : counts)
      print(direction, kernel, part, executions * heads);
  }

  void print(const char* direction, const std::string& kernel, const std::string& part,
             std::int64_t executions) const {
    std::printf("%ld\t%d\t%s\t%s\t%s\t%ld\n", static_cast<long>(tokens_), window_, direction,
                kernel.c_str(), part.c_str(), static_cast<long>(executions));
  }

  std::int64_t tokens_;
  std::int32_t window_;
};

int print_case(std::int64_t tokens, std::int32_t window) {
  const auto walks = cut_into_walks(sparse_plan(tokens, window), head_dim, DType::bfloat16,
                                    Passes::forward_backward);
  // Work that is not done by walks is not counted.
  if (!walks || !walks->keys || !walks->rest.units.empty()) {
    std::fprintf(stderr,
                 "walk_counts: walks do not take all of %ld tokens, window %d (%zu units)\n",
                 static_cast<long>(tokens), window, walks ? walks->rest.units.size() : 0);
    return 1;
  }
  const Launches launches(tokens, window);
  launches.print_forward(walks->rows);
  launches.print_backward(walks->rows, false);
  launches.print_backward(*walks->keys, true);
  return 0;
}

}  // namespace
}  // namespace attnscope::cuda

int main() {
  int failures = 0;
  for (const std::int64_t tokens : {4096, 174}) {
    for (const std::int32_t window : {4, 16, 64}) {
      failures += attnscope::cuda::print_case(tokens, window);
    }
  }
  return failures;
}
