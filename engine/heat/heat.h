#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A heat: all contenders (every window of them) at one point of the other axes. It is the unit that
// the driver requests from a worker, and the unit of storage.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/heat/length_distribution.h"
#include "engine/pattern/axes.h"

namespace attnscope {

/// PATTERN/IMPLEMENTATION[/WINDOW] with a display name; for operation model,
/// MODEL/IMPLEMENTATION[/WINDOW].
struct Contender {
  std::string pattern;  // built-in name or path of a JSON file, as written in the sweep
  std::string implementation;
  std::optional<Window> window;  // absent for patterns without windows
  std::string name;          // as in charts and tables; by default "pattern/implementation, w = W"
  std::string pattern_json;  // the pattern itself, so that workers and later readers agree
  std::string model = {};    // operation model only: the row's name (model_row.h)
  [[nodiscard]] std::string id() const;  // "sparse/segment/4", "full/dense"
  /// Identity without the window: "sparse/segment".
  [[nodiscard]] std::string id_without_window() const;
  friend bool operator==(const Contender&, const Contender&) = default;
};

/// When a cell has been measured long enough; times are per cell.
struct StopRule {
  double relative_interval = 0.02;  // half-width of the median's 95% interval over the median
  double max_seconds = 3;
  int min_samples = 10;
  int placements = 5;  // newly allocated sets of buffers
  int processes = 2;   // worker processes the placements are spread over
  friend bool operator==(const StopRule&, const StopRule&) = default;
};

/// Pages of the processor's memory: 4 KiB each, or 2 MiB where the system provides them.
enum class PageSize : std::uint8_t { usual, huge };
[[nodiscard]] constexpr std::string_view name_of(PageSize size) {
  return size == PageSize::huge ? "huge" : "default";
}

/// One point of all axes except the contender's.
struct HeatPoint {
  Operation operation = Operation::attention;
  Direction direction = Direction::forward;
  std::int64_t sequence_tokens = 0;  // total: [CLS] + query with [SEP] + document with [SEP]
  /// Models only: the lengths of a batch's documents. If they are drawn, sequence_tokens is that of
  /// the longest possible document.
  LengthDistribution document_lengths = {};
  std::int64_t query_tokens = 10;  // the query's words, without its [SEP]
  bool shared_query = false;
  std::int64_t documents = 1;           // per item; more than one with a query is list-wise
  std::int64_t batch_max = 1;           // most items of a batch
  std::int64_t batch_memory_mb = 4096;  // limit for tensors, gradients and workspaces
  bool batch_per_contender = false;     // each contender takes the largest batch that fits; models
                                        // only
  std::int64_t heads = 12;
  std::int64_t head_dim = 32;
  std::int64_t layers = 0;        // models only; 0 for other operations
  std::int64_t feed_forward = 0;  // width between the two feed-forward layers; models only
  Stage stage = Stage::whole;     // models only
  /// Models only: the number of documents that a call scores one query against, in batches that
  /// fit; 0: the number of documents of the batch.
  std::int64_t candidates = 0;
  DType dtype = DType::float32;
  MemoryOrder memory_order = MemoryOrder::head_major;
  CacheState cache = CacheState::warm;
  DeviceKind device = DeviceKind::cpu;
  LaunchMode launch = LaunchMode::eager;  // graph: only on a device, not for models
  PageSize page_size = PageSize::huge;
  int threads = 0;  // 0 in a sweep: all cores available to this process; resolved before a heat is
                    // sent
  std::uint64_t seed = 1;
  friend bool operator==(const HeatPoint&, const HeatPoint&) = default;
};

struct Heat {
  int index = 0;  // position within the sweep
  HeatPoint point;
  std::vector<Contender> contenders;
  StopRule stop;
};

/// Identity of a point across runs and for --resume: "key=value" pairs of all axes except those at
/// a neutral default (axes.h).
[[nodiscard]] std::string point_key(const HeatPoint& point);

/// Tokens of a sequence with one document of that many words.
[[nodiscard]] constexpr std::int64_t tokens_with_words(const HeatPoint& point, std::int64_t words) {
  return 1 + (point.query_tokens + 1) + (words + 1);
}

/// Query and document group sizes of one item. Operation windowed-matmul: the document has all
/// tokens. Otherwise: cls 1, query query_tokens + 1 ([SEP]), and the rest for the documents (with a
/// [SEP] each). For operation model, an item has one document; if lengths are drawn, the sizes are
/// those of the longest. Returns an error if sequence_tokens is too small.
struct GroupSizes {
  std::int64_t cls = 0, query = 0;
  std::int64_t document = 0;            // total over the documents of the item
  std::vector<std::int64_t> documents;  // size of each, nearly equal; the first ones take
                                        // the remainder
};
[[nodiscard]] Result<GroupSizes> group_sizes(const HeatPoint& point);

/// Bytes of one item's tensors, the minimum for every implementation: q, k, v and o, and as many
/// gradients. For a model, the tensors of the larger half of a layer: these and the token's state,
/// or the state before and after the feed-forward layers and the activations between them.
[[nodiscard]] double item_bytes(const HeatPoint& point);

}  // namespace attnscope
