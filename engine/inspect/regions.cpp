// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/safetensors/safetensors.h"
#include "kernels/base/json.h"
#include "kernels/base/sentences.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::int64_t counted_regions_in_file = 15, peaks = 3;
constexpr std::size_t most_words = 10'000'000, longest_word = 100'000;

Result<std::vector<std::string>> words_in_metadata(const SafetensorsFile& file, const char* key,
                                                   const std::string& name) {
  const auto text = file.metadata(key);
  if (!text) return tl::unexpected(text.error());
  const json list = parse_json(*text);
  if (!list.is_array() || list.size() > most_words)
    return fail("{}: metadata '{}' is no list of words", name, key);
  std::vector<std::string> words;
  words.reserve(list.size());
  for (const json& word : list) {
    if (!word.is_string() || word.get_ref<const std::string&>().size() > longest_word)
      return fail("{}: metadata '{}': entry {} is no word", name, key, words.size());
    words.push_back(word.get<std::string>());
  }
  return words;
}

Result<std::int64_t> count_in_metadata(const SafetensorsFile& file, const char* key,
                                       std::int64_t most, const std::string& name) {
  const auto text = file.metadata(key);
  if (!text) return tl::unexpected(text.error());
  std::int64_t value = -1;
  const char* end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, value);
  if (parsed.ec == std::errc() && parsed.ptr == end && value >= 0 && value <= most) return value;
  return fail("{}: metadata '{}' is no number from 0 to {}", name, key, most);
}

Result<std::vector<float>> finite_floats(const SafetensorsFile& file, const char* tensor,
                                         const std::vector<std::int64_t>& shape,
                                         const std::string& name) {
  const auto values = file.floats(tensor, shape);
  if (!values) return tl::unexpected(values.error());
  if (!std::ranges::all_of(*values, [](float v) { return std::isfinite(v); }))
    return fail("{}: '{}' has values that are no numbers", name, tensor);
  return std::vector<float>(values->begin(), values->end());
}

/// The peaks and what their scores are made of.
Status add_peaks(const std::vector<float>& numbers, const std::vector<float>& shares,
                 const std::vector<float>& unmatched, const std::string& name,
                 DocumentRegions& regions) {
  const auto count = static_cast<std::int64_t>(regions.scores.size());
  const auto query = static_cast<std::int64_t>(regions.query.size());
  for (std::size_t p = 0; p < static_cast<std::size_t>(peaks) && count > 0; ++p) {
    const float number = numbers[p];
    if (number < 0 || number >= static_cast<float>(count) || std::floor(number) != number) {
      return fail("{}: 'layer.0.counted' names the region {}, and there are {}", name, number,
                  count);
    }
    RegionPeak peak{.region = static_cast<std::int64_t>(number), .words = {}};
    const auto same = [&](const RegionPeak& other) { return other.region == peak.region; };
    peak.words = regions.words_of(peak.region);
    peak.score = regions.scores[static_cast<std::size_t>(peak.region)];
    peak.unmatched = unmatched[p];
    if (std::ranges::any_of(regions.peaks, same) || peak.words.size() == 0) continue;
    peak.with_neighbours = {regions.words_of(std::max<std::int64_t>(peak.region - 2, 0)).begin,
                            regions.words_of(std::min(peak.region + 2, count - 1)).end};
    peak.with_neighbours.end = std::max(peak.with_neighbours.end, peak.words.end);
    const float* own = shares.data() + static_cast<std::int64_t>(p) * query * cpu::pooling_kernels;
    for (std::int64_t i = 0; i < query; ++i) {
      for (std::int64_t k = 0; k < cpu::pooling_kernels; ++k)
        peak.shares.push_back({i, k, static_cast<double>(own[i * cpu::pooling_kernels + k])});
    }
    std::ranges::stable_sort(peak.shares, std::ranges::greater{},
                             [](const RegionShare& one) { return std::abs(one.share); });
    regions.peaks.push_back(std::move(peak));
  }
  return {};
}

}  // namespace

