#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Texts found by their ids in a file of any size: MS MARCO's and BEIR's collections and queries, as
// TSV, JSONL or a JSON array (pair_reader.h says of which records). Where each record begins stands
// in an index of 16 bytes a text, sorted by the ids' hashes and mapped, so that memory does not
// grow with the file:
//
//   Result<TextCollection> documents = TextCollection::open("collection.tsv", PairParts::document);
//   Result<std::optional<std::string>> text = documents->find("7067032");
//
// The index of a large file is kept in $XDG_CACHE_HOME/attnscope (or ~/.cache/attnscope) and taken
// again as long as it is whole and the file has the same size and time; without such a folder it is
// made each time. Before an id is missing by a kept index, the index is made anew: a file may have
// other contents at the same size and time.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/text/pair_reader.h"
#include "engine/text/text_file.h"
#include "kernels/base/result.h"

namespace attnscope {

class TextCollection {
 public:
  /// A smaller file's index is not kept.
  static constexpr std::int64_t least_kept = 32 << 20;  // bytes of the file

  /// Of queries or of documents. `on_progress` hears how much of the file is read while an index is
  /// made, here or by find, from 0 to 1, and ends the making by false; it hears 1 at the end of one
  /// that find makes. Errors: a file that is no regular one, lines that are no texts, an id that
  /// stands in two lines.
  [[nodiscard]] static Result<TextCollection> open(
      const std::filesystem::path& file, PairParts parts,
      const std::function<bool(double)>& on_progress = {}, std::int64_t kept_from = least_kept);

  /// Nothing where no line has this id. Errors name the file: it was changed meanwhile.
  [[nodiscard]] Result<std::optional<std::string>> find(std::string_view id);
  [[nodiscard]] bool contains(std::string_view id);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(count_); }
  [[nodiscard]] const std::string& name() const { return file_.name(); }
  [[nodiscard]] std::string notes() const { return file_.notes(); }
  /// Whether the index was there already.
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
  /// Of the index, which may have been damaged on its disk.
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
  // For an index that is made anew.
  std::filesystem::path source_, index_;
  std::function<bool(double)> on_progress_;
  std::int64_t kept_from_ = least_kept;
};

}  // namespace attnscope
