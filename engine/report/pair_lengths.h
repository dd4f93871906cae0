#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// How long a person's own texts are, in a checkpoint's tokens: what an answer is asked with, what
// limits cut off, and what batches of them waste on padding.
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

/// Of pairs in the order of their file. Queries and documents are counted without [SEP], pairs as
/// the model reads them: with [CLS] and every [SEP].
class PairLengths {
 public:
  /// `own_limit`: tokens of a pair that the checkpoint reads; 0: as many as there are.
  PairLengths(std::string checkpoint, std::string pairs, std::int64_t own_limit)
      : checkpoint_(std::move(checkpoint)), pairs_(std::move(pairs)), own_limit_(own_limit) {}

  void add(std::int64_t query, std::int64_t document, std::int64_t pair) {
    parts_[0].push_back(query);
    parts_[1].push_back(document);
    parts_[2].push_back(pair);
  }

  /// "queries", "documents", "pairs"; the lengths of each in the file's order.
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

/// What a limit of so many tokens a pair cuts off.
struct CutAt {
  std::int64_t limit = 0;
  std::int64_t pairs = 0;      // that are longer
  double share = 0;            // of all pairs
  double share_of_tokens = 0;  // of all their tokens, that are beyond it
};
/// At 128, 256, ..., 4096 and the checkpoint's own limit, ascending.
[[nodiscard]] std::vector<CutAt> cuts_of(const PairLengths& lengths);

inline constexpr std::int64_t padded_batch = 32;  // pairs

/// The share of a batch's positions that hold padding, over all batches of padded_batch pairs, each
/// as long as its longest and none longer than the checkpoint's own limit.
struct Padding {
  double in_file_order = 0, sorted = 0;
  static constexpr double packed = 0;  // one behind the other, as our implementations have them
};
[[nodiscard]] Padding padding_of(const PairLengths& lengths);

/// At least one pair; else there is nothing to say.
[[nodiscard]] std::string write_lengths(const PairLengths& lengths, TableFormat format);
/// A panel each of queries, documents and pairs: how many have which length.
[[nodiscard]] Facets histograms_of(const PairLengths& lengths);

}  // namespace attnscope::report
