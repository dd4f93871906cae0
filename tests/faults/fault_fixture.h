#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A folder with a store and the fake worker's log, and the environment that selects the fake
// worker's behaviour; both are removed after the test.

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/sweep/driver.h"

namespace attnscope {

/// No file of this process may grow beyond `bytes`, as on a full disk.
inline void limit_file_size(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  setrlimit(RLIMIT_FSIZE, &limit);
}

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class FaultFixture : public testing::Test {
 protected:
  FaultFixture() {
    std::string folder = testing::TempDir() + "attnscope-faults-XXXXXX";
    folder_ = mkdtemp(folder.data());
    set("FAKE_WORKER_LOG", folder_ / "log");
    set("FAKE_WORKER_PIDS", folder_ / "pids");
    set("FAKE_WORKER_TURNS", folder_ / "turns");
    set("FAKE_WORKER_HOLD", hold());
    set("FAKE_WORKER", "");
    for (const char* name : {"ATTNSCOPE_LOCKS", "TMPDIR", "XDG_DATA_HOME"}) set(name, folder_);
  }
  ~FaultFixture() override {
    for (const auto& [name, value] : before_)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    std::filesystem::remove_all(folder_);
  }

  static void misbehave(const char* faults) { setenv("FAKE_WORKER", faults, 1); }

  /// Contenders named "held" run while this file is there.
  [[nodiscard]] std::filesystem::path hold() const { return folder_ / "hold"; }
  void hold_on() const { std::ofstream(hold()) << "held"; }
  void let_go() const { std::filesystem::remove(hold()); }

  [[nodiscard]] std::filesystem::path database() const { return folder_ / "runs.db"; }
  [[nodiscard]] Store open_store() const {
    auto store = Store::open(database(), Store::Mode::read_write);
    if (!store) throw std::runtime_error(store.error().message);
    return std::move(*store);
  }

  [[nodiscard]] RunInfo last() const { return *open_store().find_run("last"); }

  /// Every process that was a worker, each preceded by the process that watches it.
  [[nodiscard]] std::vector<pid_t> workers() const { return processes_in("pids"); }
  /// The same for every process that has waited for its turn.
  [[nodiscard]] std::vector<pid_t> turn_holders() const { return processes_in("turns"); }

  /// The requests to fake workers since the last call, without those to quit.
  [[nodiscard]] std::vector<std::string> requests() {
    std::vector<std::string> lines;
    std::ifstream file(folder_ / "log");
    for (std::string line; std::getline(file, line);) {
      if (line != "quit") lines.push_back(line);
    }
    file.close();
    std::filesystem::remove(folder_ / "log");
    return lines;
  }

  /// Waits for this request to a fake worker.
  void wait_for_request(const std::string& request) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < deadline) {
      std::ifstream file(folder_ / "log");
      for (std::string line; std::getline(file, line);) {
        if (line == request) return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    throw std::runtime_error("there was no request " + request);
  }

  static constexpr const char* two_placements = R"("placements": 2, "processes": 1)";
  [[nodiscard]] static std::string sweep_text(const std::string& contenders,
                                              const std::string& lengths,
                                              const std::string& stop = two_placements) {
    const bool given = stop.find("min_samples") != std::string::npos;
    return fmt::format(R"({{"name": "faults", "contenders": [{}],
        "sequence_tokens": [{}], "threads": 1, "stop": {{{}{}}}}})",
                       contenders, lengths, given ? "" : R"("min_samples": 3, )", stop);
  }
  [[nodiscard]] static Sweep sweep_of(const std::string& contenders, const std::string& lengths,
                                      const std::string& stop = two_placements) {
    auto sweep = parse_sweep(sweep_text(contenders, lengths, stop), "faults.json");
    if (!sweep) throw std::runtime_error(sweep.error().message);
    return *sweep;
  }

  [[nodiscard]] static DriverOptions options() {
    DriverOptions options;
    options.worker_command = FAKE_WORKER_PROGRAM;
    options.command_line = "attnscope run faults.json";
    return options;
  }
  /// Options of a run that is cancelled at the first event of this kind that contains `text`.
  DriverOptions cancelled_at(RunEvent::Kind kind, const std::string& text = "", int level = 1) {
    DriverOptions how = options();
    how.cancel = &cancel_;
    how.on_event = [this, kind, text, level](const RunEvent& event) {
      if (event.kind == kind && event.text.find(text) != std::string::npos) cancel_ = level;
    };
    return how;
  }

  struct Ran {
    Result<RunOutcome> outcome;
    std::map<std::string, Cell> cells;  // "sequence_tokens contender"
    std::vector<std::string> warnings;
    RunInfo info;
  };

  /// Runs the sweep and reads what is stored.
  Ran run(const Sweep& sweep, DriverOptions how = options()) {
    Store store = open_store();
    Ran ran{.outcome = fail("not run"), .cells = {}, .warnings = {}, .info = {}};
    const auto listener = how.on_event;
    how.on_event = [&](const RunEvent& event) {
      if (event.kind == RunEvent::Kind::warning) ran.warnings.push_back(event.text);
      if (listener) listener(event);
    };
    ran.outcome = run_sweep(sweep, store, how);
    if (ran.outcome) {
      ran.cells = stored_cells(store, ran.outcome->run);
      ran.info = *store.find_run("last");
    }
    return ran;
  }

  /// The same; throws the error of a run.
  Ran measured(const Sweep& sweep, DriverOptions how = options()) {
    Ran ran = run(sweep, std::move(how));
    if (!ran.outcome) throw std::runtime_error(ran.outcome.error().message);
    return ran;
  }

  static std::map<std::string, Cell> stored_cells(const Store& store, const RunId& run) {
    std::map<std::string, Cell> cells;
    const auto stored = store.cells(run, /*with_samples=*/true);
    if (!stored) throw std::runtime_error(stored.error().message);
    for (const StoredCell& one : *stored) {
      cells[fmt::format("{} {}", one.point.sequence_tokens, one.cell.contender.id())] = one.cell;
    }
    return cells;
  }

  std::filesystem::path folder_;
  std::atomic<int> cancel_ = 0;

 private:
  [[nodiscard]] std::vector<pid_t> processes_in(const char* name) const {
    std::vector<pid_t> all;
    std::ifstream file(folder_ / name);
    for (pid_t pid = 0; file >> pid;) all.push_back(pid);
    return all;
  }
  void set(const char* name, const std::filesystem::path& value) {
    const char* before = std::getenv(name);
    before_[name] = before != nullptr ? std::optional<std::string>(before) : std::nullopt;
    setenv(name, value.c_str(), 1);
  }

  std::map<std::string, std::optional<std::string>> before_;  // the environment
};

}  // namespace attnscope
