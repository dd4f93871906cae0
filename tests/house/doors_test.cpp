// SPDX-License-Identifier: Apache-2.0
//
// Includes between rooms: app -> engine -> kernels -> base, never back, and no circle of modules;
// Qt only under app/, SQLite only in engine/store, LibTorch only in the worker's rooms. Read from
// the include lines of every source.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
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
  if ((header == "sqlite3.h" || starts_with_any(header, {"SQLiteCpp/"})) &&
      !starts_with_any(file, {"engine/store/", "tests/store/", "tests/fuzz/database_file.cpp"})) {
    return "SQL belongs to engine/store";
  }
  if (starts_with_any(header, {"unicode/", "oniguruma.h"}) &&
      !starts_with_any(file, {"engine/text/", "tests/text/"})) {
    return "ICU and Oniguruma belong to engine/text";
  }
  if (starts_with_any(header, {"CLI/"}) && !starts_with_any(file, {"app/cli/", "tests/"})) {
    return "CLI11 belongs to app/cli";
  }
  if (starts_with_any(file, {"base/"}) &&
      starts_with_any(header, {"kernels/", "engine/", "app/"})) {
    return "base/ depends on no other folder";
  }
  if (starts_with_any(header, {"torch/", "ATen/", "c10/"}) &&
      !starts_with_any(file,
                       {"engine/attention/", "engine/model/", "engine/proof/", "engine/measure/",
                        "engine/train/", "app/worker/", "tests/attention/", "tests/conformance/",
                        "tests/measure/", "tests/model/", "tests/train/"})) {
    return "LibTorch belongs to the rooms that only the worker links";
  }
  if (starts_with_any(file, {"base/", "kernels/", "engine/", "app/"}) &&
      starts_with_any(header, {"tests/"})) {
    return "product code does not include tests";
  }
  if (starts_with_any(file, {"kernels/"}) && starts_with_any(header, {"engine/", "app/"})) {
    return "kernels/ depends on base/ only";
  }
  if (starts_with_any(file, {"engine/"}) && starts_with_any(header, {"app/"})) {
    return "engine/ does not include app/";
  }
  if (starts_with_any(file, {"engine/pattern/"}) && starts_with_any(header, {"engine/"}) &&
      !starts_with_any(header, {"engine/pattern/"})) {
    return "engine/pattern depends on kernels/plan only";
  }
  if (starts_with_any(file, {"engine/store/"}) && starts_with_any(header, {"engine/sweep/"})) {
    return "engine/sweep depends on engine/store, not the reverse";
  }
  if (starts_with_any(file, {"engine/sweep/", "engine/store/", "engine/report/",
                             "engine/statistics/", "app/cli/", "app/drawing/", "app/gui/"}) &&
      starts_with_any(header, {"engine/attention/", "engine/measure/", "engine/model/",
                               "engine/proof/", "engine/train/"})) {
    return "only the worker computes";
  }
  if (starts_with_any(file, {"app/cli/", "app/drawing/"}) &&
      starts_with_any(header, {"app/gui/"})) {
    return "the window depends on app/drawing, not the reverse";
  }
  if (starts_with_any(file, {"app/gui/session/"}) &&
      starts_with_any(header,
                      {"app/drawing/", "app/gui/views/", "app/gui/models/", "app/gui/charts/"})) {
    return "a session does not depend on its views";
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

std::string source_text(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Calls `visit` with each source of these rooms, as a path from the root.
template <typename Visit>
void for_each_source(std::initializer_list<const char*> rooms, Visit visit) {
  static const std::set<std::string> read{".h", ".cpp", ".cu", ".cuh", ".inc"};
  const fs::path root = ATTNSCOPE_SOURCE_DIR;
  for (const char* room : rooms) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      if (!read.contains(entry.path().extension().string())) continue;
      visit(fs::relative(entry.path(), root).generic_string(), source_text(entry.path()));
    }
  }
}

TEST(Doors, IncludesFollowTheLayers) {
  int sources = 0;
  for_each_source({"base", "kernels", "engine", "app", "tests"}, [&](const std::string& file,
                                                                     const std::string& text) {
    ++sources;
    for (const Include& include : includes_of(file, text)) {
      const std::string reason = closed_door(include.file, include.header);
      EXPECT_TRUE(reason.empty()) << include.file << ":" << include.line << " includes "
                                  << include.header << ": " << reason;
    }
  });
  EXPECT_GT(sources, 50);
}

