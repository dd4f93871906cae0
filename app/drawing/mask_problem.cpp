// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/mask_problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "app/drawing/map.h"
#include "base/sentences.h"
#include "engine/pattern/compile_plan.h"
#include "kernels/plan/key_runs.h"

namespace attnscope::charts {

namespace {

constexpr std::array<std::pair<std::string_view, MaskStyle>, 2> styles{{
    {"schematic", MaskStyle::schematic},
    {"true", MaskStyle::true_scale},
}};

constexpr std::int64_t schematic_query = 6;
constexpr std::int64_t schematic_document = 24;
constexpr std::int64_t schematic_sentence = 8;
// A window over 24 tokens is recognizable only if most of the document is outside it.
constexpr std::int64_t schematic_window = 5;
// Four visibly overlapping chunks in 24 tokens.
constexpr ChunkRule schematic_chunk{.tokens = 6, .overlap = 2};
// Blocks of 2 tokens and 3 random ones: 31 tokens are more than BigBird's fallback of 11 blocks.
constexpr std::int64_t schematic_block = 2;
constexpr std::int64_t schematic_random = 3;

constexpr double most_intervals = 5e8;  // a few seconds' work
constexpr std::int64_t rows_between_looks = 1024;
constexpr std::int64_t beyond = std::numeric_limits<std::int64_t>::max();

std::int64_t stand_in_window(std::int64_t window) {
  return std::min(window, schematic_window);
}

// The schematic's sizes: groups that the item lacks stay absent; several documents share the 24
// tokens.
LayoutItem stand_in(const LayoutItem& item, bool with_sentences) {
  LayoutItem small;
  small.cls = item.cls > 0 ? 1 : 0;
  small.query = item.query > 0 ? schematic_query : 0;
  std::int64_t documents = 0;
  for (const std::int64_t document : item.documents) documents += document > 0 ? 1 : 0;
  documents = std::min<std::int64_t>(documents, 4);
  for (std::int64_t d = 0; d < documents; ++d) {
    small.documents.push_back(schematic_document / documents);
  }
  if (with_sentences) {
    small.sentences_given = true;
    const std::int64_t tokens = documents > 0 ? schematic_document / documents * documents : 0;
    for (std::int64_t token = 0; token < tokens; token += schematic_sentence) {
      small.sentences.push_back(token);
    }
  }
  return small;
}

ChunkRule stand_in(const ChunkRule& rule) {
  return {.tokens = std::min(rule.tokens, schematic_chunk.tokens),
          .overlap = std::min(rule.overlap, schematic_chunk.overlap)};
}

AttentionPattern stand_in(AttentionPattern pattern) {
  for (auto& row : pattern.attends) {
    for (GroupRule& rule : row) {
      if (rule.fixed_window) rule.fixed_window = stand_in_window(*rule.fixed_window);
      if (rule.kind == GroupRule::Kind::chunks) rule.chunk = stand_in(rule.chunk);
    }
  }
  if (pattern.blocks) {
    pattern.blocks->length = std::min(pattern.blocks->length, schematic_block);
    pattern.blocks->random = std::min(pattern.blocks->random, schematic_random);
  }
  return pattern;
}

}  // namespace

Result<MaskStyle> parse_mask_style(std::string_view text) {
  const auto it = std::ranges::find(styles, text, &std::pair<std::string_view, MaskStyle>::first);
  if (it != styles.end()) return it->second;
  std::array<std::string_view, styles.size()> names;
  std::ranges::transform(styles, names.begin(), [](const auto& entry) { return entry.first; });
  return fail("unknown mask style '{}'; {}", text, suggest(text, names));
}

std::string_view name_of(MaskStyle style) {
  return std::ranges::find(styles, style, &std::pair<std::string_view, MaskStyle>::second)->first;
}

Result<std::shared_ptr<const MaskProblem>> MaskProblem::make(const MaskSource& source,
                                                             const LayoutItem& item,
                                                             MaskStyle style) {
  const auto& [pattern, window] = source;
  std::shared_ptr<MaskProblem> problem(new MaskProblem);
  problem->pattern_ = problem->requested_ = pattern;
  problem->window_ = window;
  problem->true_window_ = window;
  LayoutItem shown = item;
  // Checks the true sizes too, so that no style hides an error.
  Result<SequenceLayout> layout = SequenceLayout::make({item});
  if (!layout) return tl::unexpected(layout.error());
  if (style == MaskStyle::schematic) {
    shown = stand_in(item, pattern.has_sentences());
    problem->pattern_ = stand_in(pattern);
    if (window && !window->is_infinite()) {
      problem->window_ = Window::of(stand_in_window(window->tokens()));
    }
    layout = SequenceLayout::make({shown});
    if (!layout) return tl::unexpected(layout.error());
    problem->stand_in_ = shown.query != item.query || shown.documents != item.documents ||
                         problem->window_ != window || !(problem->pattern_ == pattern);
  }
  problem->layout_ = *std::move(layout);
  if (problem->tokens() == 0) return fail("a mask needs at least one token");
  if (problem->tokens() > largest) {
    return fail("a mask shows at most {} tokens, not {}; choose a smaller document", largest,
                problem->tokens());
  }
  Result<AttentionPlan> plan =
      compile_plan(problem->pattern_, problem->window_, problem->layout_, /*heads=*/1);
  if (!plan) return tl::unexpected(plan.error());
  problem->plan_ = *std::move(plan);
  problem->oracle_ =
      std::make_unique<Oracle>(problem->pattern_, problem->window_, problem->layout_);
  problem->index_tokens();
  return problem;
}

Result<DrawnMasks> make_masks(const MaskSource& a, const std::optional<MaskSource>& b,
                              const LayoutItem& item, MaskStyle style) {
  auto first = MaskProblem::make(a, item, style);
  if (!first) return tl::unexpected(first.error());
  if (!b) return DrawnMasks{*std::move(first), nullptr};
  auto second = MaskProblem::make(*b, item, style);
  if (!second) return tl::unexpected(second.error());
  return DrawnMasks{*std::move(first), *std::move(second)};
}

void MaskProblem::index_tokens() {
  const auto count = static_cast<std::size_t>(tokens());
  groups_.resize(count);
  for (std::size_t token = 0; token < count; ++token) {
    groups_[token] = oracle_->place_of(static_cast<std::int64_t>(token)).group;
    if (groups_[token] == TokenGroup::sentence)
      sentences_.push_back(static_cast<std::int64_t>(token));
  }
  task_of_.assign(count, -1);
  for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
    const TokenRun& queries = plan_.tasks[t].queries;
    for (std::int64_t i = 0; i < queries.size(); ++i) {
      const std::int64_t token = plan_.token_at(queries, i);
      task_of_[static_cast<std::size_t>(token)] = static_cast<std::int32_t>(t);
    }
  }
}

