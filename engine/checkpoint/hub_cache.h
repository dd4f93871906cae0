#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Where a checkpoint lies that is named by its folder or as the Hugging Face hub names it: what
// `hf download` has fetched is found in the hub's cache on this machine. Nothing is fetched.
//
//   Result<CheckpointPlace> place = find_checkpoint("cross-encoder/ms-marco-MiniLM-L6-v2");
//   place->folder;    // ~/.cache/huggingface/hub/models--cross-encoder--.../snapshots/SHA
//   place->revision;  // SHA

#include <filesystem>
#include <string>

#include "kernels/base/result.h"

namespace attnscope {

struct CheckpointPlace {
  std::filesystem::path folder;
  std::string name;      // the folder's own, or the hub's, ORG/NAME
  std::string revision;  // of a snapshot in the hub's cache, in full; else empty

  /// "ORG/NAME@REVISION", or the name.
  [[nodiscard]] std::string words() const {
    return revision.empty() ? name : name + "@" + revision;
  }
};

/// A folder, one of the cache ("models--ORG--NAME") among them, is taken as it is; else a name of
/// the hub is looked up, ORG/NAME or NAME, with "@REVISION" for another than main. Without ORG that
/// of sentence-transformers' cross-encoders is meant, unless the hub has the name alone. The cache
/// is that of sentence-transformers where SENTENCE_TRANSFORMERS_HOME is set, then the first of
/// HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub and
/// ~/.cache/huggingface/hub. Errors: nothing is there (with the command that fetches it), a
/// revision that was not fetched, a link in the snapshot that leads nowhere. What is neither a
/// folder nor a name of the hub is answered as it is.
[[nodiscard]] Result<CheckpointPlace> find_checkpoint(const std::filesystem::path& asked);

/// The command that fetches the snapshot in which a folder lies, "" of a folder elsewhere.
[[nodiscard]] std::string fetching_command(const std::filesystem::path& folder);

}  // namespace attnscope
