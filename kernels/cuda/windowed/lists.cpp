// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/windowed/lists.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/cuda/sections.h"
#include "kernels/cuda/windowed.h"
#include "kernels/cuda/work/token_runs.h"
#include "kernels/plan/windowed_layout.h"

namespace attnscope::cuda {
namespace windowed {
namespace {

/// Tokens, offsets and windows up to here: their sums are places, counted in 32 bits.
constexpr std::int64_t most = std::int64_t{1} << 29;
/// Places of a unit for each strip of its rows: a warp's work is then at most some 1,500 keys.
constexpr std::int64_t places_of_strip = 1024;
/// Rows of a unit of keys. A warp passes 16 at a time: some 30 steps hide a block's beginning and
/// end.
constexpr std::int64_t rows_of_keys = 512;
/// A list of so many takes 4 GB; their scores would take terabytes.
constexpr std::size_t most_units = std::size_t{1} << 26;

Status check_size(const AttentionPlan& plan) {
  if (plan.tokens > most || static_cast<std::int64_t>(plan.indices.size()) > most) {
    return fail("Windowed attention on CUDA takes up to {} tokens and listed tokens, not {} and {}",
                most, plan.tokens, plan.indices.size());
  }
  for (const Segment& segment : plan.segments) {
    if (segment.kind == SegmentKind::whole) continue;
    if (segment.window > most || segment.offset > most || segment.offset < -most) {
      return fail(
          "Windowed attention on CUDA takes windows and offsets up to {}, not {} and {}; use an "
          "infinite window",
          most, segment.window, segment.offset);
    }
  }
  return {};
}

/// A bitmap over the places from the first to the last skipped key.
void set_skips(const AttentionPlan& plan, const Segment& segment, Rule& rule, Lists& lists) {
  const auto first_place = plan.indices.begin() + (rule.listed != 0 ? rule.begin : 0);
  const auto last_place = plan.indices.begin() + (rule.listed != 0 ? rule.end : 0);
  std::vector<std::int32_t> places;
  for (const std::int64_t token : plan.skipped_of(segment)) {
    std::int64_t place = token;
    if (rule.listed != 0) {
      const auto found = std::lower_bound(first_place, last_place, token);
      if (found == last_place || *found != token) continue;
      place = found - plan.indices.begin();
    }
    if (place >= rule.begin && place < rule.end) places.push_back(static_cast<std::int32_t>(place));
  }
  if (places.empty()) return;
  rule.skips = static_cast<std::int32_t>(lists.skip_words.size());
  rule.skip_begin = places.front();
  rule.skip_end = places.back() + 1;
  lists.skip_words.resize(lists.skip_words.size() +
                          static_cast<std::size_t>((rule.skip_end - rule.skip_begin + 31) / 32));
  for (const std::int32_t place : places) {
    const auto bit = static_cast<std::size_t>(place - rule.skip_begin);
    lists.skip_words[static_cast<std::size_t>(rule.skips) + bit / 32] |= 1U << bit % 32;
  }
}

Rule rule_of(const Segment& segment) {
  Rule rule{.kind = segment.kind,
            .begin = static_cast<std::int32_t>(segment.keys.begin),
            .end = static_cast<std::int32_t>(segment.keys.end),
            .listed = segment.keys.listed ? 1 : 0,
            .width = static_cast<std::int32_t>(columns_of(segment)),
            .by_key = stored_by_key(segment) ? 1 : 0};
  rule.reach = rule.width;
  const auto offset = static_cast<std::int32_t>(segment.offset);
  const auto window = static_cast<std::int32_t>(segment.window);
  switch (segment.kind) {
    case SegmentKind::whole:
      break;
    case SegmentKind::band:
      rule.reach = 2 * window + 1;
      rule.shift = offset - window;
      break;
    case SegmentKind::block:
      rule.window = window;
      rule.shift = offset;
      break;
  }
  return rule;
}

/// The rule of every segment, with the plan's indices and bitmaps of skipped keys.
void make_rules(const AttentionPlan& plan, Lists& lists) {
  lists.indices.reserve(plan.indices.size());
  for (const std::int64_t token : plan.indices) {
    lists.indices.push_back(static_cast<std::int32_t>(token));
  }
  lists.rules.reserve(plan.segments.size());
  for (std::size_t s = 0; s < plan.segments.size(); ++s) {
    const Segment& segment = plan.segments[s];
    Rule rule = rule_of(segment);
    // The segments of per-head tasks repeat each other.
    const bool repeated = s > 0 && plan.segments[s - 1] == segment;
    if (repeated) {
      rule = lists.rules.back();
    } else if (segment.skip_begin < segment.skip_end) {
      set_skips(plan, segment, rule, lists);
    }
    lists.rules.push_back(rule);
  }
}

std::int32_t heads_per_unit(const AttentionPlan& plan) {
  std::int32_t common = plan.heads;
  for (const Task& task : plan.tasks) {
    common = std::gcd(common, std::gcd(task.heads.begin, task.heads.end));
  }
  return std::max(common, 1);
}

/// Calls visit(task, its first score, columns of its rows) for every task that has rows; returns
/// how many scores there are.
template <typename Visit>
std::int64_t for_each_task(const AttentionPlan& plan, const Visit& visit) {
  std::int64_t first_score = 0;
  for (const Task& task : plan.tasks) {
    const std::int64_t columns = columns_of(plan, task);
    if (task.queries.size() > 0) visit(task, first_score, columns);
    first_score += rows_of(task) * columns;
  }
  return first_score;
}

WorkRun run_of(const TokenRun& run) {
  return {.begin = static_cast<std::int32_t>(run.begin),
          .count = static_cast<std::int32_t>(run.size()),
          .listed = run.listed ? 1 : 0};
}

std::int64_t work_of(const Span& span) {
  return std::int64_t{span.end} - span.begin;
}
std::int64_t work_of(const KeyPart& part) {
  return part.rows.count;
}

/// Takes the first `count` places off a span.
Span take(Span& rest, std::int32_t count) {
  Span first = rest;
  rest.begin = first.end = rest.begin + count;
  return first;
}
/// Takes the first `count` rows off a part.
KeyPart take(KeyPart& rest, std::int32_t count) {
  KeyPart first = rest;
  first.rows.count = count;
  rest.rows.begin += count;
  rest.rows.count -= count;
  rest.first_score += std::int64_t{count} * rest.columns;
  return first;
}

/// Units of rows, or of keys.
struct UnitLists {
  std::vector<Unit>& units;
  std::vector<Merge>& merges;
  std::int64_t partial_rows = 0;

