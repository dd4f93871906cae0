// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "attnscope/build_info.h"
#include "base/sentences.h"
#include "base/spawn.h"
#include "engine/worker/protocol.h"
#include "engine/worker/waiting_policy.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds writing_patience{30'000};
constexpr milliseconds quitting_patience{2'000};
constexpr std::size_t longest_line = std::size_t{64} << 20;  // bytes
// Per read: a worker that writes without end must not block the driver.
constexpr std::size_t most_at_once = std::size_t{1} << 20;  // bytes

void never_block(const Descriptor& descriptor) {
  fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

bool make_pipe(Descriptor& reading, Descriptor& writing) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const bool read = reading.take(ends[0]);
  return writing.take(ends[1]) && read;
}

// Converts a write to a pipe without a reader into EPIPE instead of SIGPIPE, without changing the
// program's signal handlers.
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

// Sets a wait policy for the threads of the started process, unless the user chose one.
int start_worker(ChildProcess& process, const std::string& command,
                 const std::array<int, 3>& standard) {
  std::vector<std::string> settings;
  if (!has_waiting_policy()) settings.push_back(fmt::format("{}={}", spin_count_name, spin_count));
  return process.start({.arguments = command_arguments(command),
                        .descriptors = {{standard[0], 0}, {standard[1], 1}, {standard[2], 2}},
                        .environment = std::move(settings),
                        .own_group = true});
}

std::string why_not_started(const std::string& command, int error) {
  if (error == ENOENT) {
    return fmt::format(
        "the measuring process '{}' was not found, because there is no such file; correct --worker "
        "or ATTNSCOPE_WORKER, or build attnscope-worker with scripts/setup",
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
                     system_reason(error));
}

milliseconds left_until(Clock::time_point deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Clock::now()));
}

std::string excerpt(std::string_view line) {
  constexpr std::size_t shown = 200;
  return in_a_sentence(line, shown);
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// A field of any type as text.
std::string in_words(const json& message, const char* field) {
  const auto found = message.find(field);
  if (found == message.end()) return "unknown";
  return excerpt(found->is_string() ? found->get<std::string>()
                                    : found->dump(-1, ' ', false, json::error_handler_t::replace));
}

Status check_protocol(const json& hello, const std::string& command) {
  const std::optional<int> spoken = int_field(hello, "protocol");
  if (!spoken) {
    return fail(
        "the measuring process '{}' (version {}) does not state its protocol as a whole number, as "
        "a worker of AttnScope does; name another worker in ATTNSCOPE_WORKER or with --worker",
        command, in_words(hello, "version"));
  }
  if (*spoken >= protocol::oldest_version && *spoken <= protocol::version) return {};
  const std::string own =
      protocol::oldest_version == protocol::version
          ? fmt::format("protocol {}", protocol::version)
          : fmt::format("protocols {} to {}", protocol::oldest_version, protocol::version);
  return fail(
      "the measuring process '{}' (version {}) speaks protocol {}, this program (version {}) {}: "
      "build the older of them again, or name another worker in ATTNSCOPE_WORKER or with --worker",
      command, in_words(hello, "version"), *spoken, ATTNSCOPE_VERSION, own);
}

/// The fields whose JSON is kept as it is.
Status check_greeting(const protocol::Hello& hello) {
  if (hello.version.empty()) return fail("the field 'version' is empty");
  for (const auto& [field, value] : {std::pair("build", &hello.build), {"device", &hello.device}}) {
    if (!value->is_null() && !value->is_object()) {
      return fail("the field '{}' must be an object {{...}} or null, not {}", field,
                  excerpt(value->dump(-1, ' ', false, json::error_handler_t::replace)));
    }
  }
  if (!std::ranges::all_of(hello.devices, &json::is_object))
    return fail("the field 'devices' must be a list of objects {{...}}");
  return {};
}

}  // namespace

