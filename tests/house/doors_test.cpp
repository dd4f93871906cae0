// SPDX-License-Identifier: Apache-2.0
//
// The doors of the house: app -> engine -> kernels, never back; Qt only under app/, SQLite only in
// engine/store, LibTorch only in the worker's rooms. Read from the include lines of every source.

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

bool starts_with_any(const std::string& text, std::initializer_list<const char*> prefixes) {
  for (const char* prefix : prefixes) {
    if (text.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

/// QWidget, QtCore/QObject, QtWidgets.
bool is_qt(const std::string& header) {
  const auto upper_at = [&](std::size_t i) { return header.size() > i && std::isupper(header[i]); };
  return upper_at(0) && header[0] == 'Q' && (upper_at(1) || (header[1] == 't' && upper_at(2)));
}

/// Why `file` (path from the root) must not include `header`; empty when it may.
std::string closed_door(const std::string& file, const std::string& header) {
  if (is_qt(header) && !starts_with_any(file, {"app/gui/", "app/drawing/", "app/cli/",
                                               "app/attnscope.cpp", "tests/gui/"})) {
    return "Qt belongs to app/ (not its worker)";
  }
  if (header == "sqlite3.h" &&
      !starts_with_any(file, {"engine/store/", "tests/store/", "tests/fuzz/database_file.cpp"})) {
    return "SQL belongs to engine/store";
  }
  if (starts_with_any(header, {"unicode/"}) &&
      !starts_with_any(file, {"engine/text/", "tests/text/"})) {
    return "ICU belongs to engine/text";
  }
  if (starts_with_any(header, {"torch/", "ATen/", "c10/"}) &&
      !starts_with_any(file,
                       {"engine/attention/", "engine/model/", "engine/proof/", "engine/measure/",
                        "engine/train/", "app/worker/", "tests/attention/", "tests/conformance/",
                        "tests/measure/", "tests/model/", "tests/train/"})) {
    return "LibTorch belongs to the rooms that only the worker links";
  }
  if (starts_with_any(file, {"kernels/", "engine/", "app/"}) &&
      starts_with_any(header, {"tests/"})) {
    return "what is used does not know its tests";
  }
  if (starts_with_any(file, {"kernels/"}) && starts_with_any(header, {"engine/", "app/"})) {
    return "kernels/ stands on its own";
  }
  if (starts_with_any(file, {"engine/"}) && starts_with_any(header, {"app/"})) {
    return "engine/ does not know app/";
  }
  if (starts_with_any(file, {"engine/pattern/"}) && starts_with_any(header, {"engine/"}) &&
      !starts_with_any(header, {"engine/pattern/"})) {
    return "engine/pattern knows kernels/plan alone";
  }
  if (starts_with_any(file, {"engine/store/"}) && starts_with_any(header, {"engine/sweep/"})) {
    return "engine/sweep stands on engine/store";
  }
  if (starts_with_any(file, {"engine/sweep/", "engine/store/", "engine/report/",
                             "engine/statistics/", "app/cli/", "app/drawing/", "app/gui/"}) &&
      starts_with_any(header, {"engine/attention/", "engine/measure/", "engine/model/",
                               "engine/proof/", "engine/train/"})) {
    return "computing happens in the worker";
  }
  if (starts_with_any(file, {"app/cli/", "app/drawing/"}) &&
      starts_with_any(header, {"app/gui/"})) {
    return "the window stands on app/drawing";
  }
  if (starts_with_any(file, {"app/gui/session/"}) &&
      starts_with_any(header,
                      {"app/drawing/", "app/gui/views/", "app/gui/models/", "app/gui/charts/"})) {
    return "a session does not know how it is shown";
  }
  if (starts_with_any(file,
                      {"app/drawing/", "app/gui/views/", "app/gui/models/", "app/gui/charts/"}) &&
      header == "engine/sweep/driver.h") {
    return "views and models do not drive runs";
  }
  return "";
}

struct Include {
  std::string file, header;
  int line = 0;
};

/// The header that a line includes; empty when it includes none.
std::string included_header(std::string line) {
  std::erase_if(line, [](unsigned char c) { return std::isspace(c) != 0; });
  if (line.rfind("#include", 0) != 0 || line.size() < 10) return "";
  const char close = line[8] == '<' ? '>' : '"';
  return line.substr(9, line.find(close, 9) - 9);
}

std::vector<Include> includes_of(const std::string& file, const std::string& text) {
  std::vector<Include> found;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (const std::string header = included_header(line); !header.empty()) {
      found.push_back({file, header, number});
    }
  }
  return found;
}

TEST(Doors, AreOpenedOnlyTheRightWay) {
  const fs::path root = ATTNSCOPE_SOURCE_DIR;
  int sources = 0;
  for (const char* room : {"kernels", "engine", "app", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      static const std::set<std::string> read{".h", ".cpp", ".cu", ".cuh", ".inc"};
      if (!read.contains(entry.path().extension().string())) continue;
      ++sources;
      std::ifstream stream(entry.path());
      std::stringstream text;
      text << stream.rdbuf();
      const std::string file = fs::relative(entry.path(), root).generic_string();
      for (const Include& include : includes_of(file, text.str())) {
        const std::string reason = closed_door(include.file, include.header);
        EXPECT_TRUE(reason.empty()) << include.file << ":" << include.line << " includes "
                                    << include.header << ": " << reason;
      }
    }
  }
  EXPECT_GT(sources, 50);
}

TEST(Doors, ACrossingIsNoticed) {
  EXPECT_NE(closed_door("engine/report/table.cpp", "QString"), "");
  EXPECT_NE(closed_door("app/worker/main.cpp", "QtCore/QObject"), "");
  EXPECT_NE(closed_door("engine/sweep/driver.cpp", "sqlite3.h"), "");
  EXPECT_NE(closed_door("app/gui/window.cpp", "ATen/ops/matmul.h"), "");
  EXPECT_NE(closed_door("kernels/cpu/segment.cpp", "engine/pattern/window.h"), "");
  EXPECT_NE(closed_door("kernels/cuda/launch.h", "tests/cuda_on_host/emulator.h"), "");
  EXPECT_NE(closed_door("engine/store/store.h", "engine/sweep/sweep.h"), "");
  EXPECT_NE(closed_door("engine/pattern/window.cpp", "engine/heat/heat.h"), "");
  EXPECT_NE(closed_door("app/cli/run.cpp", "engine/attention/list.h"), "");
  EXPECT_NE(closed_door("engine/inspect/dump.cpp", "unicode/uchar.h"), "");
  EXPECT_NE(closed_door("app/gui/session/text.h", "app/drawing/map_colors.h"), "");
  EXPECT_NE(closed_door("app/cli/mask_command.cpp", "app/gui/charts/mask_view.h"), "");
  EXPECT_NE(closed_door("app/drawing/heat_drawing.cpp", "app/gui/charts/heat_view.h"), "");
  EXPECT_NE(closed_door("app/gui/session/text.h", "app/gui/models/number_list.h"), "");
  EXPECT_NE(closed_door("engine/text/word_piece.cpp", "ATen/ops/matmul.h"), "");
  EXPECT_NE(closed_door("engine/checkpoint/checkpoint.cpp", "torch/torch.h"), "");
  EXPECT_EQ(closed_door("app/gui/window.cpp", "QtWidgets/QWidget"), "");
  EXPECT_EQ(closed_door("engine/store/store.cpp", "sqlite3.h"), "");
  const auto found = includes_of("a.cpp", "#include <x.h>\n  #  include \"y/z.h\"\nint include;\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].header, "y/z.h");
  EXPECT_EQ(found[1].line, 2);
}

}  // namespace
