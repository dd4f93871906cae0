// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

extern char** environ;

namespace attnscope {
namespace {

constexpr int first_free = 4;

std::vector<char*> as_pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view name_of_setting(std::string_view setting) {
  return setting.substr(0, setting.find('='));
}

}  // namespace

void Descriptor::close() {
  if (is_open()) ::close(number_);
  number_ = -1;
}

bool Descriptor::take(int number) {
  close();
  if (number < 0) return false;
  number_ = fcntl(number, F_DUPFD_CLOEXEC, first_free);
  const int error = errno;
  ::close(number);
  errno = error;
  return is_open();
}

int ChildProcess::start(const Spawn& what) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const auto& [here, there] : what.descriptors)
    posix_spawn_file_actions_adddup2(&actions, here, there);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (what.own_group) {
    posix_spawnattr_setpgroup(&attributes, 0);
    flags = static_cast<short>(flags | POSIX_SPAWN_SETPGROUP);
  }
  posix_spawnattr_setflags(&attributes, flags);

  std::vector<std::string> arguments = what.arguments;
  std::vector<std::string> environment = what.environment;
  for (char** setting = environ; *setting != nullptr; ++setting) {
    const std::string_view name = name_of_setting(*setting);
    const auto overrides = [name](const std::string& own) { return name_of_setting(own) == name; };
    if (std::ranges::none_of(what.environment, overrides)) environment.emplace_back(*setting);
  }
  const int failed = posix_spawnp(&pid_, arguments[0].c_str(), &actions, &attributes,
                                  as_pointers(arguments).data(), as_pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) pid_ = -1;
  owns_group_ = what.own_group;
  return failed;
}

std::optional<int> ChildProcess::status() {
  if (status_ || pid_ <= 0) return status_;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == pid_) status_ = status;
  if (ended < 0 && errno != EINTR) {
    wait_error_ = errno;
    status_ = 0;
  }
  return status_;
}

std::optional<int> ChildProcess::wait(std::chrono::milliseconds patience,
                                      const std::function<void()>& meanwhile) {
  constexpr std::chrono::milliseconds pause{5};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (pid_ > 0 && !status() && std::chrono::steady_clock::now() < deadline) {
    if (meanwhile) meanwhile();
    poll(nullptr, 0, static_cast<int>(pause.count()));
  }
  return status();
}

void ChildProcess::kill() {
  if (!is_running()) return;
  ::kill(owns_group_ ? -pid_ : pid_, SIGKILL);
  wait(std::chrono::seconds(5));
}

std::vector<std::string> command_arguments(const std::string& command) {
  std::error_code ignored;
  if (command.find(' ') != std::string::npos && !std::filesystem::exists(command, ignored))
    return {"/bin/sh", "-c", command};
  return {command};
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? fmt::format("signal {} (SIG{})", number, name)
                         : fmt::format("signal {}", number);
}

std::optional<std::int64_t> memory_kills() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  std::int64_t count = 0;
  while (counters >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return std::nullopt;
}

}  // namespace attnscope
