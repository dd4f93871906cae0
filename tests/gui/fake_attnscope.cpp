// SPDX-License-Identifier: Apache-2.0
//
// Replaces `attnscope` in window tests: the same commands and store, made-up numbers. The name of
// the sweep selects the behavior: "until-cancelled" waits after its first heat for an interrupt,
// "until-signalled" for SIGUSR1, "pausable" until it is paused and then continued; "refused" ends
// with a sentence before its run begins.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/ranking/training_curve.h"
#include "engine/sweep/pause.h"
#include "engine/sweep/run_plan.h"
#include "engine/sweep/sweep.h"
#include "tests/gui/run_fixture.h"

namespace {

using namespace attnscope;

int list_implementations() {
  std::puts(R"([{"id": "dense", "summary": "products and softmax"},
 {"id": "sdpa", "summary": "scaled_dot_product_attention"},
 {"id": "sdpa-mask", "summary": "the same with a mask"},
 {"id": "windowed", "summary": "bands"},
 {"id": "segment", "summary": "one fused pass"}])");
  return 0;
}

/// Dense executes ten times the useful work, segment exactly the useful work.
int costs() {
  std::puts(R"({"implementations": [
 {"id": "dense", "reason": "", "executed_flop": 1e9, "executed_bytes": 1e6, "peak_bytes": 2e6},
 {"id": "sdpa", "reason": "sdpa supports only full attention"},
 {"id": "segment", "reason": "", "executed_flop": 1e8, "executed_bytes": 1e6, "peak_bytes": 1e3}]})");
  return 0;
}

/// sdpa supports only full attention; an item needs 1 MB, 100 MB with dense.
int estimate() {
  std::puts(R"({"largest_tokens": 256, "batch_max": 10, "batch_memory_mb": 4096, "pairs": [
 {"pattern": "full", "implementation": "dense", "reason": "", "item_bytes": 104857600},
 {"pattern": "full", "implementation": "sdpa", "reason": "", "item_bytes": 1048576},
 {"pattern": "full", "implementation": "segment", "reason": "", "item_bytes": 1048576},
 {"pattern": "sparse", "implementation": "dense", "reason": "", "item_bytes": 104857600},
 {"pattern": "sparse", "implementation": "sdpa", "reason": "sdpa supports only full attention"},
 {"pattern": "sparse", "implementation": "segment", "reason": "", "item_bytes": 1048576}]})");
  return 0;
}

int refuse(const std::string& sentence) {
  std::fprintf(stderr, "attnscope: %s\n", sentence.c_str());
  return 2;
}

/// `run --again`: a finished run of the same name, without heats.
int repeat(const std::string& uuid, const std::string& database) {
  Store store = gui::open_store(database);
  const Result<RunInfo> first = store.find_run(uuid);
  if (!first) return refuse(first.error().message);
  const Result<RunId> id = store.begin_run(gui::new_run(first->start.sweep_name, 0));
  if (!id) return refuse(id.error().message);
  return store.finish_run(*id, RunStatus::done) ? 0 : 3;
}

/// Blocked in advance, so that a signal cannot come before sigwait.
sigset_t block(int signal) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, signal);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  return blocked;
}

int run(const std::string& sweep_file, const std::string& database) {
  const sigset_t interrupt = block(SIGINT), go_on = block(SIGUSR1);
  // While sigwait waits the signal is not blocked; a handler shows that it is accepted.
  std::signal(pause_signal(), [](int) {});
  const sigset_t requested = block(pause_signal());
  const auto wait_for = [&](PauseRequest request) {
    siginfo_t signal;
    do {
      sigwaitinfo(&requested, &signal);
    } while (pause_request(signal) != request);
  };

  const Result<Sweep> sweep = load_sweep(sweep_file);
  if (!sweep) return refuse(sweep.error().message);
  if (sweep->name == "refused") return refuse("the worker attnscope-worker was not found.");
  Store store = gui::open_store(database);
  NewRun start = gui::new_run(sweep->name, static_cast<int>(sweep->heats.size()));
  start.provenance = nlohmann::json{{"plan", plan_json(sweep->heats)}}.dump();
  const Result<RunId> id = store.begin_run(start);
  if (!id) return refuse(id.error().message);
  int done = 0;
  const int planned = static_cast<int>(sweep->heats.size());
  for (const Heat& heat : sweep->heats) {
    HeatResult result = gui::made_up_heat(heat.index, heat.point.sequence_tokens, heat.contenders);
    result.point = heat.point;
    if (const Status added = store.add_heat(*id, result); !added)
      return refuse(added.error().message);
    ++done;
    const Status reported =
        store.set_progress(*id, {done, planned, "sparse/segment/4", 1.5 * (planned - done)});
    if (!reported) return refuse(reported.error().message);
    if (sweep->name == "until-cancelled") {
      int signal = 0;
      sigwait(&interrupt, &signal);
      return store.finish_run(*id, RunStatus::cancelled) ? 130 : 3;
    }
    if (sweep->name == "pausable" && done == 1) {
      wait_for(PauseRequest::pause);
      if (!store.set_progress(*id, {done, planned, std::string(paused_words), {}})) return 3;
      wait_for(PauseRequest::resume);
    }
    if (sweep->name == "until-signalled" && done == 1) {
      int signal = 0;
      sigwait(&go_on, &signal);
    }
  }
  return store.finish_run(*id, RunStatus::done) ? 0 : 3;
}

