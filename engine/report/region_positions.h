#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Positions in documents of the regions that determine their scores (Hofstaetter et al., SIGIR
// 2020, Fig. 3). The paper's axes are logarithmic; here bins have equal width and none is omitted.
//
//   RegionPositions positions;
//   for (const auto& document : documents) positions.add(first_words);   // of its best regions
//   Figure figure = positions.figure("tkl");

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/report/figure.h"

namespace attnscope::report {

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