/// The process itself and its three pipes.
class WorkerProcess::Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill(); }

  [[nodiscard]] Status start(const std::string& command);
  /// Writes all of `text`, reading the child's output in the meantime; false when it reads no more,
  /// or accepts no byte within `patience`: a slow connection may take longer in total.
  [[nodiscard]] bool write(std::string_view text, milliseconds patience);
  void close_input() { input_.close(); }
  /// Waits until output or errors arrive, the child ends, a signal arrives or `patience` expires.
  void wait_for_news(milliseconds patience);
  /// The next complete line of its output.
  [[nodiscard]] std::optional<std::string> take_line();
  [[nodiscard]] bool has_line() const {
    return output_text_.find('\n', searched_) != std::string::npos;
  }
  /// Whether the last read left unread output.
  [[nodiscard]] bool has_more() const { return has_more_; }
  /// Bytes of a partly received line after the complete ones.
  [[nodiscard]] std::size_t pending_bytes() const {
    const std::size_t feed = output_text_.rfind('\n');
    const std::size_t begin = feed == std::string::npos ? 0 : feed + 1;
    return output_text_.size() - std::max(begin, taken_);
  }
  /// Whether its output is closed and read to the end.
  [[nodiscard]] bool output_ended() const { return !output_.is_open(); }
  /// The last line of its error output, for messages.
  [[nodiscard]] const std::string& last_error_line() const { return last_error_line_; }
  /// Its wait status after its end; never blocks.
  [[nodiscard]] std::optional<int> end() { return process_.status(); }
  /// Waits for the end, at most `patience`, while reading its output.
  std::optional<int> wait_for_end(milliseconds patience);
  void kill();
  [[nodiscard]] pid_t pid() const { return process_.pid(); }

 private:
  void read_output();
  void read_errors();

  ChildProcess process_;
  Descriptor input_, output_, errors_;
  std::string output_text_;
  std::size_t taken_ = 0;     // bytes already returned as lines
  std::size_t searched_ = 0;  // there is no line feed before this position
  bool has_more_ = false;
  std::string error_line_, last_error_line_;
};

Status WorkerProcess::Child::start(const std::string& command) {
  Descriptor in, out, err;  // the child's ends
  if (!make_pipe(in, input_) || !make_pipe(output_, out) || !make_pipe(errors_, err))
    return fail("no pipe to the measuring process could be created: {}", system_reason(errno));
  if (const int error = start_worker(process_, command, {in.get(), out.get(), err.get()});
      error != 0)
    return fail("{}", why_not_started(command, error));
  for (const Descriptor* descriptor : {&input_, &output_, &errors_}) never_block(*descriptor);
  return {};
}

bool WorkerProcess::Child::write(std::string_view text, milliseconds patience) {
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
    // A child that blocks on its own full pipe does not read: empty its pipes first.
    read_output();
    read_errors();
    pollfd room{input_.get(), POLLOUT, 0};
    poll(&room, 1, 20);
  }
  return true;
}

void WorkerProcess::Child::wait_for_news(milliseconds patience) {
  // A child whose own children keep its pipes open ends without closing them: poll its status, too.
  constexpr milliseconds slice{100};
  std::array<pollfd, 2> sources{{{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}}};
  poll(sources.data(), sources.size(), static_cast<int>(std::min(patience, slice).count()));
  read_output();
  read_errors();
}

void WorkerProcess::Child::read_output() {
  std::array<char, 65536> chunk;
  std::size_t read = 0;
  has_more_ = false;
  while (output_.is_open() && output_text_.size() - taken_ <= longest_line) {
    has_more_ = read >= most_at_once;
    if (has_more_) return;
    const ssize_t got = ::read(output_.get(), chunk.data(), chunk.size());
    if (got > 0) {
      output_text_.append(chunk.data(), static_cast<std::size_t>(got));
      read += static_cast<std::size_t>(got);
    } else if (got == 0) {
      output_.close();
    } else if (errno != EINTR) {
      if (errno != EAGAIN) output_.close();
      return;
    }
  }
}

void WorkerProcess::Child::read_errors() {
  std::array<char, 4096> chunk;
  constexpr std::size_t longest = 400;
  for (std::size_t read = 0; errors_.is_open() && read < most_at_once; read += chunk.size()) {
    const ssize_t got = ::read(errors_.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errors_.close();
    if (got <= 0) return;
    for (const char c : std::string_view(chunk.data(), static_cast<std::size_t>(got))) {
      if (c != '\n' && c != '\r') {
        if (error_line_.size() < longest) error_line_ += c;
      } else {
        if (!error_line_.empty()) last_error_line_ = error_line_;
        error_line_.clear();
      }
    }
    if (!error_line_.empty()) last_error_line_ = error_line_;
  }
}

std::optional<std::string> WorkerProcess::Child::take_line() {
  const std::size_t feed = output_text_.find('\n', searched_);
  if (feed == std::string::npos) {
    searched_ = output_text_.size();
    return std::nullopt;
  }
  std::string line = output_text_.substr(taken_, feed - taken_);
  taken_ = searched_ = feed + 1;
  // Compacts rarely, because each compaction moves the rest of the buffer.
  if (taken_ == output_text_.size() || taken_ > most_at_once) {
    output_text_.erase(0, taken_);
    taken_ = searched_ = 0;
  }
  return line;
}

std::optional<int> WorkerProcess::Child::wait_for_end(milliseconds patience) {
  const auto read_all = [this] {
    read_output();
    read_errors();
  };
  const std::optional<int> status = process_.wait(patience, read_all);
  read_all();
  return status;
}

void WorkerProcess::Child::kill() {
  if (!process_.is_running()) return;
  process_.kill();
  read_output();
  read_errors();
}

WorkerProcess::WorkerProcess(std::unique_ptr<Child> child) : child_(std::move(child)) {}
WorkerProcess::WorkerProcess(WorkerProcess&&) noexcept = default;

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  std::swap(child_, other.child_);
  std::swap(hello_, other.hello_);
  std::swap(last_event_, other.last_event_);
  std::swap(ended_, other.ended_);
  return *this;
}

