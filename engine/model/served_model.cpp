// SPDX-License-Identifier: Apache-2.0
#include "engine/model/served_model.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/attention/served/served_process.h"
#include "engine/checkpoint/trained_folder.h"
#include "engine/model/bert/bert_description.h"
#include "engine/model/model_weights.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* weights_file = "model.safetensors";
constexpr const char* config_file = "config.json";
// A folder is renamed to this prefix after it is locked.
constexpr std::string_view folder_prefix = "attnscope-model-";

/// Locks the folder if no process holds its lock; returns whether it succeeded.
bool lock_folder(const fs::path& folder, Descriptor& lock) {
  return lock.take(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) &&
         flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

/// Removes folders of killed processes.
void remove_left_over(const fs::path& parent) {
  std::error_code ignored;
  std::vector<fs::path> folders;
  for (fs::directory_iterator at(parent, ignored), end; at != end; at.increment(ignored)) {
    if (at->path().filename().string().starts_with(folder_prefix)) folders.push_back(at->path());
  }
  for (const fs::path& folder : folders) {
    Descriptor lock;
    if (lock_folder(folder, lock)) fs::remove_all(folder, ignored);
  }
}

using nlohmann::json;

// Rounding weights and states to 8 bits changed the scores of other programs on MiniLM's shape by
// up to a thousandth; wrong weights, ids or types change them by a hundredth and more.
constexpr double int8_error_bound = 5e-3;
// Bound on the difference between two calls of one program with its own weights.
constexpr double own_error_bound = 1e-3;

bool is_int8(const ServedOffer& offer) {
  return offer.reported().value("precision", "") == "int8";
}

/// Number of pairs, and tokens of the longest.
struct BatchSize {
  std::int64_t pairs = 0, tokens = 0;
  friend bool operator==(const BatchSize&, const BatchSize&) = default;
};

std::int64_t pair_tokens(const PairBatch::Item& item) {
  return 1 + static_cast<std::int64_t>(item.query.size() + item.document.size());
}

BatchSize batch_size(const PairBatch& batch) {
  BatchSize size{.pairs = static_cast<std::int64_t>(batch.items.size())};
  for (const PairBatch::Item& item : batch.items)
    size.tokens = std::max(size.tokens, pair_tokens(item));
  return size;
}

/// Layout of a batch in the shared memory: three rectangles of ids, mask and types, and the scores.
struct SharedBatch {
  std::int64_t* ids = nullptr;
  std::int64_t* mask = nullptr;
  std::int64_t* types = nullptr;
  float* scores = nullptr;

  SharedBatch() = default;
  SharedBatch(std::byte* begin, BatchSize size)
      : ids(reinterpret_cast<std::int64_t*>(begin)),
        mask(ids + size.pairs * size.tokens),
        types(mask + size.pairs * size.tokens),
        scores(reinterpret_cast<float*>(types + size.pairs * size.tokens)) {}
  static std::size_t bytes(BatchSize size) {
    return static_cast<std::size_t>(size.pairs) *
           (3 * static_cast<std::size_t>(size.tokens) * sizeof(std::int64_t) + sizeof(float));
  }

  /// Places the first pair at index `first`; the last pairs wrap around to the beginning.
  void fill(const PairBatch& batch, std::int64_t tokens, std::int64_t first) const {
    const auto pairs = static_cast<std::int64_t>(batch.items.size());
    std::int64_t place = first;
    for (const PairBatch::Item& item : batch.items) {
      const std::int64_t at = place * tokens;
      place = place + 1 == pairs ? 0 : place + 1;
      std::int64_t* const id = ids + at;
      id[0] = batch.cls;
      std::int64_t* const end =
          std::ranges::copy(item.document, std::ranges::copy(item.query, id + 1).out).out;
      std::fill(end, id + tokens, 0);
      const std::int64_t used = end - id;
      std::fill_n(std::fill_n(mask + at, used, 1), tokens - used, 0);
      const auto of_query = 1 + static_cast<std::int64_t>(item.query.size());
      const auto second = static_cast<std::int64_t>(item.document.size());
      std::fill_n(std::fill_n(std::fill_n(types + at, of_query, 0), second, 1), tokens - used, 0);
    }
  }
};

class LoadedServedModel final : public ServedModel {
 public:
  LoadedServedModel(ServedOffer& offer, std::shared_ptr<const ModelWeights> weights,
                    const ModelVariant& variant, std::string folder)
      : plan_(offer), weights_(std::move(weights)), variant_(variant), folder_(std::move(folder)) {}

  /// An error is the program's reason for refusing the model.
  Status load() {
    plan_.begin(variant_.threads);
    bound_ = {};
    const auto reported = plan_.ask("load", description());
    if (!reported) throw std::runtime_error(reported.error().message);
    if (const std::string why = reported->value("unsupported", ""); !why.empty())
      return fail("{}", why);
    return {};
  }

  Status supports(const PairBatch& batch) const override {
    const auto counted = counted_model();
    return counted ? (*counted)->supports(batch) : tl::unexpected(counted.error());
  }

  /// The program's own prediction, or that of this process's model plus space for dense scores.
  Result<std::int64_t> predicted_peak_bytes(const PairBatch& batch) const override {
    const BatchSize size = batch_size(batch);
    const auto reported = plan_.ask("peak", {{"pairs", size.pairs}, {"tokens", size.tokens}});
    if (!reported) throw std::runtime_error(reported.error().message);
    if (const json bytes = reported->value("peak_bytes", json()); bytes.is_number_integer())
      return bytes.get<std::int64_t>();
    const auto counted = counted_model();
    if (!counted) return tl::unexpected(counted.error());
    const std::int64_t scores = size.pairs * weights_->shape().heads * size.tokens * size.tokens;
    return (*counted)->predicted_peak_bytes(batch).map([&](std::int64_t bytes) {
      return bytes + 2 * scores * static_cast<std::int64_t>(sizeof(float));
    });
  }

  /// The useful work depends only on the model; the program's executed work is not counted. Work of
  /// int8 products is not reported, as for this process's own int8: there is no ceiling for them.
  Result<ModelWork> work(const PairBatch& batch) const override {
    if (has_own_weights(plan_.offer()) || is_int8(plan_.offer())) return ModelWork{};
    const auto counted = counted_model();
    return counted ? (*counted)->work(batch) : tl::unexpected(counted.error());
  }

  Result<ModelOutput> score(const PairBatch& batch, const Show& show) override {
    if (batch.documents != nullptr || show)
      return fail("{} returns only scores of token ids", plan_.offer().id);
    counted_.reset();
    if (Status used = plan_.use([this] { return load(); }); !used)
      return tl::unexpected(used.error());
    const BatchSize size = batch_size(batch);
    if (size != bound_) {
      if (Status bound = bind(size); !bound) return tl::unexpected(bound.error());
    }
    // The position of the pairs changes with every call, so that results cached from an earlier
    // call are wrong.
    const std::int64_t first = turns_++ % size.pairs;
    shared_.fill(batch, size.tokens, first);
    const std::span scores(shared_.scores, static_cast<std::size_t>(size.pairs));
    std::ranges::fill(scores, std::numeric_limits<float>::quiet_NaN());
    const auto done = plan_.call('f');
    if (!done) return tl::unexpected(done.error());
    if (done->is_object() && done->contains("peak_bytes"))
      own_peak_ = std::max(own_peak_.value_or(0), done->value("peak_bytes", std::int64_t{0}));
    ModelOutput output{.scores = {scores.begin(), scores.end()}, .states = {}};
    std::rotate(output.scores.begin(), output.scores.begin() + first, output.scores.end());
    return output;
  }

  Result<ModelOutput> computed_here(const PairBatch& batch) const override {
    const auto counted = counted_model();
    return counted ? (*counted)->score(batch, {}) : tl::unexpected(counted.error());
  }

  std::optional<std::int64_t> own_peak_bytes() const override { return own_peak_; }
  void stop() override { plan_.stop(); }

 private:
  [[nodiscard]] json description() const {
    const ModelShape& shape = weights_->shape();
    return {{"model", plan_.offer().id},
            {"folder", folder_.empty() ? json() : json(folder_)},
            {"pattern", json::parse(pattern_json(variant_.pattern))},
            {"window", variant_.window ? json(variant_.window->text()) : json()},
            {"dtype", name_of(variant_.dtype)},
            {"threads", variant_.threads},
            {"layers", shape.layers},
            {"hidden", shape.hidden},
            {"heads", shape.heads},
            {"feed_forward", shape.feed_forward},
            {"vocabulary", shape.vocabulary},
            {"positions", shape.positions}};
  }

  /// The same model computed in this process, for counting and comparison.
  [[nodiscard]] Result<Model*> counted_model() const {
    if (counted_) return counted_.get();
    const Family& family = family_of(*weights_->config().family);
    Status declined = fail("no implementation of attnscope supports {}", variant_.pattern.name);
    for (const std::string_view id : family.implementations()) {
      if (declined = family.supports(weights_->config(), variant_, id); !declined) continue;
      auto made = family.make(weights_, variant_, id);
      if (!made) return tl::unexpected(made.error());
      counted_ = std::move(*made);
      return counted_.get();
    }
    return tl::unexpected(declined.error());
  }

  Status bind(BatchSize size) {
    std::byte* const begin = stage_.of(SharedBatch::bytes(size));
    const auto place = shared_place(begin, SharedBatch::bytes(size));
    if (begin == nullptr || !place) throw std::bad_alloc();
    shared_ = SharedBatch(begin, size);
    const auto bound = plan_.ask(
        "bind", {{"file", place->file()}, {"pairs", size.pairs}, {"tokens", size.tokens}});
    if (!bound) return tl::unexpected(bound.error());
    bound_ = size;
    return {};
  }

  ServedPlan plan_;
  std::shared_ptr<const ModelWeights> weights_;
  ModelVariant variant_;
  std::string folder_;
  mutable std::unique_ptr<Model> counted_;  // released by score()
  BatchSize bound_;                         // size known to the process
  SharedStage stage_;
  SharedBatch shared_;
  std::int64_t turns_ = 0;
  std::optional<std::int64_t> own_peak_;
};

}  // namespace

