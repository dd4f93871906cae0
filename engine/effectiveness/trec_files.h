#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rankings and relevance judgements as TREC writes them, and MS MARCO's qrels, which have the same
// columns with tabs between:
//
//   run     QID Q0 DOCID RANK SCORE TAG
//   qrels   QID 0 DOCID RELEVANCE
//           or, below a line "query-id corpus-id score", QID DOCID RELEVANCE as BEIR has it
//
//   Result<TrecRun> run = TrecRun::read("bm25.trec");
//   Result<Qrels> qrels = Qrels::read("2019qrels-docs.txt");
//
// Comments, "# ...", may stand before the first line (ir_metadata.h). Ids are texts. What cannot be
// evaluated is an error that names the first line of its kind and says how many there are; what
// trec_eval passes over without a word is a note.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/base/result.h"

namespace attnscope::effectiveness {

struct RankedDocument {
  std::string id;
  float score = 0;  // trec_eval keeps it so: scores that are one float32 are tied
  std::int64_t line = 0;
};

/// Highest score first, of tied ones the greater id: trec_eval's order.
[[nodiscard]] bool ranks_before(const RankedDocument& a, const RankedDocument& b);

/// What the third column of a run of three is, as MS MARCO's and mMARCO's have it.
enum class ThirdColumn : std::uint8_t { unknown, rank, score };

struct TrecRun {
  std::filesystem::path file{};
  std::string tag{};                                           // of the last line
  std::map<std::string, std::vector<RankedDocument>> queries;  // best first
  std::vector<std::string> notes{};                            // sentences with the file's name

  /// Errors: no line; other columns than six (a file that was cut off says so); a score that is no
  /// number or none of float32; a document that stands twice under a query. Notes: lines that are
  /// not sorted by score, queries whose lines do not stand together, a last line without an end.
  /// A run of three columns, QID DOCID and a rank or a score, is read too: ranks are known by being
  /// 1, 2, 3, ... under every query; otherwise it is an error not to say which they are.
  [[nodiscard]] static Result<TrecRun> read(const std::filesystem::path& file,
                                            ThirdColumn third = ThirdColumn::unknown);
};

struct Qrels {
  using Judgements = std::unordered_map<std::string, std::int64_t>;  // document -> relevance
  std::filesystem::path file{};
  std::map<std::string, Judgements> queries;
  std::vector<std::string> notes{};

  /// Errors as a run's: other columns than four (or three below their names), a relevance that is
  /// no whole number of 64 bits, a document judged twice for a query. With three columns the last
  /// judgement of a document holds, as in BEIR, and this is a note.
  [[nodiscard]] static Result<Qrels> read(const std::filesystem::path& file);
};

/// What does not fit between them, a sentence each: queries of one that the other lacks, a run of
/// which no document is judged.
[[nodiscard]] std::vector<std::string> mismatches(const TrecRun& run, const Qrels& qrels);

}  // namespace attnscope::effectiveness
