// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/weight_files.h"

#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

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
constexpr std::size_t longest_path = 400;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// A name of a file in the folder itself.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

/// The files that the index names, each once.
Result<std::set<std::string>> shards_of(const fs::path& index) {
  const Result<std::string> text = read_text_file(index, "index of shards", most_index_bytes);
  if (!text) return tl::unexpected(text.error());
  const std::string source = in_a_sentence(index.string(), longest_path);
  const json file = json::parse(*text, nullptr, /*allow_exceptions=*/false);
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

Status add_file(const fs::path& path, WeightFiles& weights) {
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file) return tl::unexpected(file.error());
  for (NamedView& tensor : file->tensors()) {
    const std::string name = present_name(tensor.name);
    if (!weights.tensors.emplace(name, std::move(tensor.view)).second) {
      return fail("{}: the tensor '{}' is given twice", in_a_sentence(path.string(), longest_path),
                  in_a_sentence(name));
    }
  }
  weights.files.push_back(std::move(*file));
  return {};
}

tl::unexpected<Error> no_weights(const fs::path& folder) {
  const std::string name = in_a_sentence(folder.string(), longest_path);
  if (is_there(folder / "pytorch_model.bin") || is_there(folder / "pytorch_model.bin.index.json")) {
    return fail(
        "'{}' has its weights in pytorch_model.bin alone, which is not read because loading it "
        "runs "
        "code; convert it in Python: AutoModelForSequenceClassification.from_pretrained(FOLDER)"
        ".save_pretrained(FOLDER, safe_serialization=True)",
        name);
  }
  return fail("there is neither {} nor {} in '{}'; give a checkpoint's folder", single_name,
              index_name, name);
}

}  // namespace

Result<WeightFiles> open_weight_files(const fs::path& folder) {
  WeightFiles weights;
  if (is_there(folder / single_name)) {
    if (Status added = add_file(folder / single_name, weights); !added) {
      return tl::unexpected(added.error());
    }
    return weights;
  }
  if (!is_there(folder / index_name)) return no_weights(folder);
  const Result<std::set<std::string>> shards = shards_of(folder / index_name);
  if (!shards) return tl::unexpected(shards.error());
  for (const std::string& shard : *shards) {
    if (Status added = add_file(folder / shard, weights); !added) {
      return tl::unexpected(added.error());
    }
  }
  return weights;
}

}  // namespace attnscope
