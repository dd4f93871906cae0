// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/checkpoint/torch_file.h"
#include "engine/checkpoint/weight_files.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_path = 400;

constexpr std::uintmax_t most_config_bytes = 1U << 20U;

/// Configuration of a late-interaction encoder on this model body.
ModelConfig with_token_vectors(ModelConfig body, HeadConfig head) {
  const auto families = family_descriptions();
  body.head = {};
  for (HeadStep& step : head.steps)
    if (step.kind == HeadStep::Kind::linear && step.in == 0) step.in = body.shape.hidden;
  const std::string architecture = std::exchange(body.architecture, {});
  return {.family = *std::ranges::find(families, multi_vector_id, &FamilyDescription::id),
          .shape = body.shape,
          .architecture = architecture,
          .pattern = body.pattern,
          .window = body.window,
          .local = body.local,
          .is_local = body.is_local,
          .head = std::move(head),
          .unknown_fields = body.unknown_fields,
          .body = std::make_shared<const ModelConfig>(body)};
}

/// Replaces the family's head with the modules of sentence-transformers.
Status take_modules(const SentenceFiles& sentence, ModelConfig& config, WeightFiles& weights) {
  if (sentence.head.steps.empty() && !sentence.multi_vector) return {};
  if (!config.family->takes_modules()) {
    return fail(
        "'{}' has modules of sentence-transformers, which are not supported for models of the "
        "family {}",
        in_a_sentence(sentence.encoder.string(), longest_path), config.family->id());
  }
  const bool of_tokens = sentence.multi_vector != nullptr;
  const std::int64_t pooled =
      config.shape.hidden *
      (of_tokens ? 1 : static_cast<std::int64_t>(sentence.head.pooling.size()));
  const auto first =
      std::ranges::find_if(sentence.head.steps, [](const HeadStep& step) { return step.in > 0; });
  if (first != sentence.head.steps.end() && first->in != pooled) {
    return fail(
        "'{}': the first module after the encoder reads {} numbers, but the encoder outputs {}; "
        "copy the "
        "modules that belong to the encoder",
        in_a_sentence(sentence.encoder.string(), longest_path), first->in, pooled);
  }
  config.family->become_encoder(config);
  if (of_tokens && config.pattern != "full") {
    return fail(
        "'{}' has a vector for each token, which needs full attention, but its encoder has the "
        "attention '{}'",
        in_a_sentence(sentence.encoder.string(), longest_path), config.pattern);
  }
  if (of_tokens) {
    config = with_token_vectors(std::move(config), sentence.head);
  } else {
    config.head = sentence.head;
  }
  for (const SentenceModule& module : sentence.modules) {
    if (Status added = weights.add_module(module.folder, module.prefix); !added) return added;
  }
  return {};
}

using Shape = std::vector<std::int64_t>;

std::string in_words(const Shape& shape) {
  constexpr std::size_t longest = 60;
  return in_a_sentence(fmt::format("[{}]", fmt::join(shape, ", ")), longest);
}

/// Errors of the tensors, with a few names of each kind.
class Complaints {
 public:
  void add(std::string_view kind, std::string_view name, std::string_view remark = "") {
    for (Kind& known : kinds_) {
      if (known.words == kind) {
        known.add(name, remark);
        return;
      }
    }
    kinds_.push_back({kind, {}, 0});
    kinds_.back().add(name, remark);
  }
  [[nodiscard]] bool empty() const { return kinds_.empty(); }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const Kind& kind : kinds_) {
      if (!all.empty()) all += "; ";
      all += fmt::format("{} {}", kind.words, fmt::join(kind.named, ", "));
      if (kind.more > 0) all += fmt::format(" and {} more", kind.more);
    }
    return all;
  }

 private:
  struct Kind {
    std::string_view words;
    std::vector<std::string> named;
    std::int64_t more;
    void add(std::string_view name, std::string_view remark) {
      constexpr std::size_t most = 3;
      if (named.size() == most) {
        ++more;
      } else {
        named.push_back(fmt::format("'{}'{}", in_a_sentence(name), remark));
      }
    }
  };
  std::vector<Kind> kinds_;
};

