#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A data set in BEIR's layout: a folder with corpus.jsonl (_id, title, text), queries.jsonl (_id,
// text) and judgements of one or more splits, qrels/test.tsv; each file may be compressed,
// "corpus.jsonl.gz".
//
//   Result<BeirFolder> folder = BeirFolder::open("scifact");
//   Result<std::filesystem::path> qrels = folder->qrels("test");

#include <filesystem>
#include <string>

#include "base/result.h"

namespace attnscope {

struct BeirFolder {
  std::filesystem::path folder, corpus, queries;

  /// Errors: no folder, no corpus, no queries.
  [[nodiscard]] static Result<BeirFolder> open(const std::filesystem::path& folder);
  /// The error names the available splits.
  [[nodiscard]] Result<std::filesystem::path> qrels(const std::string& split) const;
};

}  // namespace attnscope
