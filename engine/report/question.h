#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The user's re-ranking task: one query against a number of candidates of given lengths, within
// given limits.
//
//   Result<DocumentLengths> lengths = parse_document_lengths("512");            // or a file's text
//   Question question{.query_tokens = 10, .documents = *lengths, .candidates = 100};

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace attnscope::report {

/// Documents by their length in tokens, without [SEP]: one length, or a sample of a collection.
class DocumentLengths {
 public:
  using Counted = std::pair<std::int64_t, std::int64_t>;  // a length and its number of documents

  explicit DocumentLengths(std::int64_t tokens) : counted_{{tokens, 1}}, count_(1) {}
  /// Lengths in any order; at least one.
  explicit DocumentLengths(std::vector<std::int64_t> lengths);
  /// Counted lengths: ascending, each length once.
  explicit DocumentLengths(std::vector<Counted> counted);

  [[nodiscard]] const std::vector<Counted>& counted() const { return counted_; }  // ascending
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Whether all documents have the same length.
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

/// The longest accepted document; larger numbers are not lengths.
inline constexpr std::int64_t longest_document = 10'000'000;

/// Parses one number per line, ignoring empty lines and text after #, or the output of `attnscope
/// lengths --format json`: the lengths of its documents or, with `of_sequences`, of its pairs. The
/// error names the line.
[[nodiscard]] Result<DocumentLengths> parse_document_lengths(std::string_view text,
                                                             bool of_sequences = false);
[[nodiscard]] Result<DocumentLengths> read_document_lengths(const std::filesystem::path& file,
                                                            bool of_sequences = false);

struct Question {
  std::optional<std::int64_t> query_tokens = {};  // without [SEP]; empty: as measured
  DocumentLengths documents{512};
  bool of_sequences = false;      // the lengths are those of whole sequences, including all [SEP]
  std::int64_t candidates = 100;  // of one query
  std::optional<double> memory_bytes = {};
  std::optional<double> latency_ns = {};  // for all candidates
  friend bool operator==(const Question&, const Question&) = default;
};

}  // namespace attnscope::report
