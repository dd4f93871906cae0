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
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

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
      buffer_end_(other.buffer_end_),
      buffer_(std::move(other.buffer_)),
      position_(other.position_),
      has_ended_(other.has_ended_),
      has_sought_(other.has_sought_),
      lacks_line_end_(other.lacks_line_end_),
      reads_elements_(other.reads_elements_),
      array_position_(other.array_position_),
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
    if (S_ISDIR(info.st_mode)) return fail("{}: is a directory, not a file of texts", lines.name());
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
  LineFile lines(unnamed_file(folder), true, name());
  const auto no_space = [&] {
    return fail(
        "{}: cannot be decompressed in {} ({}); free disk space there, or set TMPDIR to another "
        "folder",
        name(), folder.string(), system_reason(errno));
  };
  if (lines.descriptor_ < 0) return no_space();
  const Status done = unpack_all(bytes_, most_unpacked, [&](std::span<const char> part) -> Status {
    if (!write_all(lines.descriptor_, std::as_bytes(part))) return no_space();
    lines.size_ += static_cast<std::int64_t>(part.size());
    const auto share = static_cast<double>(bytes_.bytes_read()) / static_cast<double>(size_);
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
  buffer_.erase(0, position_);
  position_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + block);
  const auto got = bytes_.read(std::span(buffer_).subspan(before));
  buffer_.resize(before + got.value_or(0));
  if (!got) return tl::unexpected(got.error());
  buffer_end_ += static_cast<std::int64_t>(*got);
  return *got > 0;
}

Result<std::optional<LineFile::Line>> LineFile::next() {
  std::size_t searched = 0;  // bytes after position_
  std::size_t end = std::string::npos;
  while ((end = buffer_.find('\n', position_ + searched)) == std::string::npos && !has_ended_) {
    searched = buffer_.size() - position_;
    if (searched > longest_line) {
      return fail("{}, line {}: is longer than {} bytes; is it a file of texts?", name(), line_ + 1,
                  longest_line);
    }
    const Result<bool> more = refill();
    if (!more) return tl::unexpected(more.error());
    has_ended_ = !*more;
  }
  if (end == std::string::npos && position_ == buffer_.size()) return std::optional<Line>();
  Line line{.text = {},
            .number = has_sought_ ? 0 : ++line_,
            .begin = buffer_end_ - static_cast<std::int64_t>(buffer_.size() - position_),
            .has_end = end != std::string::npos};
  lacks_line_end_ = !line.has_end;
  end = std::min(end, buffer_.size());
  line.text = std::string_view(buffer_).substr(position_, end - position_);
  position_ = std::min(end + 1, buffer_.size());
  if (line.begin == 0 && line.text.starts_with(byte_order_mark)) {
    line.text.remove_prefix(byte_order_mark.size());
  }
  if (line.text.ends_with('\r')) line.text.remove_suffix(1);
  return std::optional(line);
}

void LineFile::skip_byte_order_mark() {
  if (buffer_end_ == static_cast<std::int64_t>(buffer_.size()) && position_ == 0 &&
      buffer_.starts_with(byte_order_mark)) {
    position_ = byte_order_mark.size();
  }
}

