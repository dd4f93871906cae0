#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Writes a document cache that is larger than memory, in batches of documents. Until it is
// complete, it is NAME.part next to its final name and records how many documents it has: after a
// crash or a kill at any moment, a writer with the same contents continues with the next document.
//
//   auto writer = DocumentCacheWriter::begin("docs.cache", contents);
//   while (writer->encoded() < contents.documents) {
//     auto encoded = model->encode_documents(documents, cls);   // from number encoded() on
//     Status kept = writer->append(*encoded, ids, fingerprint);  // of all up to these
//   }
//   Status done = writer->finish();

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "engine/documents/document_cache.h"

namespace attnscope {

/// Marks that a command is encoding documents, visible to other processes, until the object or the
/// process ends.
class CacheClaim {
 public:
  /// An error names the process that is encoding into the target's .part.
  [[nodiscard]] static Status is_free(const std::filesystem::path& target);
  /// Claims an existing .part. Closing any descriptor of the file in this process releases the
  /// claim.
  [[nodiscard]] static Result<CacheClaim> take(const std::filesystem::path& target);
  CacheClaim(CacheClaim&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  CacheClaim& operator=(CacheClaim&&) = delete;
  CacheClaim(const CacheClaim&) = delete;
  CacheClaim& operator=(const CacheClaim&) = delete;
  ~CacheClaim();

 private:
  explicit CacheClaim(int number) : number_(number) {}
  int number_ = -1;
};

struct CacheBeginning {
  bool restart = false;  // replaces an existing cache or an unfinished one
  /// How long to wait for another writer of the file: a killed command leaves a worker that holds
  /// the file for a moment.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
};

class DocumentCacheWriter {
 public:
  /// Allocates all disk space of the file at once if the file system supports it. Errors: a target
  /// that cannot be written, no space, another writer, a file that is not a cache; without
  /// `restart`, an existing target, and an unfinished cache with other contents or damage. An
  /// existing target with exactly these contents counts as finished.
  [[nodiscard]] static Result<DocumentCacheWriter> begin(const std::filesystem::path& target,
                                                         CacheContents contents,
                                                         const CacheBeginning& how = {});
  DocumentCacheWriter(DocumentCacheWriter&& other) noexcept;
  DocumentCacheWriter& operator=(DocumentCacheWriter&&) = delete;
  DocumentCacheWriter(const DocumentCacheWriter&) = delete;
  DocumentCacheWriter& operator=(const DocumentCacheWriter&) = delete;
  /// An unfinished cache stays on disk, to be continued.
  ~DocumentCacheWriter();

  [[nodiscard]] const CacheContents& contents() const { return contents_; }
  /// Documents that are in the file, even if this process ends abnormally.
  [[nodiscard]] std::int64_t encoded() const { return state_.encoded; }
  /// The fingerprint of these documents, as passed to append().
  [[nodiscard]] std::uint64_t fingerprint() const { return state_.documents; }
  [[nodiscard]] bool is_finished() const { return is_finished_; }
  [[nodiscard]] std::int64_t file_bytes() const { return parts_.end; }
  /// The error so far, for a format smaller than the model's.
  [[nodiscard]] std::optional<CacheRowError> error() const;

  /// Appends the next documents, in the format they were computed in, with their ids and the
  /// fingerprint (CacheSource) of all documents up to the last of them. Errors: documents of
  /// another model, more documents or rows than the contents have, a full disk; then none of them
  /// counts as encoded.
  [[nodiscard]] Status append(const DocumentCache& encoded, std::span<const std::string> ids,
                              std::uint64_t fingerprint);
  /// Waits until all data are on disk, and renames the file to its final name. An error if
  /// documents are missing or differ from those that were counted.
  [[nodiscard]] Status finish();

 private:
  DocumentCacheWriter(std::filesystem::path target, CacheContents contents);
  [[nodiscard]] Status check_target();
  [[nodiscard]] Result<bool> open_locked(std::chrono::milliseconds patience);
  [[nodiscard]] Status start_new();
  [[nodiscard]] Status continue_part();
  [[nodiscard]] Status rename_part();
  [[nodiscard]] Status write_at(std::int64_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] Status write_documents(const DocumentCache& kept, std::span<const std::string> ids,
                                       std::int64_t rows, std::int64_t id_bytes);
  [[nodiscard]] tl::unexpected<Error> not_written(int error) const;

  std::filesystem::path target_, part_;
  CacheContents contents_;
  cache_file::Parts parts_;
  cache_file::State state_;
  std::int64_t rows_ = 0, id_bytes_ = 0;  // of the encoded documents
  int number_ = -1;
  bool restarts_ = false, is_finished_ = false;
};

}  // namespace attnscope