WorkerProcess::~WorkerProcess() {
  if (!child_ || ended_ || child_->end()) return;
  static_cast<void>(child_->write(
      protocol::write_line(protocol::as_request(protocol::QuitRequest())), milliseconds(100)));
  child_->close_input();
  child_->wait_for_end(quitting_patience);  // killed afterwards
}

Result<WorkerProcess> WorkerProcess::start_ungreeted(const std::string& command) {
  auto child = std::make_unique<Child>();
  if (Status started = child->start(command.empty() ? default_worker() : command); !started)
    return tl::unexpected(started.error());
  return WorkerProcess(std::move(child));
}

tl::expected<WorkerProcess, StartFailure> WorkerProcess::start(const std::string& command,
                                                               const StartOptions& how) {
  const std::string program = command.empty() ? default_worker() : command;
  const auto is_cancelled = [&] { return how.cancel != nullptr && how.cancel->load() > 0; };
  const auto cancelled = [&] {
    return tl::unexpected(StartFailure{
        {fmt::format("cancelled while the measuring process '{}' was starting", program)},
        /*may_pass=*/false,
        /*cancelled=*/true});
  };
  const auto silent = [](std::string message) {
    return tl::unexpected(StartFailure{{std::move(message)}, /*may_pass=*/true});
  };
  const auto wrong = [](std::string message) {
    return tl::unexpected(StartFailure{{std::move(message)}});
  };
  if (is_cancelled()) return cancelled();
  auto started = start_ungreeted(program);
  if (!started) return wrong(started.error().message);
  WorkerProcess worker = std::move(*started);
  static_cast<void>(worker.send(protocol::as_request(protocol::HelloRequest{
      .version = ATTNSCOPE_VERSION, .driver = how.driver, .with = how.with})));
  Read answer = worker.read_greeting(how);
  if (answer.wait == Wait::timeout) {
    worker.kill();
    if (is_cancelled()) return cancelled();
    return silent(fmt::format("the measuring process '{}' gave no answer within {} s", program,
                              std::chrono::duration<double>(how.patience).count()));
  }
  if (answer.wait == Wait::ended) {
    return tl::unexpected(StartFailure{
        {fmt::format("the measuring process '{}' did not start: {}", program, answer.ended.words)},
        /*may_pass=*/true,
        /*cancelled=*/false,
        /*was_killed=*/answer.ended.signal != 0});
  }
  const std::string event = in_words(answer.event, "event");
  if (event == protocol::RequestFailed::name) {
    return wrong(fmt::format("the measuring process '{}' refused to start: {}", program,
                             in_a_sentence(in_words(answer.event, "message"), longest_words)));
  }
  if (event != protocol::Hello::name) {
    return wrong(fmt::format("'{}' is not a measuring process of this program: its greeting is {}",
                             program, excerpt(answer.event.dump())));
  }
  constexpr std::size_t longest_greeting = std::size_t{1} << 20;  // bytes; it is stored with runs
  if (answer.event.dump(-1, ' ', false, json::error_handler_t::replace).size() > longest_greeting) {
    return wrong(
        fmt::format("the measuring process '{}' sent a greeting of more than 1 MiB", program));
  }
  if (Status known = check_protocol(answer.event, program); !known)
    return wrong(known.error().message);
  auto hello = protocol::read_message<protocol::Hello>(answer.event);
  const Status sound = hello ? check_greeting(*hello) : tl::unexpected(hello.error());
  if (!sound) {
    return wrong(fmt::format("the measuring process '{}' sent a malformed greeting: {}", program,
                             sound.error().message));
  }
  worker.hello_ = std::move(*hello);
  return worker;
}

// Waits for a greeting that arrives slowly.
WorkerProcess::Read WorkerProcess::read_greeting(const StartOptions& how) {
  constexpr milliseconds glance{200};
  constexpr int longest_greeting = 5;  // multiple of the patience, however slowly it arrives
  auto deadline = Clock::now() + how.patience;
  const auto end = Clock::now() + longest_greeting * how.patience;
  std::size_t pending = 0;
  while (true) {
    Read answer = read(std::min(left_until(deadline), glance));
    const bool cancelled = how.cancel != nullptr && how.cancel->load() > 0;
    if (answer.wait != Wait::timeout || cancelled) return answer;
    if (pending_bytes() > pending) {
      pending = pending_bytes();
      deadline = Clock::now() + how.patience;
    }
    if (Clock::now() >= std::min(deadline, end)) return answer;
  }
}

