#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Encodes the documents of a file into a document cache with a worker. The file is read twice: the
// size of the cache is known before the first document is encoded.
//
//   auto counted = count_documents(file, model, interrupted, {});
//   auto begun = begin_cache(worker, cache, file, model, **counted);
//   EncodeRun run(model, worker, *reader, *begun, interrupted);

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fingerprint.h"
#include "base/result.h"
#include "engine/ranking/passages.h"
#include "engine/ranking/scoring_model.h"
#include "engine/text/pair_reader.h"
#include "engine/worker/model_messages.h"
#include "engine/worker/worker_process.h"

namespace attnscope {

/// A tokenized document.
struct EncodedText {
  std::string id;
  std::vector<std::int32_t> tokens;
  std::int64_t line = 0;
};

struct DocumentFile {
  std::string name, format;  // as parse_pair_format reads it; empty: by name or first line
};

/// Reads the documents of a file from its beginning.
class DocumentReader {
 public:
  /// `model` must outlive the object.
  [[nodiscard]] static Result<DocumentReader> open(const DocumentFile& file,
                                                   const ScoringModel& model);

  /// The next document, or nothing at the end.
  [[nodiscard]] Result<std::optional<EncodedText>> next();
  /// Fingerprint of the ids and tokens of all documents read.
  [[nodiscard]] std::int64_t fingerprint() const { return fingerprint_.value(); }
  [[nodiscard]] std::string place(std::int64_t line) const { return reader_.place(line); }
  [[nodiscard]] std::string notes() const { return reader_.notes(); }
  [[nodiscard]] std::string cut_in_words() const { return cut_.in_words(model_->limits); }
  [[nodiscard]] std::optional<double> progress() const { return reader_.progress(); }

 private:
  DocumentReader(PairReader reader, const ScoringModel& model)
      : reader_(std::move(reader)), model_(&model) {}
  PairReader reader_;
  const ScoringModel* model_;
  Fingerprint fingerprint_;
  TruncatedTexts cut_;
};

/// Properties of all documents, collected before the first is encoded: they give the size of the
/// cache and identify its documents.
struct CountedDocuments {
  std::map<std::int64_t, std::int64_t> of_length;  // tokens -> documents
  std::int64_t documents = 0, tokens = 0, id_bytes = 0;
  std::int64_t fingerprint = 0;        // of all ids and tokens
  std::vector<std::size_t> id_hashes;  // for check_ids
  std::string notes, cut_in_words;     // on the file, on documents that were cut
};

/// Nothing if `interrupted` rises above 0. `on_progress` takes the number of documents so far and,
/// if known, the share of the file, from 0 to 1.
[[nodiscard]] Result<std::optional<CountedDocuments>> count_documents(
    const DocumentFile& file, const ScoringModel& model, const std::atomic<int>& interrupted,
    const std::function<void(std::int64_t documents, std::optional<double> share)>& on_progress);

/// Checks by their hashes that all ids are different; the error names the lines of two that are
/// not.
[[nodiscard]] Status check_ids(std::vector<std::size_t> hashes, const DocumentFile& file,
                               const ScoringModel& model);

struct CacheToWrite {
  std::string out, format;  // of its vectors
  bool restart = false;     // encodes again what it has
};
/// Has the worker, which has the model, begin the cache or continue it; returns its existing
/// contents.
[[nodiscard]] Result<protocol::CacheBegun> begin_cache(WorkerProcess& worker,
                                                       const CacheToWrite& cache,
                                                       const DocumentFile& file,
                                                       const ScoringModel& model,
                                                       const CountedDocuments& counted);

/// Has the worker encode the documents that are not in the cache yet, in batches; memory does not
/// grow with the number of documents.
class EncodeRun {
 public:
  /// The arguments must outlive the object. `on_progress` takes the number of encoded documents.
  EncodeRun(const ScoringModel& model, WorkerProcess& worker, DocumentReader& reader,
            const protocol::CacheBegun& begun, const std::atomic<int>& interrupted,
            std::function<void(std::int64_t)> on_progress)
      : model_(model),
        worker_(worker),
        reader_(reader),
        begun_(begun),
        interrupted_(interrupted),
        on_progress_(std::move(on_progress)),
        encoded_(begun.encoded) {}

  /// Runs until the last document, an error or an interrupt.
  [[nodiscard]] Status run();
  [[nodiscard]] std::int64_t encoded() const { return encoded_; }

 private:
  /// Adapts the batch size so that a batch takes one to three seconds: an interrupt loses one
  /// batch.
  void adapt(std::chrono::duration<double> of_a_batch);
  /// The next documents; none at the end.
  [[nodiscard]] Result<protocol::AddDocumentsRequest> read_batch();

  const ScoringModel& model_;
  WorkerProcess& worker_;
  DocumentReader& reader_;
  protocol::CacheBegun begun_;
  const std::atomic<int>& interrupted_;
  std::function<void(std::int64_t)> on_progress_;
  std::int64_t encoded_;
  std::int64_t batch_tokens_ = 2048;
};

}  // namespace attnscope