/// Returns the view and records its errors.
TensorView take(const TensorSpec& spec, const TensorViews& files, Complaints& complaints) {
  const auto found = files.find(spec.in_file);
  if (found == files.end()) {
    complaints.add("missing:", spec.in_file);
    return {};
  }
  const TensorView& view = found->second;
  if (view.shape != spec.shape) {
    complaints.add("of another shape than in config.json:", spec.in_file,
                   fmt::format(" {}, not {}", in_words(view.shape), in_words(spec.shape)));
  }
  constexpr std::array<std::string_view, 4> read{"F32", "F16", "BF16", "F64"};
  if (std::ranges::find(read, view.dtype) == read.end()) {
    complaints.add("convert to contiguous F32, F16, BF16 or F64:", spec.in_file,
                   fmt::format(" {}", in_a_sentence(view.dtype)));
  }
  return view;
}

}  // namespace

Result<Checkpoint> find_tensors(const TensorViews& files, ModelConfig config,
                                std::string_view source) {
  config.family->take_sizes(config, files);
  take_labels(files, config.head);
  const ModelTensors wanted = config.family->tensors(config, &files);
  Checkpoint found;
  found.config = std::move(config);
  found.gives_scores = wanted.gives_scores;
  Complaints complaints;
  std::set<std::string_view> taken;
  for (const TensorSpec& spec : wanted.specs) {
    taken.insert(spec.in_file);
    found.tensors.emplace(spec.name, take(spec, files, complaints));
  }
  for (const auto& [name, view] : files) {
    if (!taken.contains(name)) found.left_out.push_back(name);
  }
  if (complaints.empty()) return found;
  return fail("the tensors in '{}' do not match its config.json: {}",
              in_a_sentence(source, longest_path), complaints.text());
}

std::string Checkpoint::note() const {
  constexpr std::size_t most = 3;
  std::vector<std::string> named;
  std::size_t count = 0;
  for (const std::string& name : left_out) {
    if (config.family->leaves_out(config, name) || count++ >= most) continue;
    named.push_back(fmt::format("'{}'", in_a_sentence(name)));
  }
  std::string note;
  if (count > 0) {
    note = fmt::format("the model does not use {} of its files: {}{}", counted(count, "tensor"),
                       fmt::join(named, ", "),
                       count > most ? fmt::format(" and {} more", count - most) : "");
  }
  if (config.unknown_fields.empty()) return note;
  named.clear();
  for (const std::string& field : config.unknown_fields)
    if (named.size() < most) named.push_back(fmt::format("'{}'", in_a_sentence(field)));
  return fmt::format("{}{}config.json has {} that no class of transformers reads: {}{}", note,
                     note.empty() ? "" : "; ", counted(config.unknown_fields.size(), "field"),
                     fmt::join(named, ", "),
                     config.unknown_fields.size() > most
                         ? fmt::format(" and {} more", config.unknown_fields.size() - most)
                         : "");
}

Result<Checkpoint> Checkpoint::open(const fs::path& folder) {
  Result<SentenceFiles> sentence = read_sentence_files(folder);
  if (!sentence) return tl::unexpected(sentence.error());
  const fs::path path = sentence->encoder / "config.json";
  const Result<std::string> text = read_text_file(path, "model's configuration", most_config_bytes);
  if (!text) return tl::unexpected(text.error());
  Result<ModelConfig> config = read_model_config(*text, path.string());
  if (!config) return tl::unexpected(config.error());
  Result<WeightFiles> weights = WeightFiles::open(sentence->encoder);
  if (!weights) return tl::unexpected(weights.error());
  if (Status taken = take_modules(*sentence, *config, *weights); !taken) {
    return tl::unexpected(taken.error());
  }
  Result<Checkpoint> checkpoint =
      find_tensors(weights->tensors, std::move(*config), folder.string());
  if (!checkpoint) {
    const bool are_strided = std::ranges::any_of(weights->tensors, [](const auto& tensor) {
      return tensor.second.dtype.ends_with("not contiguous");
    });
    if (!are_strided || weights->paths.size() != 1) return checkpoint;
    return fail("{}; convert the file in Python: {}", checkpoint.error().message,
                torch_conversion(weights->paths.front()));
  }
  checkpoint->files = std::move(weights->files);
  checkpoint->paths = std::move(weights->paths);
  checkpoint->paths.push_back(path);
  checkpoint->paths.insert(checkpoint->paths.end(), sentence->paths.begin(), sentence->paths.end());
  checkpoint->sentence = std::make_shared<const SentenceFiles>(std::move(*sentence));
  return checkpoint;
}

}  // namespace attnscope
