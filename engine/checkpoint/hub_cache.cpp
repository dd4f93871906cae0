// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/hub_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/open_file.h"
#include "base/sentences.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_hub_path = 400;
constexpr std::string_view folder_mark = "models--";
constexpr std::string_view cross_encoders = "cross-encoder/";  // sentence-transformers' own

std::string shown_path(const fs::path& path) {
  return in_a_sentence(path.string(), longest_hub_path);
}

/// A folder from an environment variable; "~" is the home folder.
std::optional<fs::path> folder_named_by(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || value[0] == '\0') return std::nullopt;
  const std::string_view text(value);
  const char* const home = std::getenv("HOME");
  if (home != nullptr && (text == "~" || text.starts_with("~/")))
    return fs::path(home) / text.substr(std::min<std::size_t>(2, text.size()));
  return fs::path(text);
}

/// In search order.
std::vector<fs::path> caches() {
  std::vector<fs::path> all;
  if (auto folder = folder_named_by("SENTENCE_TRANSFORMERS_HOME"))
    all.push_back(std::move(*folder));
  for (const auto& [variable, inside] :
       {std::pair("HF_HUB_CACHE", ""), std::pair("HUGGINGFACE_HUB_CACHE", ""),
        std::pair("HF_HOME", "hub"), std::pair("XDG_CACHE_HOME", "huggingface/hub"),
        std::pair("HOME", ".cache/huggingface/hub")}) {
    const auto folder = folder_named_by(variable);
    if (!folder) continue;
    all.push_back(inside[0] == '\0' ? *folder : *folder / inside);
    break;
  }
  return all;
}

/// The parts of a name on the hub.
struct HubName {
  std::string name;  // "ORG/NAME" or "NAME"
  std::string revision = "main";
  bool names_revision = false;
};

