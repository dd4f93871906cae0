// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/live_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <stdexcept>

namespace attnscope {
namespace {

constexpr int silence_ms = 60'000;
constexpr int end_ms = 30'000;

[[noreturn]] void become(const std::vector<std::string>& arguments, const std::string& errors,
                         int output) {
  const int nothing = open("/dev/null", O_RDONLY);
  const int log = open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  std::vector<std::string> texts = {ATTNSCOPE_PROGRAM};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

// Starts the program like QProcess::startDetached: in its own session; a pipe reports its process.
[[noreturn]] void become_window(const std::vector<std::string>& arguments,
                                const std::string& errors, int output, int tell) {
  const pid_t program = fork();
  if (program == 0) {
    setsid();
    become(arguments, errors, output);
  }
  close(output);
  if (write(tell, &program, sizeof program) != sizeof program) _exit(1);
  while (true) pause();
}

}  // namespace

LiveProgram::LiveProgram(const std::vector<std::string>& arguments, const std::string& errors,
                         Parent parent) {
  std::array<int, 2> out{}, tell{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(tell.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipes left");
  output_ = out[0];
  const pid_t child = fork();
  if (child == 0) {
    if (parent == Parent::test) become(arguments, errors, out[1]);
    setpgid(0, 0);
    become_window(arguments, errors, out[1], tell[1]);
  }
  close(out[1]);
  close(tell[1]);
  pid_ = child;
  if (parent == Parent::window) {
    window_ = child;
    if (::read(tell[0], &pid_, sizeof pid_) != sizeof pid_)
      throw std::runtime_error("the window started nothing");
  }
  close(tell[0]);
}

LiveProgram::LiveProgram(const std::vector<std::string>& arguments, const std::string& errors,
                         const std::string& wanted)
    : LiveProgram(arguments, errors) {
  if (!read_until(wanted)) throw std::runtime_error("there was no event " + wanted);
}

LiveProgram::~LiveProgram() {
  kill_window();
  if (pid_ > 0 && !ended_) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
}

void LiveProgram::send(int signal) const {
  ::kill(pid_, signal);
}

void LiveProgram::kill_window() {
  if (window_ <= 0) return;
  ::kill(-window_, SIGKILL);
  waitpid(window_, nullptr, 0);
  window_ = -1;
}

int LiveProgram::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  ended_ = true;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int LiveProgram::read_to_the_end() {
  read_all();
  return wait();
}

std::optional<nlohmann::json> LiveProgram::next() {
  while (true) {
    if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
      seen_.push_back(nlohmann::json::parse(pending_.substr(0, end)));
      pending_.erase(0, end + 1);
      return seen_.back();
    }
    pollfd news{output_, POLLIN, 0};
    if (poll(&news, 1, silence_ms) == 0) throw std::runtime_error("the program says nothing");
    std::array<char, 65536> chunk{};
    const ssize_t got = ::read(output_, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    pending_.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

bool LiveProgram::read_until(const std::string& wanted) {
  while (const auto event = next()) {
    if (event->at("event") == wanted) return true;
  }
  return false;
}

void LiveProgram::read(int count) {
  for (int i = 0; i < count && next(); ++i) {
  }
}

void LiveProgram::read_all() {
  read(std::numeric_limits<int>::max());
}

std::vector<std::string> LiveProgram::kinds() const {
  std::vector<std::string> kinds;
  for (const nlohmann::json& event : seen_) kinds.push_back(event.at("event"));
  return kinds;
}

bool is_gone(pid_t pid) {
  const auto watch = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (watch < 0) return errno == ESRCH;
  pollfd end{watch, POLLIN, 0};
  const bool gone = poll(&end, 1, end_ms) == 1;
  close(watch);
  return gone;
}

}  // namespace attnscope
