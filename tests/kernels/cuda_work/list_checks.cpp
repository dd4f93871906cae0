// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/cuda_work/list_checks.h"

#include <algorithm>
#include <vector>

namespace attnscope::testing {

std::int32_t token_of(const cuda::WorkList& list, const cuda::WorkRun& run, std::int32_t position) {
  const std::int32_t at = run.begin + position;
  return run.listed != 0 ? list.indices.at(static_cast<std::size_t>(at)) : at;
}

namespace {

using cuda::WorkList;
using cuda::WorkRun;
using cuda::WorkSegment;
using cuda::WorkUnit;
using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

std::span<const WorkSegment> segments_of(const WorkList& list, const WorkUnit& unit) {
  return std::span(list.segments)
      .subspan(static_cast<std::size_t>(unit.first_segment),
               static_cast<std::size_t>(unit.segments));
}

bool is_inside(std::int64_t first, std::int64_t count, std::size_t size) {
  return first >= 0 && count >= 0 && first + count <= static_cast<std::int64_t>(size);
}

AssertionResult run_is_sound(const WorkList& list, const WorkRun& run, std::int32_t most) {
  if (run.count < 1 || run.count > most) return AssertionFailure() << run.count << " tokens";
  const auto size = run.listed != 0 ? list.indices.size() : static_cast<std::size_t>(list.tokens);
  if (!is_inside(run.begin, run.count, size)) return AssertionFailure() << "a run out of bounds";
  std::int32_t last = -1;
  for (std::int32_t i = 0; run.listed != 0 && i < run.count; ++i) {
    const std::int32_t token = token_of(list, run, i);
    if (token <= last || token >= list.tokens) return AssertionFailure() << "tokens out of order";
    last = token;
  }
  return AssertionSuccess();
}

AssertionResult units_write_all_once(const WorkList& list, std::span<const WorkUnit> units) {
  const auto heads = static_cast<std::size_t>(list.heads);
  std::vector<int> written(static_cast<std::size_t>(list.tokens) * heads);
  for (const WorkUnit& unit : units) {
    for (std::int32_t i = 0; i < unit.run.count; ++i) {
      const auto token = static_cast<std::size_t>(token_of(list, unit.run, i));
      for (std::int32_t h = 0; h < list.heads_per_unit; ++h)
        ++written[token * heads + static_cast<std::size_t>(unit.first_head + h)];
    }
  }
  const auto wrong = std::ranges::find_if(written, [](int times) { return times != 1; });
  if (wrong == written.end()) return AssertionSuccess();
  return AssertionFailure() << "token " << (wrong - written.begin()) / list.heads << " is written "
                            << *wrong << " times";
}

/// How often each pair of a head is computed, at row * tokens + key.
using PairCounts = std::vector<unsigned char>;

AssertionResult computes(const WorkList& list, std::span<const WorkUnit> units, bool by_keys,
                         std::int32_t head, const PairCounts& wanted) {
  PairCounts counts(wanted.size());
  for (const WorkUnit& unit : units) {
    if (head < unit.first_head || head >= unit.first_head + list.heads_per_unit) continue;
    for_each_pair(list, unit, [&](std::int32_t t, std::int32_t token) {
      const std::int64_t row = by_keys ? token : t, key = by_keys ? t : token;
      ++counts[static_cast<std::size_t>(row * list.tokens + key)];
    });
  }
  const auto differs = std::ranges::mismatch(counts, wanted).in1 - counts.begin();
  if (static_cast<std::size_t>(differs) == counts.size()) return AssertionSuccess();
  return AssertionFailure() << "units of " << (by_keys ? "keys" : "rows") << " compute row "
                            << differs / list.tokens << ", key " << differs % list.tokens
                            << " of head " << head << " "
                            << static_cast<int>(counts[static_cast<std::size_t>(differs)])
                            << " times";
}

}  // namespace

void for_each_pair(const WorkList& list, const WorkUnit& unit,
                   const std::function<void(std::int32_t, std::int32_t)>& visit) {
  for (const WorkSegment& segment : segments_of(list, unit)) {
    for (std::int32_t j = 0; j < segment.run.count; ++j) {
      const std::int32_t token = token_of(list, segment.run, j);
      for (std::int32_t i = 0; i < unit.run.count; ++i) {
        const std::int32_t t = token_of(list, unit.run, i);
        if (token >= t + segment.low && token < t + segment.high) visit(t, token);
      }
    }
  }
}

std::span<const WorkUnit> row_units(const WorkList& list) {
  return std::span(list.units).first(static_cast<std::size_t>(list.row_units));
}

std::span<const WorkUnit> key_units(const WorkList& list) {
  return std::span(list.units).subspan(static_cast<std::size_t>(list.row_units));
}

AssertionResult is_within_bounds(const WorkList& list) {
  if (list.row_units > static_cast<std::int32_t>(list.units.size()))
    return AssertionFailure() << "more units of rows than units";
  for (const WorkSegment& segment : list.segments) {
    if (AssertionResult sound = run_is_sound(list, segment.run, list.tokens); !sound) return sound;
    if (segment.low >= segment.high) return AssertionFailure() << "a segment that no token sees";
  }
  for (const WorkUnit& unit : list.units) {
    if (!is_inside(unit.first_segment, unit.segments, list.segments.size()) ||
        !is_inside(unit.first_head, list.heads_per_unit, static_cast<std::size_t>(list.heads))) {
      return AssertionFailure() << "a unit out of bounds";
    }
    if (AssertionResult sound = run_is_sound(list, unit.run, cuda::strip_tokens); !sound)
      return sound;
  }
  return AssertionSuccess();
}

AssertionResult writes_all_once(const WorkList& list) {
  AssertionResult result = units_write_all_once(list, row_units(list));
  if (!result || key_units(list).empty()) return result;
  return units_write_all_once(list, key_units(list));
}

AssertionResult computes_the_pairs(const WorkList& list, const KeysOf& keys_of) {
  AssertionResult result = AssertionSuccess();
  for (std::int32_t head = 0; result && head < list.heads; ++head) {
    PairCounts wanted(static_cast<std::size_t>(list.tokens) *
                      static_cast<std::size_t>(list.tokens));
    for (std::int64_t row = 0; row < list.tokens; ++row) {
      for (const std::int64_t key : keys_of(row, head))
        wanted[static_cast<std::size_t>(row * list.tokens + key)] = 1;
    }
    result = computes(list, row_units(list), false, head, wanted);
    if (result && !key_units(list).empty())
      result = computes(list, key_units(list), true, head, wanted);
  }
  return result;
}

AssertionResult cuts_well(const AttentionPlan& plan, const KeysOf& keys_of) {
  for (const Passes passes : {Passes::forward, Passes::forward_backward}) {
    const Result<WorkList> list = cuda::cut_into_units(plan, passes);
    if (!list) return AssertionFailure() << list.error().message;
    if (key_units(*list).empty() != (passes == Passes::forward || plan.tokens == 0))
      return AssertionFailure() << key_units(*list).size() << " units of keys";
    AssertionResult result = is_within_bounds(*list);
    if (result) result = writes_all_once(*list);
    if (result) result = computes_the_pairs(*list, keys_of);
    if (!result) return result;
  }
  return AssertionSuccess();
}

}  // namespace attnscope::testing
