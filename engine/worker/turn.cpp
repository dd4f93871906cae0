// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/turn.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/sentences.h"

namespace attnscope {
namespace {

using nlohmann::json;

// Byte offsets for locks in the file; the bytes need not exist.
constexpr std::int64_t turn_byte = 0;
constexpr std::int64_t first_place = 1;                          // of the queue
constexpr std::int64_t measuring_bytes = std::int64_t{1} << 62;  // plus the place in the queue
constexpr std::int64_t last_byte = std::numeric_limits<std::int64_t>::max() - 1;

constexpr std::size_t longest_name = 100;
constexpr std::int64_t most_read = 64 << 10;  // bytes of the file

struct flock region(short kind, std::int64_t first, std::int64_t last) {
  struct flock lock = {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = last - first + 1;
  return lock;
}

/// Nanoseconds since the machine's start: a later arrival has a larger value.
std::int64_t arrival() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  const std::int64_t now = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  return std::clamp(now, first_place, measuring_bytes - 1);
}

std::string user_name() {
  std::array<char, 4096> texts{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, texts.data(), texts.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return fmt::format("user {}", geteuid());
}

std::string text_of(const json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number_of(const json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::string local_time(std::int64_t unix_s) {
  const std::time_t then = unix_s, now = std::time(nullptr);
  std::tm at{}, today{};
  if (localtime_r(&then, &at) == nullptr || localtime_r(&now, &today) == nullptr) return {};
  const bool is_today = at.tm_year == today.tm_year && at.tm_yday == today.tm_yday;
  std::array<char, 64> text{};
  const std::size_t length =
      std::strftime(text.data(), text.size(), is_today ? "%H:%M" : "%Y-%m-%d %H:%M", &at);
  return {text.data(), length};
}

/// Does not follow links or wait for pipes. In a folder for all users, another user's file is
/// opened without O_CREAT, which the kernel may refuse (fs.protected_regular).
int open_or_make(const std::filesystem::path& file) {
  constexpr int how = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  constexpr int tries = 3;  // the file may appear and disappear
  constexpr mode_t for_all = 0666;
  for (int i = 0; i < tries; ++i) {
    const int there = ::open(file.c_str(), how);
    if (there >= 0 || errno != ENOENT) return there;
    const mode_t before = umask(0);
    const int made = ::open(file.c_str(), how | O_CREAT | O_EXCL, for_all);
    const int error = errno;
    umask(before);
    errno = error;
    if (made >= 0 || errno != EEXIST) return made;
  }
  return -1;
}

}  // namespace

json to_json(const Measurement& measurement) {
  return {{"what", measurement.what},
          {"process", measurement.process},
          {"host", measurement.host},
          {"user", measurement.user},
          {"since", measurement.since_unix_s}};
}

Measurement read_measurement(const json& value) {
  if (!value.is_object()) return {};
  return {.what = text_of(value, "what"),
          .process = number_of(value, "process"),
          .host = text_of(value, "host"),
          .user = text_of(value, "user"),
          .since_unix_s = number_of(value, "since")};
}

std::string in_words(const Measurement& measurement) {
  std::string details;
  if (measurement.process > 0) details = fmt::format("process {}", measurement.process);
  if (!measurement.user.empty())
    details += fmt::format("{}of {}", details.empty() ? "" : " ", in_a_sentence(measurement.user));
  if (!measurement.host.empty() && measurement.host != host_name())
    details += fmt::format("{}on {}", details.empty() ? "" : " ", in_a_sentence(measurement.host));
  if (measurement.since_unix_s > 0) {
    if (const std::string since = local_time(measurement.since_unix_s); !since.empty())
      details += fmt::format("{}since {}", details.empty() ? "" : ", ", since);
  }
  const std::string what = measurement.what.empty() ? "another measurement"
                                                    : in_a_sentence(measurement.what, longest_name);
  return details.empty() ? what : fmt::format("{} ({})", what, details);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::filesystem::path locks_folder() {
  const char* named = std::getenv("ATTNSCOPE_LOCKS");
  if (named != nullptr && *named != '\0') return named;
  constexpr mode_t open_to_all = S_ISVTX | S_IWOTH | S_IXOTH;
  struct stat folder = {};
  const bool is_shared = stat("/run/lock", &folder) == 0 && S_ISDIR(folder.st_mode) &&
                         (folder.st_mode & open_to_all) == open_to_all;
  return is_shared ? "/run/lock" : "/tmp";
}

Result<Turn> Turn::line_up(const std::filesystem::path& folder, const std::string& device,
                           Measurement own) {
  own.user = user_name();
  Turn turn(folder / fmt::format("attnscope-{}.lock", device), std::move(own));
  turn.place_ = arrival();
  if (Status opened = turn.open(); !opened) return tl::unexpected(opened.error());
  return turn;
}

Turn::Turn(std::filesystem::path file, Measurement own)
    : file_(std::move(file)), own_(std::move(own)) {}

Turn::Turn(Turn&& other) noexcept
    : file_(std::move(other.file_)),
      own_(std::move(other.own_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      place_(other.place_),
      has_begun_(other.has_begun_),
      seen_(other.seen_) {}

Turn& Turn::operator=(Turn&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(own_, other.own_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(place_, other.place_);
  std::swap(has_begun_, other.has_begun_);
  std::swap(seen_, other.seen_);
  return *this;
}

Turn::~Turn() {
  close();
}

void Turn::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

// Opens the file and takes its place in the queue; a later place if that one is taken.
Status Turn::open() {
  close();
  descriptor_ = open_or_make(file_);
  const int error = errno;
  struct stat found = {};
  if (descriptor_ < 0) {
    if (error == ELOOP) return fail("{} is a symbolic link", file_.string());
    return fail("{} cannot be opened for writing: {}", file_.string(), system_reason(error));
  }
  if (fstat(descriptor_, &found) != 0 || !S_ISREG(found.st_mode)) {
    close();
    return fail("{} is not a regular file", file_.string());
  }
  // Otherwise it may be any file under a second name, which would be overwritten.
  if (found.st_nlink > 1) {
    close();
    return fail("{} has a second hard link", file_.string());
  }
  constexpr int tries = 1000;  // other arrivals within the same nanosecond
  for (int i = 0; i < tries; ++i, ++place_)
    if (lock(place_)) return {};
  const int refusal = errno;
  close();
  return fail("{} cannot be locked: {}", file_.string(), system_reason(refusal));
}

bool Turn::is_at_its_place() const {
  struct stat own = {}, there = {};
  return fstat(descriptor_, &own) == 0 && lstat(file_.c_str(), &there) == 0 &&
         own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

bool Turn::lock(std::int64_t at) const {
  struct flock lock = region(F_WRLCK, at, at);
  return fcntl(descriptor_, F_OFD_SETLK, &lock) == 0;
}

// Whether another process has a lock; this process's own locks do not count.
bool Turn::is_locked(std::int64_t first, std::int64_t last) const {
  struct flock lock = region(F_WRLCK, first, last);
  return first <= last && fcntl(descriptor_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool Turn::is_measuring(const Entry& entry) const {
  const bool can_be = entry.place >= first_place && entry.place < measuring_bytes;
  return can_be && is_locked(measuring_bytes + entry.place, measuring_bytes + entry.place);
}

bool Turn::somebody_measures() const {
  return is_locked(measuring_bytes, last_byte);
}

Result<bool> Turn::has_come() {
  if (has_begun_) return true;
  if (is_locked(first_place, place_ - 1) || somebody_measures() || !lock(turn_byte)) return false;
  // A cleaner may have removed the name, so that new processes create another file.
  if (!is_at_its_place()) {
    if (Status opened = open(); !opened) return tl::unexpected(opened.error());
    return false;
  }
  begin(/*has_turn=*/true);
  return true;
}

void Turn::begin_now() {
  if (!has_begun_) begin(/*has_turn=*/false);
}

// The text is for people; a file that cannot be written is locked anyway.
void Turn::begin(bool has_turn) {
  has_begun_ = true;
  own_.since_unix_s = std::time(nullptr);
  static_cast<void>(lock(measuring_bytes + place_));
  if (!somebody_measures()) static_cast<void>(ftruncate(descriptor_, 0));
  seen_ = size();
  json entry = to_json(own_);
  entry["place"] = place_;
  entry["turn"] = has_turn;
  const std::string line = entry.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  static_cast<void>(::write(descriptor_, line.data(), line.size()));
}

std::int64_t Turn::size() const {
  struct stat now = {};
  return fstat(descriptor_, &now) == 0 ? now.st_size : 0;
}

std::vector<Turn::Entry> Turn::entries(std::int64_t from) const {
  from = std::max(from, size() - most_read);
  std::string text(static_cast<std::size_t>(most_read), '\0');
  const ssize_t got = pread(descriptor_, text.data(), text.size(), std::max<off_t>(from, 0));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::vector<Entry> all;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    const json line = parse_json(std::string_view(text).substr(begin, end - begin));
    if (!line.is_object() || number_of(line, "place") <= 0) continue;
    const auto has_turn = line.find("turn");
    all.push_back({.place = number_of(line, "place"),
                   .has_turn = has_turn != line.end() && *has_turn == true,
                   .measurement = read_measurement(line)});
  }
  return all;
}

std::optional<Measurement> Turn::holder() const {
  std::optional<Measurement> found;  // a measurement without the turn only if none has it
  for (const Entry& entry : entries(0)) {
    if (!is_measuring(entry)) continue;
    if (entry.has_turn) return entry.measurement;
    found = entry.measurement;
  }
  return found;
}

std::vector<Measurement> Turn::others() {
  std::vector<Measurement> found;
  bool one_is_known = false;
  const std::int64_t seen = size() < seen_ ? 0 : seen_;
  const std::vector<Entry> fresh = entries(seen);
  seen_ = size();
  const auto is_fresh = [&](const Entry& entry) {
    return std::ranges::find(fresh, entry.place, &Entry::place) != fresh.end();
  };
  for (const Entry& entry : entries(0)) {
    const bool measures = is_measuring(entry);
    one_is_known = one_is_known || measures;
    const bool counts = entry.place != place_ && (measures || is_fresh(entry));
    if (counts && std::ranges::find(found, entry.measurement) == found.end())
      found.push_back(entry.measurement);
  }
  if (!one_is_known && somebody_measures()) found.emplace_back();
  return found;
}

}  // namespace attnscope
