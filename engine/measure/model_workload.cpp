// SPDX-License-Identifier: Apache-2.0
//
// Whole models, all with the same random weights and ids. For a re-ranker that encodes documents
// independently, each stage is measured separately: offline calls encode_documents, load maps a
// cache file and copies its contents, online scores against it. A stage is validated by the
// resulting scores. A family that caches no documents has neither an offline nor a load stage, and
// its online stage is the whole computation.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/documents/document_cache.h"
#include "engine/measure/model_contenders.h"
#include "engine/measure/served_watch.h"
#include "engine/measure/workload.h"
#include "engine/model/part_times.h"
#include "engine/model/served_model.h"
#include "engine/pattern/axes.h"

namespace attnscope::measure {
namespace {

// For a heat with a number of candidates: encoding thousands of different documents takes hours,
// and the time of reading cached documents does not depend on their values.
constexpr std::int64_t different_documents = 16;

/// Appends the first or the last item of another output.
void append_ends(const ModelOutput& from, std::size_t items, bool first, ModelOutput& to) {
  const std::size_t width = from.states.size() / items;
  const auto row = [&](std::size_t item) {
    const auto begin = from.states.begin() + static_cast<std::ptrdiff_t>(item * width);
    to.states.insert(to.states.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  };
  if (first) row(0);
  row(items - 1);
}

/// A cache for a batch of `documents`, which repeats the documents of a small cache in separate
/// memory, so that reading takes as long as for different documents.
DocumentCache repeated(const DocumentCache& cache, const ModelInputs& inputs,
                       std::int64_t documents) {
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(static_cast<std::size_t>(documents) + 1);
  for (std::int64_t i = 0; i < documents; ++i)
    offsets.push_back(offsets.back() + cache.rows_of(inputs.document_of(i, documents)));
  std::vector<std::byte> rows;
  rows.reserve(static_cast<std::size_t>(cache.bytes() / cache.documents() * documents));
  for (std::int64_t i = 0; i < documents; ++i) {
    const auto own = cache.document(inputs.document_of(i, documents));
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return {cache.maker(), cache.width(), std::move(offsets), std::move(rows)};
}

Heat one_item_of_attention(Heat heat) {
  heat.point.operation = Operation::attention;
  return heat;
}

/// A file that is removed with its owner.
class CacheFile {
 public:
  CacheFile()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("attnscope-cache-{}-{}", ::getpid(), next_++)) {}
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;
  ~CacheFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  static inline int next_ = 0;
  std::filesystem::path path_;
};

class ModelWorkload final : public Workload {
 public:
  explicit ModelWorkload(const HeatSetting& setting)
      : setting_(setting),
        point_(setting.heat.point),
        attention_(setting_, one_item_of_attention(setting.heat)),
        weights_(setting.heat) {
    for (const Contender& contender : setting.heat.contenders) {
      Entry& entry = entries_.emplace_back(contender, point_);
      if (entry.family == nullptr) continue;
      if (ServedOffer* const offer = find_served_model(contender.implementation))
        entry.watch.emplace(*offer);
      if (!entry.keeps_documents() &&
          (point_.stage == Stage::offline || point_.stage == Stage::load)) {
        entry.variant = fail("it keeps nothing of documents: all of it is computed online");
      }
    }
  }

  [[nodiscard]] bool shares_batch() const override { return !point_.batch_per_contender; }
  [[nodiscard]] std::int64_t given_batch() const override { return point_.candidates; }
  // Every document has at least its token ids and one state per token. For drawn lengths, half of
  // the documents have at least the median length.
  [[nodiscard]] std::int64_t item_bytes() const override {
    const LengthDistribution& lengths = point_.document_lengths;
    const std::int64_t tokens =
        lengths.is_drawn() ? tokens_with_words(point_, std::min(lengths.median, lengths.most) / 2)
                           : point_.sequence_tokens;
    return tokens * point_.heads * point_.head_dim;
  }

  Result<std::int64_t> needed_bytes(std::size_t contender, std::int64_t batch) override {
    draw_inputs(batch);
    if (const Status made = prepare(contender); !made) return tl::unexpected(made.error());
    Entry& entry = entries_[contender];
    std::int64_t kept = 0;
    if (entry.encoded) {
      kept = kept_bytes(*entry.encoded, point_.candidates > 0 ? point_.candidates : batch);
      if (point_.stage == Stage::load) return 2 * kept;  // in the file's pages and in memory
    }
    if (is_cached(entry)) {
      PairBatch cached = batch_for(entry, std::min(batch, inputs_->most()));
      put_in_place(cached, 0, *entry.encoded);
      const auto least = entry.model->predicted_peak_bytes(cached);
      return least.map([&](std::int64_t bytes) {
        return kept + bytes / static_cast<std::int64_t>(cached.items.size()) * batch;
      });
    }
    return entry.model->predicted_peak_bytes(batch_for(entry, batch)).map([&](std::int64_t bytes) {
      return kept + bytes;
    });
  }

  Result<CellWork> set_batch(std::size_t contender, std::int64_t batch) override {
    Entry& entry = entries_[contender];
    entry.documents = batch;
    if (Status kept = keep(entry); !kept) return tl::unexpected(kept.error());
    if (point_.stage == Stage::load)
      return CellWork{.least_bytes = 2 * static_cast<double>(*cache_bytes(contender))};
    const Result<std::vector<ModelWork>> parts = plan_calls(entry);
    if (!parts) return tl::unexpected(parts.error());
    CellWork all;
    entry.work = {};
    for (const ModelWork& work : *parts) {
      entry.work.linear_flop += work.linear_flop;
      entry.work.feed_forward_flop += work.feed_forward_flop;
      entry.work.attention_flop += work.attention_flop;
      all.useful_flop += work.linear_flop + work.attention_flop;
      all.least_bytes += work.least_bytes;
      all.exponentials += work.exponentials;
      all.executed_flop += work.linear_flop + work.executed_attention_flop;
    }
    if (entry.watch) all.executed_flop = 0;  // the work is unknown
    return all;
  }

  [[nodiscard]] std::optional<std::int64_t> cache_bytes(std::size_t contender) const override {
    const Entry& entry = entries_[contender];
    if (!entry.encoded) return std::nullopt;
    return kept_bytes(*entry.encoded, entry.documents);
  }

  /// Weights, and the data that the models derive from them, are at other addresses at every
  /// placement. The first ones are those used to plan the batches.
  void place(int /*placement*/) override {
    if (!std::exchange(is_placed_, true)) return;
    for (Entry& entry : entries_) {
      if (entry.watch) entry.watch->set_model(nullptr);
      entry.model.reset();
      entry.weights.reset();
      entry.kept.reset();
      entry.file.reset();
    }
    weights_.release();
  }

  Status prepare(std::size_t contender) override {
    Entry& entry = entries_[contender];
    if (!entry.model) {
      if (!entry.variant) return tl::unexpected(entry.variant.error());
      entry.weights = weights_.of(entry.row);
      if (entry.watch) {
        if (Status loaded = load_served(contender); !loaded) return loaded;
      } else {
        auto made =
            entry.family->make(entry.weights, *entry.variant, entry.contender.implementation);
        if (!made) return tl::unexpected(made.error());
        entry.model = std::move(*made);
      }
    }
    return keep(entry);
  }

  Verdict check(std::size_t contender, FirstCall& first) override {
    Entry& entry = entries_[contender];
    first.measure([&] { compute(entry, true); });
    // A cache is not in counted memory: it consists of its file's pages and their copy.
    if (point_.stage == Stage::load)
      first.memory.requested_bytes += 2 * cache_bytes(contender).value_or(0);
    const auto own = entry.watch ? entry.watch->model()->own_peak_bytes() : std::nullopt;
    if (own) {
      first.memory.requested_bytes = first.memory.reserved_bytes = *own;
      first.memory.process_peak_bytes = *own;
    }
    entry.checked = output_of(entry);
    return {};
  }

  Verdict judge(std::size_t contender) override {
    Entry& entry = entries_[contender];
    if (entry.watch && has_own_weights(entry.watch->offer())) {
      // There is no reference: the scores are compared with those of a second call.
      entry.checked.states = entry.checked.scores;
      compute(entry, false);
      return ServedModelWatch::judge_repeated(entry.checked, entry.scored.scores, bound_of(entry));
    }
    if (point_.stage != Stage::load) {
      Verdict alone = attention_.judge(contender);
      if (!alone.wrong.empty()) return alone;
    }
    const auto tokens_of_first = static_cast<std::int64_t>(
        inputs_->document(inputs_->document_of(0, entry.documents)).size());
    const ModelReferences references =
        references_.of_call(entry, *inputs_, tokens_with_words(point_, tokens_of_first - 1));
    const double bound = bound_of(entry);
    if (!entry.watch) {
      const auto documents = static_cast<std::size_t>(entry.documents);
      return measure::judge(references, entry.checked, entry.made.empty() ? documents : 2, bound);
    }
    // The program returns no states; those of the reference serve as the scale of later score
    // comparisons.
    const auto& state = references.front().second->state;
    entry.checked.states.assign(state.begin(), state.end());
    Verdict verdict = judge_scores(references, entry.checked.scores, bound);
    if (!verdict.wrong.empty()) return verdict;
    Verdict between = entry.watch->judge_between(entry.batches, entry.checked, bound);
    return between.wrong.empty() ? verdict : between;
  }

  void before_rounds() override {
    attention_.release();
    for (const Entry& entry : entries_) stop(entry);
  }
  std::function<void()> before_call(std::size_t contender) override {
    Entry& entry = entries_[contender];
    if (!entry.watch) return {};
    return [&entry] { entry.watch->before_call({entry.batches, entry.scored.scores}); };
  }
  void call(std::size_t contender) override { compute(entries_[contender], false); }
  void leave(std::size_t contender) override { stop(entries_[contender]); }

  // On a device, a call returns before it is complete.
  std::vector<PartTime> parts_of_call(std::size_t contender) override {
    Entry& entry = entries_[contender];
    if (point_.device != DeviceKind::cpu) return {};
    PartTimes times;
    const auto start = std::chrono::steady_clock::now();
    compute(entry, false);
    const double whole_ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    std::vector<PartTime> parts;
    double claimed_ns = 0;
    for (const ModelPart part : model_parts) {
      const double time_ns = 1e9 * times.seconds(part);
      claimed_ns += time_ns;
      parts.push_back({.name = std::string(name_of(part)),
                       .time_ns = time_ns,
                       .useful_flop = useful_flop(entry.work, part)});
    }
    if (claimed_ns <= 0) return {};  // the family has no parts
    parts.push_back({.name = "other", .time_ns = std::max(whole_ns - claimed_ns, 0.0)});
    return parts;
  }

  Verdict judge_sample(std::size_t contender) override {
    Entry& entry = entries_[contender];
    if (!entry.watch) return judge_again(entry.checked, output_of(entry), bound_of(entry));
    setting_.beacon.calling(static_cast<int>(contender));
    return entry.watch->judge_sample({entry.batches, entry.scored.scores}, entry.checked,
                                     bound_of(entry), [&]() -> const std::vector<float>& {
                                       compute(entry, false);
                                       return entry.scored.scores;
                                     });
  }

 private:
  struct Entry : ModelContender {
    using ModelContender::ModelContender;
    ModelWork work{};  // of a call and of its parts
    std::unique_ptr<Model> model{};
    std::optional<ServedModelWatch> watch{};     // of a model that a program computes
    std::optional<DocumentCache> encoded{};      // encoded different documents
    std::optional<DocumentCache> kept{};         // encoded documents of a call
    std::unique_ptr<CacheFile> file{};           // the same, to be loaded
    std::vector<PairBatch> batches{};            // batches of a call
    std::vector<std::vector<TokenIds>> texts{};  // the same for the offline stage
    ModelOutput checked{};                       // output of the call compared with the reference
    // Output of the latest call.
    ModelOutput scored{};
    std::vector<DocumentCache> made{};
  };

  static void stop(const Entry& entry) {
    if (entry.watch && entry.watch->model() != nullptr) entry.watch->model()->stop();
  }

  [[nodiscard]] bool is_cached(const Entry& entry) const {
    return entry.keeps_documents() &&
           (point_.stage == Stage::online || point_.stage == Stage::load);
  }

  void draw_inputs(std::int64_t batch) {
    const std::int64_t different =
        point_.candidates > 0 ? std::min(point_.candidates, different_documents) : batch;
    if (!inputs_ || inputs_->most() < different) inputs_.emplace(point_, setting_.sizes, different);
  }

  /// Files that it writes next to the checkpoint exist when it loads the checkpoint again.
  Status load_served(std::size_t contender) {
    Entry& entry = entries_[contender];
    ServedOffer& offer = entry.watch->offer();
    if (Status able = takes_model(offer, *entry.row.family, *entry.variant); !able) return able;
    std::unique_ptr<CheckpointFolder>& folder = folders_[entry.row.weights];
    // A folder changed by one program must not affect another.
    if (folder && !folder->is_as_written()) folder.reset();
    if (!folder && !has_own_weights(offer)) {
      auto written = CheckpointFolder::write(*entry.weights);
      if (!written) return tl::unexpected(written.error());
      folder = std::move(*written);
    }
    // If the program fails or hangs while loading, this contender is the one that fails.
    setting_.beacon.calling(static_cast<int>(contender));
    auto loaded =
        ServedModel::load(offer, entry.weights, *entry.variant,
                          has_own_weights(offer) ? std::filesystem::path() : folder->path());
    if (loaded) {
      entry.watch->set_model(loaded->get());
      entry.model = std::move(*loaded);
      // At a later placement nothing is checked, and the first call is not part of a sample.
      if (!entry.checked.scores.empty()) compute(entry, false);
    }
    setting_.beacon.idle();
    return loaded ? Status() : tl::unexpected(loaded.error());
  }

  /// Bytes of a batch of `documents`, given a cache of the different documents.
  [[nodiscard]] std::int64_t kept_bytes(const DocumentCache& cache, std::int64_t documents) const {
    std::int64_t bytes = 0;
    for (std::int64_t i = 0; i < documents; ++i)
      bytes += static_cast<std::int64_t>(cache.document(inputs_->document_of(i, documents)).size());
    return bytes;
  }

  /// Assigns the cached documents to the items of a batch that begins at item `first` of a call.
  static void put_in_place(PairBatch& batch, std::int64_t first, const DocumentCache& cache) {
    batch.documents = &cache;
    for (PairBatch::Item& item : batch.items) {
      item.document = {};
      item.cached = first++;
    }
  }

  [[nodiscard]] PairBatch batch_for(const Entry& entry, std::int64_t documents) const {
    PairBatch batch = inputs_->batch_of(documents);
    for (PairBatch::Item& item : batch.items)
      item = {entry.read(item.query), entry.read(item.document)};
    return batch;
  }

  [[nodiscard]] std::vector<TokenIds> different_texts(const Entry& entry) const {
    std::vector<TokenIds> texts;
    for (std::int64_t i = 0; i < inputs_->most(); ++i)
      texts.push_back(entry.read(inputs_->document(i)));
    return texts;
  }

  /// Prepares the input of the measured stage.
  [[nodiscard]] Status keep(Entry& entry) {
    if (point_.stage == Stage::whole || !entry.keeps_documents()) return {};
    // Weights are equal at every placement: documents are encoded once, and their rows copied.
    if (!entry.encoded || entry.encoded->documents() < inputs_->most()) {
      entry.encoded.reset();
      auto encoded = entry.model->encode_documents(different_texts(entry), PairBatch{}.cls);
      if (!encoded) return tl::unexpected(encoded.error());
      entry.encoded = std::move(*encoded);
    }
    if (entry.documents == 0 || entry.kept || !is_cached(entry)) return {};
    entry.kept = repeated(*entry.encoded, *inputs_, entry.documents);
    for (std::int64_t first = 0; PairBatch & batch : entry.batches) {
      put_in_place(batch, first, *entry.kept);
      first += static_cast<std::int64_t>(batch.items.size());
    }
    if (point_.stage != Stage::load) return {};
    entry.file = std::make_unique<CacheFile>();
    return entry.kept->write(entry.file->path());
  }

  /// The batches of a call and the work of each: one batch or, if candidates are given, as few as
  /// fit in memory.
  [[nodiscard]] Result<std::vector<ModelWork>> plan_calls(Entry& entry) {
    if (entry.watch) entry.watch->release_texts();
    std::int64_t together = entry.documents;
    const std::int64_t budget =
        std::min(setting_.device.memory().free_bytes(), point_.batch_memory_mb << 20);
    // For equal documents, the first batch needs the most memory.
    const auto needed = [&]() -> Result<std::int64_t> {
      std::int64_t most = 0;
      for (const PairBatch& batch : entry.batches) {
        const Result<std::int64_t> bytes = entry.model->predicted_peak_bytes(batch);
        if (!bytes || !point_.document_lengths.is_drawn()) return bytes;
        most = std::max(most, *bytes);
      }
      return most;
    };
    const PairBatch all = batch_for(entry, entry.documents);
    while (true) {
      entry.batches.clear();
      for (std::int64_t first = 0; first < entry.documents; first += together) {
        const std::int64_t count = std::min(together, entry.documents - first);
        PairBatch& batch = entry.batches.emplace_back(PairBatch{.items = {}, .one_query = true});
        const auto begin = all.items.begin() + first;
        batch.items.assign(begin, begin + count);
        if (is_cached(entry)) put_in_place(batch, first, *entry.kept);
      }
      if (point_.candidates == 0 || together == 1) break;
      const Result<std::int64_t> bytes = needed();
      if (!bytes) return tl::unexpected(bytes.error());
      if (*bytes <= budget) break;
      together = (together + 1) / 2;
    }
    std::vector<ModelWork> works;
    entry.texts.clear();
    for (const PairBatch& batch : entry.batches) {
      std::vector<TokenIds>& texts = entry.texts.emplace_back();
      for (const PairBatch::Item& item : batch.items) texts.push_back(item.document);
      auto work = point_.stage == Stage::offline ? entry.model->work_of_documents(texts)
                                                 : entry.model->work(batch);
      if (!work) return tl::unexpected(work.error());
      works.push_back(*work);
    }
    return works;
  }

  /// Executes one call.
  void compute(Entry& entry, bool with_states) {
    entry.made.clear();
    entry.scored = {};
    if (point_.stage == Stage::load) {
      auto opened = DocumentCache::open(entry.file->path(), entry.kept->maker());
      require(opened.map([](const DocumentCache&) {}));
      entry.made.push_back(opened->in_memory());
      return;
    }
    if (point_.stage == Stage::offline) {
      for (const std::vector<TokenIds>& texts : entry.texts) {
        auto encoded = entry.model->encode_documents(texts, PairBatch{}.cls);
        require(encoded.map([](const DocumentCache&) {}));
        entry.made.push_back(std::move(*encoded));
      }
      return;
    }
    for (PairBatch& batch : entry.batches) {
      batch.with_states = with_states;
      auto output = entry.model->score(batch);
      require(output.map([](const ModelOutput&) {}));
      if (with_states)
        append_ends(*output, batch.items.size(), &batch == &entry.batches.front(), entry.scored);
      entry.scored.scores.insert(entry.scored.scores.end(), output->scores.begin(),
                                 output->scores.end());
    }
    if (entry.watch) entry.watch->record(entry.scored.scores);
    // No states are compared for the batches between.
    if (const std::size_t rows = entry.batches.size() + 1; with_states && rows > 2) {
      const std::size_t width = entry.scored.states.size() / rows;
      entry.scored.states.erase(entry.scored.states.begin() + static_cast<std::ptrdiff_t>(width),
                                entry.scored.states.end() - static_cast<std::ptrdiff_t>(width));
    }
  }

  /// Scores of the latest call, with the states of the first and the last document; for a cache,
  /// the scores of these two.
  [[nodiscard]] ModelOutput output_of(Entry& entry) {
    if (entry.made.empty()) return entry.scored;
    ModelOutput ends;
    const std::array<std::pair<const DocumentCache*, std::int64_t>, 2> both{
        {{&entry.made.front(), 0}, {&entry.made.back(), entry.made.back().documents() - 1}}};
    for (const auto& [cache, number] : both) {
      PairBatch batch{
          .items = {{.query = entry.read(inputs_->query()), .document = {}, .cached = number}},
          .one_query = true,
          .documents = cache};
      auto output = entry.model->score(batch);
      require(output.map([](const ModelOutput&) {}));
      ends.scores.push_back(output->scores.front());
      append_ends(*output, 1, false, ends);
    }
    return ends;
  }

  [[nodiscard]] double bound_of(const Entry& entry) const {
    const ModelShape shape = shape_of(point_);
    return entry.watch ? error_bound_of(entry.watch->offer(), *entry.family, *entry.variant, shape)
                       : error_bound(*entry.family, *entry.variant, shape);
  }

  HeatSetting setting_;
  const HeatPoint& point_;
  LayerAttentionCheck attention_;
  std::map<std::string, std::unique_ptr<CheckpointFolder>> folders_;  // by name of the weights
  std::vector<Entry> entries_;
  SharedWeights weights_;
  bool is_placed_ = false;
  std::optional<ModelInputs> inputs_;
  SharedReferences references_;
};

}  // namespace

std::unique_ptr<Workload> model_workload(const HeatSetting& setting) {
  if (is_of_training(setting.heat.point.stage)) return train_workload(setting);
  return std::make_unique<ModelWorkload>(setting);
}

}  // namespace attnscope::measure