Status CheckpointFolder::make() {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  if (failed) {
    return fail(
        "there is no folder for temporary files, which stores a model's weights; set TMPDIR to "
        "one");
  }
  remove_left_over(parent);
  std::string name = (parent / "attnscope-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return fail(
        "{}: cannot create a folder for a model's weights: {}; set TMPDIR to another folder",
        parent.string(), system_reason(errno));
  }
  path_ = name;
  const bool is_locked = lock_folder(path_, lock_);
  const fs::path locked =
      parent / fmt::format("{}{}", folder_prefix, std::string_view(name).substr(name.size() - 6));
  if (is_locked) fs::rename(path_, locked, failed);
  if (!is_locked || failed) {
    return fail("{}: cannot be locked: {}; set TMPDIR to another folder", name,
                failed ? failed.message() : system_reason(errno));
  }
  path_ = locked;
  return {};
}

Result<std::unique_ptr<CheckpointFolder>> CheckpointFolder::write(const ModelWeights& weights) {
  std::unique_ptr<CheckpointFolder> folder(new CheckpointFolder);
  if (Status made = folder->make(); !made) return tl::unexpected(made.error());
  const ModelConfig plain = weights.config().family->config_for(weights.shape(), {});
  const auto specs = weights.config().family->tensors(plain, nullptr).specs;
  std::vector<std::string> names;
  names.reserve(specs.size());  // views refer to them
  std::vector<NamedView> views;
  views.reserve(specs.size());
  for (const TensorSpec& spec : specs) {
    names.push_back(name_in_classifier(spec.in_file, BertConfig{}.body));
    const at::Tensor& tensor = weights.tensor(spec.name);
    views.push_back({names.back(),
                     {"F32",
                      tensor.sizes().vec(),
                      {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}}});
  }
  if (Status written = write_safetensors(folder->path() / weights_file, views, {{"format", "pt"}});
      !written) {
    return tl::unexpected(written.error());
  }
  if (Status written = write_file(folder->path() / config_file, classifier_config(weights.shape()));
      !written) {
    return tl::unexpected(written.error());
  }
  folder->written_ = folder->files();
  return folder;
}

