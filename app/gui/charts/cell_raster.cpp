// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/cell_raster.h"

#include <algorithm>
#include <cmath>

#include "app/gui/charts/mask_cells.h"
#include "app/gui/charts/mask_colors.h"

namespace attnscope::charts {
namespace {

// Intervals looked at in one image: some milliseconds' work.
constexpr double interval_budget = 8e5;
constexpr std::int64_t most_samples_per_pixel = 64;

// A pixel in which few pairs are allowed must still be seen: strength starts at 0.15.
float strength_of(float share) {
  if (share <= 1e-6F) return 0;
  if (share >= 0.999F) return 1;
  return 0.15F + 0.85F * std::sqrt(share);
}

}  // namespace

CellRaster::CellRaster(const MaskProblem& problem, const MaskAxis& axis, int pixels,
                       double pixels_per_unit, ChartTheme theme)
    : problem_(problem), axis_(axis), pixels_(pixels), scale_(pixels_per_unit), theme_(theme) {
  const auto width = static_cast<std::size_t>(pixels) + 1;
  const double intervals_per_row = 4 + static_cast<double>(problem.sentence_tokens().size());
  samples_per_pixel_ =
      std::clamp(static_cast<std::int64_t>(interval_budget / (intervals_per_row * pixels)),
                 std::int64_t{1}, most_samples_per_pixel);
  Cover blocks{std::vector<float>(width), std::vector<float>(width), true};
  Cover sentences = blocks;
  for (const MaskBlock& block : axis.blocks()) {
    add_interval(blocks, block, block.tokens, 1);
    if (is_crisp(block) || block.group != TokenGroup::document) continue;
    for (std::int64_t s = problem.next_sentence(block.tokens.begin - 1); s < block.tokens.end;
         s = problem.next_sentence(s)) {
      add_interval(sentences, block, {s, s + 1}, 1);
    }
  }
  available_ = summed(blocks);
  sentence_share_ = summed(sentences);
  for (std::size_t x = 0; x < sentence_share_.size(); ++x) {
    if (available_[x] > 0) sentence_share_[x] /= available_[x];
  }
}

CellRaster::Cover& CellRaster::cover_of(TokenGroup from, std::size_t to) {
  Cover& cover = covers_[static_cast<std::size_t>(from) * columns + to];
  if (!cover.touched) {
    const auto width = static_cast<std::size_t>(pixels_) + 1;
    cover.part.assign(width, 0);
    cover.step.assign(width, 0);
    cover.touched = true;
  }
  return cover;
}

void CellRaster::add_interval(Cover& cover, const MaskBlock& block, TokenRange keys,
                              float weight) const {
  const auto pixel = [&](std::int64_t token) {
    const double units =
        block.begin + block.units_per_token * static_cast<double>(token - block.tokens.begin);
    return std::clamp((units - axis_.column_scroll()) * scale_, 0.0, static_cast<double>(pixels_));
  };
  const double begin = pixel(keys.begin);
  const double end = pixel(keys.end);
  if (is_crisp(block)) {
    const auto first = static_cast<std::size_t>(std::ceil(begin - 0.5));
    const auto last = static_cast<std::size_t>(std::ceil(end - 0.5));
    if (first >= last) return;
    cover.step[first] += weight;
    cover.step[last] -= weight;
    return;
  }
  const auto first = static_cast<std::size_t>(begin);
  const auto last = static_cast<std::size_t>(end);
  if (first == last) {
    cover.part[first] += weight * static_cast<float>(end - begin);
    return;
  }
  cover.part[first] += weight * static_cast<float>(static_cast<double>(first + 1) - begin);
  cover.part[last] += weight * static_cast<float>(end - static_cast<double>(last));
  cover.step[first + 1] += weight;
  cover.step[last] -= weight;
}

std::vector<float> CellRaster::summed(const Cover& cover) const {
  std::vector<float> sums(static_cast<std::size_t>(pixels_));
  double level = 0;
  for (std::size_t x = 0; x < sums.size(); ++x) {
    level += static_cast<double>(cover.step[x]);
    sums[x] = static_cast<float>(level + static_cast<double>(cover.part[x]));
  }
  return sums;
}

void CellRaster::add_row(std::int64_t query, float weight) {
  ++rows_sampled_;
  const TokenGroup from = problem_.group_of(query);
  problem_.keys_of(query, intervals_);
  visit_blocks(axis_, intervals_, [&](const MaskBlock& block, TokenRange keys) {
    const TokenRange run = same_group_run(problem_, block, keys);
    if (is_crisp(block)) {
      visit_runs(problem_, block, keys, [&](TokenGroup to, TokenRange part) {
        add_interval(cover_of(from, static_cast<std::size_t>(to)), block, part, weight);
      });
    } else if (run == keys) {
      const auto to = static_cast<std::size_t>(problem_.group_of(keys.begin));
      add_interval(cover_of(from, to), block, keys, weight);
    } else {  // tiny tokens of two groups: divided by sentence_share_ in the end
      add_interval(cover_of(from, mixed), block, keys, weight);
    }
  });
}

void CellRaster::add_samples(std::int64_t begin, std::int64_t end, bool sentences,
                             std::int64_t there, std::int64_t most) {
  if (there == 0) return;
  const std::int64_t count = std::min(there, most);
  const float weight =
      static_cast<float>(there) / static_cast<float>(end - begin) / static_cast<float>(count);
  const auto is_wanted = [&](std::int64_t token) {
    return (problem_.group_of(token) == TokenGroup::sentence) == sentences;
  };
  std::int64_t next = begin;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t token = std::max(next, begin + (end - begin) * i / count);
    if (sentences && !is_wanted(token)) token = problem_.next_sentence(token);
    while (token < end && !is_wanted(token)) ++token;
    if (token >= end) {  // the tail held none: take it from the front, the weights stay whole
      token = begin;
      while (!is_wanted(token)) ++token;
    }
    add_row(token, weight);
    next = token + 1;
  }
}

