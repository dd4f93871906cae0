// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/longformer_chunks/chunk_structure.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/plan/key_runs.h"

namespace attnscope {
namespace {

/// Chunks have 4w^2 scores, whose total must fit 64 bits.
constexpr std::int64_t most_window = 1'000'000;

bool holds(const TokenRanges& ranges, TokenRange part) {
  return std::ranges::any_of(
      ranges, [&](TokenRange r) { return r.begin <= part.begin && part.end <= r.end; });
}

bool overlap(const TokenRanges& ranges, TokenRange part) {
  return std::ranges::any_of(ranges, [&](TokenRange r) { return !intersect(r, part).empty(); });
}

/// All keys of a segment, for any query.
void append_keys(const AttentionPlan& plan, const Segment& segment, TokenRanges& keys) {
  append_keys_within(plan, segment, hull_of(plan, segment.keys), keys);
}

/// The one window of the plan's bands or, if every document is shorter than its window and no band
/// is left, the requested window.
Result<std::int64_t> window_of(const Problem& problem) {
  std::optional<std::int64_t> window;
  for (const Segment& segment : problem.plan.segments) {
    if (segment.kind == SegmentKind::block) {
      return fail("longformer-chunks supports windows, and pattern '{}' attends to blocks",
                  problem.pattern.name);
    }
    if (segment.kind != SegmentKind::band) continue;
    if (segment.keys.listed || segment.offset != 0) {
      return fail(
          "longformer-chunks needs every window to be centred on its own row, and pattern '{}' has "
          "other windows",
          problem.pattern.name);
    }
    if (window.value_or(segment.window) != segment.window) {
      return fail("longformer-chunks supports one window, and pattern '{}' has {} and {}",
                  problem.pattern.name, *window, segment.window);
    }
    window = segment.window;
  }
  if (!window && problem.window && !problem.window->is_infinite()) {
    window = problem.window->tokens();
  }
  if (!window) {
    return fail(
        "longformer-chunks needs a window, and pattern '{}' has none here; dense supports full "
        "attention",
        problem.pattern.name);
  }
  if (*window < 1) {
    return fail("longformer-chunks cuts chunks of 2w tokens, so it needs w >= 1, not {}", *window);
  }
  if (*window > most_window) {
    return fail("longformer-chunks pads to a multiple of 2w tokens, so it needs w <= {}, not {}",
                most_window, *window);
  }
  return *window;
}

class StructureReader {
 public:
  StructureReader(const Problem& problem, const TaskIndex& tasks, std::int64_t window)
      : problem_(problem), plan_(problem.plan), tasks_(tasks), window_(window) {}

  Result<ChunkedItem> read(const Block& block) {
    item_ = {.block = block};
    const TokenRange tokens = block.queries;
    for (std::int64_t row = tokens.begin; row < tokens.end;) {
      const Task& task = tasks_.task_of(row, 0);
      TokenRange rows{row, row + 1};
      while (rows.end < tokens.end && &tasks_.task_of(rows.end, 0) == &task) ++rows.end;
      if (const Status ok = add(task, rows); !ok) return tl::unexpected(ok.error());
      row = rows.end;
    }
    if (const Status ok = place_runs(); !ok) return tl::unexpected(ok.error());
    return std::move(item_);
  }

 private:
  struct Keys {
    std::optional<TokenRanges> band;
    TokenRanges whole;
  };

  Status add(const Task& task, TokenRange rows) {
    Keys keys;
    for (const Segment& segment : plan_.segments_of(task)) {
      if (segment.kind == SegmentKind::whole) {
        append_keys(plan_, segment, keys.whole);
        continue;
      }
      if (keys.band) {
        return fail("longformer-chunks supports one window per row, and token {} has several",
                    rows.begin);
      }
      append_keys(plan_, segment, keys.band.emplace());
    }
    merge_intervals(keys.whole);
    if (keys.band) return add_windowed(rows, *keys.band, keys.whole);
    return add_whole(task, rows, keys.whole);
  }

  Status add_whole(const Task& task, TokenRange rows, const TokenRanges& keys) {
    TokenRange rest = rows;
    const std::int64_t documents = task.item < 0 ? 0 : problem_.layout.document_count(task.item);
    for (std::int64_t d = 0; d < documents; ++d) {
      const TokenRange document = problem_.layout.document(task.item, d);
      const TokenRange inside = intersect(rest, document);
      if (inside.empty() || document.size() - 1 > window_ || !holds(keys, document)) continue;
      add_dense({rest.begin, inside.begin}, keys);
      TokenRanges globals;
      for (const TokenRange& range : keys) {
        const TokenRanges outside = without(range, {document});
        globals.insert(globals.end(), outside.begin(), outside.end());
      }
      if (const Status ok = add_windowed(inside, {document}, globals); !ok) return ok;
      rest.begin = inside.end;
    }
    add_dense(rest, keys);
    return {};
  }

