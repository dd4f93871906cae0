// SPDX-License-Identifier: Apache-2.0
//
// Rules of the sources, read from the sources themselves. Includes between rooms: app -> engine ->
// kernels -> base, never back, and no circle of modules; Qt only under app/, SQLite only in
// engine/store, LibTorch only in the worker's rooms. The window's forms: Designer files next to the
// code that fills them, without fixed distances. docs/trust.md: the tests that it names exist.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Prefixes = std::vector<std::string>;

const fs::path root = ATTNSCOPE_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool starts_with_any(const std::string& text, const Prefixes& prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](const std::string& prefix) { return text.starts_with(prefix); });
}

/// QWidget, QtCore/QObject, QtWidgets.
bool is_qt(const std::string& header) {
  const auto upper_at = [&](std::size_t i) { return header.size() > i && std::isupper(header[i]); };
  return upper_at(0) && header[0] == 'Q' && (upper_at(1) || (header[1] == 't' && upper_at(2)));
}

/// Files with one of these prefixes must not include headers with one of these, with exceptions.
struct ForbiddenInclude {
  Prefixes files, headers;
  const char* reason;
  Prefixes but_files = {}, but_headers = {};
};

const Prefixes everywhere{""};
const ForbiddenInclude forbidden_includes[] = {
    {everywhere,
     {"<Qt>"},
     "Qt belongs to app/ (not its worker)",
     {"app/gui/", "app/drawing/", "app/cli/", "app/attnscope.cpp", "tests/gui/"}},
    {everywhere,
     {"sqlite3.h", "SQLiteCpp/"},
     "SQL belongs to engine/store",
     {"engine/store/", "tests/store/", "tests/fuzz/database_file.cpp"}},
    {everywhere,
     {"unicode/", "oniguruma.h"},
     "ICU and Oniguruma belong to engine/text",
     {"engine/text/", "tests/text/"}},
    {everywhere, {"CLI/"}, "CLI11 belongs to app/cli", {"app/cli/", "tests/"}},
    {everywhere,
     {"torch/", "ATen/", "c10/"},
     "LibTorch belongs to the rooms that only the worker links",
     {"engine/attention/", "engine/model/", "engine/proof/", "engine/measure/", "engine/train/",
      "app/worker/", "tests/attention/", "tests/conformance/", "tests/measure/", "tests/model/",
      "tests/train/"}},
    {{"base/"}, {"kernels/", "engine/", "app/"}, "base/ depends on no other folder"},
    {{"base/", "kernels/", "engine/", "app/"}, {"tests/"}, "product code does not include tests"},
    {{"kernels/"}, {"engine/", "app/"}, "kernels/ depends on base/ only"},
    {{"engine/"}, {"app/"}, "engine/ does not include app/"},
    {{"engine/pattern/"},
     {"engine/"},
     "engine/pattern depends on kernels/plan only",
     {},
     {"engine/pattern/"}},
    {{"engine/store/"}, {"engine/sweep/"}, "engine/sweep depends on engine/store, not the reverse"},
    {{"engine/sweep/", "engine/store/", "engine/report/", "engine/statistics/", "app/cli/",
      "app/drawing/", "app/gui/"},
     {"engine/attention/", "engine/measure/", "engine/model/", "engine/proof/", "engine/train/"},
     "only the worker computes"},
    {{"app/cli/", "app/drawing/"},
     {"app/gui/"},
     "the window depends on app/drawing, not the reverse"},
    {{"app/gui/session/"},
     {"app/drawing/", "app/gui/views/", "app/gui/models/", "app/gui/charts/"},
     "a session does not depend on its views"},
    {{"app/drawing/", "app/gui/views/", "app/gui/models/", "app/gui/charts/"},
     {"engine/sweep/driver.h"},
     "views and models do not drive runs"},
};

/// Why `file` (path from the root) must not include `header`; empty if it may.
std::string why_forbidden(const std::string& file, const std::string& header) {
  const std::string named = is_qt(header) ? "<Qt>" : header;
  for (const ForbiddenInclude& rule : forbidden_includes) {
    if (starts_with_any(file, rule.files) && !starts_with_any(file, rule.but_files) &&
        starts_with_any(named, rule.headers) && !starts_with_any(named, rule.but_headers))
      return rule.reason;
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
    if (const std::string header = included_header(line); !header.empty())
      found.push_back({file, header, number});
  }
  return found;
}

/// Calls `visit` with each source of these rooms, as a path from the root.
template <typename Visit>
void for_each_source(const Prefixes& rooms, Visit visit) {
  static const std::set<std::string> read{".h", ".cpp", ".cu", ".cuh", ".inc"};
  for (const std::string& room : rooms) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      if (!read.contains(entry.path().extension().string())) continue;
      visit(fs::relative(entry.path(), root).generic_string(), text_of(entry.path()));
    }
  }
}