  /// One unit that does `parts`, appended to `all`; if they are far more than `most`, several that
  /// do equal shares of them, whose sums are merged.
  template <typename Part>
  void add(Unit unit, const std::vector<Part>& parts, std::int64_t most_work,
           std::vector<Part>& all) {
    std::int64_t work = 0;
    for (const Part& part : parts) work += work_of(part);
    unit.first_part = static_cast<std::int32_t>(all.size());
    if (work <= most_work * 3 / 2) {
      unit.parts = static_cast<std::int32_t>(parts.size());
      all.insert(all.end(), parts.begin(), parts.end());
      units.push_back(unit);
      return;
    }
    const std::int64_t shares = (work + most_work - 1) / most_work;
    const std::int64_t share = (work / shares + key_tile) / key_tile * key_tile;
    const std::int64_t first = partial_rows;
    std::int32_t sums = 0;
    std::int64_t room = 0;
    for (Part rest : parts) {
      while (work_of(rest) > 0) {
        if (room == 0) {
          room = share;
          unit.first_part = static_cast<std::int32_t>(all.size());
          unit.partial = static_cast<std::int32_t>(partial_rows);
          unit.first_of_tokens = sums++ == 0 ? 1 : 0;
          units.push_back(unit);
          partial_rows += unit.tokens.count;
        }
        const std::int64_t count = std::min(work_of(rest), room);
        all.push_back(take(rest, static_cast<std::int32_t>(count)));
        ++units.back().parts;
        room -= count;
      }
    }
    for (std::int32_t t = 0; t < unit.tokens.count; t += merged_rows) {
      merges.push_back({.tokens = {.begin = unit.tokens.begin + t,
                                   .count = std::min(merged_rows, unit.tokens.count - t),
                                   .listed = unit.tokens.listed},
                        .first_head = unit.first_head,
                        .first = static_cast<std::int32_t>(first) + t,
                        .stride = unit.tokens.count,
                        .parts = sums});
    }
  }
};

/// The spans of a tile's rows, segment by segment.
std::vector<Span> spans_of(const Lists& lists, const Task& task, const WorkRun& rows) {
  std::vector<Span> spans;
  std::int32_t column = 0;
  for (std::int64_t s = 0; s < task.segment_count; ++s) {
    const auto number = static_cast<std::int32_t>(task.first_segment + s);
    const Rule& rule = lists.rules[static_cast<std::size_t>(number)];
    if (rule.width == 0) continue;
    const auto origin = [&](std::int32_t row) {
      return origin_of(rule, first_seen(rule, token_at(rows, row, lists.indices)));
    };
    spans.push_back({.rule = number,
                     .first_column = column,
                     .begin = origin(0),
                     .end = origin(rows.count - 1) + rule.width});
    column += rule.width;
  }
  return spans;
}

/// Fills row_units, spans and row_merges.
Status cut_rows(const AttentionPlan& plan, Lists& lists) {
  constexpr std::int64_t countable = std::numeric_limits<std::int32_t>::max();
  UnitLists to{lists.row_units, lists.row_merges};
  const std::int32_t tile = tile_rows(lists.head_dim, lists.dtype);
  std::int64_t widest = 0;
  lists.score_elements = for_each_task(plan, [&](const Task& task, std::int64_t first_score,
                                                 std::int64_t columns) {
    widest = std::max(widest, columns);
    if (widest > countable || to.partial_rows > countable || to.units.size() > most_units) return;
    const std::int64_t stride = task.queries.size() * columns;
    const WorkRun all = run_of(task.queries);
    for (std::int32_t row = 0; row < all.count; row += tile) {
      const WorkRun rows{
          .begin = all.begin + row, .count = std::min(tile, all.count - row), .listed = all.listed};
      const std::vector<Span> spans = spans_of(lists, task, rows);
      const std::int64_t strips = (rows.count + strip_rows - 1) / strip_rows;
      for (std::int32_t head = task.heads.begin; head < task.heads.end;
           head += lists.heads_per_unit) {
        to.add(Unit{.first_score = first_score + (head - task.heads.begin) * stride + row * columns,
                    .head_stride = stride,
                    .tokens = rows,
                    .columns = static_cast<std::int32_t>(columns),
                    .first_head = head},
               spans, places_of_strip * strips, lists.spans);
      }
    }
  });
  if (widest > countable) {
    return fail(
        "The score matrices of this plan have rows of {} floats, too many for the GPU's grid; use "
        "a smaller window or an infinite one",
        widest);
  }
  if (to.partial_rows > countable || to.units.size() > most_units) {
    return fail(
        "The score matrices of this plan are too large for the GPU's grid; make the batch smaller");
  }
  lists.partial_rows = to.partial_rows;
  return {};
}

/// Who sees which keys: for each tile of 64 tokens, cut anew at the beginning of each written
/// range, the rows that see any of them, in the plan's order.
class KeyCut {
 public:
  KeyCut(const AttentionPlan& plan, const std::vector<TokenRange>& written, Lists& lists)
      : lists_(lists) {
    for (const TokenRange& range : written) {
      for (std::int64_t begin = range.begin; begin < range.end; begin += key_tile) {
        begins_.push_back(static_cast<std::int32_t>(begin));
        ends_.push_back(
            static_cast<std::int32_t>(std::min<std::int64_t>(begin + key_tile, range.end)));
      }
    }
    for_each_task(plan, [this](const Task& task, std::int64_t first_score, std::int64_t columns) {
      KeyPart part{.first_score = first_score,
                   .head_stride = task.queries.size() * columns,
                   .rows = run_of(task.queries),
                   .columns = static_cast<std::int32_t>(columns),
                   .rule = static_cast<std::int32_t>(task.first_segment)};
      for (std::int64_t s = 0; s < task.segment_count; ++s, ++part.rule) {
        if (rule_of(part).width > 0) find_parts(task, part);
        part.first_score += rule_of(part).width;
      }
    });
  }

