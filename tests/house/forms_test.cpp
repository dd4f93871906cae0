// SPDX-License-Identifier: Apache-2.0
//
// The window's forms: Designer files next to the code that fills them, without fixed distances.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(Forms, AreDesignerFilesWithoutFixedDistances) {
  // Its rows are the axes of the displayed run.
  const std::set<std::string> made_at_run_time{"run_view.cpp"};
  std::string sources;
  std::vector<fs::path> forms;
  for (const auto& entry : fs::directory_iterator(ATTNSCOPE_SOURCE_DIR "/app/gui/views")) {
    const fs::path& file = entry.path();
    if (file.extension() == ".ui") forms.push_back(file);
    if (file.extension() != ".cpp") continue;
    const std::string source = content_of(file);
    sources += source;
    EXPECT_TRUE(source.find("new QFormLayout") == std::string::npos ||
                made_at_run_time.contains(file.filename().string()))
        << file << " builds a form that a .ui file could hold";
  }
  EXPECT_GT(forms.size(), 10U);
  for (const fs::path& form : forms) {
    EXPECT_NE(sources.find("ui_" + form.stem().string() + ".h"), std::string::npos)
        << form << " is not used";
    const std::string text = content_of(form);
    for (const char* distance : {"Margin\"", "pacing\"", "\"geometry\""})
      EXPECT_EQ(text.find(distance), std::string::npos) << form << " sets " << distance;
  }
}

}  // namespace
