// SPDX-License-Identifier: Apache-2.0
//
// The hub's cache as `hf download` lays it out.
#include "engine/checkpoint/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>

#include "engine/checkpoint/weight_files.h"
#include "tests/safetensors/scratch_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* variables[] = {"SENTENCE_TRANSFORMERS_HOME",
                                     "HF_HUB_CACHE",
                                     "HUGGINGFACE_HUB_CACHE",
                                     "HF_HOME",
                                     "XDG_CACHE_HOME",
                                     "HOME"};

const std::string first(40, 'a'), second(40, 'b');

/// No variable names a cache; HOME and the current folder are a scratch folder.
class HubCache : public ::testing::Test {
 protected:
  HubCache() : before_(fs::current_path()) {
    for (const char* variable : variables) {
      if (const char* value = std::getenv(variable)) values_[variable] = value;
      ::unsetenv(variable);
    }
    ::setenv("HOME", folder_.path().c_str(), 1);
    fs::current_path(folder_.path());
  }
  ~HubCache() override {
    fs::current_path(before_);
    for (const char* variable : variables) {
      ::unsetenv(variable);
      if (values_.contains(variable)) ::setenv(variable, values_[variable].c_str(), 1);
    }
  }
  HubCache(const HubCache&) = delete;
  HubCache& operator=(const HubCache&) = delete;

  /// Two revisions of a model, whose main is the second.
  void fill(const fs::path& cache, const std::string& repository) const {
    const fs::path inside = cache / repository;
    for (const char* part : {"blobs", "refs/refs/pr"}) fs::create_directories(inside / part);
    tests::write_bytes(inside / "blobs/1", "{}");
    for (const std::string& hash : {first, second}) {
      fs::create_directories(inside / "snapshots" / hash);
      fs::create_symlink("../../blobs/1", inside / "snapshots" / hash / "config.json");
    }
    tests::write_bytes(inside / "refs/main", second);
    tests::write_bytes(inside / "refs/refs/pr/4", first + "\n");
  }
  static std::string error_of(const fs::path& requested) {
    const auto place = find_checkpoint(requested);
    return place ? "found in " + place->folder.string() : place.error().message;
  }

  tests::ScratchFolder folder_;
  fs::path before_;
  std::map<std::string, std::string> values_;
};

TEST_F(HubCache, FindsANameByItsRevision) {
  const fs::path cache = folder_ / ".cache/huggingface/hub";
  fill(cache, "models--org--name");
  const fs::path snapshots = cache / "models--org--name/snapshots";
  const auto main = find_checkpoint("org/name");
  ASSERT_TRUE(main) << main.error().message;
  EXPECT_EQ(main->folder, snapshots / second);
  EXPECT_EQ(main->name, "org/name");
  EXPECT_EQ(main->revision, second);
  EXPECT_EQ(main->words(), "org/name@" + second);
  for (const std::string& revision : {first, std::string("refs/pr/4")}) {
    const auto other = find_checkpoint("org/name@" + revision);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(other->folder, snapshots / first);
  }
  for (const fs::path& folder : {cache / "models--org--name", snapshots / second}) {
    const auto same = find_checkpoint(folder);
    ASSERT_TRUE(same) << same.error().message;
    EXPECT_EQ(same->folder, snapshots / second);
    EXPECT_EQ(same->words(), main->words());
  }
  EXPECT_THAT(error_of("org/name@v2"), AllOf(HasSubstr("has no revision 'v2'"),
                                             HasSubstr("hf download org/name --revision v2")));
  EXPECT_THAT(error_of("org/name@" + first.substr(0, 7)), HasSubstr("has no revision 'aaaaaaa'"));
  fs::remove(cache / "models--org--name/refs/main");
  EXPECT_THAT(error_of("org/name"), HasSubstr("has no revision 'main'"));
}