TEST(Includes, FollowTheLayers) {
  int sources = 0;
  for_each_source({"base", "kernels", "engine", "app", "tests"}, [&](const std::string& file,
                                                                     const std::string& text) {
    ++sources;
    for (const Include& include : includes_of(file, text)) {
      const std::string reason = why_forbidden(include.file, include.header);
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

TEST(Includes, ForbiddenOnesAreDetected) {
  for (const auto& [file, header] : {std::pair{"engine/report/table.cpp", "QString"},
                                     {"app/worker/main.cpp", "QtCore/QObject"},
                                     {"engine/sweep/driver.cpp", "sqlite3.h"},
                                     {"engine/sweep/driver.cpp", "SQLiteCpp/Database.h"},
                                     {"engine/ranking/score_run.cpp", "CLI/CLI.hpp"},
                                     {"base/json.h", "kernels/plan/tensor.h"},
                                     {"app/gui/window.cpp", "ATen/ops/matmul.h"},
                                     {"kernels/cpu/segment.cpp", "engine/pattern/axes.h"},
                                     {"kernels/cuda/launch.h", "tests/cuda_on_host/emulator.h"},
                                     {"engine/store/store.h", "engine/sweep/sweep.h"},
                                     {"engine/pattern/window.cpp", "engine/heat/heat.h"},
                                     {"app/cli/run.cpp", "engine/attention/list.h"},
                                     {"engine/inspect/dump.cpp", "unicode/uchar.h"},
                                     {"app/gui/session/text.h", "app/drawing/map.h"},
                                     {"app/cli/mask_command.cpp", "app/gui/charts/map_view.h"},
                                     {"app/drawing/heat_drawing.cpp", "app/gui/charts/map_view.h"},
                                     {"app/gui/session/text.h", "app/gui/models/rows_model.h"},
                                     {"engine/text/subword_model.cpp", "ATen/ops/matmul.h"},
                                     {"engine/checkpoint/checkpoint.cpp", "torch/torch.h"},
                                     {"app/gui/views/run_view.cpp", "engine/sweep/driver.h"}})
    EXPECT_NE(why_forbidden(file, header), "") << file << " includes " << header;
  EXPECT_EQ(why_forbidden("app/gui/window.cpp", "QtWidgets/QWidget"), "");
  EXPECT_EQ(why_forbidden("engine/store/store.cpp", "sqlite3.h"), "");
  EXPECT_EQ(why_forbidden("engine/pattern/window.cpp", "engine/pattern/axes.h"), "");
  const auto found = includes_of("a.cpp", "#include <x.h>\n  #  include \"y/z.h\"\nint include;\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].header, "y/z.h");
  EXPECT_EQ(found[1].line, 2);
}

TEST(Forms, AreDesignerFilesWithoutFixedDistances) {
  // Its rows are the axes of the displayed run.
  const std::set<std::string> made_at_run_time{"run_view.cpp"};
  std::string sources;
  std::vector<fs::path> forms;
  for (const auto& entry : fs::directory_iterator(root / "app/gui/views")) {
    const fs::path& file = entry.path();
    if (file.extension() == ".ui") forms.push_back(file);
    if (file.extension() != ".cpp") continue;
    const std::string source = text_of(file);
    sources += source;
    EXPECT_TRUE(source.find("new QFormLayout") == std::string::npos ||
                made_at_run_time.contains(file.filename().string()))
        << file << " builds a form that a .ui file could hold";
  }
  EXPECT_GT(forms.size(), 10U);
  for (const fs::path& form : forms) {
    EXPECT_NE(sources.find("ui_" + form.stem().string() + ".h"), std::string::npos)
        << form << " is not used";
    const std::string text = text_of(form);
    for (const char* distance : {"Margin\"", "pacing\"", "\"geometry\""})
      EXPECT_EQ(text.find(distance), std::string::npos) << form << " sets " << distance;
  }
}

/// Every C++ test source, one after the other, without blanks and line ends.
std::string all_tests() {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    if (entry.path().extension() != ".cpp") continue;
    for (const char c : text_of(entry.path())) {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) all.push_back(c);
    }
  }
  return all;
}

bool is_name(std::string_view text) {
  if (text.empty() || std::isupper(static_cast<unsigned char>(text.front())) == 0) return false;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

/// Suite and test of "Suite.Test".
std::optional<std::pair<std::string, std::string>> test_named(std::string_view code) {
  const std::size_t dot = code.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view suite = code.substr(0, dot), test = code.substr(dot + 1);
  if (!is_name(suite) || !is_name(test)) return std::nullopt;
  return std::pair(std::string(suite), std::string(test));
}

TEST(TrustDocument, NamesExistingTests) {
  const std::string document = text_of(root / "docs/trust.md");
  const std::string tests = all_tests();
  int named = 0;
  // Names are between pairs of backquotes.
  for (std::size_t open = document.find('`'); open != std::string::npos;) {
    const std::size_t close = document.find('`', open + 1);
    if (close == std::string::npos) break;
    if (const auto found =
            test_named(std::string_view(document).substr(open + 1, close - open - 1))) {
      const auto& [suite, test] = *found;
      const bool google = tests.find("(" + suite + "," + test + ")") != std::string::npos;
      const bool qt = tests.find("class" + suite + ":") != std::string::npos &&
                      tests.find("void" + test + "()") != std::string::npos;
      EXPECT_TRUE(google || qt) << suite << "." << test;
      ++named;
    }
    open = document.find('`', close + 1);
  }
  EXPECT_GT(named, 30);
}

}  // namespace
