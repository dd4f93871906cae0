// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/sweep.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/sweep/axis_fields.h"
#include "engine/sweep/sweep_contenders.h"
#include "kernels/base/json.h"

namespace attnscope {
namespace {

constexpr std::array<std::string_view, 22> known_fields{
    "name",         "operation",       "direction", "contenders", "windows",
    "query_tokens", "sequence_tokens", "batch",     "heads",      "head_dim",
    "dtype",        "memory_order",    "cache",     "device",     "threads",
    "seed",         "shared_query",    "documents", "patterns",   "stop",
    "layers",       "feed_forward"};

constexpr std::size_t most_cells = 100'000;
constexpr std::int64_t longest_sequence = 100'000'000;
// Of the paper's model, MiniLM-L6; its feed-forward layers are four times as wide as the others.
constexpr std::int64_t paper_layers = 6;
constexpr std::int64_t feed_forward_factor = 4;

// The values of every axis, outermost first. Without a field, the default of HeatPoint.
struct Axes {
  static constexpr HeatPoint defaults{};
  std::vector<Operation> operation{defaults.operation};
  std::vector<Direction> direction{defaults.direction};
  std::vector<DeviceKind> device{defaults.device};
  std::vector<std::int64_t> threads{defaults.threads};
  std::vector<DType> dtype{defaults.dtype};
  std::vector<MemoryOrder> memory_order{defaults.memory_order};
  std::vector<CacheState> cache{defaults.cache};
  std::vector<std::int64_t> heads{defaults.heads};
  std::vector<std::int64_t> head_dim{defaults.head_dim};
  std::vector<std::int64_t> batch_max{defaults.batch_max};
  std::int64_t batch_memory_mb = defaults.batch_memory_mb;
  bool batch_per_contender = defaults.batch_per_contender;
  std::vector<std::int64_t> layers{defaults.layers};
  std::vector<std::int64_t> feed_forward{defaults.feed_forward};  // 0: by the factor
  std::vector<bool> shared_query{defaults.shared_query};
  std::vector<std::int64_t> documents{defaults.documents};
  std::vector<std::int64_t> query_tokens{defaults.query_tokens};
  std::vector<std::int64_t> seed{static_cast<std::int64_t>(defaults.seed)};
  std::vector<std::int64_t> sequence_tokens;  // ascending

