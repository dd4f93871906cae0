// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/head_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/sentences.h"

namespace attnscope {
namespace {

constexpr std::array<std::string_view, 14> activation_names{
    "Identity",  "Tanh", "GELU", "ReLU",     "Sigmoid",  "SiLU",      "Mish",
    "LeakyReLU", "ELU",  "SELU", "Softplus", "Softsign", "Hardswish", "ReLU6"};

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 0)
    return std::nullopt;
  return number;
}

}  // namespace

void append_linear(std::string_view name, std::string_view in_file, std::int64_t out,
                   std::int64_t in, std::vector<TensorSpec>& specs) {
  specs.push_back({fmt::format("{}.weight", name), fmt::format("{}.weight", in_file), {out, in}});
  specs.push_back({fmt::format("{}.bias", name), fmt::format("{}.bias", in_file), {out}});
}

void append_norm(std::string_view name, std::string_view in_file, std::int64_t width,
                 std::vector<TensorSpec>& specs) {
  specs.push_back({fmt::format("{}.weight", name), fmt::format("{}.weight", in_file), {width}, 1});
  specs.push_back({fmt::format("{}.bias", name), fmt::format("{}.bias", in_file), {width}});
}

std::optional<HeadActivation> parse_activation(std::string_view name) {
  const auto* found = std::ranges::find(activation_names, name);
  if (found == activation_names.end()) return std::nullopt;
  return static_cast<HeadActivation>(found - activation_names.begin());
}

Result<LabelChoice> parse_label(std::string_view text, std::int64_t labels) {
  constexpr std::string_view softmax = "log-softmax-";
  LabelChoice choice{.kind = LabelChoice::Kind::logit};
  std::optional<std::int64_t> label, other = 0;
  if (text.starts_with(softmax)) {
    choice.kind = LabelChoice::Kind::log_softmax;
    label = number_of(text.substr(softmax.size()));
  } else if (const std::size_t minus = text.find('-'); minus != std::string_view::npos) {
    choice.kind = LabelChoice::Kind::difference;
    label = number_of(text.substr(0, minus));
    other = number_of(text.substr(minus + 1));
  } else {
    label = number_of(text);
  }
  if (!label || !other) {
    return fail(
        "'{}' is not a label; give a number (1), a difference (1-0) or a log-probability "
        "(log-softmax-1)",
        in_a_sentence(text));
  }
  if (*label >= labels || *other >= labels) {
    return fail("label {} does not exist; the model has {}, counted from 0",
                std::max(*label, *other), counted(labels, "label"));
  }
  if (choice.kind == LabelChoice::Kind::difference && *label == *other) {
    return fail("'{}' is the difference of a label and itself; give two labels",
                in_a_sentence(text));
  }
  choice.label = *label;
  choice.other = *other;
  return choice;
}

HeadConfig classifier_head(const ClassifierNames& names) {
  HeadConfig head;
  if (!names.pooler.empty()) {
    head.steps.push_back({.name = "pooler.dense",
                          .in_file = names.pooler,
                          .in_body = names.pooler_in_body,
                          .in = names.hidden,
                          .out = names.hidden,
                          .activation = names.activation});
  }
  head.steps.push_back(
      {.name = "classifier", .in_file = names.classifier, .in = names.hidden, .bias = names.bias});
  return head;
}

bool has_head(const HeadConfig& head, const TensorViews& files) {
  const auto last = std::ranges::find_if(
      head.steps.rbegin(), head.steps.rend(),
      [](const HeadStep& step) { return step.kind == HeadStep::Kind::linear; });
  return last != head.steps.rend() && files.contains(last->in_file + ".weight");
}

void take_labels(const TensorViews& files, HeadConfig& head) {
  head.labels = head.stated_labels.value_or(1);
  for (const HeadStep& step : head.steps) {
    if (step.kind != HeadStep::Kind::linear || step.out != 0) continue;
    const auto found = files.find(step.in_file + ".weight");
    constexpr std::int64_t most_labels = 10'000;
    if (head.stated_labels || found == files.end() || found->second.shape.size() != 2) continue;
    head.labels = std::clamp<std::int64_t>(found->second.shape[0], 1, most_labels);
  }
}

void append_head(const HeadConfig& head, std::string_view prefix, std::vector<TensorSpec>& specs) {
  for (const HeadStep& step : head.steps) {
    const std::string in_file =
        step.in_body ? fmt::format("{}{}", prefix, step.in_file) : step.in_file;
    const std::int64_t out = step.out > 0 ? step.out : head.labels;
    if (step.kind == HeadStep::Kind::linear) {
      append_linear(step.name, in_file, out, step.in, specs);
      if (!step.bias) specs.pop_back();
      if (step.residual && out != step.in) {
        const std::string folder = in_file.substr(0, in_file.rfind('.'));
        specs.push_back(
            {step.name + ".residual.weight", folder + ".residual.weight", {out, step.in}});
      }
    } else if (step.kind == HeadStep::Kind::norm) {
      append_norm(step.name, in_file, step.in, specs);
      if (!step.bias) specs.pop_back();
    }
  }
}

}  // namespace attnscope