std::int64_t MaskProblem::next_sentence(std::int64_t token) const {
  const auto it = std::ranges::upper_bound(sentences_, token);
  return it == sentences_.end() ? tokens() : *it;
}

void MaskProblem::keys_of(std::int64_t query, std::vector<TokenRange>& intervals) const {
  intervals.clear();
  const std::int32_t task = task_of_[static_cast<std::size_t>(query)];
  if (task < 0) return;
  for (const Segment& segment : plan_.segments_of(plan_.tasks[static_cast<std::size_t>(task)])) {
    append_key_intervals(plan_, segment, query, intervals);
  }
}

QColor difference_color(DifferencePart part, ChartTheme theme) {
  const bool light = theme == ChartTheme::light;
  switch (part) {
    case DifferencePart::only_a:
      return light ? QColor(0x1d, 0x62, 0xb0) : QColor(0x62, 0xa9, 0xf4);
    case DifferencePart::only_b:
      return light ? QColor(0xc4, 0x51, 0x0a) : QColor(0xff, 0xa0, 0x50);
    case DifferencePart::both:
      break;
  }
  return light ? QColor(0x9b, 0xa1, 0xa8) : QColor(0x78, 0x7e, 0x87);
}

QColor hatch_color(DifferencePart part, ChartTheme theme) {
  const QColor own = difference_color(part, theme), paper = colors_of(theme).background;
  return {(own.red() + paper.red()) / 2, (own.green() + paper.green()) / 2,
          (own.blue() + paper.blue()) / 2};
}

