// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/encode_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/sentences.h"
#include "engine/worker/ask.h"

namespace attnscope {

Result<DocumentReader> DocumentReader::open(const DocumentFile& file, const ScoringModel& model) {
  std::optional<PairFormat> format;
  if (!file.format.empty()) {
    const auto parsed = parse_pair_format(file.format);
    if (!parsed) return tl::unexpected(parsed.error());
    format = *parsed;
  }
  auto reader = PairReader::open(file.name, format, PairParts::document);
  if (!reader) return tl::unexpected(reader.error());
  return DocumentReader(std::move(*reader), model);
}

Result<std::optional<EncodedText>> DocumentReader::next() {
  auto read = reader_.next();
  if (!read) return tl::unexpected(read.error());
  if (!*read) return std::optional<EncodedText>();
  TextPair& text = **read;
  auto tokens =
      model_->tokenizer->encode_document(text.document, model_->limits.most_document_tokens);
  if (!tokens) return fail("{}: {}", reader_.place(text.line), tokens.error().message);
  if (Status has_score = model_->check_document(tokens->document); !has_score)
    return fail("{}: {}", reader_.place(text.line), has_score.error().message);
  cut_.add_document(tokens->document_cut);
  EncodedText document{
      .id = std::move(text.document_id), .tokens = std::move(tokens->document), .line = text.line};
  fingerprint_.text(document.id);
  fingerprint_.integer(static_cast<std::int64_t>(document.tokens.size()));
  for (const std::int32_t token : document.tokens) fingerprint_.integer(token);
  return std::optional(std::move(document));
}

Result<std::optional<CountedDocuments>> count_documents(
    const DocumentFile& file, const ScoringModel& model, const std::atomic<int>& interrupted,
    const std::function<void(std::int64_t, std::optional<double>)>& on_progress) {
  constexpr std::int64_t between_shows = 4096;
  auto reader = DocumentReader::open(file, model);
  if (!reader) return tl::unexpected(reader.error());
  CountedDocuments counted;
  while (true) {
    if (interrupted > 0) return std::optional<CountedDocuments>();
    const auto text = reader->next();
    if (!text) return tl::unexpected(text.error());
    if (!*text) break;
    const auto length = static_cast<std::int64_t>((*text)->tokens.size());
    ++counted.documents;
    ++counted.of_length[length];
    counted.tokens += length;
    counted.id_bytes += static_cast<std::int64_t>((*text)->id.size());
    counted.id_hashes.push_back(std::hash<std::string_view>{}((*text)->id));
    if (on_progress && counted.documents % between_shows == 0)
      on_progress(counted.documents, reader->progress());
  }
  counted.notes = reader->notes();
  counted.cut_in_words = reader->cut_in_words();
  counted.fingerprint = reader->fingerprint();
  return std::optional(std::move(counted));
}

namespace {

/// An error with the lines of two documents that have the same id and this hash, if there are any.
Status report_duplicates(DocumentReader& reader, std::size_t hash) {
  std::map<std::string, std::int64_t> lines;
  while (true) {
    auto text = reader.next();
    if (!text) return tl::unexpected(text.error());
    if (!*text) return {};
    if (std::hash<std::string_view>{}((*text)->id) != hash) continue;
    const auto [first, is_new] = lines.emplace((*text)->id, (*text)->line);
    if (is_new) continue;
    return fail("{}: the id '{}' is also that of line {}; give each document its own id",
                reader.place((*text)->line), in_a_sentence((*text)->id), first->second);
  }
}

}  // namespace

Status check_ids(std::vector<std::size_t> hashes, const DocumentFile& file,
                 const ScoringModel& model) {
  std::ranges::sort(hashes);
  for (auto twin = std::ranges::adjacent_find(hashes); twin != hashes.end();
       twin = std::adjacent_find(twin + 1, hashes.end())) {
    auto again = DocumentReader::open(file, model);
    if (!again) return tl::unexpected(again.error());
    if (Status named = report_duplicates(*again, *twin); !named) return named;
  }
  return {};
}

Result<protocol::CacheBegun> begin_cache(WorkerProcess& worker, const CacheToWrite& cache,
                                         const DocumentFile& file, const ScoringModel& model,
                                         const CountedDocuments& counted) {
  return ask(worker, protocol::BeginCacheRequest{
                         .out = std::filesystem::absolute(cache.out).string(),
                         .format = cache.format,
                         .documents = counted.documents,
                         .lengths = {counted.of_length.begin(), counted.of_length.end()},
                         .id_bytes = counted.id_bytes,
                         .file = std::filesystem::path(file.name).filename().string(),
                         .most_tokens = model.limits.most_tokens,
                         .fingerprint = counted.fingerprint,
                         .tokenizer = static_cast<std::int64_t>(model.tokenizer->fingerprint()),
                         .restart = cache.restart});
}

Status EncodeRun::run() {
  for (std::int64_t i = 0; i < encoded_ && interrupted_ == 0; ++i) {
    const auto passed = reader_.next();
    if (!passed) return tl::unexpected(passed.error());
    if (!*passed) break;
  }
  if (encoded_ > 0 && interrupted_ == 0 && reader_.fingerprint() != begun_.fingerprint) {
    return fail(
        "the {} documents encoded so far differ from the file's current ones; restart with "
        "--restart",
        encoded_);
  }
  auto batch = read_batch();
  while (batch && !batch->documents.empty() && interrupted_ == 0) {
    const auto start = std::chrono::steady_clock::now();
    if (Status sent = send_request(worker_, *batch); !sent) return sent;
    batch = read_batch();  // while the worker encodes
    const auto answer = receive_answer<protocol::AddDocumentsRequest>(worker_, interrupted_);
    if (!answer) return tl::unexpected(answer.error());
    if (!*answer) break;
    adapt(std::chrono::steady_clock::now() - start);
    encoded_ = (*answer)->encoded;
    if (on_progress_) on_progress_(encoded_);
  }
  return batch ? Status() : tl::unexpected(batch.error());
}

void EncodeRun::adapt(std::chrono::duration<double> of_a_batch) {
  constexpr std::int64_t fewest = 1024, most = 16'384;
  constexpr double short_seconds = 1, long_seconds = 3;
  if (of_a_batch.count() < short_seconds) batch_tokens_ = std::min(2 * batch_tokens_, most);
  if (of_a_batch.count() > long_seconds) batch_tokens_ = std::max(batch_tokens_ / 2, fewest);
}

Result<protocol::AddDocumentsRequest> EncodeRun::read_batch() {
  constexpr std::size_t most_documents = 4096;
  protocol::AddDocumentsRequest batch{.cls = model_.tokenizer->cls()};
  std::int64_t tokens = 0;
  while (tokens < batch_tokens_ && batch.ids.size() < most_documents && interrupted_ == 0) {
    auto text = reader_.next();
    if (!text) return tl::unexpected(text.error());
    if (!*text) break;
    tokens += static_cast<std::int64_t>((*text)->tokens.size());
    batch.documents.push_back(std::move((*text)->tokens));
    batch.ids.push_back(std::move((*text)->id));
  }
  batch.fingerprint = reader_.fingerprint();
  return batch;
}

}  // namespace attnscope
