// SPDX-License-Identifier: Apache-2.0
//
// Database files from other people. An input is either a whole file (it begins as SQLite's do), or
// lines that change a valid file of the current version, so that the corpus outlives the schema:
//
//   set TABLE COLUMN VALUE    every row's value: i-12 r1e300 tText xC3FF n (integer, real, text,
//                             blob, NULL)
//   drop TABLE
//   endless TABLE             an endless view in its place
//   flip OFFSET MASK          bits of one byte, counted from the start
//   cut SIZE                  the file ends there
//
// No input crashes the code or changes a value of a cell that counts as undamaged.
#include <fmt/format.h>
#include <sqlite3.h>

#include <map>
#include <sstream>

#include "engine/report/run_figures.h"
#include "engine/report/table.h"
#include "engine/store/store.h"
#include "engine/worker/protocol.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/store/sample_runs.h"

namespace attnscope {
namespace {

using fuzz::accepted;
using fuzz::expect;

/// A valid file and the text of every cell, by the cell's display name.
struct Sound {
  test::TemporaryFolder folder;
  std::string bytes;
  std::map<std::string, std::string> cells;
  RunId run;
};

std::string words_of(const StoredCell& cell) {
  return protocol::write_line(protocol::to_json(cell.point)) +
         protocol::write_line(protocol::to_json(cell.cell));
}

void make(Sound& s) {
  Store store = test::open_or_throw(s.folder / "sound.db");
  s.run = test::begin_or_throw(store, test::sample_run());
  std::mt19937_64 random(31);
  for (int i = 0; i < 3; ++i) {
    HeatResult heat = test::random_heat(random, i, 2);
    int ordinal = 0;
    for (Cell& cell : heat.cells) {
      cell.contender.name = "cell " + std::to_string(2 * i + ordinal++);
    }
    expect(store.add_heat(s.run, heat).has_value(), "a heat is stored");
  }
  expect(store.add_ceilings(s.run, test::random_ceilings(random)).has_value(),
         "ceilings are stored");
  expect(store.finish_run(s.run, RunStatus::done).has_value(), "the run ends");
  expect(store.export_runs({s.run}, s.folder / "sound.attn").has_value(), "the run is exported");
  s.bytes = test::bytes_of(s.folder / "sound.attn");
  const auto cells = store.cells(s.run, true);
  for (const StoredCell& cell : *cells) s.cells[cell.cell.contender.name] = words_of(cell);
}

Sound& sound() {
  static Sound made;
  if (made.bytes.empty()) make(made);
  return made;
}

/// An SQLite database in memory, taken from bytes and given back as bytes.
class Editor {
 public:
  explicit Editor(const std::string& bytes) {
    sqlite3_open(":memory:", &handle_);
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), copy);
    sqlite3_deserialize(handle_, "main", copy, static_cast<sqlite3_int64>(bytes.size()),
                        static_cast<sqlite3_int64>(bytes.size()),
                        SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;
  ~Editor() { sqlite3_close(handle_); }

  /// SQL that SQLite declines has no effect.
  void run(const std::string& sql) {
    sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  }

  [[nodiscard]] std::string bytes() const {
    sqlite3_int64 size = 0;
    unsigned char* data = sqlite3_serialize(handle_, "main", &size, 0);
    std::string copy(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    sqlite3_free(data);
    return copy;
  }

 private:
  sqlite3* handle_ = nullptr;
};

std::string enclosed(std::string_view text, char mark) {
  std::string out(1, mark);
  for (const char c : text) {
    if (c == '\0') break;
    if (c == mark) out += c;
    out += c;
  }
  return out + mark;
}

std::string literal(std::string_view value) {
  if (value.empty() || value.front() == 'n') return "NULL";
  const std::string_view rest = value.substr(1);
  if (value.front() == 't') return enclosed(rest, '\'');
  if (value.front() == 'x') return fmt::format("x{}", enclosed(rest, '\''));
  return fmt::format("({} {})", enclosed(rest, '\''), value.front() == 'r' ? "* 1.0" : "+ 0");
}

std::string changed(std::string_view lines) {
  Editor editor(sound().bytes);
  std::string bytes;  // after the first change of bits: later values are not written to it
  const auto whole = [&]() -> std::string& {
    if (bytes.empty()) bytes = editor.bytes();
    return bytes;
  };
  constexpr int most_edits = 20;
  std::istringstream input{std::string(lines)};
  std::string line;
  for (int edits = 0; edits < most_edits && std::getline(input, line); ++edits) {
    std::istringstream words(line);
    std::string what, table, column, value;
    std::size_t at = 0;
    unsigned mask = 0;
    words >> what;
    if (what == "set" && words >> table >> column) {
      std::getline(words >> std::ws, value);
      editor.run(fmt::format("UPDATE {} SET {} = {}", enclosed(table, '"'), enclosed(column, '"'),
                             literal(value)));
    } else if (what == "endless" && words >> table) {
      editor.run(
          fmt::format("ALTER TABLE {0} RENAME TO kept; CREATE VIEW {0} AS WITH RECURSIVE "
                      "n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                      "SELECT kept.* FROM n LEFT JOIN kept",
                      enclosed(table, '"')));
    } else if (what == "drop" && words >> table) {
      editor.run(fmt::format("DROP TABLE {}", enclosed(table, '"')));
    } else if (what == "flip" && words >> at >> mask && at < whole().size()) {
      whole()[at] = static_cast<char>(static_cast<unsigned char>(whole()[at]) ^ (mask & 0xFFU));
    } else if (what == "cut" && words >> at && at < whole().size()) {
      whole().resize(at);
    }
  }
  return whole();
}

void draw(const report::Table& table) {
  for (const auto format :
       {report::TableFormat::text, report::TableFormat::markdown, report::TableFormat::csv,
        report::TableFormat::latex, report::TableFormat::json}) {
    expect(!report::write_table(table, format).empty(), "a table is written");
  }
  for (const auto x : {report::XAxis::length, report::XAxis::window}) {
    for (const auto y : {report::YAxis::time, report::YAxis::memory, report::YAxis::limit}) {
      const auto figure = report::make_figure(table, x, y);
      expect(!accepted(figure) || !report::figure_csv(*figure).empty(),
             "a figure's numbers are written");
    }
  }
}

void read_run(const Store& store, const RunInfo& run, bool is_ours) {
  expect(fuzz::is_plain_text(report::provenance_line(run)), "provenance is one line of plain text");
  for (const bool with_samples : {true, false}) {
    const auto cells = store.cells(run.id, with_samples);
    if (!accepted(cells)) continue;
    for (const StoredCell& cell : *cells) {
      if (cell.damaged || !is_ours || !with_samples) continue;
      const auto original = sound().cells.find(cell.cell.contender.name);
      expect(original != sound().cells.end() && original->second == words_of(cell),
             "no changed value passes as sound", words_of(cell));
    }
  }
  accepted(store.ceilings(run.id));
  accepted(store.progress(run.id));
  accepted(store.finished_points(run.id));
  const auto table = report::make_table(store, run, std::nullopt, {});
  if (accepted(table)) draw(*table);
}

void read_file(const std::filesystem::path& file, bool is_ours) {
  const auto store = Store::open(file, Store::Mode::read_only);
  if (!accepted(store)) return;
  accepted(store->find_run("last"));
  if (const auto runs = store->runs(); accepted(runs)) {
    for (const RunInfo& run : *runs) read_run(*store, run, is_ours);
  }
  accepted(store->check_integrity());
}

}  // namespace

void fuzz::run(std::string_view input) {
  const bool is_whole_file = input.starts_with("SQLite");
  const std::filesystem::path file = sound().folder / "changed.attn";
  test::write_bytes(file, is_whole_file ? std::string(input) : changed(input));
  read_file(file, !is_whole_file);
}

}  // namespace attnscope
