// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/checkpoint.h"

#include "engine/checkpoint/model_config.h"
#include "engine/checkpoint/tensor_names.h"
#include "engine/checkpoint/weight_files.h"
#include "kernels/base/text_file.h"

namespace attnscope {

struct Checkpoint::Opened {
  ModelConfig config;
  WeightFiles weights;  // what the views look at
  NamedTensors tensors;
};

Checkpoint::Checkpoint(std::unique_ptr<Opened> opened) : opened_(std::move(opened)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Result<Checkpoint> Checkpoint::open(const std::filesystem::path& folder) {
  constexpr std::uintmax_t most_config_bytes = 1U << 20U;
  const std::filesystem::path path = folder / "config.json";
  const Result<std::string> text = read_text_file(path, "model's configuration", most_config_bytes);
  if (!text) return tl::unexpected(text.error());
  Result<ModelConfig> config = read_model_config(*text, path.string());
  if (!config) return tl::unexpected(config.error());
  Result<WeightFiles> weights = open_weight_files(folder);
  if (!weights) return tl::unexpected(weights.error());
  Result<NamedTensors> tensors = find_tensors(*weights, *config, folder.string());
  if (!tensors) return tl::unexpected(tensors.error());
  return Checkpoint(std::make_unique<Opened>(
      Opened{std::move(*config), std::move(*weights), std::move(*tensors)}));
}

const ModelShape& Checkpoint::shape() const {
  return opened_->config.shape;
}

const ModelViews& Checkpoint::tensors() const {
  return opened_->tensors.views;
}

const std::string& Checkpoint::architecture() const {
  return opened_->config.architecture;
}

const std::string& Checkpoint::pattern() const {
  return opened_->config.pattern;
}

std::optional<Window> Checkpoint::window() const {
  return opened_->config.window;
}

std::int64_t Checkpoint::most_query_tokens() const {
  return opened_->config.most_query_tokens;
}

const std::vector<std::string>& Checkpoint::left_out() const {
  return opened_->tensors.left_out;
}

}  // namespace attnscope