/// Modules by name (a header and its source are one) with the modules that they include.
using Modules = std::map<std::string, std::set<std::string>>;

std::string module_of(const std::string& file) {
  return file.substr(0, file.rfind('.'));
}

/// The modules that include themselves through others.
std::vector<std::string> in_cycles(const Modules& modules) {
  std::vector<std::string> found;
  for (const auto& [start, direct] : modules) {
    std::set<std::string> reached;
    std::vector<std::string> waiting(direct.begin(), direct.end());
    while (!waiting.empty()) {
      const std::string next = std::move(waiting.back());
      waiting.pop_back();
      const auto included = modules.find(next);
      if (included == modules.end() || !reached.insert(next).second) continue;
      waiting.insert(waiting.end(), included->second.begin(), included->second.end());
    }
    if (reached.contains(start)) found.push_back(start);
  }
  return found;
}

TEST(Modules, HaveNoCycles) {
  Modules modules;
  for_each_source({"base", "kernels", "engine", "app"},
                  [&](const std::string& file, const std::string& text) {
                    const std::string module = module_of(file);
                    std::set<std::string>& included = modules[module];
                    for (const Include& include : includes_of(file, text)) {
                      if (const std::string other = module_of(include.header); other != module)
                        included.insert(other);
                    }
                  });
  EXPECT_GT(modules.size(), 50U);
  EXPECT_THAT(in_cycles(modules), testing::IsEmpty());
}

TEST(Modules, DetectsACycle) {
  EXPECT_THAT(in_cycles({{"a", {"b"}}, {"b", {"c"}}, {"c", {"b", "d"}}, {"d", {}}}),
              testing::ElementsAre("b", "c"));
  EXPECT_THAT(in_cycles({{"a", {"b", "c"}}, {"b", {"c"}}, {"c", {}}}), testing::IsEmpty());
}

TEST(Doors, DetectsAForbiddenInclude) {
  EXPECT_NE(closed_door("engine/report/table.cpp", "QString"), "");
  EXPECT_NE(closed_door("app/worker/main.cpp", "QtCore/QObject"), "");
  EXPECT_NE(closed_door("engine/sweep/driver.cpp", "sqlite3.h"), "");
  EXPECT_NE(closed_door("engine/sweep/driver.cpp", "SQLiteCpp/Database.h"), "");
  EXPECT_NE(closed_door("engine/ranking/score_run.cpp", "CLI/CLI.hpp"), "");
  EXPECT_NE(closed_door("base/json.h", "kernels/plan/tensor.h"), "");
  EXPECT_NE(closed_door("app/gui/window.cpp", "ATen/ops/matmul.h"), "");
  EXPECT_NE(closed_door("kernels/cpu/segment.cpp", "engine/pattern/axes.h"), "");
  EXPECT_NE(closed_door("kernels/cuda/launch.h", "tests/cuda_on_host/emulator.h"), "");
  EXPECT_NE(closed_door("engine/store/store.h", "engine/sweep/sweep.h"), "");
  EXPECT_NE(closed_door("engine/pattern/window.cpp", "engine/heat/heat.h"), "");
  EXPECT_NE(closed_door("app/cli/run.cpp", "engine/attention/list.h"), "");
  EXPECT_NE(closed_door("engine/inspect/dump.cpp", "unicode/uchar.h"), "");
  EXPECT_NE(closed_door("app/gui/session/text.h", "app/drawing/map.h"), "");
  EXPECT_NE(closed_door("app/cli/mask_command.cpp", "app/gui/charts/map_view.h"), "");
  EXPECT_NE(closed_door("app/drawing/heat_drawing.cpp", "app/gui/charts/map_view.h"), "");
  EXPECT_NE(closed_door("app/gui/session/text.h", "app/gui/models/rows_model.h"), "");
  EXPECT_NE(closed_door("engine/text/subword_model.cpp", "ATen/ops/matmul.h"), "");
  EXPECT_NE(closed_door("engine/checkpoint/checkpoint.cpp", "torch/torch.h"), "");
  EXPECT_EQ(closed_door("app/gui/window.cpp", "QtWidgets/QWidget"), "");
  EXPECT_EQ(closed_door("engine/store/store.cpp", "sqlite3.h"), "");
  const auto found = includes_of("a.cpp", "#include <x.h>\n  #  include \"y/z.h\"\nint include;\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].header, "y/z.h");
  EXPECT_EQ(found[1].line, 2);
}

}  // namespace
