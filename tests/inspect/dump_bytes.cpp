// SPDX-License-Identifier: Apache-2.0
#include "tests/inspect/dump_bytes.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "kernels/plan/number_formats.h"

namespace attnscope {

std::vector<std::byte> DumpParts::bytes() const {
  nlohmann::json header = nlohmann::json::object();
  header["__metadata__"] = metadata;
  std::vector<std::byte> data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = data.size();
    for (const float value : tensor.values) {
      const std::uint16_t half = float16_from_float(value);
      const std::size_t size = tensor.dtype == "F16" ? sizeof half : sizeof value;
      data.resize(data.size() + size);
      std::memcpy(data.data() + data.size() - size,
                  tensor.dtype == "F16" ? static_cast<const void*>(&half) : &value, size);
    }
    header[name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::vector<std::byte> all;
  for (unsigned i = 0; i < 8; ++i) {
    all.push_back(static_cast<std::byte>((text.size() >> (8U * i)) & 0xFFU));
  }
  for (const char c : text) all.push_back(static_cast<std::byte>(c));
  all.insert(all.end(), data.begin(), data.end());
  return all;
}

Result<Dump> DumpParts::read() const {
  return Dump::read(ByteSource::of(bytes(), "dump"));
}

DumpParts small_dump() {
  DumpParts parts;
  parts.metadata = {{"attnscope_dump", "1"},
                    {"model", "made up"},
                    {"note", "pseudo-random numbers"},
                    {"layout", R"({"items": [{"cls": 1, "query": 3, "document": 8}]})"},
                    {"pattern", "full"},
                    {"scale", "0.5"}};
  nlohmann::json tokens = {"[CLS]", "what", "is", "[SEP]"};
  for (int i = 0; i < 7; ++i) tokens.push_back("word" + std::to_string(i));
  tokens.push_back("[SEP]");
  parts.metadata["tokens"] = tokens.dump();
  std::mt19937 random(7);
  for (const char* layer : {"0", "2"}) {
    for (const char* part : {"q", "k", "v"}) {
      DumpTensor tensor{.shape = {12, 2, 4}, .values = {}};
      for (int i = 0; i < 12 * 2 * 4; ++i) {
        tensor.values.push_back(static_cast<float>(random() % 2001) / 500 - 2);
      }
      parts.tensors[std::string("layer.") + layer + "." + part] = tensor;
    }
  }
  return parts;
}

}  // namespace attnscope
