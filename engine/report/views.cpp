// SPDX-License-Identifier: Apache-2.0
#include "engine/report/views.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/sentences.h"
#include "engine/report/axes_in_words.h"

namespace attnscope::report {
namespace {

struct XWords {
  std::string_view name, key, label;
};
// In the order of XAxis.
constexpr std::array<XWords, 3> x_words{{
    {"length", "sequence_tokens", "Sequence length (tokens)"},
    {"window", window_key, "Window w (tokens)"},
    {"candidates", "candidates", "Candidates of a query"},
}};
const XWords& words_along(XAxis x) {
  return x_words.at(static_cast<std::size_t>(x));
}

constexpr std::array<std::string_view, 3> scale_names{"linear", "log2", "log10"};

constexpr std::array<View, 16> all_views{{
    {YAxis::time, "time", "Time"},
    {YAxis::memory, "memory", "Memory"},
    {YAxis::ratio, "ratio", "Ratio to the baseline", true},
    {YAxis::limit, "limit", "Share of the limit"},
    {YAxis::roofline, "roofline", "Roofline"},
    {YAxis::executed, "executed", "Executed over useful work"},
    {YAxis::per_token, "per-token", "Time per token"},
    {YAxis::per_ms, "per-ms", "Documents per ms", false, true},
    {YAxis::per_query, "per-query", "Time per query", false, true},
    {YAxis::effectiveness, "effectiveness", "Effectiveness over time", false, false, true},
    {YAxis::stages, "stages", "Stages", false, true},
    {YAxis::parts, "parts", "Parts of a call", false, true},
    {YAxis::cache, "cache", "Kept of documents", false, true},
    {YAxis::space, "space", "Space over time", false, true},
    {YAxis::trec_ndcg, "trec-ndcg", "Published nDCG@10, TREC 2019", false, true},
    {YAxis::dev_ndcg, "dev-ndcg", "Published nDCG@10, Dev", false, true},
}};

template <typename Names>
Result<std::size_t> place_in(const Names& names, std::string_view option, std::string_view what,
                             std::string_view text) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) {
    return fail("{}: there is no {} '{}'; {}", option, what, in_a_sentence(text),
                suggest(in_a_sentence(text), names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::span<const View> views() {
  return all_views;
}

const View& view_of(YAxis y) {
  const auto found = std::ranges::find(all_views, y, &View::y);
  assert(found != all_views.end());
  return *found;
}

bool has_time(YAxis y) {
  return y == YAxis::time || y == YAxis::per_token || y == YAxis::ratio || y == YAxis::per_ms ||
         y == YAxis::per_query;
}

bool rests_on_times(YAxis y) {
  return y != YAxis::memory && y != YAxis::executed && y != YAxis::cache;
}

bool has_bars(YAxis y) {
  return y == YAxis::stages || y == YAxis::parts;
}

std::string_view key_along(XAxis x) {
  return words_along(x).key;
}

std::string_view name_of(XAxis x) {
  return words_along(x).name;
}

std::string_view label_along(XAxis x) {
  return words_along(x).label;
}

Result<XAxis> parse_x(std::string_view text) {
  std::array<std::string_view, x_words.size()> names;
  std::ranges::transform(x_words, names.begin(), &XWords::name);
  return place_in(names, "--x", "axis", text).map([](std::size_t i) {
    return static_cast<XAxis>(i);
  });
}

Result<YAxis> parse_y(std::string_view text) {
  std::array<std::string_view, all_views.size()> names;
  std::ranges::transform(all_views, names.begin(), &View::key);
  return place_in(names, "--y", "axis", text).map([](std::size_t i) { return all_views.at(i).y; });
}

Result<std::vector<YAxis>> parse_ys(std::string_view text) {
  std::vector<YAxis> ys;
  while (true) {
    const std::size_t comma = text.find(',');
    const Result<YAxis> y = parse_y(text.substr(0, comma));
    if (!y) return tl::unexpected(y.error());
    if (std::ranges::find(ys, *y) != ys.end()) {
      return fail("--y: '{}' is repeated; name every value once", text.substr(0, comma));
    }
    ys.push_back(*y);
    if (comma == std::string_view::npos) return ys;
    text.remove_prefix(comma + 1);
  }
}

Result<Scale> parse_scale(std::string_view option, std::string_view text) {
  return place_in(scale_names, option, "scale", text).map([](std::size_t i) {
    return static_cast<Scale>(i);
  });
}

std::string_view name_of(Scale scale) {
  return scale_names.at(static_cast<std::size_t>(scale));
}

}  // namespace attnscope::report
