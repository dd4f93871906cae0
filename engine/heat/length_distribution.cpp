// SPDX-License-Identifier: Apache-2.0
#include "engine/heat/length_distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

namespace attnscope {
namespace {

constexpr unsigned bits = 21;
static_assert(most_document_words < std::int64_t{1} << bits);

constexpr std::string_view alike = "alike", lognormal = "lognormal ", up_to = " up to ";
constexpr std::string_view example = R"({"lognormal": [804, 3267], "max": 2000})";

/// The value that a standard normal variable exceeds with probability `1 - share`, by bisection to
/// the last bit.
double normal_quantile(double share) {
  double low = -9, high = 9;
  for (int i = 0; i < 64; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::numbers::sqrt2) / 2 < share ? low : high) = middle;
  }
  return high;
}

/// Removes and returns the number at the start of `text`; nothing if there is none.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::int64_t LengthDistribution::words_of(std::int64_t document, std::uint64_t seed) const {
  constexpr double step = 1 / std::numbers::phi, least = 1e-9;
  // A starting point for each seed; those of the first seeds are far apart.
  const double first = static_cast<double>(seed % 1'000'003) * (std::numbers::sqrt2 - 1);
  const double place = first + static_cast<double>(document) * step;
  const double share = std::clamp(place - std::floor(place), least, 1 - least);
  constexpr double ninetieth = 1.2815515655446004;  // of a standard normal variable
  const double sigma = std::log(static_cast<double>(p90) / static_cast<double>(median)) / ninetieth;
  const double words = static_cast<double>(median) * std::exp(sigma * normal_quantile(share));
  return std::llround(std::clamp(words, 1.0, static_cast<double>(most)));
}

std::int64_t LengthDistribution::packed() const {
  return (((most << bits) | p90) << bits) | median;
}

LengthDistribution LengthDistribution::unpacked(std::int64_t number) {
  constexpr std::int64_t mask = (std::int64_t{1} << bits) - 1;
  return {.median = number & mask,
          .p90 = (number >> bits) & mask,
          .most = (number >> (2 * bits)) & mask};
}

std::string why_impossible(const LengthDistribution& lengths) {
  if (lengths == LengthDistribution{} || lengths.is_one_length()) return {};
  if (lengths.median < 1 || lengths.p90 <= lengths.median) {
    return fmt::format("a median of {} and a 90th percentile of {}, which must be above it",
                       lengths.median, lengths.p90);
  }
  for (const std::int64_t words : {lengths.p90, lengths.most}) {
    if (words < 1 || words > most_document_words)
      return fmt::format("{} words; from 1 to {} can be drawn", words, most_document_words);
  }
  return {};
}

std::string text_of(const LengthDistribution& lengths) {
  if (!lengths.is_drawn()) return std::string(alike);
  if (lengths.is_one_length()) return std::to_string(lengths.most);
  return fmt::format("{}{}/{}{}{}", lognormal, lengths.median, lengths.p90, up_to, lengths.most);
}

std::optional<LengthDistribution> parse_lengths(std::string_view text) {
  if (text == alike) return LengthDistribution{};
  LengthDistribution lengths;
  if (take(text, lognormal)) {
    const auto median = take_number(text);
    const bool has_p90 = take(text, "/");
    const auto p90 = take_number(text);
    const bool has_most = take(text, up_to);
    const auto most = take_number(text);
    if (!median || !has_p90 || !p90 || !has_most || !most) return std::nullopt;
    lengths = {.median = *median, .p90 = *p90, .most = *most};
  } else if (const auto words = take_number(text)) {
    lengths = lengths_of_words(*words);
  }
  const bool is_whole = text.empty() && lengths.is_drawn();
  return is_whole && why_impossible(lengths).empty() ? std::optional(lengths) : std::nullopt;
}

nlohmann::json json_of(const LengthDistribution& lengths) {
  if (!lengths.is_drawn() || lengths.is_one_length()) return lengths.most;
  return {{"lognormal", {lengths.median, lengths.p90}}, {"max", lengths.most}};
}

LengthDistribution read_lengths(const JsonField& field) {
  if (field.is_text()) {
    const auto lengths = parse_lengths(field.text());
    if (!lengths || !lengths->is_drawn())
      field.must_be(fmt::format("words of a document, as 2000 or {}", example));
    return *lengths;
  }
  if (!field.is_object()) return lengths_of_words(field.whole(1, most_document_words));
  field.only({"lognormal", "max"});
  const JsonField both = field["lognormal"];
  if (!both.is_list() || both.elements().size() != 2) {
    both.must_be("the median and the 90th percentile of a document's words, as [804, 3267]");
  }
  const auto percentiles = both.elements();
  const LengthDistribution lengths{.median = percentiles[0].whole(1, most_document_words),
                                   .p90 = percentiles[1].whole(1, most_document_words),
                                   .most = field["max"].whole(1, most_document_words)};
  if (const std::string reason = why_impossible(lengths); !reason.empty())
    both.wrong(fmt::format("has {}", reason));
  return lengths;
}

}  // namespace attnscope
