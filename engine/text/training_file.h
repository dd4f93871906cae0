#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Training data of a re-ranker: a query, a relevant document and other documents, one group per
// line.
//
//   triples.tsv    QUERY <tab> POSITIVE <tab> NEGATIVE, for a teacher's margin with MARGIN or
//                  POSITIVE'S SCORE <tab> NEGATIVE'S SCORE after them; or with further negatives
//   triples.jsonl  {"query": "...", "positive": "...", "negative": "...", "margin": 3.5}, or
//                  "negatives": [...] and "scores": [of the positive, of the negative]
//
// or a JSON array of such objects. A first line of TSV may name the columns (text_file.h). In JSON
// a document may be an object with a title and a text.
//
// The texts may be ids of texts in other files; the caller knows which.
//
//   Result<TrainingFile> file = TrainingFile::open("triples.tsv", {.with_margin = true});
//   Result<TrainingLine> line = file->line(drawn_order(file->size(), seed, 0)[0]);

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/text/text_file.h"

namespace attnscope {

struct TrainingLine {
  std::string query;
  std::vector<std::string> documents;  // the relevant one first
  double margin = 0;                   // the teacher's, if requested
  std::int64_t number = 0;             // from 1, without a header line
};

/// Options for reading a line.
struct TrainingForm {
  /// Requires a teacher's margin; otherwise that column is ignored.
  bool with_margin = false;
  /// Each further column is also a negative.
  bool many_negatives = false;
};

/// Parses one line without its end. The error message names the problem, without file and line
/// number.
[[nodiscard]] Result<TrainingLine> parse_training_line(std::string_view line, PairFormat format,
                                                       const TrainingForm& form,
                                                       const TextColumns& columns = {});

class TrainingFile {
 public:
  /// Reads the whole file once and keeps 8 bytes per line: where it begins. Errors name the line:
  /// one that is not a group, is empty, or is not valid UTF-8; a file without lines, a pipe.
  /// `on_progress` receives the fraction that was read, from 0 to 1, and cancels by returning
  /// false.
  [[nodiscard]] static Result<TrainingFile> open(
      const std::filesystem::path& file, const TrainingForm& form,
      const std::function<bool(double)>& on_progress = {});

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(begins_.size()); }
  /// Errors: the file was changed since it was opened.
  [[nodiscard]] Result<TrainingLine> line(std::int64_t index);
  /// "triples.tsv, line 7"
  [[nodiscard]] std::string place(std::int64_t number) const {
    return file_.place(number + (file_.names_columns() ? 1 : 0));
  }
  [[nodiscard]] std::string notes() const { return file_.notes(); }

 private:
  TrainingFile(TextFile file, const TrainingForm& form) : file_(std::move(file)), form_(form) {}

  TextFile file_;
  TrainingForm form_;
  std::vector<std::int64_t> begins_;  // in the file, of each line
};

/// A permutation of 0 ... count - 1 that depends only on the seed and the epoch, equal on every
/// machine. Precondition: count below 2^32.
[[nodiscard]] std::vector<std::uint32_t> drawn_order(std::int64_t count, std::uint64_t seed,
                                                     std::int64_t epoch);

}  // namespace attnscope
