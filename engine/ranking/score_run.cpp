// SPDX-License-Identifier: Apache-2.0
#include "engine/ranking/score_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/sentences.h"
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

namespace {

// A window of very long pairs is closed before it reaches its maximum number of pairs.
constexpr std::int64_t most_window_tokens = 4 << 20;

std::vector<const TokenPair*> token_pairs(std::span<const ScoredPair> pairs) {
  std::vector<const TokenPair*> tokens;
  tokens.reserve(pairs.size());
  for (const ScoredPair& pair : pairs) tokens.push_back(&pair.tokens);
  return tokens;
}

}  // namespace

Result<bool> applies_sigmoid(const ScoringModel& model, const std::string& activation) {
  if (activation == "none") return false;
  if (activation == "sigmoid") return true;
  if (activation != "checkpoint") {
    return fail("--activation '{}' is unknown; use none, sigmoid or checkpoint",
                in_a_sentence(activation));
  }
  if (model.head.max_sim) {
    return fail("--activation checkpoint is for cross-encoders, and this model has no activation");
  }
  const std::string& own = model.activation;
  if (!own.starts_with("torch.")) return model.head.labels == 1;
  if (own.ends_with(".Sigmoid")) return true;
  if (own.ends_with(".Identity")) return false;
  return fail(
      "the checkpoint's activation is '{}', which is not supported; remove --activation for raw "
      "scores",
      in_a_sentence(own));
}

Status may_be_tag(const std::string& tag) {
  if (tag.find(' ') == std::string::npos && !has_control_character(tag)) return {};
  return fail("--tag '{}' has a blank or a control character, which a TREC run does not allow",
              in_a_sentence(tag));
}

std::string run_tag(const std::string& tag, const ScoringModel& model) {
  if (!tag.empty()) return tag;
  std::string made = visible(model.name + model.variant);
  std::ranges::replace(made, ' ', '-');
  return made;
}

ScoreRun::ScoreRun(const ScoringModel& model, WorkerProcess& worker, PairSource& pairs,
                   bool from_cache, ScoreLines lines, ScoreOutput out,
                   const std::atomic<int>& interrupted, const ScoreOptions& options)
    : model_(model),
      worker_(worker),
      reader_(pairs),
      from_cache_(from_cache),
      lines_(std::move(lines)),
      out_(std::move(out)),
      interrupted_(interrupted),
      options_(options) {
  options_.batches.whole_queries = model.is_listwise;
}

Result<std::optional<ScoredPair>> ScoreRun::next_pair() {
  if (!ahead_) return reader_.next();
  std::optional<ScoredPair> pair;
  pair.swap(ahead_);
  return pair;
}

Result<bool> ScoreRun::begins_another_set(const Window& window, const ScoredPair& pair) {
  if (!window.pairs.empty() && pair.tokens.query == window.pairs.front().tokens.query) {
    if (window.pairs.size() < options_.read_ahead) return false;
    return fail(
        "{}: a query has more than {} documents, and this model reads all documents of a query "
        "together; give a larger --read-ahead",
        reader_.place(pair.line), options_.read_ahead);
  }
  const auto bytes = std::as_bytes(std::span(pair.tokens.query));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!window.pairs.empty()) return true;
  if (scored_queries_.insert(std::hash<std::string_view>()(text)).second) return false;
  return fail(
      "{}: its query was scored already, and this model reads all documents of a query together; "
      "put them in consecutive lines",
      reader_.place(pair.line));
}

