// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/sweep.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "attnscope/built_in_sweeps.h"
#include "base/json.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/heat/axes.h"
#include "engine/heat/model_row.h"
#include "engine/sweep/sweep_contenders.h"

namespace attnscope {
namespace {

constexpr std::size_t most_cells = 100'000;
// Width of the feed-forward layers relative to the layer width, if a sweep does not state it.
constexpr std::int64_t feed_forward_factor = 4;

/// The values of every axis, in the order of heat_axes.
using Values = std::array<std::vector<std::int64_t>, heat_axes.size()>;

std::vector<std::int64_t>& values_of(Values& values, std::string_view key) {
  return values[static_cast<std::size_t>(find_axis(key) - heat_axes.data())];
}

/// "batch" and "max" for "batch.max"; "" and "heads" for "heads".
std::pair<std::string_view, std::string_view> parts_of(std::string_view field) {
  const std::size_t dot = field.find('.');
  if (dot == std::string_view::npos) return {"", field};
  return {field.substr(0, dot), field.substr(dot + 1)};
}

/// The axes' fields in the object of this name, where "" is the sweep itself.
std::vector<std::string_view> fields_in(std::string_view object) {
  std::vector<std::string_view> fields;
  for (const Axis& axis : heat_axes) {
    const auto [parent, field] = parts_of(axis.field);
    if (parent == object) fields.push_back(field);
    if (object.empty() && !parent.empty() && std::ranges::find(fields, parent) == fields.end()) {
      fields.push_back(parent);
    }
  }
  return fields;
}

std::optional<JsonField> field_of(const Axis& axis, const JsonField& root) {
  const auto [parent, field] = parts_of(axis.field);
  if (parent.empty()) return root.member(field);
  const auto object = root.member(parent);
  return object ? object->member(field) : std::nullopt;
}

void check_fields(const JsonField& root) {
  std::vector<std::string_view> known{"name", "contenders", "windows", "patterns",
                                      "skip", "stop",       "qrels",   "effectiveness"};
  std::ranges::copy(fields_in(""), std::back_inserter(known));
  root.only(known);
  for (const Axis& axis : heat_axes) {
    const std::string_view parent = parts_of(axis.field).first;
    if (const auto object = root.member(parent)) object->only(fields_in(parent));
  }
}

/// A field's value, or the values of a range.
std::vector<std::int64_t> read_part(const Axis& axis, const JsonField& part) {
  if (axis.kind == Axis::Kind::number) return read_numbers(part, axis.least, axis.most);
  const bool is_range = axis.kind == Axis::Kind::lengths && part.is_text() &&
                        part.text().find(':') != std::string::npos;
  if (!is_range) return {read_value(axis, part)};
  std::vector<std::int64_t> values = read_numbers(part, 1, most_document_words);
  for (std::int64_t& words : values) words = lengths_of_words(words).packed();
  return values;
}

std::vector<std::int64_t> read_values(const Axis& axis, const JsonField& field) {
  if (!axis.takes_lists) return {read_value(axis, field)};
  std::vector<std::int64_t> all;
  std::set<std::int64_t> seen;
  for (const JsonField& part : field.one_or_more()) {
    for (const std::int64_t value : read_part(axis, part)) {
      if (!seen.insert(value).second) {
        part.wrong(fmt::format("gives {} twice; give every value once", text_of(axis, value)));
      }
      all.push_back(value);
    }
  }
  return all;
}

/// Rejects values that sweeps of models do not support.
void check_models(const JsonField& root, Values& values) {
  struct Rule {
    std::string_view key, value, because;
  };
  constexpr std::array<Rule, 6> rules{{
      {"direction", "forward", ": a re-ranker only scores"},
      {"memory_order", "token-major", ", the layout of a model's projections; remove it"},
      {"cache", "warm", ": each layer reads the output of the layer before it"},
      {"launch", "eager", ": graphs are captured of single attention calls"},
      {"shared_query", "false",
       ", whose batch is always one query with many documents, encoded once where the model can; "
       "remove it"},
      {"documents", "1", ", which scores pairs; remove it"},
  }};
  const auto& candidates = values_of(values, "candidates");
  if (candidates.size() > 1 && std::ranges::find(candidates, 0) != candidates.end()) {
    root["candidates"].wrong(
        "has 0, which means the batch size; remove it, or give only numbers of 1 or more");
  }
  for (const Rule& rule : rules) {
    const auto& requested = values_of(values, rule.key);
    if (requested.size() == 1 && text_of(*find_axis(rule.key), requested.front()) == rule.value)
      continue;
    root[rule.key].wrong(fmt::format("must be {} in operation model{}", rule.value, rule.because));
  }
}

Values read_axes(const JsonField& root) {
  const auto words = root.member(find_axis("document_lengths")->field);
  if (!words && !root.member("sequence_tokens")) {
    root.wrong("needs the field 'sequence_tokens', as in \"sequence_tokens\": [\"64:4096:*2\"]");
  }
  Values values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = {heat_axes[i].default_value()};
  const auto read = [&](std::size_t i) {
    if (const auto field = field_of(heat_axes[i], root)) {
      values[i] = read_values(heat_axes[i], *field);
    }
  };
  // The operation determines the valid values of the other fields.
  const std::vector<std::int64_t>& operations = values_of(values, "operation");
  constexpr auto model = static_cast<std::int64_t>(Operation::model);
  read(static_cast<std::size_t>(&operations - values.data()));
  const bool of_models = std::ranges::find(operations, model) != operations.end();
  if (of_models && operations.size() > 1) {
    root["operation"].wrong(
        "has 'model' together with operations whose contenders are patterns; give models their own "
        "sweep");
  }
  if (of_models) {
    values_of(values, "memory_order") = {static_cast<std::int64_t>(MemoryOrder::token_major)};
  }
  const Axis* const lengths = find_axis("document_lengths");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto field = field_of(heat_axes[i], root);
    const bool is_of_models = heat_axes[i].of == Axis::Of::models && &heat_axes[i] != lengths;
    if (field && is_of_models && !of_models) {
      field->wrong("is for operation model; remove it, or add \"operation\": \"model\"");
    }
    read(i);
  }
  if (of_models) check_models(root, values);
  const auto has = [&](std::string_view key, auto value) {
    const auto& given = values_of(values, key);
    return std::ranges::find(given, static_cast<std::int64_t>(value)) != given.end();
  };
  if (has("launch", LaunchMode::graph) && has("device", DeviceKind::cpu)) {
    root["launch"].wrong(
        "has 'graph', which is for \"device\": \"cuda\" alone; remove it, or give only that "
        "device");
  }
  const auto is_drawn = [lengths](std::int64_t value) {
    HeatPoint point;
    lengths->set(point, value);
    return point.document_lengths.is_drawn() && !point.document_lengths.is_one_length();
  };
  if (words && !of_models && std::ranges::any_of(values_of(values, "document_lengths"), is_drawn)) {
    words->wrong(
        "is a distribution of lengths, which is for operation model; give numbers, or add "
        "\"operation\": \"model\"");
  }
  if (words && root.member("sequence_tokens")) {
    words->wrong("gives the length of sequences, as 'sequence_tokens' does; give only one of them");
  }
  std::ranges::sort(values_of(values, "sequence_tokens"));
  std::ranges::sort(values_of(values, "document_lengths"));
  return values;
}

/// Sizes that the sweep does not state are the defaults of its models, which must agree on them.
void take_usual_shape(const JsonField& root, const std::vector<Contender>& contenders,
                      Values& values) {
  struct Size {
    std::string_view key;
    std::int64_t (*of)(const ModelShape&);
  };
  static constexpr std::array<Size, 4> sizes{
      {{"layers", [](const ModelShape& shape) { return shape.layers; }},
       {"heads", [](const ModelShape& shape) { return shape.heads; }},
       {"head_dim", [](const ModelShape& shape) { return shape.head_dim(); }},
       {"feed_forward", [](const ModelShape& shape) { return shape.feed_forward; }}}};
  const auto of = [](const Contender& contender) -> const FamilyDescription& {
    return family_of_row(std::string_view(contender.model).substr(0, contender.model.find('+')));
  };
  const FamilyDescription& first = of(contenders.front());
  const bool widths = root.member("heads") || root.member("head_dim");
  for (const Size& size : sizes) {
    if (root.member(size.key)) continue;
    const std::int64_t usual = size.of(first.usual_shape());
    for (const Contender& contender : contenders) {
      const std::int64_t own = size.of(of(contender).usual_shape());
      if (own == usual) continue;
      root.wrong(
          fmt::format("has models of different default sizes: {} has {} {} and {} {}; give "
                      "\"layers\", \"heads\", \"head_dim\" and \"feed_forward\"",
                      contenders.front().model, size.key, usual, contender.model, own));
    }
    // For other layer widths it is a multiple of the width.
    const bool multiple = size.key == "feed_forward" && widths && !first.reads_words();
    if (!multiple) values_of(values, size.key) = {usual};
  }
}

double read_number(const JsonField& field, double above, double most) {
  const double number = field.number();
  if (!(number > above) || !(number <= most)) {
    field.must_be(fmt::format("a number above {} and at most {}", above, most));
  }
  return number;
}

StopRule read_stop(const JsonField& root) {
  constexpr double day_seconds = 86'400;
  StopRule stop;
  const auto field = root.member("stop");
  if (!field) return stop;
  field->only({"relative_interval", "max_seconds", "min_samples", "placements", "processes"});
  const auto whole = [&](std::string_view key, int most, int& place) {
    if (const auto number = field->member(key)) place = number->whole<int>(1, most);
  };
  if (const auto interval = field->member("relative_interval")) {
    stop.relative_interval = read_number(*interval, 0, 1);
  }
  if (const auto seconds = field->member("max_seconds")) {
    stop.max_seconds = read_number(*seconds, 0, day_seconds);
  }
  whole("min_samples", 1'000'000, stop.min_samples);
  whole("placements", 1000, stop.placements);
  whole("processes", 1000, stop.processes);
  if (stop.processes > stop.placements) {
    field->member("processes")
        .value_or(*field)
        .wrong(fmt::format("spreads {} placements over {} processes, so some have no work; give at "
                           "most as many \"processes\" as \"placements\"",
                           stop.placements, stop.processes));
  }
  return stop;
}

/// Sequence length for documents with this many words, each with its [SEP].
std::int64_t sequence_of(const HeatPoint& point, std::int64_t words) {
  if (point.operation == Operation::windowed_matmul) return point.documents * words;
  return tokens_with_words(point, words) + (point.documents - 1) * (words + 1);
}

/// Appends all combinations of values; axes with a higher nesting vary faster.
void add_points(const Values& values, std::span<const std::size_t> nesting, HeatPoint& point,
                std::vector<HeatPoint>& points) {
  if (nesting.empty()) {
    const bool is_offline = point.stage == Stage::offline;
    const auto& candidates =
        values[static_cast<std::size_t>(find_axis("candidates") - heat_axes.data())];
    if (is_offline && point.candidates != candidates.front()) return;
    points.push_back(point);
    // Documents are encoded in batches before there is a query: once for all numbers of candidates.
    if (is_offline) points.back().candidates = 0;
    if (point.operation == Operation::model && point.feed_forward == 0) {
      points.back().feed_forward = feed_forward_factor * point.heads * point.head_dim;
    }
    if (LengthDistribution& lengths = points.back().document_lengths; lengths.is_drawn()) {
      points.back().sequence_tokens = sequence_of(point, lengths.most);
      if (lengths.is_one_length()) lengths = {};
    }
    return;
  }
  for (const std::int64_t value : values[nesting.front()]) {
    heat_axes[nesting.front()].set(point, value);
    add_points(values, nesting.subspan(1), point, points);
  }
}

std::vector<Heat> heats_of(const JsonField& root, const Values& values, const StopRule& stop,
                           const std::vector<Contender>& contenders) {
  std::size_t count = 1;
  for (const auto& of_axis : values) {
    constexpr std::size_t enough = std::numeric_limits<std::size_t>::max() / (2 * most_cells);
    count = std::min(count * of_axis.size(), enough);
  }
  if (count * contenders.size() > most_cells) {
    root.wrong(
        fmt::format("has {} heats of {} contenders, and a sweep may have at most {} cells; shorten "
                    "its lists or split it",
                    count, contenders.size(), most_cells));
  }
  std::vector<HeatPoint> points;
  HeatPoint first;
  add_points(values, nesting_order(), first, points);
  std::vector<Heat> heats;
  for (const HeatPoint& point : points) {
    if (const auto field = root.member("sequence_tokens"))
      static_cast<void>(field->take(group_sizes(point)));
    if (const std::int64_t most = find_axis("sequence_tokens")->most;
        point.sequence_tokens > most) {
      root.wrong(fmt::format("has sequences of {} tokens; at most {} can be measured",
                             point.sequence_tokens, most));
    }
    if (const std::int64_t widest = find_axis("feed_forward")->most; point.feed_forward > widest) {
      root.wrong(fmt::format(
          "has models of {} numbers between their feed-forward layers, four times \"heads\" x "
          "\"head_dim\", and at most {} can be measured; give a \"feed_forward\"",
          point.feed_forward, widest));
    }
    heats.push_back({.index = static_cast<int>(heats.size()),
                     .point = point,
                     .contenders = contenders,
                     .stop = stop});
  }
  return heats;
}

std::string read_baseline(const JsonField& field, const SweepContenders& own) {
  const std::string name = field.text();
  for (const Contender& contender : own.contenders) {
    if (contender.id() != name && contender.name != name) continue;
    const auto has_it = [&](const effectiveness::RunsToEvaluate::Run& run) {
      return std::ranges::find(run.contenders, contender.id()) != run.contenders.end();
    };
    if (std::ranges::none_of(own.runs, has_it))
      field.wrong(fmt::format("is '{}', which has no \"run\"", in_a_sentence(name)));
    return contender.id();
  }
  std::vector<std::string> ids;
  ids.reserve(own.contenders.size());
  for (const Contender& contender : own.contenders) ids.push_back(contender.id());
  const std::vector<std::string_view> known(ids.begin(), ids.end());
  field.wrong(fmt::format("is '{}', which is not a contender; {}", in_a_sentence(name),
                          suggest(in_a_sentence(name), known)));
}

/// The default baseline of a sweep: the run of full attention.
std::string usual_baseline(const SweepContenders& own) {
  for (const effectiveness::RunsToEvaluate::Run& run : own.runs) {
    const auto full = std::ranges::find_if(own.contenders, [&](const Contender& contender) {
      return contender.pattern == "full" && contender.id() == run.contenders.front();
    });
    if (full != own.contenders.end()) return full->id();
  }
  return own.runs.front().contenders.front();
}

std::optional<effectiveness::RunsToEvaluate> read_runs(const JsonField& root, SweepContenders& own,
                                                       const std::filesystem::path& folder) {
  const auto qrels = root.member("qrels");
  const auto requested = root.member("effectiveness");
  if (own.runs.empty()) {
    for (const auto& field : {qrels, requested}) {
      if (field)
        field->wrong("is for TREC runs, and no contender has a \"run\"; give one, or remove it");
    }
    return std::nullopt;
  }
  if (!qrels) {
    root.wrong("has contenders with a \"run\" but no judgements; add \"qrels\": \"FILE\"");
  }
  effectiveness::RunsToEvaluate runs;
  runs.qrels = read_file_name(*qrels, folder);
  runs.folder = folder;
  effectiveness::RunsQuestion& question = runs.question;
  question.baseline = usual_baseline(own);
  if (requested) {
    requested->only({"measure", "baseline", "margin", "alpha", "complete"});
    if (const auto measure = requested->member("measure"))
      question.measure = measure->take(effectiveness::parse_measure(measure->text()));
    if (const auto baseline = requested->member("baseline"))
      question.baseline = read_baseline(*baseline, own);
    if (const auto margin = requested->member("margin"))
      question.margin = read_number(*margin, 0, 1);
    if (const auto alpha = requested->member("alpha")) question.alpha = read_number(*alpha, 0, 0.5);
    question.complete = requested->truth_or("complete", false);
  }
  runs.runs = std::move(own.runs);
  return runs;
}

Sweep read_sweep(const JsonField& root, std::string_view text,
                 const std::filesystem::path& source) {
  check_fields(root);
  std::string name = root.text_or("name", source.stem().string());
  if (name.empty()) root["name"].wrong("must not be empty");
  Values values = read_axes(root);
  const StopRule stop = read_stop(root);
  const bool of_models =
      values[static_cast<std::size_t>(find_axis("operation") - heat_axes.data())].front() ==
      static_cast<std::int64_t>(Operation::model);
  SweepContenders own = read_contenders(root, source.parent_path(), of_models);
  if (of_models) take_usual_shape(root, own.contenders, values);
  Sweep sweep{.name = std::move(name),
              .text = std::string(text),
              .heats = heats_of(root, values, stop, own.contenders)};
  sweep.runs = read_runs(root, own, source.parent_path());
  if (const auto left_out = root.member("skip")) {
    for (const JsonField& part : left_out->one_or_more())
      sweep = part.take(skip(sweep, part.take(parse_only(part.text(), "skip"))));
  }
  return sweep;
}

}  // namespace

