// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/opened_cache.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "engine/documents/document_cache.h"
#include "engine/worker/ask.h"
#include "engine/worker/model_messages.h"

namespace attnscope {
namespace {

/// 0 if the file cannot be read.
std::uintmax_t size_of_file(const std::filesystem::path& file) {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(file, unknown);
  return unknown ? 0 : size;
}

}  // namespace

Result<OpenedCache> OpenedCache::open(const std::string& name, const ModelQuestion& question,
                                      const ScoringModel& model) {
  const std::uintmax_t bytes = size_of_file(name);
  if (!model.keeps_documents) {
    return fail(
        "'{}' reads query and document together and cannot use a cache; remove --cache and give "
        "both texts",
        question.checkpoint.string());
  }
  auto cache = DocumentCache::open(name);
  if (!cache) return tl::unexpected(cache.error());
  if (!cache->has_ids()) {
    return fail("{}: its documents have no ids; encode them again with 'attnscope encode'", name);
  }
  const CacheSource& source = cache->source();
  if (!source.file.empty() && source.tokenizer != model.tokenizer->fingerprint()) {
    return fail("{}: its documents were {}; encode them again", name, of_another_tokenizer);
  }
  const std::int64_t requested = question.most_tokens;
  if (!source.file.empty() && requested > 0 && requested != source.most_tokens) {
    return fail(
        "{}: its documents were {} when they were encoded, and --max-tokens is {}; remove it, or "
        "encode them again",
        name, cut_in_words(source), requested);
  }
  std::string note;
  if (!source.file.empty() && model.limits.most_tokens != source.most_tokens) {
    note = fmt::format("the documents of {} were {} when they were encoded", name,
                       cut_in_words(source));
  }
  return OpenedCache{std::move(*cache), name, bytes, std::move(note)};
}

Status OpenedCache::open_in(WorkerProcess& worker) const {
  const auto opened =
      ask(worker, protocol::OpenCacheRequest{.path = std::filesystem::absolute(name).string()});
  return opened ? Status() : tl::unexpected(explained(opened.error()));
}

Error OpenedCache::explained(const Error& error) const {
  const std::uintmax_t now = size_of_file(name);
  if (now >= bytes) return error;
  return {fmt::format("{}: was truncated to {} bytes while it was read; encode its documents again",
                      name, now)};
}

}  // namespace attnscope
