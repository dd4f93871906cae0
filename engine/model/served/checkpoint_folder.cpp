// SPDX-License-Identifier: Apache-2.0
#include "engine/model/served/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/checkpoint/trained_folder.h"
#include "engine/model/bert/bert_config.h"
#include "engine/model/model_weights.h"
#include "engine/safetensors/safetensors.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* weights_file = "model.safetensors";
constexpr const char* config_file = "config.json";
// A folder is renamed to this prefix after it is locked.
constexpr std::string_view folder_prefix = "attnscope-model-";

/// Locks the folder if no process holds its lock; returns whether it succeeded.
bool lock_folder(const fs::path& folder, Descriptor& lock) {
  return lock.take(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) &&
         flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
}

/// Removes folders of killed processes.
void remove_left_over(const fs::path& parent) {
  std::error_code ignored;
  std::vector<fs::path> folders;
  for (fs::directory_iterator at(parent, ignored), end; at != end; at.increment(ignored)) {
    if (at->path().filename().string().starts_with(folder_prefix)) folders.push_back(at->path());
  }
  for (const fs::path& folder : folders) {
    Descriptor lock;
    if (lock_folder(folder, lock)) fs::remove_all(folder, ignored);
  }
}

}  // namespace

Status CheckpointFolder::make() {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  if (failed) {
    return fail(
        "there is no folder for temporary files, where a model's weights would lie; TMPDIR names "
        "one");
  }
  remove_left_over(parent);
  std::string name = (parent / "attnscope-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return fail("{}: no folder for a model's weights can be made there: {}; TMPDIR names another",
                parent.string(), system_reason(errno));
  }
  path_ = name;
  const bool is_locked = lock_folder(path_, lock_);
  const fs::path locked =
      parent / fmt::format("{}{}", folder_prefix, std::string_view(name).substr(name.size() - 6));
  if (is_locked) fs::rename(path_, locked, failed);
  if (!is_locked || failed) {
    return fail("{}: cannot be locked: {}; TMPDIR names another folder", name,
                failed ? failed.message() : system_reason(errno));
  }
  path_ = locked;
  return {};
}

Result<std::unique_ptr<CheckpointFolder>> CheckpointFolder::write(const ModelWeights& weights) {
  std::unique_ptr<CheckpointFolder> folder(new CheckpointFolder);
  if (Status made = folder->make(); !made) return tl::unexpected(made.error());
  const ModelConfig plain = weights.config().family->config_for(weights.shape(), {});
  const auto specs = weights.config().family->tensors(plain, nullptr).specs;
  std::vector<std::string> names;
  names.reserve(specs.size());  // views refer to them
  std::vector<NamedView> views;
  views.reserve(specs.size());
  for (const TensorSpec& spec : specs) {
    names.push_back(name_in_classifier(spec.in_file, BertConfig{}.body));
    const at::Tensor& tensor = weights.tensor(spec.name);
    views.push_back({names.back(),
                     {"F32",
                      tensor.sizes().vec(),
                      {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}}});
  }
  if (Status written = write_safetensors(folder->path() / weights_file, views, {{"format", "pt"}});
      !written) {
    return tl::unexpected(written.error());
  }
  if (Status written = write_file(folder->path() / config_file, classifier_config(weights.shape()));
      !written) {
    return tl::unexpected(written.error());
  }
  folder->written_ = folder->files();
  return folder;
}

std::optional<std::array<CheckpointFolder::File, 2>> CheckpointFolder::files() const {
  std::array<File, 2> both;
  std::error_code failed;
  std::size_t place = 0;
  for (const char* name : {weights_file, config_file}) {
    both.at(place).written = fs::last_write_time(path_ / name, failed);
    if (failed) return std::nullopt;
    both.at(place++).bytes = fs::file_size(path_ / name, failed);
    if (failed) return std::nullopt;
  }
  return both;
}

bool CheckpointFolder::is_as_written() const {
  return written_ && files() == written_;
}

CheckpointFolder::~CheckpointFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace attnscope
