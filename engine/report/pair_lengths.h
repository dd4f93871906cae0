#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The lengths of the user's own texts in a checkpoint's tokens: the input of a question, what
// limits cut off, and what batches waste on padding.
//
//   PairLengths lengths("ms-marco-MiniLM-L-6-v2", "pairs.tsv", 512);
//   lengths.add(10, 340, 353);
//   print(write_lengths(lengths, TableFormat::text));
//   const Result<DocumentLengths> documents = parse_document_lengths(json_of(lengths));

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/figure.h"
#include "engine/report/question.h"
#include "engine/report/sheet.h"

namespace attnscope::report {

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

}  // namespace attnscope::report
