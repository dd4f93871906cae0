#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Rankings and relevance judgements in TREC's formats, and MS MARCO's qrels, which have the same
// columns separated by tabs:
//
//   run     QID Q0 DOCID RANK SCORE TAG
//   qrels   QID 0 DOCID RELEVANCE
//           or, below a line "query-id corpus-id score", QID DOCID RELEVANCE, as in BEIR
//
//   Result<TrecRun> run = TrecRun::read("bm25.trec");
//   Result<Qrels> qrels = Qrels::read("2019qrels-docs.txt");
//
// Comments, "# ...", may precede the first line (metadata_head). Ids are texts. Input that cannot
// be evaluated is an error, which names the first such line and their number; input that trec_eval
// ignores silently is a note.

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace attnscope::effectiveness {

struct RankedDocument {
  std::string id;
  float score = 0;  // as in trec_eval: scores that are equal as float32 are tied
  std::int64_t line = 0;
};

/// trec_eval's order: highest score first, ties by descending id.
[[nodiscard]] bool ranks_before(const RankedDocument& a, const RankedDocument& b);

/// The meaning of the third column of a run with three columns, as in MS MARCO's and mMARCO's runs.
enum class ThirdColumn : std::uint8_t { unknown, rank, score };

struct TrecRun {
  std::filesystem::path file{};
  std::string tag{};                                           // of the last line
  std::map<std::string, std::vector<RankedDocument>> queries;  // best first
  std::vector<std::string> notes{};                            // sentences with the file's name

  /// Errors: no line; a number of columns other than six (the message reports a truncated file); a
  /// score that is not a number or exceeds float32; a document that occurs twice for a query.
  /// Notes: lines that are not sorted by score, queries whose lines are not contiguous, a last line
  /// without a newline. A run with three columns, QID DOCID and a rank or a score, is accepted too:
  /// ranks are recognised by being 1, 2, 3, ... for every query; otherwise it is an error unless
  /// `third` states which they are.
  [[nodiscard]] static Result<TrecRun> read(const std::filesystem::path& file,
                                            ThirdColumn third = ThirdColumn::unknown);
};

struct Qrels {
  using Judgements = std::unordered_map<std::string, std::int64_t>;  // document -> relevance
  std::filesystem::path file{};
  std::map<std::string, Judgements> queries;
  std::vector<std::string> notes{};

  /// Errors as for a run: a number of columns other than four (or three below their names), a
  /// relevance that is not a 64-bit integer, a document judged twice for a query. With three
  /// columns the last judgement of a document is used, as in BEIR, with a note.
  [[nodiscard]] static Result<Qrels> read(const std::filesystem::path& file);
};

/// Mismatches between run and judgements, one sentence each: queries that only one of them has, a
/// run without any judged document.
[[nodiscard]] std::vector<std::string> mismatches(const TrecRun& run, const Qrels& qrels);

// A run's metadata header in the format of ir_metadata (https://www.ir-metadata.org, schema 0.1):
// YAML in comment lines, with the six parts of the PRIMAD model - platform, research goal,
// implementation, method, actor, data - and the resources used, under `resources`.
//
//   nlohmann::ordered_json metadata = {{"tag", "mine"}, {"platform", {...}}, ...};
//   file.write(metadata_head(metadata));   // "# ir_metadata.start\n# tag: \"mine\"\n..."

/// Comment lines in the order of the object's members. Texts are quoted, so that none is parsed as
/// a number or a date; empty values are {} or [].
[[nodiscard]] std::string metadata_head(const nlohmann::ordered_json& metadata);

/// Reads metadata supplied by the user, in those six parts: {"actor": {"name": "..."}}, as JSON.
/// Errors name the file and the field: an unknown part, or a part that is not an object.
[[nodiscard]] Result<nlohmann::ordered_json> read_own_metadata(const std::filesystem::path& file);

}  // namespace attnscope::effectiveness