std::optional<std::array<CheckpointFolder::File, 2>> CheckpointFolder::files() const {
  std::array<File, 2> both;
  std::error_code failed;
  std::size_t place = 0;
  for (const char* name : {weights_file, config_file}) {
    both.at(place).written = fs::last_write_time(path_ / name, failed);
    if (failed) return std::nullopt;
    both.at(place++).bytes = fs::file_size(path_ / name, failed);
    if (failed) return std::nullopt;
  }
  return both;
}

bool CheckpointFolder::is_as_written() const {
  return written_ && files() == written_;
}

CheckpointFolder::~CheckpointFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

ServedOffer* find_served_model(std::string_view id) {
  const auto found = std::ranges::find_if(served_offers(), [&](const ServedOffer& offer) {
    return offer.kind == ServedOffer::Kind::model && offer.id == id;
  });
  return found == served_offers().end() ? nullptr : &*found;
}

bool has_own_weights(const ServedOffer& offer) {
  return offer.reported().value("weights", "") == "own";
}

Status takes_model(const ServedOffer& offer, const FamilyDescription& family,
                   const ModelVariant& variant) {
  if (family.id() != "bert") {
    return fail("{} computes cross-encoders of BERT's rows, not of the family {}", offer.id,
                family.id());
  }
  if (variant.options.contains(with_global_projections)) {
    return fail(
        "{} receives a BERT checkpoint, and '{}' needs separate projections for global tokens",
        offer.id, variant.pattern.name);
  }
  if (!variant.options.empty()) {
    return fail("{} does not support '+{}', which only attnscope's own implementations compute",
                offer.id, fmt::join(variant.options, "+"));
  }
  if (variant.products != Products::float32) {
    return fail(
        "{} computes in the precision that it reports; '+{}-products' is for attnscope's own "
        "implementations, so omit it",
        offer.id, name_of(variant.products));
  }
  return offer.supports(variant.pattern.name, variant.dtype, variant.device);
}

double error_bound_of(const ServedOffer& offer, const Family& family, const ModelVariant& variant,
                      const ModelShape& shape) {
  if (has_own_weights(offer)) return own_error_bound;
  const double of_dtype = family.error_bound(variant.dtype, shape);
  return is_int8(offer) ? std::max(of_dtype, int8_error_bound) : of_dtype;
}

Result<std::unique_ptr<ServedModel>> ServedModel::load(ServedOffer& offer,
                                                       std::shared_ptr<const ModelWeights> weights,
                                                       const ModelVariant& variant,
                                                       const std::filesystem::path& folder) {
  auto model =
      std::make_unique<LoadedServedModel>(offer, std::move(weights), variant, folder.string());
  if (Status loaded = model->load(); !loaded) return tl::unexpected(loaded.error());
  return model;
}

}  // namespace attnscope