Result<std::string_view> LineFile::peek() {
  while (!has_ended_ && buffer_.size() - position_ < longest_peek &&
         buffer_.find('\n', position_) == std::string::npos) {
    const Result<bool> more = refill();
    if (!more) return tl::unexpected(more.error());
    has_ended_ = !*more;
  }
  const std::size_t end = std::min(buffer_.find('\n', position_), buffer_.size());
  std::string_view line = std::string_view(buffer_).substr(position_, end - position_);
  if (buffer_end_ == static_cast<std::int64_t>(buffer_.size() - position_) &&
      line.starts_with(byte_order_mark)) {
    line.remove_prefix(byte_order_mark.size());
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(0, longest_peek);
}

/// The next character that is not white space, without consuming it; 0 at the end.
Result<char> LineFile::next_character() {
  while (true) {
    skip_byte_order_mark();
    while (position_ < buffer_.size() && is_blank(buffer_[position_])) ++position_;
    if (position_ < buffer_.size()) return buffer_[position_];
    if (has_ended_) return '\0';
    const Result<bool> more = refill();
    if (!more) return tl::unexpected(more.error());
    has_ended_ = !*more;
  }
}

/// Advances to the start of the next element; returns false at the array's end.
Result<bool> LineFile::find_element() {
  const auto truncated = [&] {
    return fail("{}: its array has no closing ']'; if the file is truncated, copy it again",
                name());
  };
  while (true) {
    const Result<char> character = next_character();
    if (!character) return tl::unexpected(character.error());
    if (array_position_ == At::end) {
      if (*character == '\0') return false;
      return fail("{}: has text after its array's ']'; remove it, or write one object per line",
                  name());
    }
    if (array_position_ == At::array && *character != '[')
      return fail("{}: is not a JSON array, which begins with '['", name());
    if (*character == '\0') return truncated();
    const bool is_first = array_position_ == At::element && line_ == 0 && !has_sought_;
    if (array_position_ == At::element && !(is_first && *character == ']')) {
      if (*character != ',' && *character != ']') return true;
      return fail("{}: is empty", place(line_ + 1));
    }
    if (array_position_ == At::after_element && *character != ',' && *character != ']')
      return fail("{}: has neither ',' nor ']' after the element", place(line_));
    array_position_ = *character == ']' ? At::end : At::element;
    ++position_;
  }
}

/// Size in bytes of the element that begins here.
Result<std::size_t> LineFile::size_of_element() {
  std::size_t size = 0, depth = 0;
  bool in_text = false, is_escaped = false;
  while (true) {
    for (; position_ + size < buffer_.size(); ++size) {
      const char c = buffer_[position_ + size];
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
      return fail("{}: is truncated; copy the file again", place(line_ + 1));
    }
    const Result<bool> more = refill();
    if (!more) return tl::unexpected(more.error());
    has_ended_ = !*more;
  }
}

Result<std::optional<LineFile::Line>> LineFile::next_element() {
  reads_elements_ = true;
  const Result<bool> found = find_element();
  if (!found) return tl::unexpected(found.error());
  if (!*found) return std::optional<Line>();
  const Result<std::size_t> size = size_of_element();
  if (!size) return tl::unexpected(size.error());
  ++line_;
  const Line line{.text = std::string_view(buffer_).substr(position_, *size),
                  .number = has_sought_ ? 0 : line_,
                  .begin = buffer_end_ - static_cast<std::int64_t>(buffer_.size() - position_)};
  position_ += *size;
  array_position_ = At::after_element;
  return std::optional(line);
}

Status LineFile::seek(std::int64_t begin) {
  if (Status sought = bytes_.seek(begin); !sought) return sought;
  buffer_end_ = begin;
  buffer_.clear();
  position_ = 0;
  has_ended_ = false;
  has_sought_ = true;
  array_position_ = begin == 0 ? At::array : At::element;
  return {};
}

std::string LineFile::place(std::int64_t line) const {
  return fmt::format("{}, {} {}", name(), reads_elements_ ? "element" : "line", line);
}

std::string LineFile::missing_line_end() const {
  if (reads_elements_) return {};
  bool lacks_end = lacks_line_end_;
  if (char last = '\n';
      size_ > 0 && !bytes_.was_packed() && ::pread(descriptor_, &last, 1, size_ - 1) == 1)
    lacks_end = last != '\n';
  if (!lacks_end) return {};
  return fmt::format(
      "{}: its last line has no line end; if the file is truncated, the lines after it are missing",
      name());
}

std::optional<double> LineFile::progress() const {
  if (size_ == 0) return std::nullopt;
  const auto waiting = static_cast<std::int64_t>(buffer_.size() - position_);
  const std::int64_t read = bytes_.was_packed() ? bytes_.bytes_read() : buffer_end_ - waiting;
  return static_cast<double>(read) / static_cast<double>(size_);
}

}  // namespace attnscope
