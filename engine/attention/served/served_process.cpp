// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/served/served_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/sentences.h"

namespace attnscope {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int socket_number = 3;  // in the child
constexpr int greeting_seconds = 120;
constexpr std::size_t longest_words = 300;
constexpr int most_reads = 64;
constexpr std::size_t longest_answer = std::size_t{64} << 20;
constexpr std::string_view quick_answer = "d";

/// The folder of the Python package: next to an installed program, or in the sources of the build.
std::string package_folder() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  for (const char* folder : {"../share/attnscope/python", "../../python"}) {
    const auto found = self / folder;
    if (std::filesystem::exists(found / "attnscope/__init__.py", failed))
      return found.lexically_normal().string();
  }
  return {};
}

/// A Python file, the name of one of the package's files ("hf-longformer"), or a command.
std::vector<std::string> arguments_of(const std::string& program) {
  const char* const chosen = std::getenv("ATTNSCOPE_PYTHON");
  const std::string python = chosen != nullptr && *chosen != '\0' ? chosen : "python3";
  std::error_code ignored;
  if (program.ends_with(".py") && std::filesystem::exists(program, ignored))
    return {python, program};
  std::string module = program;
  std::ranges::replace(module, '-', '_');
  const std::filesystem::path shipped = package_folder();
  if (program.find('/') == std::string::npos && !shipped.empty() &&
      std::filesystem::exists(shipped / "attnscope/contenders" / (module + ".py"), ignored))
    return {python, "-m", "attnscope.contenders." + module};
  return command_arguments(program);
}

