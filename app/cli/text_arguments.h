#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Options for texts, and functions that open them: files of pairs, collections, data sets.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/result.h"
#include "engine/effectiveness/trec_files.h"
#include "engine/ranking/scored_pairs.h"
#include "engine/text/pair_reader.h"
#include "engine/text/text_collection.h"

namespace attnscope::cli {

/// Adds --pairs, a required file of texts.
CLI::Option* add_pairs_option(CLI::App& command, std::string& file);

/// Passes the pairs of a file to `take` until it returns false or an error. A file without pairs is
/// an error.
[[nodiscard]] Status read_pairs(
    const std::string& file,
    const std::function<Result<bool>(const PairReader& reader, TextPair pair)>& take);

/// Indexes the texts of a file, with progress on a terminal; an interrupt cancels it.
[[nodiscard]] Result<TextCollection> open_texts(const std::string& file, PairParts parts);
/// Indexes both files.
[[nodiscard]] Result<RerankedTexts> open_texts(const std::string& queries,
                                               const std::string& documents);

/// Adds --run-columns.
void add_run_columns_option(CLI::App& command, effectiveness::ThirdColumn& third);

/// A data set that is selected by its folder.
struct BeirArguments {
  std::string folder, split = "test";

  [[nodiscard]] bool is_given() const { return !folder.empty(); }
};
/// Adds --beir, and --split if the command reads judgements.
void add_beir_options(CLI::App& command, BeirArguments& arguments, const std::string& what,
                      bool with_split = true);

struct BeirFiles {
  std::string queries, documents, qrels;
};
/// The files of the data set, with the judgements of its split if the command reads them.
[[nodiscard]] Result<BeirFiles> open_beir(const BeirArguments& arguments, bool with_qrels = true);
/// Sets the values of --queries and --documents, which must be empty, to the files of the data set;
/// returns the file of its judgements, or "" without `with_qrels`.
[[nodiscard]] Result<std::string> take_beir(const BeirArguments& arguments, std::string& queries,
                                            std::string& documents, bool with_qrels);

}  // namespace attnscope::cli
