// SPDX-License-Identifier: Apache-2.0
#include "engine/report/run_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/sentences.h"
#include "engine/report/length_curve.h"
#include "engine/report/model_profile.h"
#include "engine/report/number_text.h"
#include "engine/report/published.h"
#include "engine/report/row.h"
#include "engine/report/row_values.h"
#include "engine/report/scatter_figures.h"
#include "engine/report/slice.h"

namespace attnscope::report {
namespace {

// Positions of cells.

/// A row's value at x with its interval, or the reason why there is none.
struct Drawn {
  std::optional<Point> point;
  std::string reason;
};

Drawn value(double y, double low, double high) {
  const bool interval = std::isfinite(low) && std::isfinite(high) && low > 0;
  return {Point{.x = 0, .y = y, .low = interval ? low : y, .high = interval ? high : y}, {}};
}

Drawn measured_value(const Row& row, YAxis axis) {
  const statistics::Summary& time = row.cell.summary;
  const double documents = documents_of(row);
  switch (axis) {
    case YAxis::time: {
      const double scale = 1 / (1e6 * documents);
      return value(time.median_ns * scale, time.low_ns * scale, time.high_ns * scale);
    }
    case YAxis::per_ms: {
      const double documents_ns = 1e6 * documents;
      return value(documents_ns / time.median_ns, documents_ns / time.high_ns,
                   documents_ns / time.low_ns);
    }
    case YAxis::per_token: {
      if (row.cell.point.document_lengths.is_drawn())
        return {std::nullopt, "its documents' lengths are drawn"};
      const auto tokens = static_cast<double>(row.cell.point.sequence_tokens);
      const double scale = 1000 / (1e6 * items_of(row) * tokens);
      return value(time.median_ns * scale, time.low_ns * scale, time.high_ns * scale);
    }
    case YAxis::memory: {
      const double mb = static_cast<double>(peak_bytes(row.cell.cell.memory)) / 1e6 / documents;
      return value(mb, mb, mb);
    }
    case YAxis::limit:
      if (!row.share_of_limit) return {std::nullopt, "no ceilings are known for it"};
      return value(*row.share_of_limit, *row.limit_ms / (time.high_ns / 1e6),
                   *row.limit_ms / (time.low_ns / 1e6));
    case YAxis::executed: {
      const std::optional<double> ratio = executed_ratio(row);
      if (!ratio) return {std::nullopt, "its work is not known"};
      return value(*ratio, *ratio, *ratio);
    }
    case YAxis::roofline: {
      const double flop = row.cell.cell.work.useful_flop;  // 1 FLOP/ns is 1 GFLOP/s
      return value(flop / time.median_ns, flop / time.high_ns, flop / time.low_ns);
    }
    case YAxis::stages:
      return value(time.median_ns / (1e6 * documents), time.low_ns / (1e6 * documents),
                   time.high_ns / (1e6 * documents));
    case YAxis::per_query:
      if (row.cell.point.stage == Stage::offline) {
        return {std::nullopt, "documents are encoded before the query is known"};
      }
      return value(time.median_ns / 1e6, time.low_ns / 1e6, time.high_ns / 1e6);
    case YAxis::cache:
    case YAxis::space: {
      const auto& kept = row.cell.cell.memory.cache_bytes;
      if (!kept) return {std::nullopt, "it stores no data of documents"};
      const double mb = static_cast<double>(*kept) / 1e6;
      return value(mb, mb, mb);
    }
    case YAxis::trec_ndcg:
    case YAxis::dev_ndcg: {
      const auto published = published_rate(row);
      if (!published) return {std::nullopt, "no value is published for it at this length"};
      const double ndcg = axis == YAxis::trec_ndcg ? published->trec_ndcg10 : published->dev_ndcg10;
      return value(ndcg, ndcg, ndcg);
    }
    case YAxis::effectiveness:  // has its own figure
    case YAxis::parts:          // a row has only the sum of its parts
    case YAxis::ratio:
      break;
  }
  if (!row.ratio) return {std::nullopt, "the baseline has no time there"};
  return value(row.ratio->ratio, row.ratio->low, row.ratio->high);
}

Drawn draw(const Row& row, YAxis axis) {
  if (!is_measured(row)) return {std::nullopt, outcome_of(row).reason};
  Drawn drawn = measured_value(row, axis);
  if (drawn.point && (!std::isfinite(drawn.point->y) || drawn.point->y < 0)) {
    return {std::nullopt, "its value is not a number"};
  }
  return drawn;
}

/// Whether the view is plotted over documents scored per millisecond.
bool is_effectiveness(YAxis y) {
  return y == YAxis::trec_ndcg || y == YAxis::dev_ndcg;
}

/// An error if rows of one line differ in an axis other than `key` and the axes of `as_well`.
Status check_one_setting(const std::vector<const Row*>& rows, std::string_view key,
                         std::span<const std::size_t> as_well = {}) {
  std::vector<bool> varying = varying_axes(rows);
  if (rows.empty()) return {};
  for (const std::size_t axis : as_well) varying[axis] = false;
  if (key == heat_axes[length_axis].key && length_identifies_documents(rows))
    varying[document_lengths_axis] = false;
  const std::vector<AxisValue> first = axes_of(rows.front()->cell.point);
  for (std::size_t i = 0; i < varying.size(); ++i) {
    if (!varying[i] || first[i].key == key) continue;
    std::vector<std::string> values;
    for (const Row* row : rows) add_once(values, axes_of(row->cell.point)[i].value);
    return fail("a figure shows one {}, and these cells have {}; choose with --only {}={}",
                first[i].key, fmt::join(values, ", "), first[i].key, values.front());
  }
  return {};
}

/// Documents are encoded independently of candidates, so encoding and scoring rows are checked
/// separately.
Status check_stages(const Table& table) {
  std::vector<const Row*> encoding, scoring;
  for (const Row& row : table.rows)
    (row.cell.point.stage == Stage::offline ? encoding : scoring).push_back(&row);
  if (Status status = check_one_setting(encoding, heat_axes[stage_axis].key); !status)
    return status;
  return check_one_setting(scoring, heat_axes[stage_axis].key);
}

/// The position of the infinite window on the x axis: the longest document's length, which it is
/// equivalent to, or beyond the largest window if that is near or larger. Empty without an infinite
/// window.
std::optional<double> place_of_infinite(const Table& table) {
  std::optional<double> document;
  double largest = 0;
  for (const Row& row : table.rows) {
    const auto& window = row.cell.cell.contender.window;
    if (!window) continue;
    if (!window->is_infinite()) {
      largest = std::max(largest, static_cast<double>(window->tokens()));
      continue;
    }
    const auto documents = static_cast<double>(std::max<std::int64_t>(row.cell.point.documents, 1));
    const std::int64_t all = row.cell.cell.document_tokens;
    document = std::max(document.value_or(1),
                        all > 0 ? std::ceil(static_cast<double>(all) / documents)
                                : static_cast<double>(row.cell.point.sequence_tokens));
  }
  constexpr double apart = 1.25;
  return document ? std::optional(std::max(*document, std::ceil(apart * largest))) : std::nullopt;
}

double place_of(const Window& window, std::optional<double> infinite) {
  return window.is_infinite() ? infinite.value_or(std::numeric_limits<double>::infinity())
                              : static_cast<double>(window.tokens());
}

std::set<double> window_places(const Table& table, std::optional<double> infinite) {
  std::set<double> places;
  for (const Row& row : table.rows) {
    const auto& window = row.cell.cell.contender.window;
    if (window) places.insert(place_of(*window, infinite));
  }
  return places;
}

Series& series_of(Figure& figure, std::string name, const std::string& key) {
  const auto found = std::ranges::find(figure.series, key, &Series::style_key);
  if (found != figure.series.end()) return *found;
  return figure.series.emplace_back(Series{.name = std::move(name), .style_key = key});
}

/// What readers of times must know: the number of disturbed cells, and the mark of implausible
/// ones.
std::string warning_about_times(const Table& table) {
  std::string warning = disturbed_share(all_rows(table.rows));
  if (std::ranges::any_of(table.rows, is_implausible))
    warning += fmt::format("{}?: implausible times", warning.empty() ? "" : "; ");
  return warning;
}

RailMark rail_mark(const Row& row, double x, std::string reason, std::string label = {}) {
  return {.x = x,
          .status = row.cell.damaged ? CellStatus::wrong : row.cell.cell.status,
          .reason = std::move(reason),
          .damaged = row.cell.damaged,
          .label = std::move(label),
          .cell = row.cell.cell_number};
}

void add(Series& series, const Row& row, YAxis y, double x, const std::string& label = {}) {
  Drawn drawn = draw(row, y);
  if (drawn.point) {
    drawn.point->x = x;
    drawn.point->label = label;
    drawn.point->cell = row.cell.cell_number;
    if (is_implausible(row) && depends_on_times(y)) drawn.point->mark = "?";
    series.points.push_back(*drawn.point);
  } else {
    series.rail.push_back(rail_mark(row, x, std::move(drawn.reason), label));
  }
}

double place_of(const Row& row, XAxis x) {
  if (x == XAxis::length) return static_cast<double>(row.cell.point.sequence_tokens);
  if (x == XAxis::candidates) return candidates_of(row);
  const auto& window = row.cell.cell.contender.window;
  // Only the order matters here: along windows, points have their own positions.
  return window ? place_of(*window, std::nullopt) : 0;
}

void add_along_points(Figure& figure, const Table& table, XAxis x, YAxis y) {
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    add(series_of(figure, contender.name, contender.id()), row, y, place_of(row, x));
  }
}

void add_along_windows(Figure& figure, const Table& table, YAxis y,
                       const std::set<double>& places) {
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    const std::string key = contender.id_without_window();
    Series& series = series_of(figure, base_name(contender), key);
    if (contender.window) {
      add(series, row, y, place_of(*contender.window, figure.infinite_x));
    } else {
      for (const double place : places) add(series, row, y, place);
    }
  }
  // w = 0 cannot be shown on a logarithmic axis.
  figure.x_scale = *places.begin() > 0 ? Scale::log2 : Scale::linear;
}

