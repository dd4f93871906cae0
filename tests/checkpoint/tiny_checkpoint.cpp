// SPDX-License-Identifier: Apache-2.0
#include "tests/checkpoint/tiny_checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

namespace attnscope::tests {
namespace {

constexpr std::int64_t hidden = 8, wide = 16, vocabulary = 20, positions = 64;

void add_linear(TinyCheckpoint& to, const std::string& name, std::int64_t out, std::int64_t in) {
  to.tensors[name + ".weight"] = {{out, in}};
  to.tensors[name + ".bias"] = {{out}};
}

void add_norm(TinyCheckpoint& to, const std::string& name) {
  to.tensors[name + ".weight"] = {{hidden}};
  to.tensors[name + ".bias"] = {{hidden}};
}

TinyCheckpoint encoder(const std::string& prefix, std::int64_t types) {
  TinyCheckpoint tiny;
  tiny.config = {{"num_hidden_layers", "2"},
                 {"hidden_size", "8"},
                 {"num_attention_heads", "2"},
                 {"intermediate_size", "16"},
                 {"vocab_size", "20"},
                 {"max_position_embeddings", "64"},
                 {"type_vocab_size", std::to_string(types)},
                 {"hidden_act", "\"gelu\""},
                 {"layer_norm_eps", "1e-12"}};
  const std::string embeddings = prefix + "embeddings.";
  tiny.tensors[embeddings + "word_embeddings.weight"] = {{vocabulary, hidden}};
  tiny.tensors[embeddings + "position_embeddings.weight"] = {{positions, hidden}};
  tiny.tensors[embeddings + "token_type_embeddings.weight"] = {{types, hidden}};
  add_norm(tiny, embeddings + "LayerNorm");
  for (int number = 0; number < 2; ++number) {
    const std::string layer = fmt::format("{}encoder.layer.{}.", prefix, number);
    for (const char* part : {"query", "key", "value"}) {
      add_linear(tiny, layer + "attention.self." + part, hidden, hidden);
    }
    add_linear(tiny, layer + "attention.output.dense", hidden, hidden);
    add_norm(tiny, layer + "attention.output.LayerNorm");
    add_linear(tiny, layer + "intermediate.dense", wide, hidden);
    add_linear(tiny, layer + "output.dense", hidden, wide);
    add_norm(tiny, layer + "output.LayerNorm");
  }
  return tiny;
}

std::int64_t bytes_of(const TinyTensor& tensor) {
  std::int64_t bytes = tensor.dtype.ends_with("64") ? 8 : tensor.dtype == "F32" ? 4 : 2;
  for (const std::int64_t size : tensor.shape) bytes *= size;
  return bytes;
}

/// Drawn floats between -1 and 1, the same every time; ones of other types.
std::string values_of(const std::map<std::string, TinyTensor>& tensors) {
  std::mt19937 draw(9);
  std::string values;
  for (const auto& [name, tensor] : tensors) {
    std::string bytes(static_cast<std::size_t>(bytes_of(tensor)), '\1');
    for (std::size_t at = 0; tensor.dtype == "F32" && at < bytes.size(); at += sizeof(float)) {
      const float value = static_cast<float>(draw()) / static_cast<float>(1U << 31U) - 1;
      std::memcpy(bytes.data() + at, &value, sizeof(value));
    }
    values += bytes;
  }
  return values;
}

}  // namespace

TinyCheckpoint TinyCheckpoint::bert() {
  TinyCheckpoint tiny = encoder("bert.", 2);
  tiny.config.emplace("model_type", "\"bert\"");
  tiny.config.emplace("architectures", R"(["BertForSequenceClassification"])");
  add_linear(tiny, "bert.pooler.dense", hidden, hidden);
  add_linear(tiny, "classifier", 1, hidden);
  return tiny;
}

TinyCheckpoint TinyCheckpoint::longformer() {
  TinyCheckpoint tiny = encoder("longformer.", 1);
  tiny.config.emplace("model_type", "\"longformer\"");
  tiny.config.emplace("tokenizer_class", "\"DistilBertTokenizer\"");
  tiny.config.emplace("architectures", R"(["LongformerForSequenceClassification"])");
  tiny.config.emplace("attention_window", "[8, 8]");
  tiny.config.emplace("pad_token_id", "1");
  for (int number = 0; number < 2; ++number) {
    for (const char* part : {"query_global", "key_global", "value_global"}) {
      add_linear(tiny, fmt::format("longformer.encoder.layer.{}.attention.self.{}", number, part),
                 hidden, hidden);
    }
  }
  add_linear(tiny, "classifier.dense", hidden, hidden);
  add_linear(tiny, "classifier.out_proj", 1, hidden);
  return tiny;
}

TinyCheckpoint TinyCheckpoint::dual_bert() {
  TinyCheckpoint tiny = encoder("bert_model.", 2);
  tiny.config.emplace("model_type", "\"dual-bert\"");
  return tiny;
}

TinyCheckpoint TinyCheckpoint::colbert() {
  TinyCheckpoint tiny = encoder("bert.", 2);
  tiny.config.emplace("model_type", "\"colbert\"");
  tiny.config.emplace("output_dim", "4");
  tiny.config.emplace("punctuation_ids", "[5]");
  tiny.tensors["linear.weight"] = {{4, hidden}};
  return tiny;
}

TinyCheckpoint TinyCheckpoint::cross_bert() {
  TinyCheckpoint tiny = encoder("bert_model.bert.", 2);
  tiny.config.emplace("model_type", "\"cross-bert\"");
  add_linear(tiny, "bert_model.bert.pooler.dense", hidden, hidden);
  add_linear(tiny, "bert_model.classifier", 1, hidden);
  return tiny;
}

TinyCheckpoint TinyCheckpoint::tkl() {
  TinyCheckpoint tiny;
  tiny.config = {{"model_type", "\"tkl\""}, {"embedding_dim", "8"}, {"attention_heads", "2"},
                 {"attention_layers", "2"}, {"feed_forward", "16"}, {"max_query_tokens", "30"},
                 {"saturation", "\"log\""}, {"tail", "\"full\""},   {"max_document_tokens", "200"}};
  tiny.tensors["word_embeddings.weight"] = {{vocabulary, hidden}};
  for (int number = 0; number < 2; ++number) {
    const std::string layer = fmt::format("contextualizer.layers.{}.", number);
    tiny.tensors[layer + "self_attn.in_proj_weight"] = {{3 * hidden, hidden}};
    tiny.tensors[layer + "self_attn.in_proj_bias"] = {{3 * hidden}};
    add_linear(tiny, layer + "self_attn.out_proj", hidden, hidden);
    add_linear(tiny, layer + "linear1", wide, hidden);
    add_linear(tiny, layer + "linear2", hidden, wide);
    add_norm(tiny, layer + "norm1");
    add_norm(tiny, layer + "norm2");
  }
  tiny.tensors["positional_features_q"] = {{1, 30, hidden}};
  tiny.tensors["positional_features_d"] = {{1, 50, hidden}};
  tiny.tensors["mixer"] = {{1}};
  for (const char* name : {"saturation_linear", "saturation_linear2", "saturation_linear3"})
    add_linear(tiny, name, 1, 2);
  tiny.tensors["dense.weight"] = {{1, 11}};
  tiny.tensors["chunk_scoring"] = {{1, 15}};
  tiny.tensors["kernel_mult"] = {{4, 1, 1, 1, 11}};
  return tiny;
}

std::string TinyCheckpoint::config_json() const {
  std::vector<std::string> fields;
  for (const auto& [name, value] : config) fields.push_back(fmt::format("\"{}\": {}", name, value));
  return fmt::format("{{{}}}\n", fmt::join(fields, ",\n"));
}

std::string TinyCheckpoint::weights() const {
  std::vector<std::string> entries;
  std::int64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::int64_t begin = std::exchange(end, end + bytes_of(tensor));
    entries.push_back(fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  name, tensor.dtype, fmt::join(tensor.shape, ","), begin, end));
  }
  std::string header = fmt::format("{{{}}}", fmt::join(entries, ","));
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  for (unsigned i = 0; i < 8; ++i) {
    length[i] = static_cast<char>((header.size() >> (8U * i)) & 0xFFU);
  }
  return fmt::format("{}{}{}", length, header, values_of(tensors));
}

void TinyCheckpoint::write(const std::filesystem::path& folder) const {
  std::ofstream(folder / "config.json", std::ios::binary) << config_json();
  std::ofstream(folder / "model.safetensors", std::ios::binary) << weights();
}

TinyCheckpoint TinyCheckpoint::with_prefix(const std::string& was, const std::string& is) const {
  TinyCheckpoint renamed{config, {}};
  for (const auto& [name, tensor] : tensors) {
    const bool has = name.rfind(was, 0) == 0;
    renamed.tensors[has ? fmt::format("{}{}", is, name.substr(was.size())) : name] = tensor;
  }
  return renamed;
}

void set_value(const std::filesystem::path& weights, const std::string& tensor, std::size_t index,
               float value) {
  std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), sizeof(length));
  std::string header(length, '\0');
  file.read(header.data(), static_cast<std::streamsize>(length));
  const auto begin = nlohmann::json::parse(header).at(tensor).at("data_offsets").at(0);
  file.seekp(static_cast<std::streamoff>(sizeof(length) + length + begin.get<std::size_t>() +
                                         index * sizeof(value)));
  file.write(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace attnscope::tests
