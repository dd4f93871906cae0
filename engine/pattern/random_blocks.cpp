// SPDX-License-Identifier: Apache-2.0
#include "engine/pattern/random_blocks.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace attnscope {
namespace {

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a counter stepped by the golden ratio, mixed.
class Generator {
 public:
  explicit Generator(const BlockDraw& draw) {
    const std::int64_t fields[] = {draw.seed, draw.blocks, draw.head, draw.block};
    for (const std::int64_t field : fields)
      state_ = mix(state_ + static_cast<std::uint64_t>(field));
  }

  /// 0 ... below - 1, each equally likely: draws that would favour the small ones are repeated.
  std::int64_t below(std::int64_t bound) {
    const auto range = static_cast<std::uint64_t>(bound);
    const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / range * range;
    std::uint64_t value = next();
    while (value >= limit) value = next();
    return static_cast<std::int64_t>(value % range);
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15U); }

  std::uint64_t state_ = 0x9e3779b97f4a7c15U;
};

}  // namespace

std::vector<std::int64_t> random_blocks(std::int64_t count, const BlockDraw& draw) {
  // Candidates are the middle blocks without [first_seen, last_seen].
  const std::int64_t first_seen = std::max<std::int64_t>(draw.block - 1, 1);
  const std::int64_t last_seen = std::min(draw.block + 1, draw.blocks - 2);
  const std::int64_t seen = last_seen - first_seen + 1;
  const std::int64_t candidates = draw.blocks - 2 - seen;
  assert(count <= candidates);
  Generator generator(draw);
  std::vector<std::int64_t> drawn;
  drawn.reserve(static_cast<std::size_t>(count));
  // Floyd's sampling: every set of `count` candidates is equally likely.
  for (std::int64_t last = candidates - count; last < candidates; ++last) {
    std::int64_t chosen = generator.below(last + 1);
    auto place = std::lower_bound(drawn.begin(), drawn.end(), chosen);
    if (place != drawn.end() && *place == chosen) {
      chosen = last;
      place = drawn.end();
    }
    drawn.insert(place, chosen);
  }
  for (std::int64_t& block : drawn) {
    ++block;  // candidates count from the first middle block
    if (block >= first_seen) block += seen;
  }
  return drawn;
}

}  // namespace attnscope
