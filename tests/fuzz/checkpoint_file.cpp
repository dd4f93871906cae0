// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint's config.json and, after the first 0x1E, the header of its weights: the fields of an
// accepted one are consistent.
#include "engine/checkpoint/checkpoint.h"
#include "engine/safetensors/safetensors.h"
#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::accepted;
using fuzz::expect;

void follow_config(const ModelConfig& config) {
  const ModelShape& shape = config.shape;
  expect(shape.head_dim() * shape.heads == shape.hidden, "heads divide the hidden size");
  expect(shape.layers > 0 && shape.positions > 0 && shape.vocabulary > 0, "sizes are positive");
  expect(config.pattern == "full" || config.window.has_value(), "a window goes with its pattern");
}

void follow_header(const ModelConfig& config, std::string_view json) {
  constexpr std::int64_t data_bytes = 1 << 20;
  const Result<Header> header = parse_header(json, data_bytes, "model.safetensors");
  if (!accepted(header)) return;
  TensorViews files;
  for (const HeaderEntry& entry : header->entries) {
    files.emplace(entry.name, TensorView{entry.dtype, entry.shape, {}});
  }
  const auto found = find_tensors(files, config, "folder");
  if (!accepted(found)) return;
  for (const TensorSpec& spec : config.family->tensors(config, &files).specs) {
    const auto tensor = found->tensors.find(spec.name);
    expect(tensor != found->tensors.end(), "every tensor is there");
    expect(tensor->second.shape == spec.shape, "shapes are the config's");
  }
}

}  // namespace

void fuzz::run(std::string_view input) {
  const std::size_t end = input.find('\x1e');
  const auto config = read_model_config(input.substr(0, end), "config.json");
  if (!accepted(config)) return;
  follow_config(*config);
  if (end != std::string_view::npos) follow_header(*config, input.substr(end + 1));
}

}  // namespace attnscope