  /// Fills key_units, key_parts and key_merges; returns the rows of the workspace for the sums.
  std::int64_t cut() {
    // By tile, then group of heads, then in the plan's order: the order of every sum.
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return a.tile != b.tile ? a.tile < b.tile : a.first_head < b.first_head;
    });
    UnitLists to{lists_.key_units, lists_.key_merges};
    std::vector<KeyPart> parts;
    auto next = found_.cbegin();
    for (std::size_t tile = 0; tile < begins_.size(); ++tile) {
      for (std::int32_t head = 0; head < lists_.heads; head += lists_.heads_per_unit) {
        parts.clear();
        for (; next != found_.cend() && next->tile == tile && next->first_head == head; ++next) {
          parts.push_back(next->part);
        }
        to.add(Unit{.tokens = {.begin = begins_[tile], .count = ends_[tile] - begins_[tile]},
                    .first_head = head},
               parts, rows_of_keys, lists_.key_parts);
      }
    }
    return to.partial_rows;
  }

 private:
  struct Found {
    std::size_t tile = 0;
    std::int32_t first_head = 0;
    KeyPart part;
  };

  /// Of one segment; `whole` has all rows.
  void find_parts(const Task& task, const KeyPart& whole) {
    const Rule& rule = rule_of(whole);
    const std::int32_t first = std::max(rule.begin, seen(whole, 0));
    const std::int32_t last = std::min(rule.end, seen(whole, whole.rows.count - 1) + rule.reach);
    if (first >= last) return;
    const WorkRun keys{.begin = first, .count = last - first, .listed = rule.listed};
    const std::int32_t first_token = token_at(keys, 0, lists_.indices);
    const std::int32_t last_token = token_at(keys, keys.count - 1, lists_.indices);
    const auto from = std::upper_bound(ends_.begin(), ends_.end(), first_token) - ends_.begin();
    for (auto tile = static_cast<std::size_t>(from);
         tile < begins_.size() && begins_[tile] <= last_token; ++tile) {
      const std::int32_t begin = std::max(first, place_from(rule, begins_[tile]));
      const std::int32_t end = std::min(last, place_from(rule, ends_[tile]));
      if (begin >= end) continue;
      const std::int32_t low = first_row(whole, begin - rule.reach + 1);
      const std::int32_t high = first_row(whole, end);
      if (low >= high) continue;
      KeyPart part = whole;
      take(part, low);
      part.rows.count = high - low;
      for (std::int32_t head = task.heads.begin; head < task.heads.end;
           head += lists_.heads_per_unit) {
        found_.push_back({.tile = tile, .first_head = head, .part = part});
        part.first_score += lists_.heads_per_unit * part.head_stride;
      }
    }
  }