  [[nodiscard]] std::size_t points() const {
    std::size_t count = 1;
    for (const std::size_t values :
         {operation.size(), direction.size(), device.size(), threads.size(), dtype.size(),
          memory_order.size(), cache.size(), heads.size(), head_dim.size(), batch_max.size(),
          shared_query.size(), documents.size(), query_tokens.size(), seed.size(),
          sequence_tokens.size(), layers.size(), feed_forward.size()}) {
      count = std::min(count * values, std::numeric_limits<std::size_t>::max() / (2 * most_cells));
    }
    return count;
  }
  [[nodiscard]] bool of_models() const { return operation.front() == Operation::model; }
};

// Puts what `read` makes of a field into `place`; without the field, `place` keeps its default.
template <typename Place, typename Read>
Status fill(Place& place, const JsonField& root, std::string_view key, Read read) {
  const auto field = root.member(key);
  if (!field) return {};
  auto value = read(*field);
  if (!value) return tl::unexpected(value.error());
  place = std::move(*value);
  return {};
}

auto numbers(std::int64_t least, std::int64_t most) {
  return [=](const JsonField& field) { return read_numbers(field, {least, most}, false); };
}

auto lengths(std::int64_t least) {
  return [=](const JsonField& field) {
    return read_numbers(field, {least, longest_sequence}, true);
  };
}

template <typename Parse>
auto names(Parse parse) {
  return [=](const JsonField& field) { return read_names(field, parse); };
}

Status read_batch(const JsonField& root, Axes& axes) {
  const auto batch = root.member("batch");
  if (!batch) return {};
  static constexpr std::array<std::string_view, 3> known{"max", "memory_mb", "per_contender"};
  if (Status fields = batch->only(known); !fields) return fields;
  if (const auto own = batch->member("per_contender"); own && !axes.of_models()) {
    return own->wrong(
        "is for operation model; leave it out: all contenders of a heat then share the largest "
        "batch that all fit");
  }
  return fill(axes.batch_max, *batch, "max", numbers(1, 1'000'000))
      .and_then([&] {
        return fill(axes.batch_memory_mb, *batch, "memory_mb",
                    [](const JsonField& field) { return field.whole_number(1, 1'000'000'000); });
      })
      .and_then(
          [&] { return fill(axes.batch_per_contender, *batch, "per_contender", read_truth); });
}

/// The operations, and what they mean for other fields' defaults.
Status read_operation(const JsonField& root, Axes& axes) {
  if (Status read = fill(axes.operation, root, "operation", names(parse_operation)); !read)
    return read;
  if (std::ranges::find(axes.operation, Operation::model) == axes.operation.end()) return {};
  if (axes.operation.size() > 1) {
    return root.member("operation")
        ->wrong(
            "has 'model' beside others, whose contenders are patterns; give models a sweep of "
            "their own");
  }
  axes.layers = {paper_layers};
  axes.memory_order = {MemoryOrder::token_major};
  return {};
}

/// Fields that mean something for models alone.
Status read_model_axes(const JsonField& root, Axes& axes) {
  constexpr std::int64_t most_layers = 1000;
  constexpr std::int64_t widest = 1 << 20;
  for (const std::string_view key : {"layers", "feed_forward"}) {
    const auto field = root.member(key);
    if (field && !axes.of_models())
      return field->wrong("is for operation model; leave it out, or add \"operation\": \"model\"");
  }
  return fill(axes.layers, root, "layers", numbers(1, most_layers)).and_then([&] {
    return fill(axes.feed_forward, root, "feed_forward", numbers(1, widest));
  });
}

/// What a sweep of models cannot ask for.
Status check_models(const JsonField& root, const Axes& axes) {
  if (!axes.of_models()) return {};
  const auto refuse = [&](std::string_view key, std::string_view why) -> Status {
    return root.member(key)->wrong(std::string(why));
  };
  if (axes.direction != std::vector{Direction::forward})
    return refuse("direction", "must be forward in operation model: a re-ranker only scores");
  if (axes.memory_order != std::vector{MemoryOrder::token_major}) {
    return refuse("memory_order",
                  "must be token-major in operation model, which is what a model's projections "
                  "give; leave it out");
  }
  if (axes.cache != std::vector{CacheState::warm}) {
    return refuse("cache",
                  "must be warm in operation model: each layer finds what the one before it left");
  }
  if (axes.shared_query != std::vector{false}) {
    return refuse("shared_query",
                  "must be false in operation model, whose batch always is one query with many "
                  "documents: a model that can encodes it once; leave it out");
  }
  if (axes.documents != std::vector<std::int64_t>{1})
    return refuse("documents", "must be 1 in operation model, which scores pairs; leave it out");
  return {};
}

Result<Axes> read_axes(const JsonField& root) {
  Axes axes;
  if (!root.member("sequence_tokens")) {
    return root.wrong(
        "needs the field 'sequence_tokens', as in \"sequence_tokens\": [\"64:4096:*2\"]");
  }
  const Status read =
      read_operation(root, axes)
          .and_then([&] { return fill(axes.direction, root, "direction", names(parse_direction)); })
          .and_then([&] { return fill(axes.device, root, "device", names(parse_device)); })
          .and_then([&] { return fill(axes.threads, root, "threads", numbers(0, 4096)); })
          .and_then([&] { return fill(axes.dtype, root, "dtype", names(parse_dtype)); })
          .and_then([&] {
            return fill(axes.memory_order, root, "memory_order", names(parse_memory_order));
          })
          .and_then([&] { return fill(axes.cache, root, "cache", names(parse_cache)); })
          .and_then([&] { return fill(axes.heads, root, "heads", numbers(1, 65536)); })
          .and_then([&] { return fill(axes.head_dim, root, "head_dim", numbers(1, 65536)); })
          .and_then([&] { return read_model_axes(root, axes); })
          .and_then([&] { return read_batch(root, axes); })
          .and_then([&] { return fill(axes.shared_query, root, "shared_query", read_truths); })
          .and_then([&] { return fill(axes.documents, root, "documents", numbers(1, 1'000'000)); })
          .and_then([&] { return fill(axes.query_tokens, root, "query_tokens", lengths(0)); })
          .and_then([&] {
            return fill(axes.seed, root, "seed",
                        numbers(0, std::numeric_limits<std::int64_t>::max()));
          })
          .and_then([&] { return fill(axes.sequence_tokens, root, "sequence_tokens", lengths(1)); })
          .and_then([&] { return check_models(root, axes); });
  if (!read) return tl::unexpected(read.error());
  std::ranges::sort(axes.sequence_tokens);
  return axes;
}

template <typename Place>
auto small_number(std::int64_t most) {
  return [=](const JsonField& field) {
    return field.whole_number(1, most).map([](std::int64_t n) { return static_cast<Place>(n); });
  };
}

Result<StopRule> read_stop(const JsonField& root) {
  StopRule stop;
  const auto field = root.member("stop");
  if (!field) return stop;
  static constexpr std::array<std::string_view, 5> known{"relative_interval", "max_seconds",
                                                         "min_samples", "placements", "processes"};
  if (Status fields = field->only(known); !fields) return tl::unexpected(fields.error());
  const Status read =
      fill(stop.relative_interval, *field, "relative_interval",
           [](const JsonField& f) { return read_number(f, 0, 1); })
          .and_then([&] {
            return fill(stop.max_seconds, *field, "max_seconds",
                        [](const JsonField& f) { return read_number(f, 0, 86'400); });
          })
          .and_then([&] {
            return fill(stop.min_samples, *field, "min_samples", small_number<int>(1'000'000));
          })
          .and_then(
              [&] { return fill(stop.placements, *field, "placements", small_number<int>(1000)); })
          .and_then(
              [&] { return fill(stop.processes, *field, "processes", small_number<int>(1000)); });
  if (!read) return tl::unexpected(read.error());
  if (stop.processes > stop.placements) {
    const auto processes = field->member("processes");
    return (processes ? *processes : *field)
        .wrong(fmt::format(
            "spreads {} placements over {} processes, which leaves some without work; give at most "
            "as many \"processes\" as \"placements\"",
            stop.placements, stop.processes));
  }
  return stop;
}

// Calls `each` with every combination of values, the last axis running fastest.
template <typename Each>
void for_each_value(Each each) {
  each();
}
template <typename Each, typename Values, typename Set, typename... Rest>
void for_each_value(Each each, const Values& values, Set set, const Rest&... rest) {
  for (const auto& value : values) {
    set(value);
    for_each_value(each, rest...);
  }
}

std::vector<HeatPoint> points_of(const Axes& axes) {
  std::vector<HeatPoint> points;
  HeatPoint p;
  p.batch_memory_mb = axes.batch_memory_mb;
  p.batch_per_contender = axes.batch_per_contender;
  for_each_value([&] { points.push_back(p); },                                                //
                 axes.operation, [&](Operation v) { p.operation = v; },                       //
                 axes.direction, [&](Direction v) { p.direction = v; },                       //
                 axes.device, [&](DeviceKind v) { p.device = v; },                            //
                 axes.threads, [&](std::int64_t v) { p.threads = static_cast<int>(v); },      //
                 axes.dtype, [&](DType v) { p.dtype = v; },                                   //
                 axes.memory_order, [&](MemoryOrder v) { p.memory_order = v; },               //
                 axes.cache, [&](CacheState v) { p.cache = v; },                              //
                 axes.heads, [&](std::int64_t v) { p.heads = v; },                            //
                 axes.head_dim, [&](std::int64_t v) { p.head_dim = v; },                      //
                 axes.layers, [&](std::int64_t v) { p.layers = v; },                          //
                 axes.feed_forward, [&](std::int64_t v) { p.feed_forward = v; },              //
                 axes.batch_max, [&](std::int64_t v) { p.batch_max = v; },                    //
                 axes.shared_query, [&](bool v) { p.shared_query = v; },                      //
                 axes.documents, [&](std::int64_t v) { p.documents = v; },                    //
                 axes.query_tokens, [&](std::int64_t v) { p.query_tokens = v; },              //
                 axes.seed, [&](std::int64_t v) { p.seed = static_cast<std::uint64_t>(v); },  //
                 axes.sequence_tokens, [&](std::int64_t v) { p.sequence_tokens = v; });
  for (HeatPoint& point : points) {
    if (axes.of_models() && point.feed_forward == 0)
      point.feed_forward = feed_forward_factor * point.heads * point.head_dim;
  }
  return points;
}

Result<std::vector<Heat>> heats_of(const JsonField& root, const Axes& axes, const StopRule& stop,
                                   const std::vector<Contender>& contenders) {
  const std::size_t points = axes.points();
  if (points * contenders.size() > most_cells) {
    return root.wrong(fmt::format(
        "declares {} heats of {} contenders, and a sweep may have at most {} cells; shorten its "
        "lists or split it",
        points, contenders.size(), most_cells));
  }
  std::vector<Heat> heats;
  for (const HeatPoint& point : points_of(axes)) {
    if (auto sizes = group_sizes(point); !sizes) {
      return placed(*root.member("sequence_tokens"), sizes.error());
    }
    heats.push_back({.index = static_cast<int>(heats.size()),
                     .point = point,
                     .contenders = contenders,
                     .stop = stop});
  }
  return heats;
}

Result<std::string> read_name(const JsonField& root, std::string_view source) {
  std::string name = std::filesystem::path(source).stem().string();
  const Status read = fill(name, root, "name", [](const JsonField& field) {
    auto text = field.text();
    if (text && text->empty()) return Result<std::string>(field.wrong("must not be empty"));
    return text;
  });
  if (!read) return tl::unexpected(read.error());
  return name;
}

}  // namespace

Result<Sweep> parse_sweep(std::string_view json, std::string_view source) {
  auto document = parse_json(json, source);
  if (!document) return tl::unexpected(document.error());
  const JsonField root(source, *document);
  if (Status fields = root.only(known_fields); !fields) return tl::unexpected(fields.error());

  auto name = read_name(root, source);
  if (!name) return tl::unexpected(name.error());
  auto axes = read_axes(root);
  if (!axes) return tl::unexpected(axes.error());
  auto stop = read_stop(root);
  if (!stop) return tl::unexpected(stop.error());
  std::vector<Window> windows;
  if (Status read = fill(windows, root, "windows", read_windows); !read) {
    return tl::unexpected(read.error());
  }
  const auto contender_list = root.member("contenders");
  if (!contender_list) {
    return root.wrong("needs the field 'contenders', as in \"contenders\": [\"full/dense\"]");
  }
  auto own_patterns = read_own_patterns(root);
  if (!own_patterns) return tl::unexpected(own_patterns.error());
  auto contenders =
      read_contenders(*contender_list, windows, std::filesystem::path(source).parent_path(),
                      *own_patterns, axes->of_models());
  if (!contenders) return tl::unexpected(contenders.error());
  auto heats = heats_of(root, *axes, *stop, *contenders);
  if (!heats) return tl::unexpected(heats.error());
  return Sweep{.name = std::move(*name), .text = std::string(json), .heats = std::move(*heats)};
}

}  // namespace attnscope
