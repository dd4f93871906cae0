#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The table of a sweep's axes: the name, the values and the scope of each. A point's key, the
// protocol, sweep files, --only, the database's columns and fingerprints, the columns and words of
// tables, slices of charts and the window's form all iterate over the table, so a new axis is a
// member of HeatPoint, a row of the table, and the code that uses it.
//
//   for (const Axis& axis : heat_axes) fmt::print("{}={}\n", axis.key, text_of(axis, point));

#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.h"
#include "engine/heat/heat.h"

namespace attnscope {

struct Axis {
  enum class Kind : std::uint8_t { number, truth, word, lengths };
  /// The points to which the axis applies.
  enum class Of : std::uint8_t { all, queries, models };
  /// What is omitted at the default value. counts: nothing. unsaid: the words in titles. neutral:
  /// the part of a point's identity as well, so that points from before the axis keep their keys.
  enum class Default : std::uint8_t { counts, unsaid, neutral };
  /// Position of the column in tables; `when_used`: last, and only if some row is not at the
  /// default.
  enum class Column : std::uint8_t { front, back, when_used };

  std::string_view key;         // in tables, --only, the protocol and the database
  std::string_view title;       // before a choice of values: "Length"
  std::string_view says;        // description
  std::string_view field = {};  // in a sweep file: "batch.max"; by default the key
  std::int64_t words = 0;       // number of words, for Kind::word
  std::array<std::string_view, 2> alongside_truths = {};  // false and true next to the title
  std::int64_t least = 0, most = 1'000'000;               // range, for numbers
  std::string_view in_titles = "{}";      // "{} thread(s)"; empty: titles leave it out
  std::string_view next_to_title = "{}";  // value next to the title: "{} tokens"
  std::string_view otherwise = {};  // what applies if a sweep omits the axis, if not the default
  Of of = Of::all;
  Default at_default = Default::counts;
  Column column = Column::front;
  /// Added after runs of its scope were first stored: its neutral default is not part of any
  /// point's identity.
  bool came_later = false;
  int nesting = 0;          // the highest varies fastest, in a sweep's heats and down a table
  bool takes_lists = true;  // in a sweep file

  Kind kind = Kind::number;
  std::int64_t (*get)(const HeatPoint&) = nullptr;
  void (*set)(HeatPoint&, std::int64_t) = nullptr;
  std::string_view (*word)(std::int64_t) = nullptr;  // for words, by value

