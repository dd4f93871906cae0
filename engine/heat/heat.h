#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A heat: all contenders (every window of them) at one point of the other axes. It is what the
// driver asks a worker to measure, and the unit that is stored at once.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/heat/length_distribution.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/window.h"

namespace attnscope {

/// PATTERN/IMPLEMENTATION[/WINDOW] with a display name; of operation model,
/// MODEL/IMPLEMENTATION[/WINDOW].
struct Contender {
  std::string pattern;  // built-in name or the path of a JSON file, as the sweep says it
  std::string implementation;
  std::optional<Window> window;  // absent for patterns without windows
  std::string name;          // as in charts and tables; by default "pattern/implementation, w = W"
  std::string pattern_json;  // the pattern itself, so that workers and later readers agree
  std::string model = {};    // of operation model alone: the row's name (model_row.h)
  [[nodiscard]] std::string id() const;  // "sparse/segment/4", "full/dense"
  /// One word for all windows: "sparse/segment".
  [[nodiscard]] std::string id_without_window() const;
  friend bool operator==(const Contender&, const Contender&) = default;
};

/// When a cell has been measured well enough; times are per cell.
struct StopRule {
  double relative_interval = 0.02;  // half-width of the median's 95% interval over the median
  double max_seconds = 3;
  int min_samples = 10;
  int placements = 5;  // buffers allocated anew
  int processes = 2;   // worker processes the placements are spread over
  friend bool operator==(const StopRule&, const StopRule&) = default;
};

/// Pages of the processor's memory: 4 KiB each, or 2 MiB wherever they can be had.
enum class PageSize : std::uint8_t { usual, huge };
[[nodiscard]] constexpr std::string_view name_of(PageSize size) {
  return size == PageSize::huge ? "huge" : "default";
}

/// One point of all axes but the contender's.
struct HeatPoint {
  Operation operation = Operation::attention;
  Direction direction = Direction::forward;
  std::int64_t sequence_tokens = 0;  // all of them: [CLS] + query with [SEP] + document with [SEP]
  /// Of models, of a batch's documents; where they are drawn, sequence_tokens is that of the
  /// longest there may be.
  LengthDistribution document_lengths = {};
  std::int64_t query_tokens = 10;  // the query's own words, without its [SEP]
  bool shared_query = false;
  std::int64_t documents = 1;           // of one item: more than one beside a query is list-wise
  std::int64_t batch_max = 1;           // at most this many items
  std::int64_t batch_memory_mb = 4096;  // at most this much for tensors, gradients and workspaces
  bool batch_per_contender = false;     // each takes the largest that fits it; of models alone
  std::int64_t heads = 12;
  std::int64_t head_dim = 32;
  std::int64_t layers = 0;        // of models, 0 for other operations
  std::int64_t feed_forward = 0;  // width between the two feed-forward layers; of models likewise
  Stage stage = Stage::whole;     // of models
  /// Of models: documents that a call scores one query against, in batches that fit; 0: as many as
  /// the batch has.
  std::int64_t candidates = 0;
  DType dtype = DType::float32;
  MemoryOrder memory_order = MemoryOrder::head_major;
  CacheState cache = CacheState::warm;
  DeviceKind device = DeviceKind::cpu;
  PageSize page_size = PageSize::huge;
  int threads = 0;  // 0 in a sweep: every core this process may use; resolved before a heat is sent
  std::uint64_t seed = 1;
  friend bool operator==(const HeatPoint&, const HeatPoint&) = default;
};

struct Heat {
  int index = 0;  // position within the sweep
  HeatPoint point;
  std::vector<Contender> contenders;
  StopRule stop;
};

/// Identity of a point across runs and for --resume: "key=value" pairs of all axes but those at a
/// neutral default (axes.h).
[[nodiscard]] std::string point_key(const HeatPoint& point);

/// Tokens of a sequence whose one document has so many words.
[[nodiscard]] constexpr std::int64_t tokens_with_words(const HeatPoint& point, std::int64_t words) {
  return 1 + (point.query_tokens + 1) + (words + 1);
}

/// Query and document group sizes of one item: operation windowed-matmul has documents of all
/// tokens and nothing else; otherwise cls 1, query query_tokens + 1 ([SEP]) and the rest are the
/// documents (with a [SEP] each); of operation model, an item has one, and where documents' lengths
/// are drawn the sizes are those of the longest. An error when sequence_tokens cannot hold them.
struct GroupSizes {
  std::int64_t cls = 0, query = 0;
  std::int64_t document = 0;            // of all documents of the item together
  std::vector<std::int64_t> documents;  // of each: as even as can be, the first ones take the rest
};
[[nodiscard]] Result<GroupSizes> group_sizes(const HeatPoint& point);

/// Bytes of one item's tensors, without which no implementation computes it: q, k, v and o, and as
/// many gradients. Of a model, those of the layer's larger half: these and the token's state, or
/// the state before and after the feed-forward layers and what is between them.
[[nodiscard]] double item_bytes(const HeatPoint& point);

}  // namespace attnscope