  void add_dense(TokenRange rows, const TokenRanges& keys) {
    if (rows.empty()) return;
    for (DenseRows& dense : item_.dense) {
      if (dense.keys != keys) continue;
      append(dense.rows, rows);
      return;
    }
    item_.dense.push_back({.rows = {rows}, .keys = keys});
  }

  Status add_windowed(TokenRange rows, const TokenRanges& band, const TokenRanges& globals) {
    for (ChunkedRun& run : item_.runs) {
      if (run.band_keys != band) continue;
      if (run.globals != globals) {
        return fail(
            "longformer-chunks needs the same global keys for all windowed tokens of a document, "
            "and tokens {} and {} have different ones",
            run.rows.front().begin, rows.begin);
      }
      append(run.rows, rows);
      return {};
    }
    item_.runs.push_back({.rows = {rows}, .band_keys = band, .globals = globals});
    return {};
  }

  static void append(TokenRanges& ranges, TokenRange range) {
    if (ranges.back().end == range.begin) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }

  Status place_runs() {
    for (ChunkedRun& run : item_.runs) {
      run.tokens = {run.rows.front().begin, run.rows.back().end};
      if (!run.band_keys.empty()) {
        run.tokens.begin = std::min(run.tokens.begin, run.band_keys.front().begin);
        run.tokens.end = std::max(run.tokens.end, run.band_keys.back().end);
      }
      if (item_.runs.size() == 1) {
        run.tokens = {std::min(run.tokens.begin, item_.block.queries.begin),
                      std::max(run.tokens.end, item_.block.queries.end)};
      }
      if (intersect(run.tokens, item_.block.queries) != run.tokens) {
        return fail("longformer-chunks needs windows inside an item, and token {} has one outside",
                    run.rows.front().begin);
      }
      if (const Status ok = sees_keys(run); !ok) return ok;
    }
    for (std::size_t r = 1; r < item_.runs.size(); ++r) {
      if (item_.runs[r - 1].tokens.end <= item_.runs[r].tokens.begin) continue;
      return fail(
          "longformer-chunks needs documents one after another, and the keys of the windows of "
          "tokens "
          "{} and {} interleave",
          item_.runs[r - 1].rows.front().begin, item_.runs[r].rows.front().begin);
    }
    return {};
  }

  /// A softmax over masked scores only would be NaN.
  [[nodiscard]] Status sees_keys(const ChunkedRun& run) const {
    if (!run.globals.empty()) return {};
    for (const TokenRange& rows : run.rows) {
      if (holds(run.band_keys, rows)) continue;
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        if (overlap(run.band_keys, {row - window_, row + window_ + 1})) continue;
        return fail("longformer-chunks needs a key for every windowed token, and token {} has none",
                    row);
      }
    }
    return {};
  }

  const Problem& problem_;
  const AttentionPlan& plan_;
  const TaskIndex& tasks_;
  std::int64_t window_;
  ChunkedItem item_;
};

}  // namespace

std::int64_t size_of(const TokenRanges& ranges) {
  std::int64_t size = 0;
  for (const TokenRange& range : ranges) size += range.size();
  return size;
}

TokenRanges without(TokenRange range, const TokenRanges& ranges) {
  TokenRanges rest;
  for (const TokenRange& taken : ranges) {
    const TokenRange part = intersect(range, taken);
    if (part.empty()) continue;
    if (range.begin < part.begin) rest.push_back({range.begin, part.begin});
    range.begin = part.end;
  }
  if (!range.empty()) rest.push_back(range);
  return rest;
}

Result<ChunkStructure> chunk_structure(const Problem& problem) {
  const Result<std::int64_t> window = window_of(problem);
  if (!window) return tl::unexpected(window.error());
  const TaskIndex tasks(problem.plan);
  if (tasks.differs_by_head()) {
    return fail(
        "longformer-chunks needs the same pairs in all heads, and pattern '{}' differs between "
        "heads",
        problem.pattern.name);
  }
  ChunkStructure structure{.window = *window};
  StructureReader reader(problem, tasks, *window);
  bool any_run = false;
  for (const Block& block : blocks_of(problem.layout)) {
    Result<ChunkedItem> item = reader.read(block);
    if (!item) return tl::unexpected(item.error());
    any_run = any_run || !item->runs.empty();
    structure.items.push_back(std::move(*item));
  }
  if (!any_run) {
    return fail(
        "longformer-chunks finds no token with a window; add a document to the layout, or use "
        "dense");
  }
  return structure;
}

}  // namespace attnscope
