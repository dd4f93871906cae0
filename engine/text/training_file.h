#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What a re-ranker is trained with: a query, a relevant document and others, one group a line.
//
//   triples.tsv    QUERY <tab> POSITIVE <tab> NEGATIVE, for a teacher's margin with MARGIN or
//                  POSITIVE'S SCORE <tab> NEGATIVE'S SCORE behind; or with further negatives
//   triples.jsonl  {"query": "...", "positive": "...", "negative": "...", "margin": 3.5}, or
//                  "negatives": [...] and "scores": [of the positive, of the negative]
//
// or a JSON array of such objects. A first line of TSV may name the columns (text_file.h). In JSON
// a document may be an object with a title and a text.
//
// The texts may be ids of texts in other files; what they are is the caller's to know.
//
//   Result<TrainingFile> file = TrainingFile::open("triples.tsv", {.with_margin = true});
//   Result<TrainingLine> line = file->line(drawn_order(file->size(), seed, 0)[0]);

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/text/text_file.h"
#include "kernels/base/result.h"

namespace attnscope {

struct TrainingLine {
  std::string query;
  std::vector<std::string> documents;  // the relevant one first
  double margin = 0;                   // the teacher's, where it is asked for
  std::int64_t number = 0;             // from 1, without a line of columns' names
};

/// What of a line is read.
struct TrainingForm {
  /// A teacher's margin is needed; without it what stands there is not read.
  bool with_margin = false;
  /// Each further column is a negative, too.
  bool many_negatives = false;
};

/// One line without its end. The message is what it is wrong with, without file and number.
[[nodiscard]] Result<TrainingLine> parse_training_line(std::string_view line, PairFormat format,
                                                       const TrainingForm& form,
                                                       const TextColumns& columns = {});

class TrainingFile {
 public:
  /// Reads all of it once, and keeps 8 bytes a line: where it begins. Errors name
  /// the line: one that is no group, is empty, or that is no UTF-8; a file without lines, a pipe.
  /// `on_progress` hears how much is read, from 0 to 1, and ends the reading by false.
  [[nodiscard]] static Result<TrainingFile> open(
      const std::filesystem::path& file, const TrainingForm& form,
      const std::function<bool(double)>& on_progress = {});

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(begins_.size()); }
  /// Errors: the file was changed meanwhile.
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

/// Each of 0 ... count - 1 once, in an order that is the seed's and the epoch's alone, on every
/// machine. Precondition: count below 2^32.
[[nodiscard]] std::vector<std::uint32_t> drawn_order(std::int64_t count, std::uint64_t seed,
                                                     std::int64_t epoch);

}  // namespace attnscope
