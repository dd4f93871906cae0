// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "kernels/base/sentences.h"

namespace attnscope {

namespace {
constexpr std::string_view mark_of_byte_order = "\xef\xbb\xbf";
}  // namespace

LineFile::LineFile(LineFile&& other) noexcept {
  *this = std::move(other);
}

LineFile& LineFile::operator=(LineFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_owned_, other.is_owned_);
  name_ = std::move(other.name_);
  buffer_ = std::move(other.buffer_);
  size_ = other.size_;
  taken_ = other.taken_;
  at_ = other.at_;
  has_ended_ = other.has_ended_;
  is_sought_ = other.is_sought_;
  breaks_off_ = other.breaks_off_;
  line_ = other.line_;
  return *this;
}

LineFile::~LineFile() {
  if (is_owned_) ::close(descriptor_);
}

Result<LineFile> LineFile::open(const std::filesystem::path& file) {
  constexpr std::size_t longest_path = 400;
  LineFile lines;
  lines.name_ = file == "-" ? "standard input" : in_a_sentence(file.string(), longest_path);
  lines.descriptor_ = STDIN_FILENO;
  if (file != "-") {
    lines.descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (lines.descriptor_ < 0) {
      return fail("{}: cannot be opened: {}", lines.name_, system_reason(errno));
    }
    lines.is_owned_ = true;
  }
  struct stat info {};
  if (::fstat(lines.descriptor_, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return fail("{}: is a directory, no file of texts", lines.name_);
    if (S_ISREG(info.st_mode)) lines.size_ = info.st_size;
  }
  return lines;
}

/// More bytes behind those that wait; false at the end.
Result<bool> LineFile::refill() {
  constexpr std::size_t block = 1U << 16U;
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + block);
  ssize_t got = -1;
  do {
    got = ::read(descriptor_, buffer_.data() + before, block);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail("{}: cannot be read: {}", name_, system_reason(errno));
  buffer_.resize(before + static_cast<std::size_t>(got));
  taken_ += got;
  return got > 0;
}

Result<std::optional<LineFile::Line>> LineFile::next() {
  std::size_t searched = 0;  // behind at_
  std::size_t end = std::string::npos;
  while ((end = buffer_.find('\n', at_ + searched)) == std::string::npos && !has_ended_) {
    searched = buffer_.size() - at_;
    if (searched > longest_line) {
      return fail("{}, line {}: is longer than {} bytes; is it a file of texts?", name_, line_ + 1,
                  longest_line);
    }
    const Result<bool> more = refill();
    if (!more) return tl::unexpected(more.error());
    has_ended_ = !*more;
  }
  if (end == std::string::npos && at_ == buffer_.size()) return std::optional<Line>();
  Line line{.text = {},
            .number = is_sought_ ? 0 : ++line_,
            .begin = taken_ - static_cast<std::int64_t>(buffer_.size() - at_),
            .has_end = end != std::string::npos};
  breaks_off_ = !line.has_end;
  end = std::min(end, buffer_.size());
  line.text = std::string_view(buffer_).substr(at_, end - at_);
  at_ = std::min(end + 1, buffer_.size());
  if (line.begin == 0 && line.text.starts_with(mark_of_byte_order)) {
    line.text.remove_prefix(mark_of_byte_order.size());
  }
  if (line.text.ends_with('\r')) line.text.remove_suffix(1);
  return std::optional(line);
}

Status LineFile::seek(std::int64_t begin) {
  if (::lseek(descriptor_, begin, SEEK_SET) != begin) {
    return fail("{}: cannot be read out of order: {}", name_, system_reason(errno));
  }
  taken_ = begin;
  buffer_.clear();
  at_ = 0;
  has_ended_ = false;
  is_sought_ = true;
  return {};
}

std::string LineFile::place(std::int64_t line) const {
  return fmt::format("{}, line {}", name_, line);
}

std::string LineFile::doubt_of_end() const {
  bool breaks_off = breaks_off_;
  if (char last = '\n'; size_ > 0 && ::pread(descriptor_, &last, 1, size_ - 1) == 1)
    breaks_off = last != '\n';
  if (!breaks_off) return {};
  return fmt::format(
      "{}: its last line has no line end; if the file was cut off, lines are missing behind it",
      name_);
}

std::optional<double> LineFile::progress() const {
  if (size_ == 0) return std::nullopt;
  const auto waiting = static_cast<std::int64_t>(buffer_.size() - at_);
  return static_cast<double>(taken_ - waiting) / static_cast<double>(size_);
}

}  // namespace attnscope