/// The x value of the other charts, as a point's label.
std::string label_of(const Row& row, XAxis x) {
  const auto& window = row.cell.cell.contender.window;
  if (x == XAxis::window) return window ? "w = " + window->text() : "";
  return fmt::format("{:.0f} {}", place_of(row, x), x == XAxis::length ? "tokens" : "candidates");
}

/// Every cell at its own x: the work per byte, the time of a query or documents per millisecond.
/// The label is the x value of the other charts.
void add_at_own_places(Figure& figure, const Table& table, XAxis x, YAxis y) {
  std::vector<const Row*> rows = all_rows(table.rows);
  std::ranges::stable_sort(rows, {}, [x](const Row* row) { return place_of(*row, x); });
  for (const Row* row : rows) {
    const Contender& contender = row->cell.cell.contender;
    const bool by_window = x == XAxis::window;
    Series& series = series_of(figure, by_window ? base_name(contender) : contender.name,
                               by_window ? contender.id_without_window() : contender.id());
    std::optional<double> place = work_per_byte(*row);
    if (y == YAxis::space) {
      const Drawn time = draw(*row, YAxis::per_query);
      place = time.point ? std::optional(time.point->y) : std::nullopt;
    } else if (is_effectiveness(y)) {
      const Drawn rate = draw(*row, YAxis::per_ms);
      place = rate.point ? std::optional(rate.point->y) : std::nullopt;
    }
    if (!place) {
      ++figure.without_place;
      continue;
    }
    add(series, *row, y, *place, label_of(*row, x));
  }
  figure.along_x = false;
}