/// The value of "--NAME=VALUE"; empty: there is none.
std::string option(int argc, char** argv, const std::string& name) {
  const std::string begin = "--" + name + "=";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(begin, 0) == 0) return argument.substr(begin.size());
  }
  return {};
}

/// The argument after NAME; empty: there is none.
std::string value_after(int argc, char** argv, const char* name) {
  for (int i = 2; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  return {};
}

/// Writes the arguments after the command, one per line.
void write_arguments(const std::filesystem::path& file, int argc, char** argv) {
  std::ofstream requested(file);
  for (int i = 2; i < argc; ++i) requested << argv[i] << '\n';
}

/// The dump $FAKE_DUMP for every model. A query "wait" is never answered, "refused" is refused.
int inspect(int argc, char** argv) {
  const std::string query = option(argc, argv, "query");
  if (query == "refused") return refuse("there is no model's configuration 'x'; check the path");
  if (query == "wait") return pause();
  std::error_code failed;
  std::filesystem::copy_file(std::getenv("FAKE_DUMP"), option(argc, argv, "output"), failed);
  write_arguments(std::string(std::getenv("FAKE_DUMP")) + ".arguments", argc, argv);
  return failed ? refuse("cannot copy") : 0;
}

/// Two documents, of 100 and of 300 tokens; the arguments are written next to the file of pairs.
int lengths(int argc, char** argv) {
  write_arguments(option(argc, argv, "pairs") + ".arguments", argc, argv);
  if (option(argc, argv, "checkpoint").ends_with("refused"))
    return refuse("there is no model's configuration; check the path");
  std::puts(R"({"documents": {"counted": [[100, 1], [300, 1]]},
 "pairs": {"counted": [[113, 1], [313, 1]]}})");
  return 0;
}

/// Three steps, after which it waits for an interrupt or fails; the arguments are written to its
/// folder.
int train(int argc, char** argv) {
  if (option(argc, argv, "triples").ends_with("wrong.tsv"))
    return refuse("wrong.tsv: line 1 has no negative");
  const sigset_t interrupt = block(SIGINT);
  const std::filesystem::path folder = option(argc, argv, "output");
  std::filesystem::create_directories(folder);
  write_arguments(folder / "arguments", argc, argv);
  auto curve = TrainingCurveFile::resume(folder / training_curve_file, 0);
  for (int step = 1; curve && step <= 3; ++step)
    static_cast<void>(curve->add({.step = step, .loss = 1.0 / step, .tokens = 100, .seconds = 1}));
  const std::string steps = option(argc, argv, "steps");
  if (option(argc, argv, "triples").ends_with("short.tsv"))
    return refuse("short.tsv: ends after line 3");
  int signal = 0;
  sigwait(&interrupt, &signal);
  refuse("interrupted after step 3 of " + steps + "; repeat the command to continue");
  return 130;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 3 && std::strcmp(argv[1], "list") == 0) return list_implementations();
  if (argc >= 3 && std::strcmp(argv[1], "costs") == 0) return costs();
  if (argc >= 3 && std::strcmp(argv[1], "estimate") == 0) return estimate();
  if (argc >= 3 && std::strcmp(argv[1], "inspect") == 0) return inspect(argc, argv);
  if (argc >= 3 && std::strcmp(argv[1], "lengths") == 0) return lengths(argc, argv);
  if (argc >= 3 && std::strcmp(argv[1], "train") == 0) return train(argc, argv);
  if (argc >= 2 && std::strcmp(argv[1], "run") == 0) {
    const std::string database = value_after(argc, argv, "--db");
    const std::string repeated = value_after(argc, argv, "--again");
    if (database.empty() || argc < 5) return refuse("unknown command");
    return repeated.empty() ? run(argv[2], database) : repeat(repeated, database);
  }
  return refuse("unknown command");
}
