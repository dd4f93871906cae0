#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a person re-ranks: one query against so many candidates of these lengths, within these
// limits.
//
//   Result<DocumentLengths> lengths = parse_document_lengths("512");            // or a file's text
//   Question question{.query_tokens = 10, .documents = *lengths, .candidates = 100};

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope::report {

/// Documents by their length in tokens, without [SEP]: one length, or a sample of a collection.
class DocumentLengths {
 public:
  using Counted = std::pair<std::int64_t, std::int64_t>;  // a length and how many have it

  explicit DocumentLengths(std::int64_t tokens) : counted_{{tokens, 1}}, count_(1) {}
  /// In any order; at least one.
  explicit DocumentLengths(std::vector<std::int64_t> lengths);
  /// The same, counted: ascending, each length once.
  explicit DocumentLengths(std::vector<Counted> counted);

  [[nodiscard]] const std::vector<Counted>& counted() const { return counted_; }  // ascending
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// All alike, so that there is nothing to tell but the length.
  [[nodiscard]] bool is_one() const { return counted_.size() == 1; }
  [[nodiscard]] std::int64_t shortest() const { return counted_.front().first; }
  [[nodiscard]] std::int64_t longest() const { return counted_.back().first; }
  [[nodiscard]] double mean() const;
  /// Nearest rank: the shortest length that at least `percent` of the documents do not exceed.
  [[nodiscard]] std::int64_t percentile(double percent) const;
  friend bool operator==(const DocumentLengths&, const DocumentLengths&) = default;

 private:
  std::vector<Counted> counted_;
  std::int64_t count_ = 0;
};

/// No document is longer: what is meant as a length and is not.
inline constexpr std::int64_t longest_document = 10'000'000;

/// One number a line; empty lines and what follows a # are passed over. Or what `attnscope lengths
/// --format json` writes: of its documents, or `of_sequences` of its pairs. The error names the
/// line.
[[nodiscard]] Result<DocumentLengths> parse_document_lengths(std::string_view text,
                                                             bool of_sequences = false);
[[nodiscard]] Result<DocumentLengths> read_document_lengths(const std::filesystem::path& file,
                                                            bool of_sequences = false);

struct Question {
  std::optional<std::int64_t> query_tokens = {};  // its words, without [SEP]; none: as measured
  DocumentLengths documents{512};
  bool of_sequences = false;      // the lengths are those of whole sequences, all [SEP] included
  std::int64_t candidates = 100;  // of one query
  std::optional<double> memory_bytes = {};
  std::optional<double> latency_ns = {};  // for all candidates
  friend bool operator==(const Question&, const Question&) = default;
};

}  // namespace attnscope::report