/// One bar for each contender, in the table's order, with the times of its stages.
void add_stages(Figure& figure, const Table& table) {
  std::vector<std::string> ids;
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    auto at = std::ranges::find(ids, contender.id());
    if (at == ids.end()) {
      at = ids.insert(ids.end(), contender.id());
      figure.x_names.push_back(contender.name);
    }
    const std::string stage(name_of(row.cell.point.stage));
    add(series_of(figure, stage, stage), row, YAxis::stages, static_cast<double>(at - ids.begin()));
  }
  figure.x_scale = Scale::linear;
}

/// One bar for each contender at each length, with the parts of its call, per token, so that short
/// and long texts are comparable.
void add_parts(Figure& figure, const Table& table) {
  const bool names_length = varying_axes(table.rows)[length_axis];
  for (const Row& row : table.rows) {
    const auto x = static_cast<double>(figure.x_names.size());
    figure.x_names.push_back(row.cell.cell.contender.name +
                             (names_length ? ", " + label_of(row, XAxis::length) : ""));
    const bool is_drawn = row.cell.point.document_lengths.is_drawn();
    const std::vector<ProfiledPart> parts =
        is_drawn ? std::vector<ProfiledPart>() : parts_of(table, row);
    for (const ProfiledPart& part : parts) {
      const double ms = 1e6 * part.seconds /
                        (items_of(row) * static_cast<double>(row.cell.point.sequence_tokens));
      series_of(figure, part.name, part.name)
          .points.push_back({.x = x,
                             .y = ms,
                             .low = ms,
                             .high = ms,
                             .label = share_in_words(part),
                             .cell = row.cell.cell_number,
                             .mark = mark_of(part)});
    }
    if (!parts.empty()) continue;
    const std::string why =
        is_drawn ? "its documents' lengths are drawn" : "its parts are not known";
    series_of(figure, std::string(whole_part), std::string(whole_part))
        .rail.push_back(rail_mark(row, x, is_measured(row) ? why : outcome_of(row).reason));
  }
  figure.x_scale = Scale::linear;
}

