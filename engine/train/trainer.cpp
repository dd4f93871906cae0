// SPDX-License-Identifier: Apache-2.0
#include "engine/train/trainer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <algorithm>
#include <any>
#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/sentences.h"
#include "engine/checkpoint/trained_folder.h"
#include "engine/model/bert/bert_description.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {

namespace {

constexpr const char* steps_key = "steps";
constexpr std::size_t longest_file_name = 400;

/// A parameter's values, moments and kept copy, with their names in the state file.
struct StateTensors {
  std::vector<std::pair<std::string, at::Tensor>> all;

  StateTensors(const std::vector<Parameter>& parameters, const AdamW& optimizer,
               const std::vector<at::Tensor>& kept) {
    all.reserve(4 * parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      all.emplace_back("weight." + parameters[i].name, parameters[i].value);
      all.emplace_back("first." + parameters[i].name, optimizer.first()[i]);
      all.emplace_back("second." + parameters[i].name, optimizer.second()[i]);
      if (!kept.empty()) all.emplace_back("kept." + parameters[i].name, kept[i]);
    }
  }
};

at::Tensor copy_of(const at::Tensor& values) {
  return values.detach().to(at::kCPU, at::kFloat, false, /*copy=*/true);
}

std::vector<at::Tensor> copies_of(const std::vector<Parameter>& parameters) {
  std::vector<at::Tensor> copies;
  copies.reserve(parameters.size());
  for (const Parameter& parameter : parameters) copies.push_back(copy_of(parameter.value));
  return copies;
}

std::span<const std::byte> bytes_of(const at::Tensor& host) {
  return {static_cast<const std::byte*>(host.const_data_ptr()),
          static_cast<std::size_t>(host.nbytes())};
}

Status write(const std::filesystem::path& file,
             const std::vector<std::pair<std::string, at::Tensor>>& tensors,
             std::map<std::string, std::string> texts, Readers readers, bool with_checksum) {
  const at::NoGradGuard no_graph;
  std::vector<at::Tensor> on_host;
  std::vector<NamedView> views;
  on_host.reserve(tensors.size());
  views.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    on_host.push_back(tensor.to(at::kCPU).contiguous());
    views.push_back({name, {"F32", tensor.sizes().vec(), bytes_of(on_host.back())}});
  }
  if (with_checksum) texts[checksum_key] = checksum_of(views, texts);
  return write_safetensors(file, views, texts, readers);
}

}  // namespace

double learning_rate_of(std::int64_t step, const TrainingOptions& options) {
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  if (step < options.warm_up) return options.learning_rate * number(step) / number(options.warm_up);
  if (options.schedule == Schedule::constant) return options.learning_rate;
  const std::int64_t left = std::max<std::int64_t>(options.steps + 1 - step, 0);
  const std::int64_t all =
      std::max<std::int64_t>(options.steps + 1 - std::max<std::int64_t>(options.warm_up, 1), 1);
  return options.learning_rate * std::min(number(left) / number(all), 1.0);
}

Result<std::unique_ptr<Trainer>> Trainer::make(const std::shared_ptr<const ModelWeights>& weights,
                                               const ModelVariant& variant,
                                               std::string_view implementation,
                                               const TrainingOptions& options) {
  auto model = TrainedCrossEncoder::make(*weights, variant, implementation, options.kept);
  if (!model) return tl::unexpected(model.error());
  return std::unique_ptr<Trainer>(new Trainer(std::move(*model), options));
}

Trainer::Trainer(std::unique_ptr<TrainedCrossEncoder> model, const TrainingOptions& options)
    : options_(options),
      model_(std::move(model)),
      optimizer_(model_->parameters(), options.adamw) {}

Result<double> Trainer::add_gradients(const std::vector<TrainingGroup>& batch,
                                      std::size_t groups_of_step, std::int32_t cls,
                                      std::int64_t& tokens) {
  PairBatch pairs{.items = {}, .cls = cls, .document_type = options_.document_type};
  std::vector<ScoredGroup> groups;
  groups.reserve(batch.size());
  for (const TrainingGroup& group : batch) {
    const auto documents = static_cast<std::int64_t>(group.documents.size());
    if (documents < 2 || (options_.objective != Objective::localized_ce && documents != 2)) {
      return fail("a group of {} has {} documents, including the relevant document",
                  name_of(options_.objective), documents);
    }
    for (const auto& document : group.documents) {
      pairs.items.push_back({.query = group.query, .document = document});
      tokens += 1 + static_cast<std::int64_t>(group.query.size() + document.size());
    }
    groups.push_back({.documents = documents, .margin = group.margin});
  }
  const auto scores = model_->scores(pairs);
  if (!scores) return tl::unexpected(scores.error());
  const at::Tensor loss =
      loss_of(options_.objective, *scores, groups) / static_cast<double>(groups_of_step);
  loss.backward();
  return loss.item<double>();
}