  [[nodiscard]] const Rule& rule_of(const KeyPart& part) const {
    return lists_.rules[static_cast<std::size_t>(part.rule)];
  }
  /// The first place whose token is `token` or a later one.
  [[nodiscard]] std::int32_t place_from(const Rule& rule, std::int32_t token) const {
    if (rule.listed == 0) return token;
    const auto begin = lists_.indices.begin();
    return static_cast<std::int32_t>(std::lower_bound(begin + rule.begin, begin + rule.end, token) -
                                     begin);
  }
  /// The first place that a row sees.
  [[nodiscard]] std::int32_t seen(const KeyPart& part, std::int32_t row) const {
    return first_seen(rule_of(part), token_at(part.rows, row, lists_.indices));
  }
  /// The first row that sees nothing before `place`.
  [[nodiscard]] std::int32_t first_row(const KeyPart& part, std::int32_t place) const {
    std::int32_t low = 0, high = part.rows.count;
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (seen(part, middle) >= place) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  Lists& lists_;
  std::vector<std::int32_t> begins_, ends_;  // of the tiles
  std::vector<Found> found_;
};

Status cut_keys(const AttentionPlan& plan, const std::vector<TokenRange>& written, Lists& lists) {
  const std::int64_t partial_rows = KeyCut(plan, written, lists).cut();
  if (partial_rows > std::numeric_limits<std::int32_t>::max()) {
    return fail("This plan has too many rows and keys for the GPU's grid; make the batch smaller");
  }
  // Sums of rows and of keys are never there at the same time.
  lists.partial_rows = std::max(lists.partial_rows, partial_rows);
  return {};
}

constexpr auto sections = [](const Lists& lists, DeviceLists& seen, const auto& visit) {
  visit(lists.rules, seen.rules);
  visit(lists.skip_words, seen.skip_words);
  visit(lists.indices, seen.indices);
  visit(lists.spans, seen.spans);
  visit(lists.key_parts, seen.key_parts);
  visit(lists.row_units, seen.row_units);
  visit(lists.key_units, seen.key_units);
  visit(lists.row_merges, seen.row_merges);
  visit(lists.key_merges, seen.key_merges);
};

Result<WindowedWork> cut(const AttentionPlan& plan, const std::vector<TokenRange>& written,
                         std::int64_t head_dim, DType dtype, Passes passes) {
  if (Status s = windowed_supports(plan, head_dim); !s) return tl::unexpected(s.error());
  if (Status s = check_size(plan); !s) return tl::unexpected(s.error());
  auto lists = std::make_shared<Lists>();
  lists->head_dim = head_dim;
  lists->dtype = dtype;
  lists->passes = passes;
  lists->tokens = static_cast<std::int32_t>(plan.tokens);
  lists->heads = plan.heads;
  lists->heads_per_unit = heads_per_unit(plan);
  make_rules(plan, *lists);
  if (Status s = cut_rows(plan, *lists); !s) return tl::unexpected(s.error());
  if (passes == Passes::forward_backward) {
    if (Status s = cut_keys(plan, written, *lists); !s) return tl::unexpected(s.error());
  }
  lists->bytes = bytes_of_sections<DeviceLists>(*lists, sections);
  return WindowedWork(std::move(lists));
}

}  // namespace

DeviceLists on_device(const Lists& lists, const std::byte* base) {
  return sections_at<DeviceLists>(lists, base, sections);
}

}  // namespace windowed

