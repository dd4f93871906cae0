#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Statistics of the user's texts: their lengths in tokens, and where the regions are that determine
// their scores.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/report/figure.h"
#include "engine/report/sheet.h"

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

// The lengths of the user's own texts in a checkpoint's tokens: the input of a question, what
// limits cut off, and what batches waste on padding.
//
//   PairLengths lengths("ms-marco-MiniLM-L-6-v2", "pairs.tsv", 512);
//   lengths.add(10, 340, 353);
//   print(write_lengths(lengths, TableFormat::text));
//   const Result<DocumentLengths> documents = parse_document_lengths(json_of(lengths));

/// Lengths of pairs in file order. Queries and documents are counted without [SEP], pairs as the
/// model reads them: with [CLS] and every [SEP].
class PairLengths {
 public:
  /// `own_limit`: the checkpoint's limit on the tokens of a pair; 0: no limit.
  PairLengths(std::string checkpoint, std::string pairs, std::int64_t own_limit)
      : checkpoint_(std::move(checkpoint)), pairs_(std::move(pairs)), own_limit_(own_limit) {}

  void add(std::int64_t query, std::int64_t document, std::int64_t pair) {
    parts_[0].push_back(query);
    parts_[1].push_back(document);
    parts_[2].push_back(pair);
  }

  /// "queries", "documents", "pairs", with the lengths of each in file order.
  static constexpr std::array<std::string_view, 3> names{"queries", "documents", "pairs"};
  [[nodiscard]] const std::array<std::vector<std::int64_t>, 3>& parts() const { return parts_; }
  [[nodiscard]] const std::vector<std::int64_t>& pairs() const { return parts_[2]; }
  [[nodiscard]] const std::string& checkpoint() const { return checkpoint_; }
  [[nodiscard]] const std::string& file() const { return pairs_; }
  [[nodiscard]] std::int64_t own_limit() const { return own_limit_; }

 private:
  std::string checkpoint_, pairs_;
  std::int64_t own_limit_;
  std::array<std::vector<std::int64_t>, 3> parts_;
};

/// What a limit on the tokens of a pair cuts off.
struct CutAt {
  std::int64_t limit = 0;
  std::int64_t pairs = 0;      // pairs longer than the limit
  double share = 0;            // of all pairs
  double share_of_tokens = 0;  // share of all tokens that are beyond the limit
};
/// Cuts at 128, 256, ..., 4096 and the checkpoint's own limit, ascending.
[[nodiscard]] std::vector<CutAt> cuts_of(const PairLengths& lengths);

inline constexpr std::int64_t padded_batch = 32;  // pairs

/// The share of padding positions over all batches of padded_batch pairs, each padded to its
/// longest pair and limited to the checkpoint's own limit.
struct Padding {
  double in_file_order = 0, sorted = 0;
  static constexpr double packed = 0;  // concatenated without padding, as in our implementations
};
[[nodiscard]] Padding padding_of(const PairLengths& lengths);

/// Precondition: at least one pair.
[[nodiscard]] std::string write_lengths(const PairLengths& lengths, TableFormat format);
/// One panel each for queries, documents and pairs: the number of texts per length.
[[nodiscard]] Facets histograms_of(const PairLengths& lengths);

// Positions in documents of the regions that determine their scores (Hofstaetter et al., SIGIR
// 2020, Fig. 3). The paper's axes are logarithmic; here bins have equal width and none is omitted.
//
//   RegionPositions positions;
//   for (const auto& document : documents) positions.add(first_words);   // of its best regions
//   Figure figure = positions.figure("tkl");

class RegionPositions {
 public:
  static constexpr std::size_t places = 3;

  /// Adds one document: the word indices, from 0, at which its best regions begin, the best first;
  /// fewer than three for a short document.
  void add(std::span<const std::int64_t> first_words);
  [[nodiscard]] std::int64_t documents() const { return documents_; }
  /// The share of documents whose place-th region begins after that word, among the documents that
  /// have one.
  [[nodiscard]] double share_after(std::size_t place, std::int64_t word) const;
  /// "24.5 % of the best regions of 200 documents, ... begin after word 500", as reported in the
  /// paper.
  [[nodiscard]] std::string in_words() const;
  /// The share of documents whose region begins in each bin of words, one line per place. An error
  /// if there are no documents.
  [[nodiscard]] Result<Figure> figure(const std::string& model) const;

 private:
  std::int64_t documents_ = 0;
  std::array<std::vector<std::int64_t>, places> begins_;
};

}  // namespace attnscope::report
