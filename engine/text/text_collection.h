#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Finds texts by their ids in a file of any size: MS MARCO's and BEIR's collections and queries, as
// TSV, JSONL or a JSON array (pair_reader.h describes the records). An index of 16 bytes per text
// stores where each record begins; it is sorted by the ids' hashes and memory-mapped, so that
// memory does not grow with the file:
//
//   Result<TextCollection> documents = TextCollection::open("collection.tsv", PairParts::document);
//   Result<std::optional<std::string>> text = documents->find("7067032");
//
// The index of a large file is kept in $XDG_CACHE_HOME/attnscope (or ~/.cache/attnscope) and reused
// while it is intact and the file has the same size and modification time; without such a folder it
// is rebuilt each time. If an id is not found with a kept index, the index is rebuilt first: the
// file may have different contents at the same size and time.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/text/pair_reader.h"
#include "engine/text/text_file.h"

namespace attnscope {

/// A data set in BEIR's layout: a folder with corpus.jsonl (_id, title, text), queries.jsonl (_id,
/// text) and judgements of one or more splits, qrels/test.tsv; each file may be compressed,
/// "corpus.jsonl.gz".
///
///   Result<BeirFolder> folder = BeirFolder::open("scifact");
///   Result<std::filesystem::path> qrels = folder->qrels("test");
struct BeirFolder {
  std::filesystem::path folder, corpus, queries;

  /// Errors: no folder, no corpus, no queries.
  [[nodiscard]] static Result<BeirFolder> open(const std::filesystem::path& folder);
  /// The error names the available splits.
  [[nodiscard]] Result<std::filesystem::path> qrels(const std::string& split) const;
};

class TextCollection {
 public:
  /// The index of a smaller file is not kept.
  static constexpr std::int64_t least_kept = 32 << 20;  // bytes of the file

  /// Opens queries or documents. `on_progress` receives the fraction of the file that was read,
  /// from 0 to 1, while an index is built, here or in find, and cancels the build by returning
  /// false; it receives 1 at the end of a build in find. Errors: not a regular file, lines that are
  /// not texts, an id that occurs in two lines.
  [[nodiscard]] static Result<TextCollection> open(
      const std::filesystem::path& file, PairParts parts,
      const std::function<bool(double)>& on_progress = {}, std::int64_t kept_from = least_kept);

  /// Nothing if no line has this id. Errors name the file: it was changed since it was opened.
  [[nodiscard]] Result<std::optional<std::string>> find(std::string_view id);
  [[nodiscard]] bool contains(std::string_view id);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(count_); }
  [[nodiscard]] const std::string& name() const { return file_.name(); }
  [[nodiscard]] std::string notes() const { return file_.notes(); }
  /// Whether a kept index was used.
  [[nodiscard]] bool was_kept() const { return was_kept_; }

  TextCollection(TextCollection&& other) noexcept;
  TextCollection& operator=(TextCollection&&) = delete;
  TextCollection(const TextCollection&) = delete;
  TextCollection& operator=(const TextCollection&) = delete;
  ~TextCollection();

 private:
  struct Entry {
    std::uint64_t hash;  // of the id
    std::int64_t begin;  // of its line
  };
  struct Header;

  TextCollection(TextFile file, PairParts parts);
  [[nodiscard]] bool map(int descriptor, std::size_t skipped, std::size_t count, bool writable);
  [[nodiscard]] bool map_kept(const std::filesystem::path& index, const Header& header);
  [[nodiscard]] Status build(const std::filesystem::path& folder,
                             const std::function<bool(double)>& on_progress);
  [[nodiscard]] Status check_ids();
  /// Fingerprint of the index, which may have been damaged on disk.
  [[nodiscard]] std::uint64_t fingerprint_of_entries() const;
  void keep(const std::filesystem::path& index, const Header& header) const;
  [[nodiscard]] Result<std::optional<std::string>> find_noted(std::string_view id);
  [[nodiscard]] Status make_anew();
  [[nodiscard]] Result<TextPair> text_at(std::int64_t begin);
  [[nodiscard]] Result<std::int64_t> line_of(std::int64_t begin);

  TextFile file_;
  PairParts parts_;
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  const Entry* entries_ = nullptr;
  std::size_t count_ = 0;
  bool was_kept_ = false;
  // For rebuilding the index.
  std::filesystem::path source_, index_;
  std::function<bool(double)> on_progress_;
  std::int64_t kept_from_ = least_kept;
};

}  // namespace attnscope
