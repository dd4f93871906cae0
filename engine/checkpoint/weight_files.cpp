// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/weight_files.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "kernels/base/json.h"
#include "kernels/base/open_file.h"
#include "kernels/base/sentences.h"
#include "kernels/base/text_file.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";
constexpr std::uintmax_t most_index_bytes = 64U << 20U;
constexpr std::size_t most_shards = 1000;

std::string in_words(const fs::path& path) {
  constexpr std::size_t longest = 400;
  return in_a_sentence(path.string(), longest);
}

/// The files that the index names, each once.
Result<std::set<std::string>> shards_of(const fs::path& index) {
  const Result<std::string> text = read_text_file(index, "index of shards", most_index_bytes);
  if (!text) return tl::unexpected(text.error());
  const std::string source = in_words(index);
  const json file = parse_json(*text);
  if (!file.is_object() || !file.contains("weight_map") || !file["weight_map"].is_object()) {
    return fail("{}: is no index of shards: it has no 'weight_map'", source);
  }
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : file["weight_map"].items()) {
    if (!shard.is_string() || !is_plain_name(shard.get_ref<const std::string&>())) {
      return fail("{}: the shard of '{}' is no name of a file beside it", source,
                  in_a_sentence(tensor));
    }
    shards.insert(shard.get<std::string>());
    if (shards.size() > most_shards) {
      return fail("{}: names more than {} shards", source, most_shards);
    }
  }
  return shards;
}

std::string present_name(std::string_view name) {
  struct Renamed {
    std::string_view was, is;
  };
  std::string present(name);
  for (const Renamed renamed : {Renamed{"LayerNorm.gamma", "LayerNorm.weight"},
                                Renamed{"LayerNorm.beta", "LayerNorm.bias"}}) {
    if (!name.ends_with(renamed.was)) continue;
    present.replace(present.size() - renamed.was.size(), renamed.was.size(), renamed.is);
  }
  return present;
}

/// `prefix` goes before the names of its tensors.
Status add_file(const fs::path& path, WeightFiles& weights, std::string_view prefix) {
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file) return tl::unexpected(file.error());
  for (NamedView& tensor : file->tensors()) {
    const std::string name = fmt::format("{}{}", prefix, present_name(tensor.name));
    if (!weights.tensors.emplace(name, std::move(tensor.view)).second) {
      return fail("{}: the tensor '{}' is given twice", in_words(path), in_a_sentence(name));
    }
  }
  weights.files.push_back(std::move(*file));
  weights.paths.push_back(path);
  return {};
}

tl::unexpected<Error> no_weights(const fs::path& folder) {
  const std::string name = in_words(folder);
  for (const char* torch_file : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    const Result<bool> there = is_present(folder / torch_file);
    if (!there) return tl::unexpected(there.error());
    if (!*there) continue;
    return fail(
        "'{}' has its weights in pytorch_model.bin alone, which is not read because loading it "
        "runs code; convert it in Python: safetensors.torch.save_file("
        "torch.load('FOLDER/pytorch_model.bin', weights_only=True), 'FOLDER/model.safetensors')",
        name);
  }
  return fail("there is neither {} nor {} in '{}'; give a checkpoint's folder", single_name,
              index_name, name);
}

/// False where the folder has neither the file nor an index.
Result<bool> add_folder(const fs::path& folder, WeightFiles& weights, std::string_view prefix) {
  const Result<bool> single = is_present(folder / single_name);
  if (!single) return single;
  if (*single) {
    if (Status added = add_file(folder / single_name, weights, prefix); !added) {
      return tl::unexpected(added.error());
    }
    return true;
  }
  const Result<bool> indexed = is_present(folder / index_name);
  if (!indexed || !*indexed) return indexed;
  const Result<std::set<std::string>> shards = shards_of(folder / index_name);
  if (!shards) return tl::unexpected(shards.error());
  weights.paths.push_back(folder / index_name);
  for (const std::string& shard : *shards) {
    if (Status added = add_file(folder / shard, weights, prefix); !added) {
      return tl::unexpected(added.error());
    }
  }
  return true;
}

}  // namespace

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

Result<WeightFiles> WeightFiles::open(const fs::path& folder) {
  WeightFiles weights;
  const Result<bool> found = add_folder(folder, weights, "");
  if (!found) return tl::unexpected(found.error());
  if (!*found) return no_weights(folder);
  return weights;
}

Status WeightFiles::add_module(const fs::path& folder, std::string_view prefix) {
  const Result<bool> found = add_folder(folder, *this, prefix);
  if (!found) return tl::unexpected(found.error());
  return {};
}

}  // namespace attnscope
