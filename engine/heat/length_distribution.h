#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long the documents of a batch are where they are not all alike. Real documents are not: those
// of MS MARCO have a median of 804 words, and a tenth of them more than 3267 (Hofstaetter et al.,
// SIGIR 2020), so that a model which takes 4000 words hardly needs more time for them than one
// which takes 2000.
//
//   const LengthDistribution lengths{.median = 804, .p90 = 3267, .most = 2000};
//   lengths.words_of(/*document=*/0, /*seed=*/1);

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/json.h"

namespace attnscope {

/// A log-normal distribution of a document's words, cut: a longer document loses what is beyond.
struct LengthDistribution {
  std::int64_t median = 0;
  std::int64_t p90 = 0;  // a tenth of the documents has more words, before the cut
  /// Words; 0: none is drawn, every document is as long as the sequence holds.
  std::int64_t most = 0;
  friend bool operator==(const LengthDistribution&, const LengthDistribution&) = default;

  [[nodiscard]] bool is_drawn() const { return most > 0; }
  /// Whether it is what `lengths_of_words` gives: documents of so many words each.
  [[nodiscard]] bool is_one_length() const { return is_drawn() && median == most && p90 == most; }
  /// Of the documents of a heat, numbered from 0: from 1 to `most` words, alike wherever and for
  /// whomever they are drawn. The numbers go through the distribution in steps of the golden ratio
  /// (Weyl's sequence) from a place that the seed says, so that a batch of ten already has short
  /// and long documents in their shares.
  [[nodiscard]] std::int64_t words_of(std::int64_t document, std::uint64_t seed) const;

  /// As one number, which grows with `most` before all else; 0 where none is drawn.
  [[nodiscard]] std::int64_t packed() const;
  [[nodiscard]] static LengthDistribution unpacked(std::int64_t number);
};

inline constexpr std::int64_t most_document_words = 2'000'000;  // 21 bits

/// Of documents that have so many words each.
[[nodiscard]] constexpr LengthDistribution lengths_of_words(std::int64_t words) {
  return {.median = words, .p90 = words, .most = words};
}

/// Why there cannot be such a distribution; empty where there can.
[[nodiscard]] std::string why_impossible(const LengthDistribution& lengths);

/// "lognormal 804/3267 up to 2000", "2000" of one length, "alike" where none is drawn.
[[nodiscard]] std::string text_of(const LengthDistribution& lengths);
/// Nothing where the text is none of these.
[[nodiscard]] std::optional<LengthDistribution> parse_lengths(std::string_view text);

/// {"lognormal": [804, 3267], "max": 2000}, 2000, 0.
[[nodiscard]] nlohmann::json json_of(const LengthDistribution& lengths);
/// The same, the text of `text_of` too; of numbers, those from 1 on.
[[nodiscard]] LengthDistribution read_lengths(const JsonField& field);

}  // namespace attnscope