ScoreRun::Window ScoreRun::read_window() {
  Window window;
  std::int64_t tokens = 0;
  while (!was_interrupted() && (model_.is_listwise || (window.pairs.size() < options_.read_ahead &&
                                                       tokens < most_window_tokens))) {
    auto read = next_pair();
    if (!read) {
      window.error = read.error();
      break;
    }
    if (!*read) {
      window.last = true;
      break;
    }
    ScoredPair& pair = **read;
    if (model_.is_listwise) {
      const auto other = begins_another_set(window, pair);
      if (!other) {
        window.error = other.error();
        break;
      }
      if (*other) {
        ahead_ = std::move(pair);
        break;
      }
    }
    tokens += static_cast<std::int64_t>(pair.tokens.query.size() + pair.tokens.document.size());
    window.pairs.push_back(std::move(pair));
  }
  // An incomplete set would have other scores.
  if (model_.is_listwise && (window.error || was_interrupted())) window.pairs.clear();
  return window;
}

protocol::ScoreRequest ScoreRun::request_for(const ScoreBatch& batch, const Window& window) const {
  protocol::ScoreRequest request{.cls = model_.tokenizer->cls(), .one_query = batch.one_query};
  if (from_cache_ && batch.one_query) {
    request.query = window.pairs[batch.pairs.front()].tokens.query;
    request.cached.emplace();
    for (const std::size_t at : batch.pairs) request.cached->push_back(window.pairs[at].cached);
    return request;
  }
  request.items.emplace();
  for (const std::size_t at : batch.pairs) {
    protocol::ScoreItem& item = request.items->emplace_back(score_item(window.pairs[at].tokens));
    if (from_cache_) item.cached = window.pairs[at].cached;
  }
  return request;
}

Result<std::optional<std::vector<float>>> ScoreRun::scores_of(const ScoreBatch& batch,
                                                              const Window& window,
                                                              WorkerProcess& worker) const {
  if (Status sent = send_request(worker, request_for(batch, window)); !sent)
    return tl::unexpected(sent.error());
  auto answer = receive_answer<protocol::ScoreRequest>(worker, interrupted_);
  if (!answer) return tl::unexpected(answer.error());
  if (!*answer) return std::optional<std::vector<float>>();
  if ((*answer)->scores.size() != batch.pairs.size())
    return fail("the worker answered for other pairs");
  return std::optional(std::move((*answer)->scores));
}