void Trainer::clear_gradients() {
  for (const Parameter& parameter : model_->parameters()) {
    at::Tensor weight = parameter.value;
    weight.mutable_grad().reset();
  }
}

Result<StepReport> Trainer::step(std::span<const std::vector<TrainingGroup>> batches,
                                 std::int32_t cls) {
  std::size_t groups = 0;
  for (const auto& batch : batches) groups += batch.size();
  if (groups == 0) return fail("a step without groups of documents has nothing to learn from");
  StepReport report{.step = steps_done() + 1};
  for (const auto& batch : batches) {
    if (batch.empty()) continue;
    const auto loss = add_gradients(batch, groups, cls, report.tokens);
    if (!loss) {
      clear_gradients();
      return tl::unexpected(loss.error());
    }
    report.loss += *loss;
  }
  report.learning_rate = learning_rate_of(report.step, options_);
  auto length = std::isfinite(report.loss)
                    ? optimizer_.step(report.learning_rate)
                    : fail("the loss is infinite or NaN; use a lower learning rate");
  if (!length) {
    clear_gradients();
    return fail("step {}: {}", report.step, length.error().message);
  }
  report.gradient_norm = *length;
  return report;
}

std::shared_ptr<const ModelWeights> Trainer::weights(bool kept) const {
  const at::NoGradGuard no_graph;
  ModelWeights::Tensors tensors;
  for (std::size_t i = 0; i < model_->parameters().size(); ++i) {
    const Parameter& parameter = model_->parameters()[i];
    tensors.emplace(parameter.name, copy_of(kept && !kept_.empty() ? kept_[i] : parameter.value));
  }
  return std::make_shared<const ModelWeights>(model_->config(), std::move(tensors));
}

void Trainer::keep() {
  const at::NoGradGuard no_graph;
  kept_ = copies_of(model_->parameters());
}

Status Trainer::save(const std::filesystem::path& file,
                     const std::map<std::string, std::string>& texts) const {
  std::map<std::string, std::string> metadata = texts;
  metadata[steps_key] = fmt::format("{}", steps_done());
  return write(file, StateTensors(model_->parameters(), optimizer_, kept_).all, metadata,
               Readers::owner_only, /*with_checksum=*/true);
}

Status Trainer::resume(const std::filesystem::path& file) {
  const at::NoGradGuard no_graph;
  const auto state = SafetensorsFile::open(file);
  if (!state) return tl::unexpected(state.error());
  const auto text = state->metadata(steps_key);
  if (!text) return tl::unexpected(text.error());
  std::int64_t steps = -1;
  std::from_chars(text->data(), text->data() + text->size(), steps);
  if (Status whole = state->check_sum(); !whole) return whole;
  const std::string name = in_a_sentence(file.string(), longest_file_name);
  if (steps < 0) return fail("{}: '{}' is not a number of steps", name, in_a_sentence(*text));
  std::vector<at::Tensor> kept;
  if (state->names().size() > 3 * model_->parameters().size())
    kept = copies_of(model_->parameters());
  const StateTensors into(model_->parameters(), optimizer_, kept);
  if (state->names().size() != into.all.size()) {
    return fail("{}: belongs to another model: it has {} tensors, and {} are needed", name,
                state->names().size(), into.all.size());
  }
  std::vector<std::span<const float>> values;
  values.reserve(into.all.size());
  for (const auto& [tensor_name, tensor] : into.all) {
    const auto found = state->floats(tensor_name, tensor.sizes().vec());
    if (!found) return tl::unexpected(found.error());
    values.push_back(*found);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const at::Tensor& to = into.all[i].second;
    at::Tensor host = at::empty(to.sizes(), at::kFloat);
    std::ranges::copy(values[i], host.data_ptr<float>());
    to.copy_(host);
  }
  optimizer_.set_steps(steps);
  kept_ = std::move(kept);
  return {};
}

Status Trainer::write_model(const std::filesystem::path& file) const {
  const ModelConfig& config = model_->config();
  const std::string_view body = std::any_cast<const BertConfig&>(config.own).body;
  std::map<std::string, std::string> in_file;
  for (const TensorSpec& spec : config.family->tensors(config, nullptr).specs) {
    in_file[spec.name] = name_in_classifier(spec.in_file, body);
  }
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  tensors.reserve(in_file.size());
  for (std::size_t i = 0; i < model_->parameters().size(); ++i) {
    const Parameter& parameter = model_->parameters()[i];
    tensors.emplace_back(in_file.at(parameter.name), kept_.empty() ? parameter.value : kept_[i]);
  }
  return write(file, tensors, {{"format", "pt"}}, Readers::as_umask, /*with_checksum=*/false);
}