std::vector<std::int64_t> read_numbers(const JsonField& part, std::int64_t least,
                                       std::int64_t most) {
  if (!part.is_text()) return {part.whole(least, most)};
  std::vector<std::int64_t> values = part.take(parse_range(part.text()));
  for (const std::int64_t value : values) {
    if (value < least || value > most) {
      part.wrong(fmt::format("has {}, but must be from {} to {}", value, least, most));
    }
  }
  return values;
}

Result<Sweep> parse_sweep(std::string_view json, std::string_view source) {
  return read_json(json, source,
                   [&](const JsonField& root) { return read_sweep(root, json, source); });
}

std::string with_whole_names(std::string_view text, const std::filesystem::path& folder) {
  if (text.find("\"qrels\"") == std::string_view::npos) return std::string(text);
  nlohmann::ordered_json sweep = parse_ordered_json(text);
  std::error_code failed;
  const std::filesystem::path from =
      std::filesystem::absolute(folder.empty() ? "." : folder, failed);
  const auto make_whole = [&](nlohmann::ordered_json& object, const char* key) {
    const auto name = object.is_object() ? object.find(key) : object.end();
    if (name == object.end() || !name->is_string()) return;
    *name = (from / name->get<std::string>()).lexically_normal().string();
  };
  if (failed || !sweep.is_object()) return std::string(text);
  make_whole(sweep, "qrels");
  if (const auto list = sweep.find("contenders"); list != sweep.end() && list->is_array()) {
    for (nlohmann::ordered_json& contender : *list) make_whole(contender, "run");
  }
  return sweep.dump(2) + "\n";
}

const std::vector<NamedSweep>& built_in_sweeps() {
  static const std::vector<NamedSweep> sweeps = [] {
    std::vector<NamedSweep> all;
    all.reserve(std::size(generated::built_in_sweeps));
    for (const auto& [name, text] : generated::built_in_sweeps) {
      all.push_back({std::string(name), std::string(text)});
    }
    return all;
  }();
  return sweeps;
}

Result<Sweep> load_sweep(std::string_view name_or_path) {
  for (const NamedSweep& sweep : built_in_sweeps()) {
    if (sweep.name == name_or_path) return parse_sweep(sweep.text, sweep.name);
  }
  std::error_code failed;
  if (std::filesystem::exists(name_or_path, failed)) {
    auto text = read_text_file(name_or_path, "sweep file", largest_sweep);
    if (!text) return tl::unexpected(text.error());
    return parse_sweep(*text, name_or_path);
  }
  std::vector<std::string_view> names;
  for (const NamedSweep& sweep : built_in_sweeps()) names.push_back(sweep.name);
  return fail("there is no sweep and no file '{}'; {}", in_a_sentence(name_or_path),
              suggest(in_a_sentence(name_or_path), names));
}

}  // namespace attnscope