bool is_hub_word(std::string_view word) {
  constexpr std::size_t longest = 96;
  return !word.empty() && word.size() <= longest && word.front() != '.' && word.front() != '-' &&
         word.find("--") == std::string_view::npos && std::ranges::all_of(word, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

std::optional<HubName> hub_name_in(const std::string& text) {
  const std::size_t at = text.find('@');
  HubName found{.name = text.substr(0, at)};
  if (at != std::string::npos) {
    found.names_revision = true;
    found.revision = text.substr(at + 1);
    // A revision may be a path like "refs/pr/4", but must not leave the folder.
    if (found.revision.empty() || found.revision.front() == '/' ||
        found.revision.find("..") != std::string::npos) {
      return std::nullopt;
    }
  }
  const std::size_t slash = found.name.find('/');
  if (slash == std::string::npos)
    return is_hub_word(found.name) ? std::optional(found) : std::nullopt;
  const std::string_view name = found.name;
  if (!is_hub_word(name.substr(0, slash)) || !is_hub_word(name.substr(slash + 1)))
    return std::nullopt;
  return found;
}

std::string hub_folder_of(std::string_view name) {
  std::string folder(folder_mark);
  for (const char c : name) folder += c == '/' ? std::string("--") : std::string(1, c);
  return folder;
}

/// "ORG/NAME" for a folder of the cache, "" for others.
std::string hub_name_of(const fs::path& folder) {
  std::string name = folder.filename().string();
  if (!name.starts_with(folder_mark)) return {};
  name.erase(0, folder_mark.size());
  if (const std::size_t between = name.find("--"); between != std::string::npos)
    name.replace(between, 2, "/");
  return name;
}

std::string fetching_command(const HubName& requested) {
  return fmt::format("hf download {}{}", requested.name,
                     requested.names_revision ? " --revision " + requested.revision : "");
}

bool is_whole_hash(std::string_view text) {
  constexpr std::size_t digits = 40;
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// Name and revision of a snapshot folder.
std::optional<HubName> snapshot_at(const fs::path& folder) {
  const fs::path snapshots = folder.parent_path();
  const std::string name = hub_name_of(snapshots.parent_path());
  const std::string hash = folder.filename().string();
  if (snapshots.filename() != "snapshots" || name.empty() || !is_whole_hash(hash))
    return std::nullopt;
  return HubName{.name = name, .revision = hash, .names_revision = true};
}

/// Links of an interrupted download, or of a partly deleted cache, may be broken.
Status check_links(const fs::path& snapshot, const HubName& requested) {
  std::error_code failed;
  for (auto at = fs::recursive_directory_iterator(snapshot, failed);
       !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    std::error_code unknown;
    if (!at->is_symlink(unknown) || at->exists(unknown)) continue;
    return fail("{}: is a link to a file that does not exist; fetch it again: {}",
                shown_path(at->path()), fetching_command(requested));
  }
  if (failed) return fail("{}: cannot be read: {}", shown_path(snapshot), failed.message());
  return {};
}

/// The snapshot of a revision in a folder "models--ORG--NAME".
Result<CheckpointPlace> in_repository(const fs::path& repository, const HubName& requested) {
  constexpr std::size_t most_bytes = 4096;
  std::error_code unknown;
  std::string revision = requested.revision;
  if (const fs::path ref = repository / "refs" / requested.revision;
      fs::is_regular_file(ref, unknown)) {
    const auto text = read_text_file(ref, "revision", most_bytes);
    if (!text) return tl::unexpected(text.error());
    revision = text->substr(0, text->find_first_of(" \t\r\n"));
  }
  const fs::path snapshot = repository / "snapshots" / revision;
  if (!is_whole_hash(revision) || !fs::is_directory(snapshot, unknown)) {
    return fail("{}: has no revision '{}'; fetch it: {}", shown_path(repository),
                in_a_sentence(requested.revision), fetching_command(requested));
  }
  if (Status whole = check_links(snapshot, requested); !whole) return tl::unexpected(whole.error());
  return CheckpointPlace{.folder = snapshot, .name = requested.name, .revision = revision};
}

/// A folder of the cache, or another folder, whose name is the same for "models/mini/" and
/// "models/mini".
Result<CheckpointPlace> place_of_folder(const fs::path& folder) {
  std::error_code failed;
  fs::path whole = fs::weakly_canonical(folder, failed);
  if (failed) whole = folder;
  if (const std::string name = hub_name_of(whole);
      !name.empty() && fs::is_directory(whole / "snapshots", failed)) {
    return in_repository(folder, {.name = name});
  }
  if (const auto requested = snapshot_at(whole)) {
    if (Status links = check_links(folder, *requested); !links)
      return tl::unexpected(links.error());
    return CheckpointPlace{
        .folder = folder, .name = requested->name, .revision = requested->revision};
  }
  return CheckpointPlace{.folder = folder, .name = whole.filename().string(), .revision = {}};
}

}  // namespace

std::string fetching_command(const fs::path& folder) {
  std::error_code failed;
  for (fs::path at = fs::weakly_canonical(folder, failed); at.has_relative_path();
       at = at.parent_path()) {
    if (const auto requested = snapshot_at(at)) return fetching_command(*requested);
  }
  return {};
}

Result<CheckpointPlace> find_checkpoint(const fs::path& requested) {
  std::error_code unknown;
  if (fs::exists(requested, unknown)) return place_of_folder(requested);
  const auto name = hub_name_in(requested.string());
  if (!name) {
    return CheckpointPlace{
        .folder = requested, .name = requested.filename().string(), .revision = {}};
  }
  std::vector<HubName> names{*name};
  if (name->name.find('/') == std::string::npos) {
    names.push_back(*name);
    names.back().name.insert(0, cross_encoders);
  }
  const std::vector<fs::path> folders = caches();
  for (const fs::path& cache : folders) {
    for (const HubName& candidate : names) {
      const fs::path repository = cache / hub_folder_of(candidate.name);
      if (fs::is_directory(repository, unknown)) return in_repository(repository, candidate);
    }
  }
  std::vector<std::string> places;
  places.reserve(folders.size());
  for (const fs::path& cache : folders) places.push_back(shown_path(cache));
  return fail("'{}' is not a folder and not in the hub's cache ({}); fetch it: {}",
              in_a_sentence(requested.string(), longest_hub_path),
              places.empty() ? std::string("neither HF_HOME nor HOME names a folder")
                             : fmt::format("{}", fmt::join(places, ", ")),
              fetching_command(names.back()));
}

}  // namespace attnscope