/// One point per contender, for one setting and one length.
Figure figure_of_effectiveness(const Table& table) {
  std::vector<TimedEffectiveness> contenders;
  int without_time = 0;
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    if (!has_time(row)) {
      ++without_time;
      continue;
    }
    TimedEffectiveness& timed =
        contenders.emplace_back(TimedEffectiveness{.name = contender.name,
                                                   .contender = contender.id(),
                                                   .time_ns = ns_per_document(row),
                                                   .cell = row.cell.cell_number});
    if (row.effectiveness) timed.measured = *row.effectiveness;
    if (!timed.measured)
      timed.published = published_ndcg(contender, row.cell.point.sequence_tokens);
  }
  Figure figure = effectiveness_figure(contenders, "per document");
  figure.without_place = without_time;
  return figure;
}

std::string y_label(const Table& table, YAxis y) {
  switch (y) {
    case YAxis::time:
      return "Time per document (ms)";
    case YAxis::memory:
      return "Memory per document (MB)";
    case YAxis::per_token:
      return "Time per 1000 tokens (ms)";
    case YAxis::per_ms:
      return "Documents per millisecond";
    case YAxis::limit:
      return "Share of the machine's limit";
    case YAxis::executed:
      return "Executed / useful products";
    case YAxis::roofline:
      return "Useful work per second (GFLOP/s)";
    case YAxis::per_query:
      return "Time per query (ms)";
    case YAxis::cache:
    case YAxis::space:
      return "Size of cached documents (MB)";
    case YAxis::trec_ndcg:
      return fmt::format("nDCG@10, TREC 2019 ({})", published_label);
    case YAxis::dev_ndcg:
      return fmt::format("nDCG@10, MS MARCO Dev ({})", published_label);
    case YAxis::stages:
      return "Stages' time per document (ms)";
    case YAxis::parts:
      return fmt::format("Parts' time per 1000 tokens (ms){}", marks_in_words);
    case YAxis::effectiveness:
    case YAxis::ratio:
      break;
  }
  return fmt::format("Time relative to {}", table.baseline.value_or(""));
}

std::optional<double> line_at(YAxis y) {
  return y == YAxis::ratio || y == YAxis::executed ? std::optional(1.0) : std::nullopt;
}

std::string title_of(const Table& table, XAxis x, YAxis y) {
  if (table.rows.empty()) return title_of(table.run);
  std::vector<bool> left_out(heat_axes.size(), false);
  const std::vector<bool> varying = varying_axes(table.rows);
  left_out[length_axis] =
      y == YAxis::parts ? varying[length_axis]
                        : x == XAxis::length && y != YAxis::stages && y != YAxis::effectiveness;
  left_out[document_lengths_axis] = left_out[length_axis] && varying[document_lengths_axis];
  if (is_effectiveness(y)) {
    for (const std::size_t axis : axes_of_size) left_out[axis] = varying[axis];
  }
  left_out[candidates_axis] = x == XAxis::candidates && !has_bars(y);
  left_out[stage_axis] = y == YAxis::stages;
  // The title uses a scoring row, because the number of candidates does not apply to encoding.
  const auto scoring = std::ranges::find_if(
      table.rows, [](const Row& row) { return row.cell.point.stage != Stage::offline; });
  const Row& row = scoring == table.rows.end() ? table.rows.front() : *scoring;
  std::string words = words_of(row.cell.point, left_out, false);
  // Over the length, documents are cut at different lengths.
  const LengthDistribution& lengths = row.cell.point.document_lengths;
  if (left_out[document_lengths_axis] && lengths.is_drawn())
    words += fmt::format(", documents of lognormal {}/{} words", lengths.median, lengths.p90);
  return words;
}

