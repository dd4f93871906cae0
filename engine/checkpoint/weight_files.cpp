// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/weight_files.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/open_file.h"
#include "base/sentences.h"
#include "engine/checkpoint/hub_cache.h"
#include "engine/checkpoint/torch_file.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A weight file, and the index of shards that may replace it.
struct Layout {
  const char* file;
  const char* index;
  bool is_torch;
};
/// The first existing one is used.
constexpr std::array<Layout, 2> layouts{
    {{"model.safetensors", "model.safetensors.index.json", false},
     {"pytorch_model.bin", "pytorch_model.bin.index.json", true}}};
constexpr std::uintmax_t most_index_bytes = 64U << 20U;
constexpr std::size_t most_shards = 1000;

std::string in_words(const fs::path& path) {
  constexpr std::size_t longest = 400;
  return in_a_sentence(path.string(), longest);
}

/// The distinct files in the index.
Result<std::set<std::string>> shards_of(const fs::path& index) {
  const Result<std::string> text = read_text_file(index, "index of shards", most_index_bytes);
  if (!text) return tl::unexpected(text.error());
  const std::string source = in_words(index);
  const json file = parse_json(*text);
  if (file.is_discarded()) return fail("{}: is not valid JSON; is it truncated?", source);
  if (!file.is_object() || !file.contains("weight_map") || !file["weight_map"].is_object()) {
    return fail("{}: is not an index of shards: it has no 'weight_map'", source);
  }
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : file["weight_map"].items()) {
    if (!shard.is_string() || !is_plain_name(shard.get_ref<const std::string&>())) {
      return fail("{}: the shard of '{}' is not the name of a file in its folder", source,
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

/// `prefix` is prepended to the names of its tensors.
template <typename File>
Status add_file(const fs::path& path, WeightFiles& weights, std::string_view prefix) {
  Result<File> opened = File::open(path);
  if (!opened) return tl::unexpected(opened.error());
  const auto file = std::make_shared<const File>(std::move(*opened));
  for (NamedView& tensor : file->tensors()) {
    const std::string name = fmt::format("{}{}", prefix, present_name(tensor.name));
    if (!weights.tensors.emplace(name, std::move(tensor.view)).second) {
      return fail("{}: the tensor '{}' is given twice, here or in another file; remove one",
                  in_words(path), in_a_sentence(name));
    }
  }
  weights.files.push_back(file);
  weights.paths.push_back(path);
  return {};
}

/// False if the folder has neither the file nor the index.
Result<bool> add_layout(const fs::path& folder, const Layout& layout, WeightFiles& weights,
                        std::string_view prefix) {
  const auto add = layout.is_torch ? add_file<TorchFile> : add_file<SafetensorsFile>;
  const Result<bool> single = is_present(folder / layout.file);
  if (!single) return single;
  if (*single) {
    if (Status added = add(folder / layout.file, weights, prefix); !added)
      return tl::unexpected(added.error());
    return true;
  }
  const fs::path index = folder / layout.index;
  const Result<bool> indexed = is_present(index);
  if (!indexed || !*indexed) return indexed;
  const Result<std::set<std::string>> shards = shards_of(index);
  if (!shards) return tl::unexpected(shards.error());
  weights.paths.push_back(index);
  for (const std::string& shard : *shards) {
    const Result<bool> there = is_present(folder / shard);
    if (!there) return there;
    if (!*there) {
      return fail("{}: its shard '{}' is not in the folder; copy it there", in_words(index),
                  in_a_sentence(shard));
    }
    if (Status added = add(folder / shard, weights, prefix); !added)
      return tl::unexpected(added.error());
  }
  return true;
}

Result<bool> add_folder(const fs::path& folder, WeightFiles& weights, std::string_view prefix) {
  for (const Layout& layout : layouts) {
    Result<bool> added = add_layout(folder, layout, weights, prefix);
    if (!added || *added) return added;
  }
  return false;
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
  if (!*found) {
    std::vector<std::string_view> names;
    for (const Layout& layout : layouts) names.insert(names.end(), {layout.file, layout.index});
    const std::string command = fetching_command(folder);
    return fail("there is none of {} in '{}'; {}", fmt::join(names, ", "), in_words(folder),
                command.empty() ? "give a checkpoint's folder" : "fetch all of it: " + command);
  }
  return weights;
}

Status WeightFiles::add_module(const fs::path& folder, std::string_view prefix) {
  const Result<bool> found = add_folder(folder, *this, prefix);
  if (!found) return tl::unexpected(found.error());
  return {};
}

}  // namespace attnscope
