// SPDX-License-Identifier: Apache-2.0
#include "base/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/sentences.h"
#include "base/written_file.h"

namespace attnscope {

namespace {
constexpr std::string_view mark_of_byte_order = "\xef\xbb\xbf";

/// JSON's white space.
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
}  // namespace

LineFile::LineFile(LineFile&& other) noexcept
    : descriptor_(other.descriptor_),
      is_owned_(std::exchange(other.is_owned_, false)),
      bytes_(std::move(other.bytes_)),
      size_(other.size_),
      taken_(other.taken_),
      buffer_(std::move(other.buffer_)),
      at_(other.at_),
      has_ended_(other.has_ended_),
      is_sought_(other.is_sought_),
      breaks_off_(other.breaks_off_),
      reads_elements_(other.reads_elements_),
      at_in_array_(other.at_in_array_),
      line_(other.line_) {}

LineFile& LineFile::operator=(LineFile&& other) noexcept {
  if (this != &other) {
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
  }
  return *this;
}

LineFile::~LineFile() {
  if (is_owned_) ::close(descriptor_);
}

Result<LineFile> LineFile::open(const std::filesystem::path& file) {
  constexpr std::size_t longest_path = 400;
  const bool is_input = file == "-";
  LineFile lines(is_input ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC), !is_input,
                 is_input ? "standard input" : in_a_sentence(file.string(), longest_path));
  if (lines.descriptor_ < 0) {
    return fail("{}: cannot be opened: {}", lines.name(), system_reason(errno));
  }
  struct stat info {};
  if (::fstat(lines.descriptor_, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return fail("{}: is a directory, no file of texts", lines.name());
    if (S_ISREG(info.st_mode)) lines.size_ = info.st_size;
  }
  return lines;
}

Result<LineFile> LineFile::open_to_seek(const std::filesystem::path& file,
                                        const std::function<bool(double)>& on_progress) {
  auto lines = open(file);
  if (!lines) return lines;
  const Result<bool> packed = lines->bytes_.is_packed();
  if (!packed) return tl::unexpected(packed.error());
  return *packed ? lines->unpacked(on_progress) : std::move(lines);
}

Result<LineFile> LineFile::unpacked(const std::function<bool(double)>& on_progress) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  LineFile lines(nameless_file(folder), true, name());
  const auto not_held = [&] {
    return fail(
        "{}: cannot be unpacked in {} ({}); make room there, or name another folder with "
        "TMPDIR",
        name(), folder.string(), system_reason(errno));
  };
  if (lines.descriptor_ < 0) return not_held();
  const Status done = unpack_all(bytes_, most_unpacked, [&](std::span<const char> part) -> Status {
    if (!write_all(lines.descriptor_, std::as_bytes(part))) return not_held();
    lines.size_ += static_cast<std::int64_t>(part.size());
    const auto share = static_cast<double>(bytes_.taken()) / static_cast<double>(size_);
    if (on_progress && size_ > 0 && !on_progress(share))
      return fail("{}: was not read to its end", name());
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  if (Status begun = lines.bytes_.seek(0); !begun) return tl::unexpected(begun.error());
  return lines;
}

/// Appends bytes to the buffer; returns false at the end.
Result<bool> LineFile::refill() {
  constexpr std::size_t block = 1U << 16U;
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + block);
  const auto got = bytes_.read(std::span(buffer_).subspan(before));
  buffer_.resize(before + got.value_or(0));
  if (!got) return tl::unexpected(got.error());
  taken_ += static_cast<std::int64_t>(*got);
  return *got > 0;
}

Result<std::optional<LineFile::Line>> LineFile::next() {
  std::size_t searched = 0;  // bytes after at_
  std::size_t end = std::string::npos;
  while ((end = buffer_.find('\n', at_ + searched)) == std::string::npos && !has_ended_) {
    searched = buffer_.size() - at_;
    if (searched > longest_line) {
      return fail("{}, line {}: is longer than {} bytes; is it a file of texts?", name(), line_ + 1,
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

void LineFile::pass_mark() {
  if (taken_ == static_cast<std::int64_t>(buffer_.size()) && at_ == 0 &&
      buffer_.starts_with(mark_of_byte_order)) {
    at_ = mark_of_byte_order.size();
  }
}

Result<std::string_view> LineFile::peek() {
  while (!has_ended_ && buffer_.size() - at_ < longest_peek &&
         buffer_.find('\n', at_) == std::string::npos) {
    const Result<bool> more = refill();
    if (!more) return tl::unexpected(more.error());
    has_ended_ = !*more;
  }
  const std::size_t end = std::min(buffer_.find('\n', at_), buffer_.size());
  std::string_view line = std::string_view(buffer_).substr(at_, end - at_);
  if (taken_ == static_cast<std::int64_t>(buffer_.size() - at_) &&
      line.starts_with(mark_of_byte_order)) {
    line.remove_prefix(mark_of_byte_order.size());
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(0, longest_peek);
}

/// The next character that is not white space, without consuming it; 0 at the end.
Result<char> LineFile::next_letter() {
  while (true) {
    pass_mark();
    while (at_ < buffer_.size() && is_blank(buffer_[at_])) ++at_;
    if (at_ < buffer_.size()) return buffer_[at_];
    if (has_ended_) return '\0';
    const Result<bool> more = refill();
    if (!more) return tl::unexpected(more.error());
    has_ended_ = !*more;
  }
}

/// Advances to the start of the next element; returns false at the array's end.
Result<bool> LineFile::find_element() {
  const auto breaks_off = [&] {
    return fail("{}: breaks off in its array, which has no ']'; copy the file again", name());
  };
  while (true) {
    const Result<char> letter = next_letter();
    if (!letter) return tl::unexpected(letter.error());
    if (at_in_array_ == At::end) {
      if (*letter == '\0') return false;
      return fail("{}: has text after its array's ']'; leave it out, or write an object a line",
                  name());
    }
    if (at_in_array_ == At::array && *letter != '[')
      return fail("{}: is no JSON array, which begins with '['", name());
    if (*letter == '\0') return breaks_off();
    const bool is_first = at_in_array_ == At::element && line_ == 0 && !is_sought_;
    if (at_in_array_ == At::element && !(is_first && *letter == ']')) {
      if (*letter != ',' && *letter != ']') return true;
      return fail("{}: is empty", place(line_ + 1));
    }
    if (at_in_array_ == At::after_element && *letter != ',' && *letter != ']')
      return fail("{}: has neither ',' nor ']' after the element", place(line_));
    at_in_array_ = *letter == ']' ? At::end : At::element;
    ++at_;
  }
}

/// Size in bytes of the element that begins here.
Result<std::size_t> LineFile::size_of_element() {
  std::size_t size = 0, depth = 0;
  bool in_text = false, is_escaped = false;
  while (true) {
    for (; at_ + size < buffer_.size(); ++size) {
      const char c = buffer_[at_ + size];
      if (in_text) {
        in_text = is_escaped || c != '"';
        is_escaped = !is_escaped && c == '\\';
        continue;
      }
      if (depth == 0 && (c == ',' || c == ']')) return size;
      in_text = c == '"';
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && depth > 0 && --depth == 0) return size + 1;
    }
    if (size > longest_line) {
      return fail("{}: is longer than {} bytes; is it a file of texts?", place(line_ + 1),
                  longest_line);
    }
    if (has_ended_) {
      return fail("{}: breaks off; the file was cut off, so copy it again", place(line_ + 1));
    }
    const Result<bool> more = refill();
    if (!more) return tl::unexpected(more.error());
    has_ended_ = !*more;
  }
}

Result<std::optional<LineFile::Line>> LineFile::next_element() {
  reads_elements_ = true;
  const Result<bool> is_there = find_element();
  if (!is_there) return tl::unexpected(is_there.error());
  if (!*is_there) return std::optional<Line>();
  const Result<std::size_t> size = size_of_element();
  if (!size) return tl::unexpected(size.error());
  ++line_;
  const Line line{.text = std::string_view(buffer_).substr(at_, *size),
                  .number = is_sought_ ? 0 : line_,
                  .begin = taken_ - static_cast<std::int64_t>(buffer_.size() - at_)};
  at_ += *size;
  at_in_array_ = At::after_element;
  return std::optional(line);
}

Status LineFile::seek(std::int64_t begin) {
  if (Status sought = bytes_.seek(begin); !sought) return sought;
  taken_ = begin;
  buffer_.clear();
  at_ = 0;
  has_ended_ = false;
  is_sought_ = true;
  at_in_array_ = begin == 0 ? At::array : At::element;
  return {};
}

std::string LineFile::place(std::int64_t line) const {
  return fmt::format("{}, {} {}", name(), reads_elements_ ? "element" : "line", line);
}

std::string LineFile::doubt_of_end() const {
  if (reads_elements_) return {};
  bool breaks_off = breaks_off_;
  if (char last = '\n';
      size_ > 0 && !bytes_.was_packed() && ::pread(descriptor_, &last, 1, size_ - 1) == 1)
    breaks_off = last != '\n';
  if (!breaks_off) return {};
  return fmt::format(
      "{}: its last line has no line end; if the file was cut off, lines are missing behind it",
      name());
}

std::optional<double> LineFile::progress() const {
  if (size_ == 0) return std::nullopt;
  const auto waiting = static_cast<std::int64_t>(buffer_.size() - at_);
  const std::int64_t read = bytes_.was_packed() ? bytes_.taken() : taken_ - waiting;
  return static_cast<double>(read) / static_cast<double>(size_);
}

}  // namespace attnscope