void CellRaster::add_rows(const MaskBlock& block, std::int64_t begin, std::int64_t end) {
  std::int64_t sentences = 0;
  if (block.group == TokenGroup::document) {
    const std::vector<std::int64_t>& all = problem_.sentence_tokens();
    sentences = std::ranges::lower_bound(all, end) - std::ranges::lower_bound(all, begin);
  }
  add_samples(begin, end, true, sentences, std::max<std::int64_t>(1, samples_per_pixel_ / 8));
  add_samples(begin, end, false, end - begin - sentences, samples_per_pixel_);
}

void CellRaster::resolve(QRgb* line) {
  const auto width = static_cast<std::size_t>(pixels_);
  struct Rgb {
    float r = 0, g = 0, b = 0;
  };
  std::vector<Rgb> color(width);
  std::vector<float> total(width);
  const auto blend = [&](std::size_t x, float share, const QColor& c) {
    color[x].r += share * static_cast<float>(c.red());
    color[x].g += share * static_cast<float>(c.green());
    color[x].b += share * static_cast<float>(c.blue());
    total[x] += share;
  };
  for (std::size_t c = 0; c < covers_.size(); ++c) {
    if (!covers_[c].touched) continue;
    covers_[c].touched = false;
    const auto from = static_cast<TokenGroup>(c / columns);
    const bool is_mixed = c % columns == mixed;
    const TokenGroup to = is_mixed ? TokenGroup::document : static_cast<TokenGroup>(c % columns);
    const QColor own = pair_color(from, to, theme_);
    const QColor sentence = pair_color(from, TokenGroup::sentence, theme_);
    const std::vector<float> sums = summed(covers_[c]);
    for (std::size_t x = 0; x < width; ++x) {
      if (sums[x] <= 1e-6F) continue;
      const float share = is_mixed ? sentence_share_[x] : 0;
      if (share > 0) blend(x, sums[x] * share, sentence);
      blend(x, sums[x] * (1 - share), own);
    }
  }
  const QColor ground = ground_color(theme_);
  const QRgb background = colors_of(theme_).background.rgb();
  for (std::size_t x = 0; x < width; ++x) {
    if (available_[x] < 0.5F) {
      line[x] = background;
      continue;
    }
    if (total[x] <= 1e-6F) {
      line[x] = ground.rgb();
      continue;
    }
    const float strength = strength_of(total[x] / available_[x]);
    const auto mix = [&](float part, int under) {
      const float over = part / total[x];
      return static_cast<int>(
          std::lround(over * strength + static_cast<float>(under) * (1 - strength)));
    };
    line[x] = qRgb(mix(color[x].r, ground.red()), mix(color[x].g, ground.green()),
                   mix(color[x].b, ground.blue()));
  }
}

QImage CellRaster::render() {
  QImage image(pixels_, pixels_, QImage::Format_RGB32);
  image.fill(colors_of(theme_).background);
  std::int64_t drawn_token = -1;  // of the row above, where one token fills several rows
  for (int y = 0; y < pixels_; ++y) {
    const auto units = [&](double pixel) { return pixel / scale_ + axis_.row_scroll(); };
    const std::optional<std::int64_t> center = axis_.token_at(units(y + 0.5));
    if (!center) continue;
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    const MaskBlock& block = axis_.block_of(*center);
    if (is_crisp(block)) {
      if (*center == drawn_token) {
        std::copy_n(reinterpret_cast<const QRgb*>(image.constScanLine(y - 1)), pixels_, line);
        continue;
      }
      drawn_token = *center;
      add_row(*center, 1);
    } else {
      const auto token = [&](double pixel) {
        const auto index = static_cast<std::int64_t>(
            std::floor((units(pixel) - block.begin) / block.units_per_token));
        return block.tokens.begin + std::clamp<std::int64_t>(index, 0, block.tokens.size());
      };
      const std::int64_t begin = std::min(token(y), *center);
      add_rows(block, begin, std::max(token(y + 1), *center + 1));
    }
    resolve(line);
  }
  return image;
}

}  // namespace attnscope::charts