std::string x_label(XAxis x, YAxis y) {
  if (y == YAxis::roofline) return "Useful work per byte (FLOP/byte)";
  if (y == YAxis::space) return "Time per query (ms)";
  if (is_effectiveness(y)) return "Documents per millisecond";
  if (has_bars(y)) return "Contenders";
  return std::string(label_along(x));
}

}  // namespace

void mark_crossovers(Figure& figure, const Table& table, XAxis x, YAxis y) {
  if (!table.baseline || !has_time(y)) return;
  for (const std::vector<const Row*>& rows : rows_by_setting(table, x)) {
    const Places places(rows, x);
    for (const CrossoverAnswer& crossover : find_crossover_answers(rows, x, *table.baseline)) {
      for (const statistics::Crossing& crossing : crossover.found.crossings) {
        if (!crossing.at) continue;
        const double at = x == XAxis::window ? (*crossing.at - 1) / 2 : *crossing.at;
        figure.marks.push_back(
            {.x = at,
             .text = fmt::format("{} {}", crossing.a_overtakes ? "from" : "up to",
                                 places.words(*crossing.at)),
             .style_key = crossover.contender});
      }
    }
  }
}

Result<Figure> make_figure(const Table& table, XAxis x, YAxis y) {
  if (y == YAxis::ratio && !table.baseline) {
    return fail("--y ratio needs a baseline to compare with; name it with --baseline");
  }
  if (view_of(y).of_models && !table.rows.empty() &&
      table.rows.front().cell.point.operation != Operation::model) {
    return fail("--y {} is for re-rankers, but run {} has attention only; use --y time",
                view_of(y).key, table.run.number);
  }
  const std::span<const std::size_t> own = is_effectiveness(y)
                                               ? std::span<const std::size_t>(axes_of_size)
                                               : std::span<const std::size_t>();
  const std::string_view along = y == YAxis::effectiveness ? std::string_view()
                                 : y == YAxis::parts       ? key_along(XAxis::length)
                                                           : key_along(x);
  if (Status status = y == YAxis::stages ? check_stages(table)
                                         : check_one_setting(all_rows(table.rows), along, own);
      !status) {
    return tl::unexpected(status.error());
  }
  if (y == YAxis::effectiveness) {
    Figure figure = figure_of_effectiveness(table);
    figure.title = title_of(table, XAxis::length, y);
    figure.provenance = provenance_line(table);
    if (const std::string share = disturbed_share(all_rows(table.rows)); !share.empty())
      figure.warning += (figure.warning.empty() ? "" : " ") + share;
    return figure;
  }
  const bool linear = y == YAxis::limit || y == YAxis::per_token || has_bars(y);
  Figure figure{.title = title_of(table, x, y),
                .x_label = x_label(x, y),
                .y_label = y_label(table, y),
                .x_scale = Scale::log2,
                .y_scale = linear ? Scale::linear : Scale::log10,
                .line_at = line_at(y),
                .provenance = provenance_line(table)};
  if (depends_on_times(y)) figure.warning = warning_about_times(table);
  if (y == YAxis::roofline || y == YAxis::space || is_effectiveness(y)) {
    add_at_own_places(figure, table, x, y);
    if (y == YAxis::roofline) figure.ceilings = ceilings_of(table);
    if (y != YAxis::roofline) figure.x_scale = Scale::log10;
  } else if (y == YAxis::stages) {
    add_stages(figure, table);
  } else if (y == YAxis::parts) {
    add_parts(figure, table);
  } else if (x != XAxis::window) {
    if (x == XAxis::candidates) figure.x_scale = Scale::log10;
    add_along_points(figure, table, x, y);
  } else if (!table.rows.empty()) {
    figure.infinite_x = place_of_infinite(table);
    const std::set<double> places = window_places(table, figure.infinite_x);
    if (places.empty()) {
      return fail("no contender of run {} has a window to draw along; use --x length",
                  table.run.number);
    }
    add_along_windows(figure, table, y, places);
  }
  if (figure.along_x) {
    for (Series& series : figure.series) {
      std::ranges::stable_sort(series.points, {}, &Point::x);
      std::ranges::stable_sort(series.rail, {}, &RailMark::x);
    }
  }
  set_scales(figure, std::nullopt, std::nullopt);  // zeros to the rail
  return figure;
}

// Panels.

