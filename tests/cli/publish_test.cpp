// SPDX-License-Identifier: Apache-2.0
//
// results/tools/publish: tables and figures of a published run, rebuilt from the run.

#include <fstream>
#include <iterator>
#include <map>

#include "base/gzip.h"
#include "tests/base/packed.h"
#include "tests/cli/program.h"

namespace attnscope::testing {
namespace {

class Publish : public ProgramTest {};

const fs::path source = ATTNSCOPE_SOURCE_DIR;

/// Runs the script in the program's folder; its output goes to "out" and "err" there.
int publish(const Program& program, const std::string& arguments) {
  return program.shell(fmt::format("ATTNSCOPE='{}' '{}' {} > out 2> err", ATTNSCOPE_PROGRAM,
                                   (source / "results/tools/publish").string(), arguments));
}

std::map<std::string, std::string> files_of(const Program& program, const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& file : fs::directory_iterator(program.path(folder))) {
    files[file.path().filename()] = program.read(folder + "/" + file.path().filename().string());
  }
  return files;
}

std::string packed_run() {
  std::ifstream file(small_run, std::ios::binary);
  return tests::packed(std::string{std::istreambuf_iterator<char>(file), {}});
}

/// A folder with the run of the store's tests.
void make_page(const Program& program, const std::string& outputs) {
  program.write("page/run.attn.gz", packed_run());
  program.write("page/outputs", outputs);
}

TEST_F(Publish, WritesTheSameOutputsEachTime) {
  make_page(program,
            "# FILE COMMAND ARGUMENTS\n\n"
            "table.md table --format markdown --baseline full/sdpa\n"
            "growth.csv table --format csv --growth\n"
            "times.md times segment --only sequence_tokens=128\n");
  ASSERT_EQ(publish(program, "page"), 0) << program.read("err");
  const auto first = files_of(program, "page");
  EXPECT_EQ(first.size(), 5U);
  EXPECT_THAT(first.at("table.md"), HasSubstr("| vs base |"));
  EXPECT_THAT(first.at("growth.csv"), HasSubstr("growth_high"));
  EXPECT_THAT(first.at("times.md"), HasSubstr("| 128 tokens | sparse/segment, w = 4 |"));
  EXPECT_THAT(first.at("times.md"), HasSubstr("`full/sdpa` takes"));
  EXPECT_EQ(first.at("run.attn.gz"), packed_run());
  ASSERT_EQ(publish(program, "page"), 0);
  EXPECT_EQ(files_of(program, "page"), first);
}

TEST_F(Publish, AGivenRunReplacesTheOldRun) {
  make_page(program, "table.md table --format markdown\n");
  fs::copy_file(small_run, program.path("elsewhere.attn"));
  fs::rename(program.path("page/run.attn.gz"), program.path("elsewhere.attn.gz"));
  for (const std::string file : {"elsewhere.attn", "elsewhere.attn.gz"}) {
    program.write("page/run.attn.gz", "an older one");
    ASSERT_EQ(publish(program, file + " page"), 0) << program.read("err");
    EXPECT_TRUE(program.read("page/run.attn.gz").starts_with(gzip_mark));
    EXPECT_THAT(program.read("page/table.md"), HasSubstr("| 128 tokens, batch 1 |"));
  }
  EXPECT_EQ(program.read("page/run.attn.gz"), program.read("elsewhere.attn.gz"));
}

TEST_F(Publish, WrongUseKeepsTheOldFiles) {
  make_page(program, "table.md draw\n");
  program.write("page/table.md", "the old one");
  fs::create_directory(program.path("empty"));
  const auto refused = [&](const std::string& arguments, const std::string& word) {
    EXPECT_EQ(publish(program, arguments), 2);
    const std::string message = program.read("err");
    EXPECT_EQ(message.find('\n'), message.size() - 1) << message;
    EXPECT_THAT(message, HasSubstr(word));
  };
  refused("page", "no command 'draw'");
  refused("nowhere", "no folder nowhere");
  refused("empty", "no run.attn.gz");
  refused("", "expected [SWEEP, FILE.attn or FILE.attn.gz] FOLDER");
  refused("elsewhere.attn page", "no file elsewhere.attn");
  EXPECT_EQ(program.read("page/table.md"), "the old one");
  for (const std::string file : {"run.attn.gz", "outputs", "./outputs", "README.md"}) {
    program.write("page/outputs", file + " table --format markdown\n");
    refused("page", file + " would be overwritten");
    EXPECT_EQ(program.read("page/run.attn.gz"), packed_run());
  }
}

TEST_F(Publish, EveryPublishedFolderHasItsOutputs) {
  int folders = 0;
  for (const auto& folder : fs::directory_iterator(source / "results")) {
    if (!fs::exists(folder.path() / "run.attn.gz")) continue;
    ++folders;
    std::ifstream outputs(folder.path() / "outputs");
    ASSERT_TRUE(outputs) << folder.path();
    EXPECT_TRUE(fs::exists(folder.path() / "README.md")) << folder.path();
    for (std::string line; std::getline(outputs, line);) {
      if (line.empty() || line.front() == '#') continue;
      const std::string file = line.substr(0, line.find(' '));
      EXPECT_TRUE(fs::exists(folder.path() / file)) << folder.path() / file;
    }
  }
  EXPECT_GE(folders, 11);
}

}  // namespace
}  // namespace attnscope::testing