int hatch_of(DifferencePart part) {
  if (part == DifferencePart::both) return 0;
  return part == DifferencePart::only_a ? 1 : -1;
}

void DifferenceRow::add(bool in_a, bool in_b, TokenRange keys) {
  if (keys.empty() || (!in_a && !in_b)) return;
  const DifferencePart part = in_a && in_b ? DifferencePart::both
                              : in_a       ? DifferencePart::only_a
                                           : DifferencePart::only_b;
  std::vector<TokenRange>& list = parts_[static_cast<std::size_t>(part)];
  if (!list.empty() && list.back().end == keys.begin) {
    list.back().end = keys.end;
  } else {
    list.push_back(keys);
  }
}

void DifferenceRow::split(const MaskProblem& a, const MaskProblem& b, std::int64_t query) {
  for (std::vector<TokenRange>& list : parts_) list.clear();
  a.keys_of(query, a_);
  b.keys_of(query, b_);
  merge_intervals(a_);
  merge_intervals(b_);
  std::size_t i = 0;
  std::size_t j = 0;
  std::int64_t at = 0;
  // The loop goes from boundary to boundary: between two of them, membership is constant.
  while (i < a_.size() || j < b_.size()) {
    const bool in_a = i < a_.size() && a_[i].begin <= at;
    const bool in_b = j < b_.size() && b_[j].begin <= at;
    const auto border = [at](const std::vector<TokenRange>& list, std::size_t k, bool inside) {
      if (k == list.size()) return beyond;
      return inside ? list[k].end : std::max(list[k].begin, at);
    };
    const std::int64_t next = std::min(border(a_, i, in_a), border(b_, j, in_b));
    add(in_a, in_b, {at, next});
    at = next;
    if (i < a_.size() && a_[i].end <= at) ++i;
    if (j < b_.size() && b_[j].end <= at) ++j;
  }
}

std::optional<DifferenceCounts> count_difference(const MaskProblem& a, const MaskProblem& b,
                                                 const std::function<bool()>& superseded) {
  const auto intervals =
      static_cast<double>(8 + a.sentence_tokens().size() + b.sentence_tokens().size());
  if (intervals * static_cast<double>(a.tokens()) > most_intervals) return std::nullopt;
  DifferenceCounts counts{};
  DifferenceRow row;
  for (std::int64_t query = 0; query < a.tokens(); ++query) {
    if (query % rows_between_looks == 0 && superseded()) return std::nullopt;
    row.split(a, b, query);
    for (std::size_t part = 0; part < difference_part_count; ++part) {
      for (const TokenRange& keys : row.keys(static_cast<DifferencePart>(part))) {
        counts[part] += keys.size();
      }
    }
  }
  return counts;
}