WindowedWork::WindowedWork(std::shared_ptr<const windowed::Lists> lists)
    : lists_(std::move(lists)) {}

std::span<const std::byte> WindowedWork::list() const {
  return lists_->bytes;
}

std::int64_t WindowedWork::workspace_bytes() const {
  return lists_->partial_rows * lists_->heads_per_unit * lists_->head_dim *
         static_cast<std::int64_t>(sizeof(float));
}

std::int64_t WindowedWork::score_elements() const {
  return lists_->score_elements;
}

Status windowed_supports(const AttentionPlan& plan, std::int64_t head_dim) {
  if (head_dim < 8 || head_dim > 256) {
    return fail("Windowed attention on CUDA takes head dimensions 8 to 256, not {}", head_dim);
  }
  return has_windowed_layout(plan, /*most=*/std::int64_t{1} << 40);
}

std::int64_t windowed_backward_elements(const AttentionPlan& plan) {
  return windowed_score_elements(plan);
}

Result<WindowedWork> band_work(const BandProblem& problem, DType dtype, Passes passes) {
  if (problem.window < 0) {
    return fail("The band has window {}; a window is at least 0", problem.window);
  }
  if (problem.heads < 1 || problem.heads > std::numeric_limits<std::int32_t>::max()) {
    return fail("The band has {} heads; give at least 1", problem.heads);
  }
  // A band is a plan whose sequences see nothing but themselves.
  AttentionPlan plan;
  plan.heads = static_cast<std::int32_t>(problem.heads);
  std::vector<TokenRange> written;
  for (const TokenRange& sequence : problem.sequences) {
    if (sequence.empty()) continue;
    plan.tasks.push_back({.queries = {sequence.begin, sequence.end},
                          .heads = {0, plan.heads},
                          .first_segment = static_cast<std::int64_t>(plan.segments.size()),
                          .segment_count = 1});
    plan.segments.push_back(band_of(problem, sequence));
    plan.tokens = sequence.end;
    written.push_back(sequence);
  }
  return windowed::cut(plan, written, problem.head_dim, dtype, passes);
}

Result<WindowedWork> windowed_work(const AttentionPlan& plan, std::int64_t head_dim, DType dtype,
                                   Passes passes) {
  return windowed::cut(plan, {{0, plan.tokens}}, head_dim, dtype, passes);
}

}  // namespace attnscope::cuda