  [[nodiscard]] std::int64_t default_value() const { return get(HeatPoint{}); }
  [[nodiscard]] bool belongs_to(const HeatPoint& point) const {
    return of == Of::all || (of == Of::queries && point.operation != Operation::windowed_matmul) ||
           (of == Of::models && point.operation == Operation::model);
  }
  [[nodiscard]] bool is_at_default(const HeatPoint& point) const {
    return get(point) == default_value();
  }
  /// Whether the point counts for every value of the axis: the stage offline encodes documents
  /// before there are candidates.
  [[nodiscard]] bool is_of_every_value(const HeatPoint& point) const {
    return key == "candidates" && point.stage == Stage::offline;
  }
  /// Whether the axis is part of the point's identity: always, except at a neutral default. Even
  /// then it is if the axis and the point belong to models and the axis was present from the
  /// beginning.
  [[nodiscard]] bool adds_to(const HeatPoint& point) const {
    return at_default != Default::neutral || !is_at_default(point) ||
           (of == Of::models && belongs_to(point) && !came_later);
  }
};

template <auto Member>
constexpr Axis axis_of(Axis row) {
  if (row.field.empty()) row.field = row.key;
  using Value = std::remove_cvref_t<decltype(HeatPoint{}.*Member)>;
  if constexpr (std::is_same_v<Value, LengthDistribution>) {
    row.kind = Axis::Kind::lengths;
    row.get = [](const HeatPoint& point) { return (point.*Member).packed(); };
    row.set = [](HeatPoint& point, std::int64_t value) {
      point.*Member = LengthDistribution::unpacked(value);
    };
    return row;
  } else {
    row.kind = std::is_enum_v<Value>         ? Axis::Kind::word
               : std::is_same_v<Value, bool> ? Axis::Kind::truth
                                             : Axis::Kind::number;
    row.get = [](const HeatPoint& point) { return static_cast<std::int64_t>(point.*Member); };
    row.set = [](HeatPoint& point, std::int64_t value) {
      point.*Member = static_cast<Value>(value);
    };
  }
  if constexpr (std::is_enum_v<Value>) {
    row.word = [](std::int64_t value) { return name_of(static_cast<Value>(value)); };
  }
  return row;
}

/// In the order of titles, database columns and fingerprints.
inline constexpr std::array heat_axes{
    axis_of<&HeatPoint::operation>(
        {.key = "operation",
         .title = "Operation",
         .says = "attention with softmax, the two windowed products alone, or whole re-rankers",
         .words = 3,
         .column = Axis::Column::back}),
    axis_of<&HeatPoint::direction>(
        {.key = "direction",
         .title = "Direction",
         .says = "forward pass, or forward and backward pass timed together",
         .words = 2,
         .column = Axis::Column::back}),
    axis_of<&HeatPoint::sequence_tokens>(
        {.key = "sequence_tokens",
         .title = "Length",
         .says = "tokens of a pair: [CLS], query, document and every [SEP]",
         .least = 1,
         .most = 100'000'000,
         .in_titles = "{} tokens",
         .next_to_title = "{} tokens",
         .nesting = 9}),
    axis_of<&HeatPoint::document_lengths>(
        {.key = "document_lengths",
         .title = "Document words",
         .says = "for models, instead of sequence_tokens: tokens of every document without its "
                 "[SEP], or the log-normal distribution of that number",
         .field = "document_tokens",
         .in_titles = "documents of {} words",
         .next_to_title = "{}",
         .otherwise = "as many as fit in sequence_tokens",
         .of = Axis::Of::models,
         .at_default = Axis::Default::neutral,
         .column = Axis::Column::when_used,
         .came_later = true,
         .nesting = 9}),
    axis_of<&HeatPoint::query_tokens>({.key = "query_tokens",
                                       .title = "Query",
                                       .says = "tokens of the query without its [SEP]",
                                       .most = 100'000'000,
                                       .in_titles = "query {}",
                                       .next_to_title = "{} tokens",
                                       .of = Axis::Of::queries,
                                       .nesting = 6}),
    axis_of<&HeatPoint::shared_query>(
        {.key = "shared_query",
         .title = "Queries",
         .says = "true: one query with many documents; false: every item has its own",
         .alongside_truths = {"one each", "shared"},
         .in_titles = "shared query",
         .at_default = Axis::Default::unsaid,
         .column = Axis::Column::back,
         .nesting = 5}),
    axis_of<&HeatPoint::documents>({.key = "documents",
                                    .title = "Documents",
                                    .says = "documents of an item, which share its document tokens",
                                    .least = 1,
                                    .in_titles = "{} documents an item",
                                    .next_to_title = "{} an item",
                                    .at_default = Axis::Default::neutral,
                                    .nesting = 5}),
    axis_of<&HeatPoint::batch_max>({.key = "batch_max",
                                    .title = "Batch",
                                    .says = "maximum number of items in a call",
                                    .field = "batch.max",
                                    .least = 1,
                                    .in_titles = "batch up to {}",
                                    .next_to_title = "up to {}",
                                    .column = Axis::Column::back,
                                    .nesting = 7}),
    axis_of<&HeatPoint::batch_memory_mb>(
        {.key = "batch_memory_mb",
         .title = "Batch memory",
         .says =
             "memory limit of a batch in megabytes; batches are smaller where they would exceed it",
         .field = "batch.memory_mb",
         .least = 1,
         .most = 1'000'000'000,
         .in_titles = "",
         .next_to_title = "{} MB",
         .column = Axis::Column::back,
         .nesting = 7,
         .takes_lists = false}),
    axis_of<&HeatPoint::batch_per_contender>(
        {.key = "batch_per_contender",
         .title = "Batches",
         .says =
             "models; true: each contender uses the largest batch that fits; where batches differ, "
             "ratios are unpaired",
         .field = "batch.per_contender",
         .alongside_truths = {"common", "one each"},
         .in_titles = "each its own batch",
         .of = Axis::Of::models,
         .at_default = Axis::Default::neutral,
         .column = Axis::Column::back,
         .nesting = 7,
         .takes_lists = false}),
    axis_of<&HeatPoint::heads>({.key = "heads",
                                .title = "Heads",
                                .says = "attention heads",
                                .least = 1,
                                .most = 65536,
                                .in_titles = "{} heads",
                                .nesting = 3}),
    axis_of<&HeatPoint::head_dim>({.key = "head_dim",
                                   .title = "Head dimension",
                                   .says = "width of a head",
                                   .least = 1,
                                   .most = 65536,
                                   .in_titles = "head dimension {}",
                                   .nesting = 3}),
    axis_of<&HeatPoint::layers>({.key = "layers",
                                 .title = "Layers",
                                 .says = "layers of a model",
                                 .least = 1,
                                 .most = 1000,
                                 .in_titles = "{} layer(s)",
                                 .otherwise = "6",
                                 .of = Axis::Of::models,
                                 .at_default = Axis::Default::neutral,
                                 .nesting = 3}),
    axis_of<&HeatPoint::feed_forward>({.key = "feed_forward",
                                       .title = "Feed-forward width",
                                       .says = "models: width between the two feed-forward layers",
                                       .least = 1,
                                       .most = 1 << 20,
                                       .in_titles = "feed-forward {}",
                                       .otherwise = "4 x heads x head dimension",
                                       .of = Axis::Of::models,
                                       .at_default = Axis::Default::neutral,
                                       .nesting = 3}),
    axis_of<&HeatPoint::stage>(
        {.key = "stage",
         .title = "Stage",
         .says =
             "models; whole: from token ids to scores; offline: encodes documents into a cache; "
             "load: reads the cache into memory; online: scores a query against it; train-step: "
             "a training step, with its parts train-forward, train-gradients, train-optimizer",
         .words = 8,
         .in_titles = "{} stage",
         .of = Axis::Of::models,
         .at_default = Axis::Default::neutral,
         .column = Axis::Column::when_used,
         .came_later = true,
         .nesting = 8}),
    axis_of<&HeatPoint::candidates>(
        {.key = "candidates",
         .title = "Candidates",
         .says = "models: documents that a query is scored against in a call; 0: the batch size",
         .in_titles = "{} candidates",
         .next_to_title = "{}",
         .of = Axis::Of::models,
         .at_default = Axis::Default::neutral,
         .column = Axis::Column::when_used,
         .came_later = true,
         .nesting = 9}),
    axis_of<&HeatPoint::dtype>({.key = "dtype",
                                .title = "Dtype",
                                .says = "data type of queries, keys, values and outputs",
                                .words = 3,
                                .nesting = 2}),
    axis_of<&HeatPoint::memory_order>(
        {.key = "memory_order",
         .title = "Memory order",
         .says = "head-major [batch, heads, tokens, dim] or token-major [tokens, heads, dim]",
         .words = 2,
         .nesting = 2}),
    axis_of<&HeatPoint::cache>(
        {.key = "cache",
         .title = "Caches",
         .says = "state of the processor's caches before a call: warm or cold",
         .words = 2,
         .in_titles = "{} caches",
         .at_default = Axis::Default::neutral,
         .nesting = 2}),
    axis_of<&HeatPoint::device>({.key = "device",
                                 .title = "Device",
                                 .says = "the CPU or the first CUDA device",
                                 .words = 2,
                                 .nesting = 1}),
    axis_of<&HeatPoint::launch>(
        {.key = "launch",
         .title = "Launch",
         .says = "eager: the host launches every kernel; graph: a CUDA graph of the call is "
                 "replayed",
         .words = 2,
         .in_titles = "{} launches",
         .at_default = Axis::Default::neutral,
         .column = Axis::Column::when_used,
         .came_later = true,
         .nesting = 2}),
    axis_of<&HeatPoint::page_size>(
        {.key = "page_size",
         .title = "Pages",
         .says = "huge: memory of the processor uses huge pages; default: it does not",
         .words = 2,
         .in_titles = "{} pages",
         .at_default = Axis::Default::neutral,
         .column = Axis::Column::when_used,
         .nesting = 2}),
    axis_of<&HeatPoint::threads>({.key = "threads",
                                  .title = "Threads",
                                  .says = "CPU threads; 0 in a sweep: every core that may be used",
                                  .most = 4096,
                                  .in_titles = "{} thread(s)",
                                  .nesting = 4}),
    axis_of<&HeatPoint::seed>({.key = "seed",
                               .title = "Seed",
                               .says = "seed of the random inputs",
                               .most = std::numeric_limits<std::int64_t>::max(),
                               .in_titles = "",
                               .column = Axis::Column::back,
                               .nesting = 8}),
};

/// Null for an unknown key.
[[nodiscard]] const Axis* find_axis(std::string_view key);

/// Indices into the table, in the order in which combinations of values are nested.
[[nodiscard]] const std::array<std::size_t, heat_axes.size()>& nesting_order();

/// The text used by --only and tables: "512", "true", "cold"; the number for a value without a
/// word.
[[nodiscard]] std::string text_of(const Axis& axis, std::int64_t value);
[[nodiscard]] std::string text_of(const Axis& axis, const HeatPoint& point);
/// The words of an axis, by value.
[[nodiscard]] std::vector<std::string_view> words_of(const Axis& axis);
/// Whether the database and tables store its values as text, not as numbers.
[[nodiscard]] constexpr bool has_texts(const Axis& axis) {
  return axis.kind == Axis::Kind::word || axis.kind == Axis::Kind::lengths;
}
/// The value of such a text; nothing for an unknown text.
[[nodiscard]] std::optional<std::int64_t> value_of_text(const Axis& axis, std::string_view text);

// The form in sweep files and messages: a number, a boolean, a word, or a length distribution.
[[nodiscard]] nlohmann::json json_of(const Axis& axis, const HeatPoint& point);
[[nodiscard]] std::int64_t read_value(const Axis& axis, const JsonField& field);

}  // namespace attnscope