namespace {

constexpr std::size_t most_panels = 24;

std::string value_of(const Row& row, std::string_view key) {
  return filter_words(row, key).front();
}

/// Whether the row belongs to every panel, because it has no window that would assign it to one.
bool is_in_all(const Row& row, std::string_view key) {
  return key == window_key && !row.cell.cell.contender.window;
}

/// Whether the views are effectiveness over time, at one length.
bool is_over_time(const std::vector<YAxis>& ys) {
  return std::ranges::all_of(ys, [](YAxis y) { return y == YAxis::effectiveness; });
}

Status check_key(std::string_view key, XAxis x, const std::vector<YAxis>& ys) {
  if (key.empty()) return {};
  if (is_over_time(ys)) x = XAxis::window;
  if (std::ranges::find(filter_keys(), key) == filter_keys().end()) {
    return fail("--facet: there is no key '{}'; {}", key, suggest(key, filter_keys()));
  }
  const bool along_x = key == key_along(x) || (x == XAxis::length && key == "document_tokens");
  if (along_x) {
    return fail("--facet: '{}' is already on the x axis; name another key, or another --x", key);
  }
  return {};
}

std::vector<std::string> values_of(const Table& table, std::string_view key) {
  std::vector<std::string> values;
  if (key.empty() && !table.rows.empty()) values.emplace_back();
  if (key.empty()) return values;
  for (const Row& row : table.rows)
    if (!is_in_all(row, key)) add_once(values, value_of(row, key));
  if (key == window_key) order_values(values);
  return values;
}

/// A contender is one line of the legend; its window is in each panel's title.
Row without_window(Row row) {
  Contender& contender = row.cell.cell.contender;
  contender.name = base_name(contender);
  contender.window.reset();
  return row;
}

std::string shared_title(const Table& table, XAxis x) {
  std::vector<bool> left_out = varying_axes(table.rows);
  left_out[length_axis] = left_out[length_axis] || x == XAxis::length;
  left_out[candidates_axis] = left_out[candidates_axis] || x == XAxis::candidates;
  return words_of(table.rows.front().cell.point, left_out, false);
}

/// The rows of one value; `first` is a row that belongs only to this value.
Table rows_with(const Table& table, std::string_view key, const std::string& value,
                const Row*& first) {
  Table part = without_rows(table);
  for (const Row& row : table.rows) {
    if (key.empty() || is_in_all(row, key)) {
      part.rows.push_back(row);
    } else if (value_of(row, key) == value) {
      if (first == nullptr) first = &row;
      part.rows.push_back(key == window_key ? without_window(row) : row);
    }
  }
  return part;
}

/// The legend of a panel's marks, without the warning about times, which is stated for all panels
/// together.
std::string legend_of(const Figure& panel, const Table& part) {
  std::string legend = panel.warning;
  const std::string own = warning_about_times(part);
  if (legend.ends_with(own)) legend.resize(legend.size() - own.size());
  if (!legend.empty() && !legend.ends_with(' ')) legend += ' ';
  return legend;
}

}  // namespace

Result<Facets> make_facets(const Table& table, XAxis x, const std::vector<YAxis>& ys,
                           std::string_view key, bool crossovers) {
  if (Status known = check_key(key, x, ys); !known) return tl::unexpected(known.error());
  Facets facets{.title = table.rows.empty() ? "" : shared_title(table, x),
                .panels = {},
                .columns = ys.size() > 1 ? static_cast<int>(ys.size()) : 0,
                .provenance = provenance_line(table)};
  if (std::ranges::any_of(ys, depends_on_times)) facets.warning = warning_about_times(table);
  const std::vector<std::string> values = values_of(table, key);
  if (values.size() * ys.size() > most_panels) {
    return fail(
        "--facet: '{}' has {} values, and a figure has at most {} panels; choose with --only", key,
        values.size(), most_panels / ys.size());
  }
  std::string legend;
  for (const std::string& value : values) {
    const Row* first = nullptr;
    const Table part = rows_with(table, key, value, first);
    for (const YAxis y : ys) {
      Result<Figure> panel = make_figure(part, x, y);
      if (!panel) return tl::unexpected(panel.error());
      // Panels may have parts of the same legend: the longest is used.
      if (std::string own = legend_of(*panel, part);
          y == YAxis::effectiveness && own.size() > legend.size())
        legend = std::move(own);
      if (crossovers) mark_crossovers(*panel, part, x, y);
      panel->title = first == nullptr ? "" : value_in_words(*first, key);
      facets.panels.push_back(std::move(*panel));
    }
  }
  facets.warning.insert(0, legend);
  return facets;
}

}  // namespace attnscope::report