/// Defaults for variables that the user has not set. Freed blocks are kept, as in this process:
/// otherwise a timing would measure page faults.
std::vector<std::string> environment_of(int threads) {
  std::vector<std::string> settings = {fmt::format("ATTNSCOPE_SERVE={}", socket_number)};
  const auto unless_chosen = [&settings](const char* name, const std::string& value) {
    if (std::getenv(name) == nullptr) settings.push_back(fmt::format("{}={}", name, value));
  };
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"})
    settings.push_back(fmt::format("{}={}", name, threads));
  unless_chosen("MALLOC_MMAP_MAX_", "0");
  unless_chosen("MALLOC_TRIM_THRESHOLD_", "1099511627776");
  unless_chosen("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
  const char* const path = std::getenv("PYTHONPATH");
  const std::string folder = package_folder();
  if (!folder.empty()) {
    settings.push_back(path != nullptr && *path != '\0'
                           ? fmt::format("PYTHONPATH={}:{}", path, folder)
                           : fmt::format("PYTHONPATH={}", folder));
  }
  return settings;
}

std::string text_of(const json& message, const char* field) {
  const auto found = message.find(field);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

ServedProcess::ServedProcess(std::string program, int threads)
    : program_(std::move(program)), threads_(threads) {}

Result<std::unique_ptr<ServedProcess>> ServedProcess::start(const std::string& program,
                                                            int threads) {
  std::unique_ptr<ServedProcess> process(new ServedProcess(program, threads));
  if (Status begun = process->begin(); !begun) return tl::unexpected(begun.error());
  return process;
}

Status ServedProcess::begin() {
  const auto no_channel = [&] {
    return fail("'{}' could not be started: {}", in_a_sentence(program_), system_reason(errno));
  };
  std::array<int, 2> ends{}, errors{};
  Descriptor other, writing;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return no_channel();
  const bool has_socket = socket_.take(ends[0]);
  if (!other.take(ends[1]) || !has_socket) return no_channel();
  if (pipe2(errors.data(), O_CLOEXEC) != 0) return no_channel();
  const bool has_errors = errors_.take(errors[0]);
  if (!writing.take(errors[1]) || !has_errors) return no_channel();
  // Each wait ends after this time, to check whether the process is still running.
  const timeval look{.tv_sec = 0, .tv_usec = 100'000};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &look, sizeof look);
  Descriptor nothing;
  if (!nothing.take(open("/dev/null", O_RDONLY | O_CLOEXEC))) return no_channel();
  if (const int error = child_.start({.arguments = arguments_of(program_),
                                      .descriptors = {{nothing.get(), 0},
                                                      {writing.get(), 1},
                                                      {writing.get(), 2},
                                                      {other.get(), socket_number}},
                                      .environment = environment_of(threads_)});
      error != 0) {
    return fail(
        "'{}' could not be started: {}; --with accepts a Python file, a name such as flex, or a "
        "command",
        in_a_sentence(program_), system_reason(error));
  }
  fcntl(errors_.get(), F_SETFL, fcntl(errors_.get(), F_GETFL) | O_NONBLOCK);
  return {};
}

Status ServedProcess::greet(const std::function<void()>& on_look) {
  const Status requested = send(json({{"request", "hello"}, {"protocol", protocol}}).dump() + "\n");
  auto reported =
      requested ? answer({}, greeting_seconds, on_look) : tl::unexpected(requested.error());
  if (!reported && reported.error().message.ends_with("exit code 0")) {
    return fail("{} and printed nothing; a program for --with must end with attnscope.serve()",
                reported.error().message);
  }
  if (!reported) return tl::unexpected(reported.error());
  const json version = reported->value("protocol", json());
  if (version != protocol) {
    return fail(
        "'{}' uses version {} of the contenders' protocol, and this program version {}; use the "
        "package attnscope that came with this program",
        in_a_sentence(program_), in_a_sentence(version.dump()), protocol);
  }
  hello_ = std::move(*reported);
  return {};
}

ServedProcess::~ServedProcess() {
  if (child_.pid() > 0 && socket_.is_open()) static_cast<void>(end_in_words());
}

void ServedProcess::pass_errors_on() {
  std::array<char, 4096> chunk;
  // Reads only a part from a process that prints without end, so that time limits are still
  // checked.
  for (int reads = 0; errors_.is_open() && reads < most_reads;) {
    ++reads;
    const ssize_t got = ::read(errors_.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    const std::string_view text(chunk.data(), static_cast<std::size_t>(got));
    fmt::print(stderr, "{}", text);
    for (const char c : text) {
      const bool ends_line = c == '\n' || c == '\r';
      if (!ends_line && error_line_.size() < longest_words) error_line_ += c;
      if (!ends_line) continue;
      if (!error_line_.empty()) last_words_ = std::exchange(error_line_, {});
    }
  }
}

void ServedProcess::stop() {
  if (!socket_.is_open() || !stopped_.empty()) return;
  stopped_ = with_descendants(child_.pid());
  for (const pid_t process : stopped_) kill(process, SIGSTOP);
}

void ServedProcess::go_on() {
  for (const pid_t process : std::exchange(stopped_, {})) kill(process, SIGCONT);
}

Status ServedProcess::send(std::string_view text) {
  go_on();
  while (!text.empty()) {
    const ssize_t sent =
        socket_.is_open() ? ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) : -1;
    if (sent < 0 && socket_.is_open() && errno == EINTR) continue;
    if (sent < 0) return fail("{}", end_in_words());
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::string> ServedProcess::line(std::optional<int> most_seconds,
                                        const std::function<void()>& on_look) {
  std::array<char, 65536> chunk;
  const auto began = Clock::now();
  while (true) {
    if (const std::size_t feed = arrived_.find('\n'); feed != std::string::npos) {
      std::string text = arrived_.substr(0, feed);
      arrived_.erase(0, feed + 1);
      return text;
    }
    const ssize_t got =
        socket_.is_open() ? recv(socket_.get(), chunk.data(), chunk.size(), 0) : ssize_t{0};
    if (got > 0) {
      arrived_.append(chunk.data(), static_cast<std::size_t>(got));
      if (arrived_.size() > longest_answer) {
        return fail("'{}' sent an answer of more than 64 MiB: {}", in_a_sentence(program_),
                    end_in_words());
      }
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return fail("{}", end_in_words());
    pass_errors_on();  // otherwise it may block on a full pipe
    if (on_look) on_look();
    if (child_.status()) return fail("{}", end_in_words());
    if (most_seconds && Clock::now() - began > std::chrono::seconds(*most_seconds)) {
      static_cast<void>(end_in_words());
      return fail("'{}' gave no answer within {} s; does it call attnscope.serve()?",
                  in_a_sentence(program_), *most_seconds);
    }
  }
}

Result<json> ServedProcess::answer(const OnQuestion& on_question, std::optional<int> most_seconds,
                                   const std::function<void()>& on_look) {
  while (true) {
    const auto text = line(most_seconds, on_look);
    if (!text) return tl::unexpected(text.error());
    if (*text == quick_answer) return json();
    json message = json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!message.is_object()) {
      return fail("'{}' sent an answer that does not follow the contenders' protocol ({}): {}",
                  in_a_sentence(program_), in_a_sentence(*text), end_in_words());
    }
    if (message.contains("error"))
      return fail("{}", in_a_sentence(text_of(message, "error"), longest_words));
    if (!message.contains("question") || !on_question) return message;
    if (Status sent = send(on_question(message).dump() + "\n"); !sent)
      return tl::unexpected(sent.error());
  }
}

Result<json> ServedProcess::ask(const json& request, const OnQuestion& on_question) {
  if (Status sent = send(request.dump() + "\n"); !sent) return tl::unexpected(sent.error());
  auto answered = answer(on_question);
  pass_errors_on();
  return answered;
}

Result<json> ServedProcess::call(char request, const OnQuestion& on_question) {
  const std::array<char, 2> text{request, '\n'};
  if (Status sent = send({text.data(), text.size()}); !sent) return tl::unexpected(sent.error());
  return answer(on_question);
}

Result<double> ServedProcess::round_trip(int times) {
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const auto began = Clock::now();
    if (const auto done = call('p'); !done) return tl::unexpected(done.error());
    seconds.push_back(std::chrono::duration<double>(Clock::now() - began).count());
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  return *middle;
}

std::string ServedProcess::end_in_words() {
  go_on();
  socket_.close();
  // A process that has closed the socket is about to end; it prints the reason last.
  if (!was_killed_ && !child_.wait(std::chrono::seconds(2), [this] { pass_errors_on(); })) {
    was_killed_ = true;
    child_.kill();
  }
  pass_errors_on();
  const int status = child_.status().value_or(0);
  if (!was_killed_) end_status_ = status;
  std::string words = fmt::format("'{}' ", in_a_sentence(program_));
  if (was_killed_) {
    words += "no longer answered and was ended";
  } else if (WIFSIGNALED(status)) {
    words += "was ended by " + signal_name(WTERMSIG(status));
  } else {
    words += fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }
  const std::string& last = error_line_.empty() ? last_words_ : error_line_;
  if (!last.empty()) words += "; its last output: " + in_a_sentence(last, longest_words);
  return words;
}

bool ServedProcess::was_killed_for_memory() const {
  if (!end_status_ || !WIFSIGNALED(*end_status_) || WTERMSIG(*end_status_) != SIGKILL) return false;
  return kills_at_start_ == std::nullopt || memory_kills() != kills_at_start_;
}

std::vector<pid_t> with_descendants(pid_t process) {
  std::vector<pid_t> all{process};
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::error_code gone;
    for (const auto& thread :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", all[i]), gone)) {
      std::ifstream children(thread.path() / "children");
      for (pid_t child = 0; children >> child;) all.push_back(child);
    }
  }
  return all;
}

namespace {

struct SharedBlock {
  std::int64_t number = 0;
  std::size_t bytes = 0;
  int file = -1;
};

/// Blocks by the address of their first byte.
struct SharedBlocks {
  std::mutex mutex;
  std::map<const std::byte*, SharedBlock> by_begin;
  std::int64_t ever = 0;
};

SharedBlocks& shared_blocks() {
  static auto* const blocks = new SharedBlocks;  // outlives all users that return blocks at exit
  return *blocks;
}

}  // namespace

void* map_shared(std::size_t bytes) {
  const int file = memfd_create("attnscope", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* data = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0)
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) {
    ::close(file);
    return nullptr;
  }
  madvise(data, bytes, MADV_HUGEPAGE);
  SharedBlocks& blocks = shared_blocks();
  const std::lock_guard lock(blocks.mutex);
  blocks.by_begin.emplace(static_cast<const std::byte*>(data),
                          SharedBlock{++blocks.ever, bytes, file});
  return data;
}

bool unmap_shared(void* data) noexcept {
  SharedBlocks& blocks = shared_blocks();
  const std::lock_guard lock(blocks.mutex);
  const auto found = blocks.by_begin.find(static_cast<const std::byte*>(data));
  if (found == blocks.by_begin.end()) return false;
  madvise(data, found->second.bytes, MADV_REMOVE);
  munmap(data, found->second.bytes);
  ::close(found->second.file);
  blocks.by_begin.erase(found);
  return true;
}

std::string SharedPlace::file() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor);
}

std::optional<SharedPlace> shared_place(const void* data, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(data);
  SharedBlocks& blocks = shared_blocks();
  const std::lock_guard lock(blocks.mutex);
  auto block = blocks.by_begin.upper_bound(first);
  if (block == blocks.by_begin.begin()) return std::nullopt;
  --block;
  const auto offset = static_cast<std::size_t>(first - block->first);
  if (offset > block->second.bytes || bytes > block->second.bytes - offset) return std::nullopt;
  return SharedPlace{.block = block->second.number,
                     .descriptor = block->second.file,
                     .offset = static_cast<std::int64_t>(offset)};
}

}  // namespace attnscope