Status WorkerProcess::send(const json& request) {
  // Its children may keep its input open slightly longer than itself.
  if (!ended_ && child_->write(protocol::write_line(request), writing_patience)) return {};
  return fail("the measuring process accepts no more requests");
}

WorkerProcess::Read WorkerProcess::read(milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  for (bool looked = false;; looked = true) {
    if (const auto line = child_->take_line()) {
      if (is_blank(*line)) {
        if (Clock::now() >= deadline) return {};  // no further bytes may arrive
        continue;
      }
      auto event = protocol::parse_line(*line);
      if (event && in_words(*event, "event") == protocol::WorkerEnded::name) {
        last_event_ =
            protocol::read_message<protocol::WorkerEnded>(*event).value_or(protocol::WorkerEnded());
        continue;
      }
      if (event && !text_field(*event, "event").empty())
        return {.wait = Wait::event, .event = std::move(*event), .ended = {}};
      child_->kill();
      return end("it sent a line that does not follow the protocol: " + excerpt(*line));
    }
    if (child_->pending_bytes() > longest_line) {
      child_->kill();
      return end("it sent a line of more than 64 MiB, which the protocol does not allow");
    }
    // It ended before the last read: no more output can arrive.
    const bool gone = child_->end().has_value();
    if (child_->output_ended()) return end();
    if (!gone && looked && Clock::now() >= deadline) return {};
    child_->wait_for_news(gone ? milliseconds(0) : left_until(deadline));
    if (gone && !child_->has_line() && !child_->has_more()) return end();
  }
}

// Determines how the process ended; a process that closed its output but is still running is
// killed. Its own last event takes precedence over the exit status of the started program, which
// may be only a connection to it.
WorkerProcess::Read WorkerProcess::end(const std::string& before) {
  if (!ended_) {
    const bool by_itself = child_->wait_for_end(quitting_patience).has_value();
    child_->kill();
    const int status = child_->end().value_or(0);
    const bool reported = last_event_.has_value();
    Ended now;
    now.is_lost = !reported && before.empty();
    if (!before.empty()) {
      now.words = before;
    } else if (reported) {
      now.signal = last_event_->signal.value_or(0);
      if (last_event_->contender >= 0) now.contender = last_event_->contender;
    } else if (by_itself && WIFSIGNALED(status)) {
      now.signal = WTERMSIG(status);
    }
    if (now.signal != 0) {
      now.words = "killed by " + signal_name(now.signal);
    } else if (!reported && !by_itself && now.words.empty()) {
      now.words = "it closed its output and was ended";
    } else if (now.words.empty()) {
      now.words = fmt::format("it ended with exit code {}",
                              reported ? last_event_->exit_code.value_or(-1) : WEXITSTATUS(status));
    }
    if (!child_->last_error_line().empty()) {
      now.words += fmt::format("; its last output: {}",
                               in_a_sentence(child_->last_error_line(), longest_words));
    }
    ended_ = std::move(now);
  }
  return {.wait = Wait::ended, .event = {}, .ended = *ended_};
}

std::size_t WorkerProcess::pending_bytes() const {
  return child_->pending_bytes();
}

void WorkerProcess::kill() {
  child_->kill();
  static_cast<void>(end("it was ended by this program"));
}

int WorkerProcess::pid() const {
  return static_cast<int>(child_->pid());
}

std::string default_worker() {
  if (const char* named = std::getenv("ATTNSCOPE_WORKER"); named != nullptr && *named != '\0') {
    return named;
  }
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "attnscope-worker" : (self.parent_path() / "attnscope-worker").string();
}

bool is_this_machine(const protocol::Hello& hello) {
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  const auto reported = hello.device.find("boot_id");
  return reported == hello.device.end() || !reported->is_string() || *reported == boot_id;
}

int worker_cores(const protocol::Hello& hello) {
  if (const auto reported = protocol::cores_of(hello.device)) return *reported;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

std::string text_field(const json& message, const char* field) {
  const auto found = message.is_object() ? message.find(field) : message.end();
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<int> int_field(const json& message, const char* field) {
  const auto found = message.is_object() ? message.find(field) : message.end();
  const bool whole = found != message.end() && found->is_number_integer();
  if (!whole || !std::in_range<int>(found->get<std::int64_t>())) return std::nullopt;
  return found->get<int>();
}

}  // namespace attnscope
