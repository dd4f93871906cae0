// SPDX-License-Identifier: Apache-2.0
//
// Whole models, all with the same random weights and ids.
#include "engine/measure/model_workload.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "engine/documents/document_cache.h"
#include "engine/heat/model_row.h"
#include "engine/measure/random.h"
#include "engine/measure/workload.h"
#include "engine/model/model_weights.h"
#include "engine/model/part_times.h"
#include "engine/model/served_model.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/pattern_json.h"

namespace attnscope::measure {
namespace {

constexpr std::int64_t least_positions = 512;  // the size of BERT's table
constexpr std::int64_t short_sequence = 1024;
// For a heat with a number of candidates: encoding thousands of different documents takes hours,
// and the time of reading cached documents does not depend on their values.
constexpr std::int64_t different_documents = 16;
constexpr std::int32_t separator = 102;     // BERT's [SEP]
constexpr std::uint64_t first_word = 1000;  // lower ids are special or unused tokens
constexpr double infinity = std::numeric_limits<double>::infinity();

std::int32_t random_word(std::uint64_t seed, std::uint64_t counter) {
  const auto words = static_cast<std::uint64_t>(ModelShape{}.vocabulary) - first_word;
  return static_cast<std::int32_t>(first_word + random_bits(seed, counter) % words);
}

/// NaN is the worst error.
double worse(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? infinity : std::max(a, b);
}

/// A state of zeros that is reproduced exactly has no error.
double relative(double error, double largest) {
  return error == 0 ? 0 : error / largest;
}

double error_of(const ReferenceOutput& reference, float score, std::span<const float> state) {
  // States of one query's documents have the same width.
  if (state.size() < reference.state.size()) return infinity;
  double largest = 0;
  for (const double value : reference.state) largest = std::max(largest, std::abs(value));
  double error = std::abs(static_cast<double>(score) - reference.score);
  for (std::size_t i = 0; i < reference.state.size(); ++i)
    error = worse(error, std::abs(static_cast<double>(state[i]) - reference.state[i]));
  return relative(error, largest);
}

/// Error of scores of the same documents from another computation, relative to the largest absolute
/// value of the checked states.
double error_of_scores(const ModelOutput& checked, std::span<const float> scores) {
  if (checked.scores.size() != scores.size()) return infinity;
  double largest = 0, error = 0;
  for (const float value : checked.states)
    largest = std::max(largest, static_cast<double>(std::abs(value)));
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double apart = std::abs(static_cast<double>(checked.scores[i]) - scores[i]);
    error = worse(error, relative(apart, largest));
  }
  return error;
}

/// The verdict on an error against the float64 model; `whose` names the values ("scores").
Verdict verdict_of(double error, double bound, std::span<const float> scores,
                   std::string_view whose) {
  if (!std::ranges::all_of(scores, [](float s) { return std::isfinite(s); }))
    return {{.error = infinity, .bound = bound}, "a score is not a number"};
  if (error <= bound) return {{.error = error, .bound = bound}, ""};
  return {{.error = error, .bound = bound},
          fmt::format("its {} differ from the float64 model's: the relative error is {:.3g}, above "
                      "{:.3g}",
                      whose, error, bound)};
}

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
        attention_(setting_, one_item_of_attention(setting.heat)) {
    for (const Contender& contender : setting.heat.contenders) {
      OneContender& one = contenders_.emplace_back();
      auto row = parse_model_row(contender.model);
      if (!row) {
        one.variant = fail("the model {}", row.error().message);
        continue;
      }
      one.row = std::move(*row);
      one.family = &family_of(*one.row.family);
      one.offer = find_served_model(contender.implementation);
      one.keeps = one.row.family->keeps() != Kept::nothing;
      one.reads_words = one.row.family->reads_words();
      one.variant = variant_of(contender, one.row, point_);
      if (!one.keeps && (point_.stage == Stage::offline || point_.stage == Stage::load)) {
        one.variant = fail("it keeps nothing of documents: all of it is computed online");
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
    OneContender& one = contenders_[contender];
    std::int64_t kept = 0;
    if (one.encoded) {
      kept = kept_bytes(*one.encoded, point_.candidates > 0 ? point_.candidates : batch);
      if (point_.stage == Stage::load) return 2 * kept;  // in the file's pages and in memory
    }
    if (is_cached(one)) {
      PairBatch cached = batch_for(one, std::min(batch, inputs_->most()));
      put_in_place(cached, 0, *one.encoded);
      const auto least = one.model->predicted_peak_bytes(cached);
      return least.map([&](std::int64_t bytes) {
        return kept + bytes / static_cast<std::int64_t>(cached.items.size()) * batch;
      });
    }
    return one.model->predicted_peak_bytes(batch_for(one, batch)).map([&](std::int64_t bytes) {
      return kept + bytes;
    });
  }

  Result<CellWork> take(std::size_t contender, std::int64_t batch) override {
    OneContender& one = contenders_[contender];
    one.documents = batch;
    if (Status kept = keep(one); !kept) return tl::unexpected(kept.error());
    if (point_.stage == Stage::load)
      return CellWork{.least_bytes = 2 * static_cast<double>(*cache_bytes(contender))};
    const Result<std::vector<ModelWork>> parts = plan_calls(one);
    if (!parts) return tl::unexpected(parts.error());
    CellWork all;
    one.work = {};
    for (const ModelWork& work : *parts) {
      one.work.linear_flop += work.linear_flop;
      one.work.feed_forward_flop += work.feed_forward_flop;
      one.work.attention_flop += work.attention_flop;
      all.useful_flop += work.linear_flop + work.attention_flop;
      all.least_bytes += work.least_bytes;
      all.exponentials += work.exponentials;
      all.executed_flop += work.linear_flop + work.executed_attention_flop;
    }
    if (one.served != nullptr) all.executed_flop = 0;  // the work is unknown
    return all;
  }

  [[nodiscard]] std::optional<std::int64_t> cache_bytes(std::size_t contender) const override {
    const OneContender& one = contenders_[contender];
    if (!one.encoded) return std::nullopt;
    return kept_bytes(*one.encoded, one.documents);
  }

  /// Weights, and the data that the models derive from them, are at other addresses at every
  /// placement. The first ones are those used to plan the batches.
  void place(int /*placement*/) override {
    if (!std::exchange(is_placed_, true)) return;
    for (OneContender& contender : contenders_) {
      contender.served = nullptr;
      contender.had_equal_words = false;
      contender.model.reset();
      contender.weights.reset();
      contender.kept.reset();
      contender.file.reset();
    }
    draw_weights();
  }

  Status prepare(std::size_t contender) override {
    OneContender& one = contenders_[contender];
    if (!one.model) {
      if (!one.variant) return tl::unexpected(one.variant.error());
      if (!one.weights) draw_weights();
      const Status made = one.offer != nullptr ? load_served(contender) : make(contender);
      if (!made) return made;
    }
    return keep(one);
  }

  Verdict check(std::size_t contender, FirstCall& first) override {
    OneContender& one = contenders_[contender];
    first.measure([&] { compute(one, true); });
    // A cache is not in counted memory: it consists of its file's pages and their copy.
    if (point_.stage == Stage::load)
      first.memory.requested_bytes += 2 * cache_bytes(contender).value_or(0);
    if (const auto own = one.served != nullptr ? one.served->own_peak_bytes() : std::nullopt) {
      first.memory.requested_bytes = first.memory.reserved_bytes = *own;
      first.memory.process_peak_bytes = *own;
    }
    one.checked = output_of(one);
    return {};
  }

  Verdict judge(std::size_t contender) override {
    OneContender& one = contenders_[contender];
    if (one.offer != nullptr && has_own_weights(*one.offer)) return judge_alone(one);
    if (point_.stage != Stage::load) {
      Verdict alone = attention_.judge(contender);
      if (!alone.wrong.empty()) return alone;
    }
    const auto documents = static_cast<std::size_t>(one.documents);
    ModelReferences references;
    const auto tokens_of_first =
        static_cast<std::int64_t>(inputs_->document(inputs_->document_of(0, one.documents)).size());
    const std::int64_t sequence = tokens_with_words(point_, tokens_of_first - 1);
    for (const std::size_t item : documents_to_compare(sequence, documents))
      references.emplace_back(item, &reference_of(contender, item));
    if (one.served != nullptr) {
      // The program returns no states; those of the reference serve as the scale of later score
      // comparisons.
      const auto& state = references.front().second->state;
      one.checked.states.assign(state.begin(), state.end());
      Verdict verdict = judge_scores(references, one.checked.scores, bound_of(one));
      return verdict.wrong.empty() ? judge_between(one, std::move(verdict)) : verdict;
    }
    return measure::judge(references, one.checked, one.made.empty() ? documents : 2, bound_of(one));
  }

  void before_rounds() override {
    attention_.let_go();
    for (const OneContender& contender : contenders_)
      if (contender.served != nullptr) contender.served->stop();
  }
  std::function<void()> before_call(std::size_t contender) override {
    OneContender& one = contenders_[contender];
    if (one.served == nullptr) return {};
    return [this, &one] { draw_other_words(one); };
  }
  void call(std::size_t contender) override { compute(contenders_[contender], false); }
  void leave(std::size_t contender) override {
    if (ServedModel* const served = contenders_[contender].served; served != nullptr)
      served->stop();
  }

  // On a device, a call returns before it is complete.
  std::vector<PartTime> parts_of_call(std::size_t contender) override {
    OneContender& one = contenders_[contender];
    if (point_.device != DeviceKind::cpu) return {};
    PartTimes times;
    const auto start = std::chrono::steady_clock::now();
    compute(one, false);
    const double whole_ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    std::vector<PartTime> parts;
    double claimed_ns = 0;
    for (const ModelPart part : model_parts) {
      const double time_ns = 1e9 * times.seconds(part);
      claimed_ns += time_ns;
      parts.push_back({.name = std::string(name_of(part)),
                       .time_ns = time_ns,
                       .useful_flop = useful_flop(one.work, part)});
    }
    if (claimed_ns <= 0) return {};  // the family has no parts
    parts.push_back({.name = "other", .time_ns = std::max(whole_ns - claimed_ns, 0.0)});
    return parts;
  }

  Verdict judge_sample(std::size_t contender) override {
    OneContender& one = contenders_[contender];
    if (one.served == nullptr) return judge_again(one.checked, output_of(one), bound_of(one));
    setting_.beacon.calling(static_cast<int>(contender));
    return judge_other_words(one);
  }

 private:
  struct OneContender {
    ModelRow row{};
    const Family* family = nullptr;
    bool keeps = false;                             // documents are encoded independently
    bool reads_words = false;                       // its texts do not end in [SEP]
    Result<ModelVariant> variant{};                 // or what it does not support
    std::int64_t documents = 0;                     // per call
    ModelWork work{};                               // work of a call and of its parts
    std::optional<DocumentCache> encoded{};         // encoded different documents
    std::shared_ptr<const ModelWeights> weights{};  // current placement's, like the model
    std::unique_ptr<Model> model{};
    ServedOffer* offer = nullptr;                    // program that computes it
    ServedModel* served = nullptr;                   // the model, if a program computes it
    bool had_equal_words = false;                    // at this placement
    bool has_lost_a_score = false;                   // a call returned a NaN
    std::vector<float> scores_before{};              // scores of the call preceding a timed call
    int repeated_calls = 0;                          // timed calls whose scores did not change
    std::vector<std::vector<std::int32_t>> words{};  // words of timed calls: the query first
    std::optional<DocumentCache> kept{};             // encoded documents of a call
    std::unique_ptr<CacheFile> file{};               // the same, to be loaded
    std::vector<PairBatch> batches{};                // batches of a call
    std::vector<std::vector<TokenIds>> texts{};      // the same for the offline stage
    ModelOutput checked{};  // output of the call compared with the reference
    // Output of the latest call.
    ModelOutput scored{};
    std::vector<DocumentCache> made{};
  };

  [[nodiscard]] bool is_cached(const OneContender& one) const {
    return one.keeps && (point_.stage == Stage::online || point_.stage == Stage::load);
  }

  void draw_inputs(std::int64_t batch) {
    const std::int64_t different =
        point_.candidates > 0 ? std::min(point_.candidates, different_documents) : batch;
    if (!inputs_ || inputs_->most() < different) inputs_.emplace(point_, setting_.sizes, different);
  }

  Status make(std::size_t contender) {
    OneContender& one = contenders_[contender];
    auto made = one.family->make(one.weights, *one.variant,
                                 setting_.heat.contenders[contender].implementation);
    if (!made) return tl::unexpected(made.error());
    one.model = std::move(*made);
    return {};
  }

  /// Files that it writes next to the checkpoint exist when it loads the checkpoint again.
  Status load_served(std::size_t contender) {
    OneContender& one = contenders_[contender];
    if (Status able = takes_model(*one.offer, *one.row.family, *one.variant); !able) return able;
    std::unique_ptr<CheckpointFolder>& folder = folders_[one.row.weights];
    // A folder changed by one program must not affect another.
    if (folder && !folder->is_as_written()) folder.reset();
    if (!folder && !has_own_weights(*one.offer)) {
      auto written = CheckpointFolder::write(*one.weights);
      if (!written) return tl::unexpected(written.error());
      folder = std::move(*written);
    }
    // If the program fails or hangs while loading, this contender is the one that fails.
    setting_.beacon.calling(static_cast<int>(contender));
    auto loaded =
        ServedModel::load(*one.offer, one.weights, *one.variant,
                          has_own_weights(*one.offer) ? std::filesystem::path() : folder->path());
    if (loaded) {
      one.served = loaded->get();
      one.model = std::move(*loaded);
      // At a later placement nothing is checked, and the first call is not part of a sample.
      if (!one.checked.scores.empty()) compute(one, false);
    }
    setting_.beacon.idle();
    return loaded ? Status() : tl::unexpected(loaded.error());
  }

  static std::string scores_otherwise(double error, double bound) {
    return fmt::format("it scores the same ids otherwise in its next call: by {:.3g}, above {:.3g}",
                       error, bound);
  }

  /// For weights known only to the program there is no reference: the scores are compared with
  /// those of a second call.
  Verdict judge_alone(OneContender& one) {
    one.checked.states = one.checked.scores;
    compute(one, false);
    const double bound = bound_of(one), error = error_of_scores(one.checked, one.scored.scores);
    return {{.error = error, .bound = bound}, error <= bound ? "" : scores_otherwise(error, bound)};
  }

  /// Before each timed call of an external program all texts are replaced with new random words, so
  /// that cached results are useless. The preceding call's scores are compared with those of the
  /// call before.
  void draw_other_words(OneContender& one) {
    count_repeated_call(one);
    if (one.words.empty()) {
      const auto keep_copy = [&](TokenIds& text) {
        text = one.words.emplace_back(text.begin(), text.end());
      };
      one.words.reserve(1 + static_cast<std::size_t>(one.documents));  // texts point into it
      TokenIds query = one.batches.front().items.front().query;
      keep_copy(query);
      for (PairBatch& batch : one.batches) {
        for (PairBatch::Item& item : batch.items) {
          item.query = query;
          keep_copy(item.document);
        }
      }
    }
    for (std::vector<std::int32_t>& text : one.words) {
      const std::uint64_t seed = random_();
      for (std::size_t i = 0; i + 1 < text.size(); ++i) text[i] = random_word(seed, i);
    }
  }

  static constexpr const char* gives_what_it_remembers =
      "it gives what it remembers: other documents have the very same scores";

  /// Compares the latest call with the one before, whose words were different.
  static void count_repeated_call(OneContender& one) {
    const bool has_words =
        std::ranges::any_of(one.words, [](const auto& text) { return text.size() > 1; });
    if (one.has_lost_a_score) return;
    std::vector<float> scores = one.scored.scores;
    std::ranges::sort(scores);  // pairs have different positions in every call
    if (has_words && scores == one.scores_before) ++one.repeated_calls;
    one.scores_before = std::move(scores);
  }

  /// Validates the scores for new words: they must be numbers; for some samples they are compared
  /// with this program's scores for the same weights or, for unknown weights, with those of a
  /// second call.
  Verdict judge_other_words(OneContender& one) {
    constexpr std::uint64_t samples_a_look = 4;
    if (one.has_lost_a_score) return {.error = {}, .wrong = "a score is not a number"};
    count_repeated_call(one);
    one.scores_before.clear();  // words are replaced next: the latest call is not compared twice
    // Rounded scores may be equal by chance.
    if (one.repeated_calls >= 2) return {.error = {}, .wrong = gives_what_it_remembers};
    const bool is_first = !std::exchange(one.had_equal_words, true);
    if (!is_first && random_() % samples_a_look != 0) return {};
    const std::vector<float> timed = one.scored.scores;
    const auto own = computed_here(one);
    if (!own) compute(one, false);
    const double bound = (own ? 2 : 1) * bound_of(one);
    const double error = error_of_scores({.scores = timed, .states = one.checked.states},
                                         own ? *own : one.scored.scores);
    Verdict verdict{{.error = error, .bound = bound}, ""};
    if (error > bound) {
      verdict.wrong =
          own ? fmt::format(
                    "it was right when it was checked and wrong in timed calls: a score of other "
                    "words differs from what this program computes: the relative error is {:.3g}, "
                    "above {:.3g}",
                    error, bound)
              : scores_otherwise(error, bound);
    }
    if (is_first && verdict.wrong.empty()) verdict.wrong = wrong_of_equal_words(one);
    return verdict;
  }

  /// This program's scores for the current batches; nothing if the weights are unknown or not
  /// supported here.
  [[nodiscard]] static std::optional<std::vector<float>> computed_here(const OneContender& one) {
    if (has_own_weights(*one.offer)) return std::nullopt;
    std::vector<float> scores;
    for (const PairBatch& batch : one.batches) {
      const auto own = one.served->computed_here(batch);
      if (!own) return std::nullopt;
      scores.insert(scores.end(), own->scores.begin(), own->scores.end());
    }
    return scores;
  }

  /// Once per placement: all words of a document are replaced with its first one, and documents
  /// with different tokens must have different scores, if only in the last digits. This detects
  /// cached results, also for unknown weights and for 8 bits, whose tolerance is wider than the
  /// differences between documents.
  static std::string wrong_of_equal_words(OneContender& one) {
    std::size_t place = 0, others = 0, same = 0;
    bool differ_among_themselves = false;
    for (const PairBatch& batch : one.batches) {
      PairBatch with_others = batch;
      std::vector<std::vector<std::int32_t>> documents;
      documents.reserve(batch.items.size());
      for (PairBatch::Item& item : with_others.items) {
        auto& document = documents.emplace_back(item.document.begin(), item.document.end());
        if (!document.empty()) std::fill(document.begin(), document.end() - 1, document.front());
        item.document = document;
      }
      const auto output = one.model->score(with_others);
      require(output.map([](const ModelOutput&) {}));
      for (std::size_t i = 0; i < batch.items.size(); ++i, ++place) {
        const auto& was = batch.items[i].document;
        differ_among_themselves |= one.scored.scores[place] != one.scored.scores.front();
        if (std::ranges::equal(was, documents[i])) continue;
        ++others;
        // Compared with all documents: pairs have different positions in every call.
        const auto& known = one.scored.scores;
        same += std::ranges::find(known, output->scores[i]) != known.end() ? 1 : 0;
      }
    }
    if (others > 0 && same == others) return gives_what_it_remembers;
    if (others > 1 && !differ_among_themselves)
      return fmt::format("all {} documents have the very same score", place);
    return {};
  }

  /// The reference covers the first and the last document; those between are compared with this
  /// program's scores for the same weights, whose own error is at most the bound.
  Verdict judge_between(const OneContender& one, Verdict verdict) {
    const auto scores = computed_here(one);
    if (!scores) return verdict;
    const double bound = 2 * bound_of(one), error = error_of_scores(one.checked, *scores);
    if (error <= bound) return verdict;
    return {{.error = error, .bound = bound},
            fmt::format("a score between the first and the last differs from what this program "
                        "computes: the relative error is {:.3g}, above {:.3g}",
                        error, bound)};
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

  /// The text in the form that the contender's family reads.
  [[nodiscard]] static TokenIds read_by(const OneContender& one, TokenIds text) {
    return one.reads_words ? text.first(text.size() - 1) : text;
  }

  [[nodiscard]] PairBatch batch_for(const OneContender& one, std::int64_t documents) const {
    PairBatch batch = inputs_->batch_of(documents);
    for (PairBatch::Item& item : batch.items)
      item = {read_by(one, item.query), read_by(one, item.document)};
    return batch;
  }

  [[nodiscard]] std::vector<TokenIds> different_texts(const OneContender& one) const {
    std::vector<TokenIds> texts;
    for (std::int64_t i = 0; i < inputs_->most(); ++i)
      texts.push_back(read_by(one, inputs_->document(i)));
    return texts;
  }

  /// Prepares the input of the measured stage.
  [[nodiscard]] Status keep(OneContender& one) {
    if (point_.stage == Stage::whole || !one.keeps) return {};
    // Weights are equal at every placement: documents are encoded once, and their rows copied.
    if (!one.encoded || one.encoded->documents() < inputs_->most()) {
      one.encoded.reset();
      auto encoded = one.model->encode_documents(different_texts(one), PairBatch{}.cls);
      if (!encoded) return tl::unexpected(encoded.error());
      one.encoded = std::move(*encoded);
    }
    if (one.documents == 0 || one.kept || !is_cached(one)) return {};
    one.kept = repeated(*one.encoded, *inputs_, one.documents);
    for (std::int64_t first = 0; PairBatch & batch : one.batches) {
      put_in_place(batch, first, *one.kept);
      first += static_cast<std::int64_t>(batch.items.size());
    }
    if (point_.stage != Stage::load) return {};
    one.file = std::make_unique<CacheFile>();
    return one.kept->write(one.file->path());
  }

  /// The batches of a call and the work of each: one batch or, if candidates are given, as few as
  /// fit in memory.
  [[nodiscard]] Result<std::vector<ModelWork>> plan_calls(OneContender& one) {
    one.words.clear();
    std::int64_t together = one.documents;
    const std::int64_t budget =
        std::min(setting_.device.memory().free_bytes(), point_.batch_memory_mb << 20);
    // For equal documents, the first batch needs the most memory.
    const auto needed = [&]() -> Result<std::int64_t> {
      std::int64_t most = 0;
      for (const PairBatch& batch : one.batches) {
        const Result<std::int64_t> bytes = one.model->predicted_peak_bytes(batch);
        if (!bytes || !point_.document_lengths.is_drawn()) return bytes;
        most = std::max(most, *bytes);
      }
      return most;
    };
    const PairBatch all = batch_for(one, one.documents);
    while (true) {
      one.batches.clear();
      for (std::int64_t first = 0; first < one.documents; first += together) {
        const std::int64_t count = std::min(together, one.documents - first);
        PairBatch& batch = one.batches.emplace_back(PairBatch{.items = {}, .one_query = true});
        const auto begin = all.items.begin() + first;
        batch.items.assign(begin, begin + count);
        if (is_cached(one)) put_in_place(batch, first, *one.kept);
      }
      if (point_.candidates == 0 || together == 1) break;
      const Result<std::int64_t> bytes = needed();
      if (!bytes) return tl::unexpected(bytes.error());
      if (*bytes <= budget) break;
      together = (together + 1) / 2;
    }
    std::vector<ModelWork> works;
    one.texts.clear();
    for (const PairBatch& batch : one.batches) {
      std::vector<TokenIds>& texts = one.texts.emplace_back();
      for (const PairBatch::Item& item : batch.items) texts.push_back(item.document);
      auto work = point_.stage == Stage::offline ? one.model->work_of_documents(texts)
                                                 : one.model->work(batch);
      if (!work) return tl::unexpected(work.error());
      works.push_back(*work);
    }
    return works;
  }

  /// Executes one call.
  void compute(OneContender& one, bool with_states) {
    one.made.clear();
    one.scored = {};
    if (point_.stage == Stage::load) {
      auto opened = DocumentCache::open(one.file->path(), one.kept->maker());
      require(opened.map([](const DocumentCache&) {}));
      one.made.push_back(opened->in_memory());
      return;
    }
    if (point_.stage == Stage::offline) {
      for (const std::vector<TokenIds>& texts : one.texts) {
        auto encoded = one.model->encode_documents(texts, PairBatch{}.cls);
        require(encoded.map([](const DocumentCache&) {}));
        one.made.push_back(std::move(*encoded));
      }
      return;
    }
    for (PairBatch& batch : one.batches) {
      batch.with_states = with_states;
      auto output = one.model->score(batch);
      require(output.map([](const ModelOutput&) {}));
      if (with_states)
        append_ends(*output, batch.items.size(), &batch == &one.batches.front(), one.scored);
      one.scored.scores.insert(one.scored.scores.end(), output->scores.begin(),
                               output->scores.end());
    }
    one.has_lost_a_score |=
        !std::ranges::all_of(one.scored.scores, [](float score) { return std::isfinite(score); });
    // No states are compared for the batches between.
    if (const std::size_t rows = one.batches.size() + 1; with_states && rows > 2) {
      const std::size_t width = one.scored.states.size() / rows;
      one.scored.states.erase(one.scored.states.begin() + static_cast<std::ptrdiff_t>(width),
                              one.scored.states.end() - static_cast<std::ptrdiff_t>(width));
    }
  }

  /// Scores of the latest call, with the states of the first and the last document; for a cache,
  /// the scores of these two.
  [[nodiscard]] ModelOutput output_of(OneContender& one) {
    if (one.made.empty()) return one.scored;
    ModelOutput ends;
    const std::array<std::pair<const DocumentCache*, std::int64_t>, 2> both{
        {{&one.made.front(), 0}, {&one.made.back(), one.made.back().documents() - 1}}};
    for (const auto& [cache, number] : both) {
      PairBatch batch{
          .items = {{.query = read_by(one, inputs_->query()), .document = {}, .cached = number}},
          .one_query = true,
          .documents = cache};
      auto output = one.model->score(batch);
      require(output.map([](const ModelOutput&) {}));
      ends.scores.push_back(output->scores.front());
      append_ends(*output, 1, false, ends);
    }
    return ends;
  }

  [[nodiscard]] double bound_of(const OneContender& one) const {
    const ModelShape shape = shape_of(point_);
    return one.offer != nullptr ? error_bound_of(*one.offer, *one.family, *one.variant, shape)
                                : error_bound(*one.family, *one.variant, shape);
  }

  /// Draws weights once for all rows that share them.
  void draw_weights() {
    std::map<std::string, std::vector<ModelRow>> rows;
    for (const OneContender& contender : contenders_)
      if (contender.family != nullptr) rows[contender.row.weights].push_back(contender.row);
    for (const auto& [key, sharing] : rows) {
      const ModelConfig config = sharing.front().family->config_for(shape_of(point_), sharing);
      const auto weights = ModelWeights::random(config, {.seed = point_.seed});
      for (OneContender& contender : contenders_) {
        if (contender.family != nullptr && contender.row.weights == key)
          contender.weights = weights;
      }
    }
  }

  const ReferenceOutput& reference_of(std::size_t contender, std::size_t item) {
    const OneContender& one = contenders_[contender];
    const std::int64_t document =
        inputs_->document_of(static_cast<std::int64_t>(item), one.documents);
    return references_.of(
        setting_.heat.contenders[contender], *one.family, *one.weights, *one.variant,
        item + 1 == static_cast<std::size_t>(one.documents),
        {read_by(one, inputs_->query()), read_by(one, inputs_->document(document))});
  }

  HeatSetting setting_;
  const HeatPoint& point_;
  AttentionInside attention_;
  std::map<std::string, std::unique_ptr<CheckpointFolder>> folders_;  // by name of the weights
  std::vector<OneContender> contenders_;
  bool is_placed_ = false;
  std::optional<ModelInputs> inputs_;
  SharedReferences references_;
  std::mt19937_64 random_{std::random_device{}()};  // draws values that no contender can predict
};

}  // namespace

AttentionInside::AttentionInside(const HeatSetting& setting, Heat of_attention)
    : setting_(setting),
      heat_(std::move(of_attention)),
      local_(add_local_layers(heat_)),
      attention_(attention_workload({.heat = heat_,
                                     .sizes = setting.sizes,
                                     .device = setting.device,
                                     .beacon = setting.beacon})) {}

std::vector<std::optional<std::size_t>> AttentionInside::add_local_layers(Heat& heat) {
  std::vector<std::optional<std::size_t>> places(heat.contenders.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto row = parse_model_row(heat.contenders[i].model);
    if (!row || !row->local) continue;
    Contender local = heat.contenders[i];
    const auto attention = layer_attention(row->local);
    local.pattern = attention->pattern.name;
    local.pattern_json = pattern_json(attention->pattern);
    local.window = attention->window;
    places[i] = heat.contenders.size();
    heat.contenders.push_back(std::move(local));
  }
  return places;
}

Verdict AttentionInside::judge(std::size_t contender) {
  Verdict verdict = judge_one(contender, contender);
  if (!verdict.wrong.empty() || !local_.at(contender)) return verdict;
  Verdict local = judge_one(*local_[contender], contender);
  if (local.wrong.empty()) {
    local.error.meet(verdict.error.error, verdict.error.bound, verdict.error.tensor);
  }
  return local;
}

Verdict AttentionInside::judge_one(std::size_t place, std::size_t contender) {
  const auto needed = attention_->needed_bytes(place, 1);
  if (!needed || *needed < 0 || *needed > setting_.device.memory().free_bytes()) return {};
  attention_->place(0);
  FirstCall unmeasured(setting_, contender);
  Verdict verdict = attention_->check(place, unmeasured);
  setting_.beacon.idle();
  if (verdict.wrong.empty()) verdict = attention_->judge(place);
  if (!verdict.wrong.empty()) verdict.wrong = "its attention alone: " + verdict.wrong;
  return verdict;
}

const ReferenceOutput& SharedReferences::of(const Contender& contender, const Family& family,
                                            const ModelWeights& weights, ModelVariant variant,
                                            bool is_last, const PairBatch::Item& texts) {
  for (const std::string_view shortcut : family.shortcuts())
    variant.options.erase(std::string(shortcut));
  const auto words_of = [](const std::optional<Window>& window) {
    return window ? window->text() : std::string();
  };
  const std::string local =
      variant.local ? pattern_json(variant.local->pattern) + words_of(variant.local->window) : "";
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", family.description().id(), is_last,
                                      fmt::join(variant.options, "+"), words_of(contender.window),
                                      contender.pattern_json, local);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  auto reference = family.reference(weights, variant, texts, PairBatch{}.cls);
  require(reference.map([](const ReferenceOutput&) {}));
  return known_.emplace(key, std::move(*reference)).first->second;
}

ModelShape shape_of(const HeatPoint& point) {
  return {.layers = point.layers,
          .hidden = point.heads * point.head_dim,
          .heads = point.heads,
          .feed_forward = point.feed_forward,
          .positions = std::max(point.sequence_tokens, least_positions)};
}

Result<ModelVariant> variant_of(const Contender& contender, const ModelRow& row,
                                const HeatPoint& point) {
  auto pattern = parse_pattern(contender.pattern_json, contender.pattern);
  if (!pattern) return tl::unexpected(pattern.error());
  const Products products = products_of(row.options);
  if (Status able = supports_precision(products, point.dtype, point.device); !able)
    return tl::unexpected(able.error());
  ModelOptions options = row.options;
  for (const std::string_view narrow : {bfloat16_products, int8_products})
    options.erase(std::string(narrow));
  return ModelVariant{.pattern = std::move(*pattern),
                      .window = contender.window,
                      .local = layer_attention(row.local),
                      .options = std::move(options),
                      .dtype = point.dtype,
                      .products = products,
                      .device = point.device,
                      .threads = std::max(point.threads, 1)};
}

double error_bound(const Family& family, const ModelVariant& variant, const ModelShape& shape) {
  // As in float32, errors of layers accumulate like a random walk. The factors are four times the
  // largest errors observed in models of MiniLM's width with 2 to 12 layers.
  const double walk = std::sqrt(static_cast<double>(std::max<std::int64_t>(shape.layers, 1)));
  switch (variant.products) {
    case Products::float32:
      return family.error_bound(variant.dtype, shape);
    case Products::bfloat16:
      return 2.5e-3 * walk;
    case Products::int8:
      return 7.5e-3 * walk;
  }
  return 0;
}

ModelInputs::ModelInputs(const HeatPoint& point, const GroupSizes& sizes, std::int64_t most)
    : most_(most), query_(static_cast<std::size_t>(sizes.query)), begins_{0} {
  begins_.reserve(static_cast<std::size_t>(most) + 1);
  const LengthDistribution& lengths = point.document_lengths;
  for (std::int64_t d = 0; d < most; ++d) {
    const std::int64_t tokens =
        lengths.is_drawn() ? lengths.words_of(d, point.seed) + 1 : sizes.document;
    begins_.push_back(begins_.back() + static_cast<std::size_t>(tokens));
  }
  documents_.resize(begins_.back());
  std::uint64_t counter = 0;
  for (std::int32_t& id : query_) id = random_word(point.seed, counter++);
  for (std::int32_t& id : documents_) id = random_word(point.seed, counter++);
  query_.back() = separator;
  for (std::size_t d = 1; d < begins_.size(); ++d) documents_[begins_[d] - 1] = separator;
}

std::span<const std::int32_t> ModelInputs::document(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  return std::span(documents_).subspan(begins_[at], begins_[at + 1] - begins_[at]);
}

std::int64_t ModelInputs::document_of(std::int64_t item, std::int64_t documents) const {
  if (item + 1 == documents || most_ == 1) return 0;
  return 1 + item % (most_ - 1);
}

PairBatch ModelInputs::batch_of(std::int64_t documents) const {
  PairBatch batch{.items = {}, .one_query = true};
  batch.items.reserve(static_cast<std::size_t>(documents));
  for (std::int64_t i = 0; i < documents; ++i)
    batch.items.push_back({query_, document(document_of(i, documents))});
  return batch;
}

std::vector<std::size_t> documents_to_compare(std::int64_t sequence_tokens, std::size_t batch) {
  if (batch == 1 || sequence_tokens > short_sequence) return {batch - 1};
  return {0, batch - 1};
}

Verdict judge(const ModelReferences& references, const ModelOutput& output, std::size_t documents,
              double bound) {
  if (output.scores.size() != documents) {
    return {{.error = infinity, .bound = bound},
            fmt::format("it gave {} scores for {} documents", output.scores.size(), documents)};
  }
  double error = 0;
  for (const auto& [item, reference] : references) {
    const std::size_t width = output.states.size() / 2;
    const std::size_t at = item == 0 ? 0 : width;
    error =
        worse(error, error_of(*reference, item == 0 ? output.scores.front() : output.scores.back(),
                              std::span(output.states).subspan(at, width)));
  }
  return verdict_of(error, bound, output.scores, "states and scores");
}

Verdict judge_scores(const ModelReferences& references, std::span<const float> scores,
                     double bound) {
  double error = 0;
  for (const auto& [item, reference] : references) {
    double largest = 0;
    for (const double value : reference->state) largest = std::max(largest, std::abs(value));
    const double apart = std::abs(static_cast<double>(scores[item]) - reference->score);
    error = worse(error, relative(apart, largest));
  }
  return verdict_of(error, bound, scores, "scores");
}

Verdict judge_again(const ModelOutput& checked, const ModelOutput& later, double bound) {
  const double error = error_of_scores(checked, later.scores);
  if (error <= 2 * bound) return {};
  return {{.error = error, .bound = 2 * bound},
          fmt::format("its scores were right when they were checked and others after timed calls: "
                      "they differ by {:.3g}, above {:.3g}",
                      error, 2 * bound)};
}

std::unique_ptr<Workload> model_workload(const HeatSetting& setting) {
  if (is_of_training(setting.heat.point.stage)) return train_workload(setting);
  return std::make_unique<ModelWorkload>(setting);
}

}  // namespace attnscope::measure