namespace {

// Maximum number of intervals per image: a few milliseconds of work.
constexpr double interval_budget = 8e5;

double intervals_per_row(const CellPicture& picture) {
  const std::size_t more = picture.masks.b ? picture.masks.b->sentence_tokens().size() : 0;
  return static_cast<double>(4 + picture.masks.a->sentence_tokens().size() + more);
}

std::int64_t samples_per_pixel(const CellPicture& picture) {
  return std::clamp(
      static_cast<std::int64_t>(interval_budget / (intervals_per_row(picture) * picture.pixels)),
      std::int64_t{1}, picture.most_samples);
}

// A pixel with few allowed pairs must still be visible: strength starts at 0.15.
float strength_of(float share) {
  if (share <= 1e-6F) return 0;
  if (share >= 0.999F) return 1;
  return 0.15F + 0.85F * std::sqrt(share);
}

class CellRaster {
 public:
  explicit CellRaster(const CellPicture& picture)
      : picture_(picture),
        special_(picture.masks.a->sentence_tokens()),
        color_(static_cast<std::size_t>(picture.pixels)),
        total_(static_cast<std::size_t>(picture.pixels)) {
    if (picture_.masks.b) {
      std::vector<std::int64_t> merged;
      std::ranges::set_union(special_, picture_.masks.b->sentence_tokens(),
                             std::back_inserter(merged));
      special_ = std::move(merged);
    }
    const auto width = static_cast<std::size_t>(picture_.pixels) + 1;
    samples_per_pixel_ = samples_per_pixel(picture);
    Cover blocks{std::vector<float>(width), std::vector<float>(width), true};
    Cover sentences = blocks;
    for (const MapBlock& block : picture_.axis.blocks()) {
      add_interval(blocks, block, block.tokens, 1);
      if (picture_.masks.b || is_crisp(block) || block.group != TokenGroup::document) continue;
      for (std::int64_t s = picture_.masks.a->next_sentence(block.tokens.begin - 1);
           s < block.tokens.end; s = picture_.masks.a->next_sentence(s)) {
        add_interval(sentences, block, {s, s + 1}, 1);
      }
    }
    available_ = summed(blocks);
    sentence_share_ = summed(sentences);
    for (std::size_t x = 0; x < sentence_share_.size(); ++x) {
      if (available_[x] > 0) sentence_share_[x] /= available_[x];
    }
  }