std::string ScoreRun::query_of(const ScoredPair& pair) {
  if (!pair.ids.query_id.empty()) return pair.ids.query_id;
  const auto bytes = std::as_bytes(std::span(pair.tokens.query));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ScoreRun::count_ties_of(const ModelQuestion& question) {
  const std::string& few = question.multiplies_in();
  if (few == "float32") return;
  ties_.emplace();
  advice_on_ties_ = fmt::format("{} has few digits to distinguish them; {} float32 has more", few,
                                question.precision == "float32" ? "--dtype" : "--precision");
}

std::string ScoreRun::ties_in_words() const {
  const std::string ties = ties_ ? ties_->in_words() : "";
  return ties.empty() ? ties : fmt::format("{}: {}", ties, advice_on_ties_);
}

Status ScoreRun::compare(const Window& window) {
  std::size_t count = window.pairs.size();
  if (comparison_->sample >= 0) {
    const auto left = std::max<std::int64_t>(comparison_->sample - comparison_->pairs, 0);
    // The documents of a set attend to each other.
    if (left == 0 || !model_.is_listwise) count = std::min(count, static_cast<std::size_t>(left));
  }
  for (const ScoreBatch& batch :
       score_batches(token_pairs(std::span(window.pairs).first(count)), options_.batches)) {
    const auto exact = scores_of(batch, window, *comparison_->worker);
    if (!exact) return tl::unexpected(exact.error());
    if (!*exact) return {};
    for (std::size_t i = 0; i < batch.pairs.size(); ++i) {
      const ScoredPair& pair = window.pairs[batch.pairs[i]];
      comparison_->add(
          query_of(pair),
          pair.ids.document_id.empty() ? fmt::format("line {}", pair.line) : pair.ids.document_id,
          *pair.score, (**exact)[i]);
    }
    comparison_->pairs += static_cast<std::int64_t>(batch.pairs.size());
  }
  return {};
}

Status ScoreRun::write(const std::string& text) {
  if (head_) {
    after_head_ += text;
    return {};
  }
  if (out_.file != nullptr) return out_.file->write(text);
  Status written = out_.stream(text);
  if (!written) is_output_lost_ = true;
  return written;
}

Status ScoreRun::add_lines(Window& window, std::string& lines) {
  for (; window.written < window.pairs.size(); ++window.written) {
    const ScoredPair& pair = window.pairs[window.written];
    if (!pair.score) break;
    if (!std::isfinite(*pair.score)) {
      std::string name = "this pair";
      if (!pair.ids.query_id.empty() || !pair.ids.document_id.empty()) {
        name = fmt::format("query '{}' and document '{}'", in_a_sentence(pair.ids.query_id),
                           in_a_sentence(pair.ids.document_id));
      }
      return fail("{}: the score of {} is NaN; are the checkpoint's weights damaged?",
                  reader_.place(pair.line), name);
    }
    const auto text = lines_.add(pair.ids, *pair.score);
    if (!text) return fail("{}: {}", reader_.place(pair.line), text.error().message);
    lines += *text;
    if (ties_) ties_->add(query_of(pair), pair.ids.document_id, *pair.score);
  }
  return {};
}

Status ScoreRun::score(Window& window) {
  std::size_t scored = 0;
  for (const ScoreBatch& batch : score_batches(token_pairs(window.pairs), options_.batches)) {
    // Nothing is written after a score that is not finite.
    const auto first_none = std::ranges::find_if(window.pairs, [](const ScoredPair& pair) {
      return pair.score && !std::isfinite(*pair.score);
    });
    const auto written = static_cast<std::size_t>(first_none - window.pairs.begin());
    if (std::ranges::min(batch.pairs) > written) continue;
    const auto scores = scores_of(batch, window, worker_);
    if (!scores) return tl::unexpected(scores.error());
    if (!*scores || was_interrupted()) return {};
    for (std::size_t i = 0; i < batch.pairs.size(); ++i)
      window.pairs[batch.pairs[i]].score = (**scores)[i];
    scored += batch.pairs.size();
    scored_ += static_cast<std::int64_t>(batch.pairs.size());
    std::string lines;
    const Status ready = add_lines(window, lines);
    if (Status wrote = write(lines); !wrote) return wrote;
    if (!ready) return ready;
    written_ = lines_.count();
    if (!on_progress_) continue;
    std::optional<double> done;
    if (const auto read = reader_.progress()) {
      const double share = static_cast<double>(scored) / static_cast<double>(window.pairs.size());
      done = read_before_ + (*read - read_before_) * share;
    }
    on_progress_(scored_, done);
  }
  if (const auto read = reader_.progress()) read_before_ = *read;
  return {};
}

Status ScoreRun::run() {
  Status outcome;
  while (outcome && !was_interrupted()) {
    Window window = read_window();
    outcome = score(window);
    if (outcome && comparison_ && !was_interrupted()) outcome = compare(window);
    if (outcome && window.error) outcome = tl::unexpected(*window.error);
    if (window.last) break;
  }
  if (was_interrupted()) {
    worker_.kill();
    if (comparison_) comparison_->worker->kill();
  }
  if (on_end_) on_end_();
  const bool is_whole = outcome && !was_interrupted();
  // A query with unscored documents has no ranking.
  Status rest = is_whole ? write(lines_.finish()) : Status();
  // An incomplete output does not replace a complete file.
  if (out_.file != nullptr && !is_whole && (!options_.keeps_part || out_.file->replaces())) {
    written_ = 0;
    return outcome;
  }
  if (head_) rest = write(std::exchange(head_, nullptr)() + after_head_);
  if (rest && out_.file != nullptr) rest = out_.file->commit();
  if (rest && !is_output_lost_) written_ = lines_.count();
  // A write error takes precedence: the scores before it are not in a file either.
  if (!rest && out_.file != nullptr) written_ = 0;
  return rest ? outcome : rest;
}

}  // namespace attnscope