AdamW::AdamW(const std::vector<Parameter>& parameters, const AdamWOptions& options)
    : options_(options) {
  const at::NoGradGuard no_graph;
  weights_.reserve(parameters.size());
  first_.reserve(parameters.size());
  second_.reserve(parameters.size());
  for (const Parameter& parameter : parameters) {
    weights_.push_back(parameter.value);
    first_.push_back(at::zeros_like(parameter.value));
    second_.push_back(at::zeros_like(parameter.value));
  }
}

double AdamW::norm() const {
  double squares = 0;
  for (const at::Tensor& weight : weights_) {
    if (!weight.grad().defined()) continue;
    const auto length = at::linalg_vector_norm(weight.grad()).item<double>();
    squares += length * length;
  }
  return std::sqrt(squares);
}

Result<double> AdamW::step(double learning_rate) {
  const at::NoGradGuard no_graph;
  const double length = norm();
  if (!std::isfinite(length)) {
    return fail("the gradients are infinite or NaN; use a lower learning rate");
  }
  ++steps_;
  // The gradients are divided by the divisor.
  const bool is_long = options_.most_norm > 0 && length > options_.most_norm;
  const at::Tensor divisor = at::full({}, is_long ? length / options_.most_norm : 1.0,
                                      weights_.front().options().requires_grad(false));
  const at::Tensor count = at::full({}, static_cast<double>(steps_), divisor.options());
  for (const bool decays : {true, false}) {
    std::vector<at::Tensor> weights, gradients, first, second;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (!weights_[i].grad().defined() || (weights_[i].dim() > 1) != decays) continue;
      weights.push_back(weights_[i]);
      gradients.push_back(weights_[i].grad());
      first.push_back(first_[i]);
      second.push_back(second_[i]);
    }
    if (weights.empty()) continue;
    at::_fused_adamw_(
        weights, gradients, first, second, {}, std::vector<at::Tensor>(weights.size(), count),
        learning_rate, options_.first_decay, options_.second_decay,
        decays ? options_.weight_decay : 0, options_.epsilon, /*amsgrad=*/false,
        /*maximize=*/false, is_long ? std::optional<at::Tensor>(divisor) : std::nullopt);
  }
  for (at::Tensor& weight : weights_) weight.mutable_grad().reset();
  return length;
}

namespace {

struct NamedObjective {
  Objective objective;
  std::string_view name;
};
constexpr NamedObjective objectives[] = {{Objective::margin_mse, "margin-mse"},
                                         {Objective::ranknet, "ranknet"},
                                         {Objective::localized_ce, "localized-ce"}};

/// s+ - s- for each group.
at::Tensor differences(const at::Tensor& scores, std::span<const ScoredGroup> groups) {
  if (std::ranges::any_of(groups, [](const ScoredGroup& group) { return group.documents != 2; }))
    throw std::logic_error("a group of this objective must have two documents");
  const at::Tensor pairs = scores.view({-1, 2});
  return pairs.select(1, 0) - pairs.select(1, 1);
}

at::Tensor squared_margins(const at::Tensor& scores, std::span<const ScoredGroup> groups) {
  std::vector<double> margins;
  margins.reserve(groups.size());
  for (const ScoredGroup& group : groups) margins.push_back(group.margin);
  const at::Tensor wanted = at::tensor(margins, at::kDouble).to(scores.device(), at::kFloat);
  return (differences(scores, groups) - wanted).square().sum();
}

at::Tensor cross_entropy(const at::Tensor& scores, std::span<const ScoredGroup> groups) {
  at::Tensor sum = at::zeros({}, scores.options());
  std::int64_t first = 0;
  for (const ScoredGroup& group : groups) {
    sum = sum - at::log_softmax(scores.narrow(0, first, group.documents), 0).select(0, 0);
    first += group.documents;
  }
  return sum;
}

}  // namespace

std::string_view name_of(Objective objective) {
  return std::ranges::find(objectives, objective, &NamedObjective::objective)->name;
}

Result<Objective> parse_objective(std::string_view text) {
  std::vector<std::string_view> known;
  for (const NamedObjective& named : objectives) {
    if (named.name == text) return named.objective;
    known.push_back(named.name);
  }
  return fail("there is no objective '{}'; {}", in_a_sentence(text), suggest(text, known));
}

at::Tensor loss_of(Objective objective, const at::Tensor& scores,
                   std::span<const ScoredGroup> groups) {
  switch (objective) {
    case Objective::margin_mse:
      return squared_margins(scores, groups);
    case Objective::ranknet:
      return at::softplus(-differences(scores, groups)).sum();
    case Objective::localized_ce:
      break;
  }
  return cross_entropy(scores, groups);
}

}  // namespace attnscope