  QImage render(const std::function<bool()>& superseded) {
    QImage image(picture_.pixels, picture_.pixels, QImage::Format_RGB32);
    image.fill(colors_of(picture_.theme).background);
    std::int64_t drawn_token = -1;  // of the row above, if a token fills several rows
    for (int y = 0; y < picture_.pixels; ++y) {
      if (superseded && superseded()) return {};
      const auto units = [&](double pixel) {
        return pixel / picture_.pixels_per_unit + picture_.axis.row_scroll();
      };
      const std::optional<std::int64_t> center = picture_.axis.token_at(units(y + 0.5));
      if (!center) continue;
      auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
      const MapBlock& block = picture_.axis.block_of(*center);
      if (is_crisp(block)) {
        // Hatching differs between the lines of a token.
        if (*center == drawn_token && !picture_.masks.b) {
          std::copy_n(reinterpret_cast<const QRgb*>(image.constScanLine(y - 1)), picture_.pixels,
                      line);
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
      resolve(line, y);
    }
    return image;
  }

  [[nodiscard]] qint64 rows_sampled() const { return rows_sampled_; }

 private:
  /// Coverage of pixels by intervals: partial ends in `part`, whole stretches as steps in `step`.
  struct Cover {
    std::vector<float> part;
    std::vector<float> step;
    bool touched = false;
  };

  [[nodiscard]] bool is_crisp(const MapBlock& block) const {
    return block.units_per_token * picture_.pixels_per_unit >= 1;
  }

  Cover& cover_of(std::size_t channel) {
    Cover& cover = covers_[channel];
    if (!cover.touched) {
      const auto width = static_cast<std::size_t>(picture_.pixels) + 1;
      cover.part.assign(width, 0);
      cover.step.assign(width, 0);
      cover.touched = true;
    }
    return cover;
  }

  void add_interval(Cover& cover, const MapBlock& block, TokenRange keys, float weight) const {
    const auto pixel = [&](std::int64_t token) {
      const double units =
          block.begin + block.units_per_token * static_cast<double>(token - block.tokens.begin);
      return std::clamp((units - picture_.axis.column_scroll()) * picture_.pixels_per_unit, 0.0,
                        static_cast<double>(picture_.pixels));
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

  std::vector<float> summed(const Cover& cover) const {
    std::vector<float> sums(static_cast<std::size_t>(picture_.pixels));
    double level = 0;
    for (std::size_t x = 0; x < sums.size(); ++x) {
      level += static_cast<double>(cover.step[x]);
      sums[x] = static_cast<float>(level + static_cast<double>(cover.part[x]));
    }
    return sums;
  }

  void add_row(std::int64_t query, float weight) {
    ++rows_sampled_;
    if (picture_.masks.b) {
      row_.split(*picture_.masks.a, *picture_.masks.b, query);
      for (std::size_t part = 0; part < difference_part_count; ++part) {
        visit_blocks(picture_.axis, row_.keys(static_cast<DifferencePart>(part)),
                     [&](const MapBlock& block, TokenRange keys) {
                       add_interval(cover_of(part), block, keys, weight);
                     });
      }
      return;
    }
    const auto first = static_cast<std::size_t>(picture_.masks.a->group_of(query)) * columns;
    picture_.masks.a->keys_of(query, intervals_);
    visit_blocks(picture_.axis, intervals_, [&](const MapBlock& block, TokenRange keys) {
      const TokenRange run = same_group_run(*picture_.masks.a, block, keys);
      if (is_crisp(block)) {
        visit_runs(*picture_.masks.a, block, keys, [&](TokenGroup to, TokenRange part) {
          add_interval(cover_of(first + static_cast<std::size_t>(to)), block, part, weight);
        });
      } else if (run == keys) {
        const auto to = static_cast<std::size_t>(picture_.masks.a->group_of(keys.begin));
        add_interval(cover_of(first + to), block, keys, weight);
      } else {  // tiny tokens of two groups: split by sentence_share_ later
        add_interval(cover_of(first + mixed), block, keys, weight);
      }
    });
  }

  /// Adds at most `most` of the `there` tokens in [begin, end) that are (`sentences`) or are not
  /// sentence starts, evenly spaced.
  void add_samples(std::int64_t begin, std::int64_t end, bool sentences, std::int64_t there,
                   std::int64_t most) {
    if (there == 0) return;
    const std::int64_t count = std::min(there, most);
    const float weight =
        static_cast<float>(there) / static_cast<float>(end - begin) / static_cast<float>(count);
    const auto is_wanted = [&](std::int64_t token) {
      return std::ranges::binary_search(special_, token) == sentences;
    };
    std::int64_t next = begin;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t token = std::max(next, begin + (end - begin) * i / count);
      if (sentences && !is_wanted(token)) {
        const auto start = std::ranges::upper_bound(special_, token);
        token = start == special_.end() ? end : *start;
      }
      while (token < end && !is_wanted(token)) ++token;
      if (token >= end) {  // none left: take one from the front, so that the weights add up
        token = begin;
        while (!is_wanted(token)) ++token;
      }
      add_row(token, weight);
      next = token + 1;
    }
  }

  void add_rows(const MapBlock& block, std::int64_t begin, std::int64_t end) {
    std::int64_t sentences = 0;
    if (block.group == TokenGroup::document) {
      sentences =
          std::ranges::lower_bound(special_, end) - std::ranges::lower_bound(special_, begin);
    }
    add_samples(begin, end, true, sentences, std::max<std::int64_t>(1, samples_per_pixel_ / 8));
    add_samples(begin, end, false, end - begin - sentences, samples_per_pixel_);
  }

  void blend(std::size_t x, float share, const QColor& color) {
    color_[x].r += share * static_cast<float>(color.red());
    color_[x].g += share * static_cast<float>(color.green());
    color_[x].b += share * static_cast<float>(color.blue());
    total_[x] += share;
  }

  void blend_groups() {
    for (std::size_t c = 0; c < covers_.size(); ++c) {
      if (!covers_[c].touched) continue;
      covers_[c].touched = false;
      const auto from = static_cast<TokenGroup>(c / columns);
      const bool is_mixed = c % columns == mixed;
      const TokenGroup to = is_mixed ? TokenGroup::document : static_cast<TokenGroup>(c % columns);
      const QColor own = pair_color(from, to, picture_.theme);
      const QColor sentence = pair_color(from, TokenGroup::sentence, picture_.theme);
      const std::vector<float> sums = summed(covers_[c]);
      for (std::size_t x = 0; x < sums.size(); ++x) {
        if (sums[x] <= 1e-6F) continue;
        const float share = is_mixed ? sentence_share_[x] : 0;
        if (share > 0) blend(x, sums[x] * share, sentence);
        blend(x, sums[x] * (1 - share), own);
      }
    }
  }

  void blend_parts(int y) {
    const double period = std::max(3.0, picture_.hatch_pixels);
    for (std::size_t c = 0; c < difference_part_count; ++c) {
      if (!covers_[c].touched) continue;
      covers_[c].touched = false;
      const auto part = static_cast<DifferencePart>(c);
      const QColor own = difference_color(part, picture_.theme);
      const QColor line = hatch_color(part, picture_.theme);
      const std::vector<float> sums = summed(covers_[c]);
      for (std::size_t x = 0; x < sums.size(); ++x) {
        if (sums[x] <= 1e-6F) continue;
        const double along = static_cast<double>(x) + hatch_of(part) * y;
        const double phase = along - period * std::floor(along / period);
        const bool hatched = hatch_of(part) != 0 && phase < std::max(1.0, 0.2 * period);
        blend(x, sums[x], hatched ? line : own);
      }
    }
  }

  void resolve(QRgb* line, int y) {
    const auto width = static_cast<std::size_t>(picture_.pixels);
    std::ranges::fill(color_, Rgb{});
    std::ranges::fill(total_, 0.0F);
    if (picture_.masks.b) {
      blend_parts(y);
    } else {
      blend_groups();
    }
    const QColor ground = ground_color(picture_.theme);
    const QRgb background = colors_of(picture_.theme).background.rgb();
    for (std::size_t x = 0; x < width; ++x) {
      if (available_[x] < 0.5F) {
        line[x] = background;
        continue;
      }
      if (total_[x] <= 1e-6F) {
        line[x] = ground.rgb();
        continue;
      }
      const float strength = strength_of(total_[x] / available_[x]);
      const auto mix = [&](float part, int under) {
        const float over = part / total_[x];
        return static_cast<int>(
            std::lround(over * strength + static_cast<float>(under) * (1 - strength)));
      };
      line[x] = qRgb(mix(color_[x].r, ground.red()), mix(color_[x].g, ground.green()),
                     mix(color_[x].b, ground.blue()));
    }
  }

  CellPicture picture_;
  std::int64_t samples_per_pixel_ = 1;
  qint64 rows_sampled_ = 0;
  // Sentence starts of either mask, ascending. Their rows differ from their neighbours, so they are
  // sampled separately.
  std::vector<std::int64_t> special_;
  // Indexed by attending and attended group; the last column is a mix of document tokens and
  // sentence starts. A difference uses the first three for its parts.
  static constexpr std::size_t mixed = token_group_count;
  static constexpr std::size_t columns = token_group_count + 1;
  std::array<Cover, token_group_count * columns> covers_;
  std::vector<TokenRange> intervals_;  // of one row
  DifferenceRow row_;
  struct Rgb {
    float r = 0, g = 0, b = 0;
  };
  std::vector<Rgb> color_;             // of one line of pixels, not yet divided by total_
  std::vector<float> total_;           // fraction of the line's pairs that is drawn
  std::vector<float> available_;       // fraction of a pixel column that is inside blocks
  std::vector<float> sentence_share_;  // fraction of sentence starts in a shared pixel
};

}  // namespace

QImage render_cells(const CellPicture& picture, const std::function<bool()>& superseded,
                    qint64* rows_sampled) {
  CellRaster raster(picture);
  QImage image = raster.render(superseded);
  if (rows_sampled != nullptr) *rows_sampled = raster.rows_sampled();
  return image;
}

double intervals_of(const CellPicture& picture) {
  const std::int64_t rows =
      std::min(picture.masks.a->tokens(), picture.pixels * samples_per_pixel(picture));
  return static_cast<double>(rows) * intervals_per_row(picture);
}

}  // namespace attnscope::charts