TEST_F(HubCache, NamesTheCommandThatFetchesMissingWeights) {
  const fs::path cache = folder_ / ".cache/huggingface/hub";
  fill(cache, "models--org--name");
  const fs::path snapshot = cache / "models--org--name/snapshots" / second;
  EXPECT_THAT(WeightFiles::open(snapshot).error().message,
              HasSubstr("fetch all of it: hf download org/name --revision " + second));
  EXPECT_THAT(WeightFiles::open(folder_.path()).error().message,
              HasSubstr("give a checkpoint's folder"));
}

TEST_F(HubCache, ResolvesANameWithoutOrganisation) {
  const fs::path cache = folder_ / ".cache/huggingface/hub";
  fill(cache, "models--cross-encoder--mini");
  fill(cache, "models--bert-base-uncased");
  EXPECT_EQ(find_checkpoint("mini")->name, "cross-encoder/mini");
  EXPECT_EQ(find_checkpoint("bert-base-uncased")->name, "bert-base-uncased");
}

TEST_F(HubCache, UsesTheCacheOfTheFirstVariable) {
  const fs::path caches[] = {
      folder_ / "st",     folder_ / "hub-cache",           folder_ / "old",
      folder_ / "hf/hub", folder_ / "xdg/huggingface/hub", folder_ / ".cache/huggingface/hub"};
  for (const fs::path& cache : caches) fill(cache, "models--org--name");
  ::setenv("SENTENCE_TRANSFORMERS_HOME", (folder_ / "st").c_str(), 1);
  ::setenv("HF_HUB_CACHE", "~/hub-cache", 1);
  ::setenv("HUGGINGFACE_HUB_CACHE", (folder_ / "old").c_str(), 1);
  ::setenv("HF_HOME", (folder_ / "hf").c_str(), 1);
  ::setenv("XDG_CACHE_HOME", (folder_ / "xdg").c_str(), 1);
  for (std::size_t i = 0; i < std::size(caches); ++i) {
    const auto place = find_checkpoint("org/name");
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_EQ(place->folder, caches[i] / "models--org--name/snapshots" / second);
    ::unsetenv(variables[i]);
  }
  // The first that is set, though it has not got the model; but for sentence-transformers' own.
  ::setenv("HOME", folder_.path().c_str(), 1);
  ::setenv("SENTENCE_TRANSFORMERS_HOME", (folder_ / "none").c_str(), 1);
  EXPECT_TRUE(find_checkpoint("org/name"));
  ::setenv("HF_HOME", (folder_ / "none").c_str(), 1);
  EXPECT_THAT(error_of("org/name"),
              AllOf(HasSubstr("not in the hub's cache"), HasSubstr("none/hub"),
                    HasSubstr("hf download org/name")));
}

TEST_F(HubCache, PrefersAFolderAndReturnsOtherPathsUnchanged) {
  fill(folder_ / ".cache/huggingface/hub", "models--org--name");
  fs::create_directories(folder_ / "org/name");
  const auto folder = find_checkpoint("org/name/");
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_EQ(folder->name, "name");
  EXPECT_EQ(folder->revision, "");
  for (const char* path : {"/no/folder", "a/b/c", "../x/y", "org/name@../../x", ""})
    EXPECT_EQ(error_of(path), std::string("found in ") + path);
}

TEST_F(HubCache, RefusesABrokenLink) {
  const fs::path cache = folder_ / ".cache/huggingface/hub";
  fill(cache, "models--org--name");
  const fs::path snapshot = cache / "models--org--name/snapshots" / second;
  fs::create_directories(snapshot / "1_Pooling");
  fs::create_symlink("../../../blobs/2", snapshot / "1_Pooling/config.json");
  for (const fs::path& requested : {fs::path("org/name"), snapshot}) {
    EXPECT_THAT(error_of(requested),
                AllOf(HasSubstr("1_Pooling/config.json: is a link to a file that"),
                      HasSubstr("hf download org/name")));
  }
  EXPECT_THAT(error_of("org/name@" + first), Not(HasSubstr("is a link")));
}

}  // namespace
}  // namespace attnscope
