#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Writes a document cache that is larger than memory, some documents at a time. Until it is whole
// it lies beside its name as NAME.part, which says how many documents are there: after a crash or a
// kill at any moment, whoever begins the same again goes on with the next one.
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

#include "engine/documents/cache_file.h"
#include "engine/documents/document_cache.h"
#include "kernels/base/result.h"

namespace attnscope {

/// A command that has documents encoded, for others to see: until the object or the process ends.
class CacheClaim {
 public:
  /// An error names the process that encodes into the target's .part.
  [[nodiscard]] static Status is_free(const std::filesystem::path& target);
  /// Of a .part that is there. Whoever has it open and closes it gives the claim up.
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
  bool restart = false;  // in place of a cache by the name, or of what is left of one
  /// For somebody else who writes the file: a command that was killed leaves a worker behind for a
  /// moment, which still holds it.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
};

class DocumentCacheWriter {
 public:
  /// All room that the file needs is taken at once, where the file system can. Errors: a target
  /// that may not be written, no room, somebody else who writes it, a file that is no cache;
  /// without `restart` a target that is there and what is left of other contents or is damaged. A
  /// target that is there and holds just these contents is finished.
  [[nodiscard]] static Result<DocumentCacheWriter> begin(const std::filesystem::path& target,
                                                         CacheContents contents,
                                                         const CacheBeginning& how = {});
  DocumentCacheWriter(DocumentCacheWriter&& other) noexcept;
  DocumentCacheWriter& operator=(DocumentCacheWriter&&) = delete;
  DocumentCacheWriter(const DocumentCacheWriter&) = delete;
  DocumentCacheWriter& operator=(const DocumentCacheWriter&) = delete;
  /// What is not finished stays, to be gone on with.
  ~DocumentCacheWriter();

  [[nodiscard]] const CacheContents& contents() const { return contents_; }
  /// Documents that are in the file, whatever happens to this process.
  [[nodiscard]] std::int64_t encoded() const { return state_.encoded; }
  /// The fingerprint of these documents, as append() was told it.
  [[nodiscard]] std::uint64_t fingerprint() const { return state_.documents; }
  [[nodiscard]] bool is_finished() const { return is_finished_; }
  [[nodiscard]] std::int64_t file_bytes() const { return parts_.end; }
  /// So far, of a smaller format than the model's.
  [[nodiscard]] std::optional<CacheRowError> error() const;

  /// The next documents, in the format they were computed in, with the id of each and the
  /// fingerprint (CacheSource) of all documents up to the last of them. Errors: those of somebody
  /// else, more of them or more rows than the contents have, a disk that is full after all. Nothing
  /// of them counts as encoded then.
  [[nodiscard]] Status append(const DocumentCache& encoded, std::span<const std::string> ids,
                              std::uint64_t fingerprint);
  /// Waits until the disk has everything, and gives the file its name. An error while documents are
  /// missing, or when they are others than those that were counted.
  [[nodiscard]] Status finish();

 private:
  DocumentCacheWriter(std::filesystem::path target, CacheContents contents);
  [[nodiscard]] Status look_at_target();
  [[nodiscard]] Result<bool> open_locked(std::chrono::milliseconds patience);
  [[nodiscard]] Status begin_anew();
  [[nodiscard]] Status go_on();
  [[nodiscard]] Status give_name();
  [[nodiscard]] Status write_at(std::int64_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] Status write_documents(const DocumentCache& kept, std::span<const std::string> ids,
                                       std::int64_t rows, std::int64_t id_bytes);
  [[nodiscard]] tl::unexpected<Error> not_written(int error) const;

  std::filesystem::path target_, part_;
  CacheContents contents_;
  cache_file::Parts parts_;
  cache_file::State state_;
  std::int64_t rows_ = 0, id_bytes_ = 0;  // of what is encoded
  int number_ = -1;
  bool restarts_ = false, is_finished_ = false;
};

}  // namespace attnscope
