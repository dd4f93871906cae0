// SPDX-License-Identifier: Apache-2.0
#include "engine/text/pair_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "kernels/base/sentences.h"

namespace attnscope {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::string reason(int error) {
  return std::generic_category().message(error);
}

Result<PairFormat> format_by_name(const std::filesystem::path& file, const std::string& name) {
  const std::string extension = file.extension().string();
  if (extension == ".tsv" || extension == ".txt") return PairFormat::tsv;
  if (extension == ".jsonl" || extension == ".ndjson") return PairFormat::jsonl;
  return fail("{}: whether it is tsv or jsonl cannot be told by its name; say which", name);
}

}  // namespace

struct PairReader::Source {
  std::string name;  // for messages
  int descriptor = -1;
  bool owned = false;
  PairFormat format = PairFormat::tsv;
  std::int64_t size = 0;  // bytes; 0: not known
  std::int64_t taken = 0;
  std::string buffer;
  std::size_t at = 0;  // in the buffer
  bool ended = false;
  std::int64_t line = 0, columns = 0, empty_line = 0;

  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    if (owned) ::close(descriptor);
  }

  /// More bytes behind those that wait; false at the end.
  Result<bool> refill();
  /// The next line without its end; absent at the end of the file. Valid until the next call.
  Result<std::optional<std::string_view>> next_line();
};

Result<bool> PairReader::Source::refill() {
  constexpr std::size_t block = 1U << 16U;
  buffer.erase(0, at);
  at = 0;
  const std::size_t before = buffer.size();
  buffer.resize(before + block);
  ssize_t got = -1;
  do {
    got = ::read(descriptor, buffer.data() + before, block);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail("{}: cannot be read: {}", name, reason(errno));
  buffer.resize(before + static_cast<std::size_t>(got));
  taken += got;
  return got > 0;
}

Result<std::optional<std::string_view>> PairReader::Source::next_line() {
  std::size_t searched = 0;  // behind `at`
  std::size_t end = std::string::npos;
  while ((end = buffer.find('\n', at + searched)) == std::string::npos && !ended) {
    searched = buffer.size() - at;
    if (searched > longest_line) {
      return fail("{}, line {}: is longer than {} bytes; is it a file of pairs?", name, line + 1,
                  longest_line);
    }
    const Result<bool> more = refill();
    if (!more) return tl::unexpected(more.error());
    ended = !*more;
  }
  if (end == std::string::npos && at == buffer.size()) return std::optional<std::string_view>();
  end = std::min(end, buffer.size());
  std::string_view found = std::string_view(buffer).substr(at, end - at);
  at = std::min(end + 1, buffer.size());
  if (++line == 1 && found.starts_with(byte_order_mark)) {
    found.remove_prefix(byte_order_mark.size());
  }
  if (found.ends_with('\r')) found.remove_suffix(1);
  return std::optional(found);
}

PairReader::PairReader(std::unique_ptr<Source> source) : source_(std::move(source)) {}
PairReader::PairReader(PairReader&&) noexcept = default;
PairReader& PairReader::operator=(PairReader&&) noexcept = default;
PairReader::~PairReader() = default;

Result<PairReader> PairReader::open(const std::filesystem::path& file,
                                    std::optional<PairFormat> format) {
  constexpr std::size_t longest_path = 400;
  auto source = std::make_unique<Source>();
  source->name = file == "-" ? "standard input" : in_a_sentence(file.string(), longest_path);
  if (!format) {
    const Result<PairFormat> told = format_by_name(file, source->name);
    if (!told) return tl::unexpected(told.error());
    format = *told;
  }
  source->format = *format;
  source->descriptor = STDIN_FILENO;
  if (file != "-") {
    source->descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (source->descriptor < 0) {
      return fail("{}: cannot be opened: {}", source->name, reason(errno));
    }
    source->owned = true;
  }
  struct stat info {};
  if (::fstat(source->descriptor, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return fail("{}: is a directory, no file of pairs", source->name);
    if (S_ISREG(info.st_mode)) source->size = info.st_size;
  }
  return PairReader(std::move(source));
}

Result<std::optional<TextPair>> PairReader::next() {
  Source& source = *source_;
  while (true) {
    const auto line = source.next_line();
    if (!line) return tl::unexpected(line.error());
    if (!*line) return std::optional<TextPair>();
    if ((*line)->empty()) {
      if (source.empty_line == 0) source.empty_line = source.line;
      continue;
    }
    if (source.empty_line != 0) {
      return fail("{}, line {}: is empty; every line is a pair", source.name, source.empty_line);
    }
    Result<TextPair> pair = parse_pair(**line, source.format, source.columns);
    if (!pair) {
      return fail("{}, line {}: {}", source.name, source.line, pair.error().message);
    }
    pair->line = source.line;
    return std::optional(std::move(*pair));
  }
}

std::string PairReader::place(std::int64_t line) const {
  return fmt::format("{}, line {}", source_->name, line);
}

std::optional<double> PairReader::progress() const {
  if (source_->size == 0) return std::nullopt;
  const auto waiting = static_cast<std::int64_t>(source_->buffer.size() - source_->at);
  return static_cast<double>(source_->taken - waiting) / static_cast<double>(source_->size);
}

}  // namespace attnscope
