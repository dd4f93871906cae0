#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Finds a checkpoint by its folder or its name on the Hugging Face hub: checkpoints fetched by `hf
// download` are found in the hub's cache on this machine. Nothing is downloaded.
//
//   Result<CheckpointPlace> place = find_checkpoint("cross-encoder/ms-marco-MiniLM-L6-v2");
//   place->folder;    // ~/.cache/huggingface/hub/models--cross-encoder--.../snapshots/SHA
//   place->revision;  // SHA

#include <filesystem>
#include <string>

#include "base/result.h"

namespace attnscope {

struct CheckpointPlace {
  std::filesystem::path folder;
  std::string name;      // the folder's, or ORG/NAME of the hub
  std::string revision;  // full revision of a snapshot in the hub's cache; otherwise empty

  /// "ORG/NAME@REVISION", or the name.
  [[nodiscard]] std::string words() const {
    return revision.empty() ? name : name + "@" + revision;
  }
};

/// An existing folder, including one of the cache ("models--ORG--NAME"), is used directly;
/// otherwise the argument is a name on the hub, ORG/NAME or NAME, with "@REVISION" for a revision
/// other than main. A name without ORG means one of sentence-transformers' cross-encoders, unless
/// the hub itself has this name. The cache is that of sentence-transformers if
/// SENTENCE_TRANSFORMERS_HOME is set, otherwise the first of HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE,
/// HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub and ~/.cache/huggingface/hub. Errors: not found
/// (with the command that fetches it), a revision that was not fetched, a broken link in the
/// snapshot. An argument that is neither a folder nor a valid name is returned unchanged.
[[nodiscard]] Result<CheckpointPlace> find_checkpoint(const std::filesystem::path& requested);

/// The command that fetches the snapshot containing a folder; empty for other folders.
[[nodiscard]] std::string fetching_command(const std::filesystem::path& folder);

}  // namespace attnscope
