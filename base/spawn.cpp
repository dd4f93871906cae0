// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
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
  number_ = fcntl(number, F_DUPFD_CLOEXEC, first_free);
  ::close(number);
  return is_open();
}

int spawn(const Spawn& what, pid_t& pid) {
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
    const auto is_it = [name](const std::string& own) { return name_of_setting(own) == name; };
    if (std::ranges::none_of(what.environment, is_it)) environment.emplace_back(*setting);
  }
  const int failed = posix_spawnp(&pid, arguments[0].c_str(), &actions, &attributes,
                                  as_pointers(arguments).data(), as_pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

std::vector<std::string> command_arguments(const std::string& command) {
  std::error_code ignored;
  if (command.find(' ') != std::string::npos && !std::filesystem::exists(command, ignored))
    return {"/bin/sh", "-c", command};
  return {command};
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? fmt::format("signal {} (SIG{})", number, name)
                         : fmt::format("signal {}", number);
}

}  // namespace attnscope
