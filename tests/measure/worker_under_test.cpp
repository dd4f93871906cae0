// SPDX-License-Identifier: Apache-2.0
#include "tests/measure/worker_under_test.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

extern char** environ;

namespace attnscope::worker {
namespace {

constexpr int silence_ms = 60'000;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

WorkerUnderTest::WorkerUnderTest(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment) {
  std::signal(SIGPIPE, SIG_IGN);
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipes left");
  std::vector<std::string> words = {ATTNSCOPE_WORKER_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> surroundings = environment;
  for (char** one = environ; *one != nullptr; ++one) surroundings.emplace_back(*one);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const int failed = posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, pointers(words).data(),
                                 pointers(surroundings).data());
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
  if (failed != 0) throw std::runtime_error("cannot start " + words[0]);
}

WorkerUnderTest::~WorkerUnderTest() {
  close_input();
  close_output();
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void WorkerUnderTest::send_text(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(input_, text.data() + written, text.size() - written);
    if (count <= 0) return;
    written += static_cast<std::size_t>(count);
  }
}

void WorkerUnderTest::close_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

void WorkerUnderTest::close_output() {
  if (output_ >= 0) close(output_);
  output_ = -1;
}

std::string WorkerUnderTest::read_line() {
  while (true) {
    if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, silence_ms) <= 0) return {};
    char chunk[4096];
    const ssize_t count = read(output_, chunk, sizeof chunk);
    if (count <= 0) return {};
    pending_.append(chunk, static_cast<std::size_t>(count));
  }
}

nlohmann::json WorkerUnderTest::read_event() {
  return nlohmann::json::parse(read_line(), nullptr, /*allow_exceptions=*/false);
}

std::vector<nlohmann::json> WorkerUnderTest::read_until(const std::string& kind) {
  std::vector<nlohmann::json> events;
  while (true) {
    events.push_back(read_event());
    if (!events.back().is_object()) return {};
    if (events.back().value("event", "") == kind) return events;
  }
}

int WorkerUnderTest::wait_for_end() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace attnscope::worker
