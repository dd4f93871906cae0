// SPDX-License-Identifier: Apache-2.0
#include "engine/sweep/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

extern char** environ;

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Pipe {
  FileDescriptor reading, writing;
};

// Numbers from 3 up, so that giving a pipe to the child as 0, 1 or 2 never overwrites another pipe
// when this process itself was started with closed standard descriptors.
FileDescriptor above_standard(int number) {
  const int moved = fcntl(number, F_DUPFD_CLOEXEC, 3);
  ::close(number);
  return FileDescriptor(moved);
}

std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  Pipe pipe{above_standard(ends[0]), above_standard(ends[1])};
  if (!pipe.reading.is_open() || !pipe.writing.is_open()) return std::nullopt;
  return pipe;
}

void never_block(const FileDescriptor& descriptor) {
  fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

// Turns a write to a pipe nobody reads into EPIPE instead of the death of this process, without
// touching handlers that belong to the program.
class HoldBrokenPipeSignal {
 public:
  HoldBrokenPipeSignal() {
    sigemptyset(&broken_pipe_);
    sigaddset(&broken_pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe_, &before_);
  }
  ~HoldBrokenPipeSignal() {
    const timespec now{};
    const bool was_held = sigismember(&before_, SIGPIPE) == 1;
    if (!was_held) {
      while (sigtimedwait(&broken_pipe_, nullptr, &now) == SIGPIPE) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HoldBrokenPipeSignal(const HoldBrokenPipeSignal&) = delete;
  HoldBrokenPipeSignal& operator=(const HoldBrokenPipeSignal&) = delete;

 private:
  sigset_t broken_pipe_{}, before_{};
};

bool is_shell_command(const std::string& command) {
  std::error_code ignored;
  return command.find(' ') != std::string::npos && !std::filesystem::exists(command, ignored);
}

// Signals as in a fresh program, whatever this one blocks or ignores; a process group of its own.
int spawn(const std::string& command, const Pipe& in, const Pipe& out, const Pipe& err,
          pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.reading.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.writing.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.writing.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::string shell = "/bin/sh", option = "-c", text = command;
  const bool through_shell = is_shell_command(command);
  std::array<char*, 4> arguments =
      through_shell ? std::array<char*, 4>{shell.data(), option.data(), text.data(), nullptr}
                    : std::array<char*, 4>{text.data(), nullptr, nullptr, nullptr};
  const int failed =
      posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

std::string why_not_started(const std::string& command, int error) {
  if (error == ENOENT) {
    return fmt::format(
        "the measuring process '{}' was not found: build it with scripts/setup, or name it in "
        "ATTNSCOPE_WORKER or with --worker",
        command);
  }
  if (error == EACCES || error == ENOEXEC) {
    return fmt::format(
        "the measuring process '{}' is not an executable file: build it with scripts/setup, or "
        "name "
        "another in ATTNSCOPE_WORKER or with --worker",
        command);
  }
  return fmt::format("the measuring process '{}' could not be started: {}", command,
                     std::strerror(error));
}

milliseconds left_until(Clock::time_point deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Clock::now()));
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

void FileDescriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

int FileDescriptor::release() {
  return std::exchange(number_, -1);
}

Result<ChildProcess> ChildProcess::start(const std::string& command) {
  auto in = make_pipe(), out = make_pipe(), err = make_pipe();
  if (!in || !out || !err) {
    return fail("no pipe to the measuring process could be made: {}", std::strerror(errno));
  }
  pid_t pid = -1;
  if (const int error = spawn(command, *in, *out, *err, pid); error != 0) {
    return fail("{}", why_not_started(command, error));
  }
  return ChildProcess(pid, std::move(in->writing), std::move(out->reading),
                      std::move(err->reading));
}

ChildProcess::ChildProcess(pid_t pid, FileDescriptor input, FileDescriptor output,
                           FileDescriptor errors)
    : pid_(pid), input_(std::move(input)), output_(std::move(output)), errors_(std::move(errors)) {
  for (const FileDescriptor* descriptor : {&input_, &output_, &errors_}) never_block(*descriptor);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      wait_status_(other.wait_status_),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      output_text_(std::move(other.output_text_)),
      searched_(other.searched_),
      error_line_(std::move(other.error_line_)),
      last_error_line_(std::move(other.last_error_line_)) {}

ChildProcess::~ChildProcess() {
  kill();
}

bool ChildProcess::write(std::string_view text, milliseconds patience) {
  auto deadline = Clock::now() + patience;
  const HoldBrokenPipeSignal hold;
  while (!text.empty()) {
    if (!input_.is_open()) return false;
    const ssize_t written = ::write(input_.get(), text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      deadline = Clock::now() + patience;
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno != EAGAIN) return false;
    if (Clock::now() >= deadline || end()) return false;
    // A child that is blocked on its own full pipe reads nothing: empty those first.
    read_output();
    read_errors();
    pollfd room{input_.get(), POLLOUT, 0};
    poll(&room, 1, 20);
  }
  return true;
}

void ChildProcess::wait_for_news(milliseconds patience) {
  // A child whose own children keep its pipes open ends without closing them: look at it, too.
  constexpr milliseconds slice{100};
  std::array<pollfd, 2> sources{{{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}}};
  poll(sources.data(), sources.size(), static_cast<int>(std::min(patience, slice).count()));
  read_output();
  read_errors();
}

void ChildProcess::read_output() {
  std::array<char, 65536> chunk;
  while (output_.is_open() && output_text_.size() <= most_pending) {
    const ssize_t got = ::read(output_.get(), chunk.data(), chunk.size());
    if (got > 0) {
      output_text_.append(chunk.data(), static_cast<std::size_t>(got));
    } else if (got == 0) {
      output_.close();
    } else if (errno != EINTR) {
      if (errno != EAGAIN) output_.close();
      return;
    }
  }
}

void ChildProcess::read_errors() {
  std::array<char, 4096> chunk;
  constexpr std::size_t longest = 400;
  while (errors_.is_open()) {
    const ssize_t got = ::read(errors_.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errors_.close();
    if (got <= 0) return;
    for (const char c : std::string_view(chunk.data(), static_cast<std::size_t>(got))) {
      if (c != '\n') {
        if (error_line_.size() < longest) error_line_ += c;
      } else {
        if (!error_line_.empty()) last_error_line_ = error_line_;
        error_line_.clear();
      }
    }
    if (!error_line_.empty()) last_error_line_ = error_line_;
  }
}

std::optional<std::string> ChildProcess::take_line() {
  const std::size_t feed = output_text_.find('\n', searched_);
  if (feed == std::string::npos) {
    searched_ = output_text_.size();
    return std::nullopt;
  }
  std::string line = output_text_.substr(0, feed);
  output_text_.erase(0, feed + 1);
  searched_ = 0;
  return line;
}

std::optional<int> ChildProcess::end() {
  if (wait_status_ || pid_ <= 0) return wait_status_;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == pid_) wait_status_ = status;
  if (ended < 0 && errno == ECHILD) wait_status_ = 0;
  return wait_status_;
}

std::optional<int> ChildProcess::wait_for_end(milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (!end() && Clock::now() < deadline) {
    read_output();
    pollfd errors{errors_.get(), POLLIN, 0};
    poll(&errors, 1, static_cast<int>(std::min(left_until(deadline), milliseconds(5)).count()));
    read_errors();
  }
  read_output();
  read_errors();
  return wait_status_;
}

void ChildProcess::kill() {
  if (pid_ <= 0) return;
  if (!end()) {
    ::kill(-pid_, SIGKILL);
    // Only a process stuck in the kernel outlives this; it is left to the system then.
    wait_for_end(std::chrono::seconds(5));
  }
}

}  // namespace attnscope
