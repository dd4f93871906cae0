#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The distribution of document lengths in a batch, if they differ. Real documents differ: those of
// MS MARCO have a median of 804 words, and a tenth of them more than 3267 (Hofstaetter et al.,
// SIGIR 2020). A model that accepts 4000 words therefore needs hardly more time for them than one
// that accepts 2000.
//
//   const LengthDistribution lengths{.median = 804, .p90 = 3267, .most = 2000};
//   lengths.words_of(/*document=*/0, /*seed=*/1);

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace attnscope {

/// A log-normal distribution of the number of words in a document, truncated at `most`.
struct LengthDistribution {
  std::int64_t median = 0;
  std::int64_t p90 = 0;  // 90th percentile, before truncation
  /// Most words of a document; 0: lengths are not drawn, every document fills the sequence.
  std::int64_t most = 0;
  friend bool operator==(const LengthDistribution&, const LengthDistribution&) = default;

  [[nodiscard]] bool is_drawn() const { return most > 0; }
  /// Whether all documents have the same number of words, as from `lengths_of_words`.
  [[nodiscard]] bool is_one_length() const { return is_drawn() && median == most && p90 == most; }
  /// Number of words, 1 to `most`, of a document of a heat, counted from 0. The result is the same
  /// on every machine. Documents step through the distribution by the golden ratio (Weyl's
  /// sequence), starting at a point given by the seed, so that a batch of ten already has short and
  /// long documents in proportion.
  [[nodiscard]] std::int64_t words_of(std::int64_t document, std::uint64_t seed) const;

  /// The distribution as one number, ordered by `most` first; 0 if lengths are not drawn.
  [[nodiscard]] std::int64_t packed() const;
  [[nodiscard]] static LengthDistribution unpacked(std::int64_t number);
};

inline constexpr std::int64_t most_document_words = 2'000'000;  // 21 bits

/// The distribution in which every document has that many words.
[[nodiscard]] constexpr LengthDistribution lengths_of_words(std::int64_t words) {
  return {.median = words, .p90 = words, .most = words};
}

/// Why the distribution is invalid; empty if it is valid.
[[nodiscard]] std::string why_impossible(const LengthDistribution& lengths);

/// "lognormal 804/3267 up to 2000", "2000" for one length, "alike" if lengths are not drawn.
[[nodiscard]] std::string text_of(const LengthDistribution& lengths);
/// Nothing if the text has none of these forms.
[[nodiscard]] std::optional<LengthDistribution> parse_lengths(std::string_view text);

/// {"lognormal": [804, 3267], "max": 2000}, 2000, 0.
[[nodiscard]] nlohmann::json json_of(const LengthDistribution& lengths);
/// Reads the same forms and the text of `text_of`; numbers start at 1.
[[nodiscard]] LengthDistribution read_lengths(const JsonField& field);

}  // namespace attnscope