TokenRange DocumentRegions::words_of(std::int64_t region) const {
  const std::int64_t begin = std::min(region * cpu::region_step, kept);
  return {begin, std::min(begin + cpu::region_tokens, kept)};
}

bool holds_regions(const std::filesystem::path& path) {
  const auto file = SafetensorsFile::open(path);
  return file && file->metadata("attnscope_regions");
}

Result<DocumentRegions> read_regions(const std::filesystem::path& path) {
  const std::string name = in_a_sentence(path.string(), 400);
  const auto file = SafetensorsFile::open(path);
  if (!file) return tl::unexpected(file.error());
  if (!file->metadata("attnscope_regions"))
    return fail("{}: holds no regions of a document; 'attnscope inspect' writes them", name);
  DocumentRegions regions;
  if (const auto model = file->metadata("model")) regions.model = *model;
  if (const auto note = file->metadata("note")) regions.note = *note;
  auto query = words_in_metadata(*file, "query", name);
  if (!query) return tl::unexpected(query.error());
  auto document = words_in_metadata(*file, "document", name);
  if (!document) return tl::unexpected(document.error());
  regions.query = std::move(*query);
  regions.document = std::move(*document);
  const auto read =
      count_in_metadata(*file, "read", static_cast<std::int64_t>(regions.document.size()), name);
  if (!read) return tl::unexpected(read.error());
  const auto kept = count_in_metadata(*file, "kept", *read, name);
  if (!kept) return tl::unexpected(kept.error());
  regions.read = *read;
  regions.kept = *kept;
  const auto words = static_cast<std::int64_t>(regions.query.size());
  auto scores = finite_floats(*file, "layer.0.regions", {cpu::regions_of(regions.kept)}, name);
  if (!scores) return tl::unexpected(scores.error());
  const auto numbers = finite_floats(*file, "layer.0.counted", {counted_regions_in_file}, name);
  if (!numbers) return tl::unexpected(numbers.error());
  const auto shares = finite_floats(*file, "layer.0.shares",
                                    {counted_regions_in_file, words, cpu::pooling_kernels}, name);
  if (!shares) return tl::unexpected(shares.error());
  const auto unmatched = finite_floats(*file, "layer.0.unmatched", {counted_regions_in_file}, name);
  if (!unmatched) return tl::unexpected(unmatched.error());
  regions.scores = std::move(*scores);
  if (Status added = add_peaks(*numbers, *shares, *unmatched, name, regions); !added)
    return tl::unexpected(added.error());
  return regions;
}

double kernel_centre(std::int64_t kernel) {
  return static_cast<double>(cpu::pooling_centres.at(static_cast<std::size_t>(kernel)));
}

std::string left_out_in_words(const DocumentRegions& regions) {
  const auto all = static_cast<std::int64_t>(regions.document.size());
  std::string words;
  if (regions.read < all) {
    words = fmt::format("The model read the first {} of {} words.", regions.read, all);
  }
  if (regions.kept < regions.read) {
    if (!words.empty()) words += ' ';
    words += fmt::format(
        "{} behind word {} in no chunk's middle and so in no region, as published.",
        regions.read - regions.kept == 1 ? "One word is"
                                         : fmt::format("{} words are", regions.read - regions.kept),
        regions.kept);
  }
  return words;
}

std::string shares_in_words(const DocumentRegions& regions, const RegionPeak& peak,
                            std::size_t most) {
  std::string words;
  for (std::size_t i = 0; i < std::min(most, peak.shares.size()); ++i) {
    const RegionShare& one = peak.shares[i];
    if (one.share == 0) break;
    words += fmt::format("{}{} near {:.2g} ({:+.3g})", words.empty() ? "" : ", ",
                         regions.query[static_cast<std::size_t>(one.query_word)],
                         kernel_centre(one.kernel), one.share);
  }
  return words.empty() ? "nothing of the query matches" : words;
}

}  // namespace attnscope
