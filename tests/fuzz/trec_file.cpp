// SPDX-License-Identifier: Apache-2.0
//
// Runs and judgements in TREC's formats: an accepted run is ranked and has every document once, and
// every measure is in its range.
#include <algorithm>
#include <set>

#include "engine/effectiveness/measures.h"
#include "engine/effectiveness/trec_files.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope::effectiveness {
namespace {

using fuzz::expect;

void expect_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fuzz::expect_sentence(note);
}

void check(const TrecRun& run) {
  expect(!run.queries.empty(), "an accepted run has a query");
  for (const auto& [query, documents] : run.queries) {
    expect(std::ranges::is_sorted(documents, ranks_before), "documents are ranked", query);
    std::set<std::string> ids;
    for (const RankedDocument& document : documents)
      expect(ids.insert(document.id).second, "a document is there once", query);
  }
  expect_notes(run.notes);
}

void check(const Qrels& qrels) {
  for (const auto& [query, judgements] : qrels.queries)
    expect(!judgements.empty(), "a judged query has a document", query);
  expect_notes(qrels.notes);
}

void check(const TrecRun& run, const Qrels& qrels) {
  expect_notes(mismatches(run, qrels));
  const auto measures =
      parse_measures("nDCG@10,nDCG(dcg='exp-log2'),RR,AP,AP@3,P@5,R@100,Judged@10").value();
  for (const bool judged_only : {false, true}) {
    const Evaluation evaluation =
        evaluate(run, qrels, measures, {.complete = true, .judged_only = judged_only});
    for (const auto& [query, values] : evaluation.queries) {
      for (const double value : values)
        expect(value >= 0 && value <= 1 + 1e-12, "a value is from 0 to 1", query);
    }
  }
}

template <typename Kind>
Result<Kind> read(std::string_view text) {
  const fuzz::MemoryFile file(text);
  auto kind = Kind::read(file.path());
  if (fuzz::accepted(kind)) check(*kind);
  return kind;
}

}  // namespace
}  // namespace attnscope::effectiveness

/// A run and its judgements, separated by a line of '%'.
void attnscope::fuzz::run(std::string_view input) {
  using namespace attnscope::effectiveness;
  const std::size_t part = input.find("%\n");
  const auto run = read<TrecRun>(input.substr(0, part));
  const auto qrels = read<Qrels>(part == std::string_view::npos ? input : input.substr(part + 2));
  if (run && qrels) check(*run, *qrels);
}
