#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Reads the lines of a file of any size on demand and keeps only a few blocks in memory. Pipes and
// gzip files (gzip.h), whatever their names, are read as well.
//
//   Result<LineFile> file = LineFile::open("pairs.tsv");
//   while (auto line = file->next()) {
//     if (!*line) break;   // the end
//     use((*line)->text);
//   }

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/gzip.h"
#include "base/result.h"

namespace attnscope {

class LineFile {
 public:
  static constexpr std::size_t longest_line = 32U << 20U;                // bytes
  static constexpr std::int64_t most_unpacked = std::int64_t{4} << 30U;  // bytes, for seek

  struct Line {
    std::string_view text;    // without its end, "\n" or "\r\n"; valid until the next call
    std::int64_t number = 0;  // from 1; 0 after a seek
    std::int64_t begin = 0;   // offset in the unpacked file
    bool has_end = true;      // the last line of a file may have none
  };

  /// "-" is standard input. Errors: the file cannot be opened; a directory.
  [[nodiscard]] static Result<LineFile> open(const std::filesystem::path& file);
  /// The same for use with seek. A packed file is first unpacked, up to most_unpacked bytes, into
  /// an unnamed file in the folder for temporary files. `on_progress` gets the progress from 0 to 1
  /// and cancels by returning false.
  [[nodiscard]] static Result<LineFile> open_to_seek(
      const std::filesystem::path& file, const std::function<bool(double)>& on_progress = {});
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  /// Nothing at the end. Errors name the file: unreadable data, packed data that are damaged or
  /// truncated, a line longer than longest_line. A byte-order mark before the first line is
  /// skipped.
  [[nodiscard]] Result<std::optional<Line>> next();
  /// The next element of the JSON array in the file, which may span lines; `number` counts
  /// elements, and so does place() from then on. Nothing after the array's end. Further errors: no
  /// array, a truncated array, text after it. Do not mix with next().
  [[nodiscard]] Result<std::optional<Line>> next_element();
  /// The next line without consuming it; at most its first longest_peek bytes. Empty at the end.
  /// Valid until the next call.
  static constexpr std::size_t longest_peek = 1U << 20U;  // bytes
  [[nodiscard]] Result<std::string_view> peek();
  /// Sets the offset of the next line or element; lines have no numbers afterwards. Errors: a pipe,
  /// a packed file opened by open.
  [[nodiscard]] Status seek(std::int64_t begin);

  /// The name in messages: "standard input", the path.
  [[nodiscard]] const std::string& name() const { return bytes_.name(); }
  /// "pairs.tsv, line 7"; "pairs.json, element 7" if elements are read.
  [[nodiscard]] std::string place(std::int64_t line) const;
  /// A warning if the last line has no line end, so the file may be truncated; "" otherwise, for an
  /// array, and for a pipe that is not read to its end.
  [[nodiscard]] std::string missing_line_end() const;
  /// The part read, from 0 to 1; absent if the size is unknown.
  [[nodiscard]] std::optional<double> progress() const;

 private:
  LineFile(int descriptor, bool is_owned, std::string name)
      : descriptor_(descriptor), is_owned_(is_owned), bytes_(descriptor, std::move(name)) {}
  [[nodiscard]] Result<bool> refill();
  [[nodiscard]] Result<char> next_character();
  [[nodiscard]] Result<bool> find_element();
  [[nodiscard]] Result<std::size_t> size_of_element();
  void skip_byte_order_mark();
  [[nodiscard]] Result<LineFile> unpacked(const std::function<bool(double)>& on_progress);

  int descriptor_;
  bool is_owned_;
  UnpackedBytes bytes_;
  std::int64_t size_ = 0;        // bytes; 0: unknown
  std::int64_t buffer_end_ = 0;  // offset of the buffer's end in the unpacked file
  std::string buffer_;
  std::size_t position_ = 0;  // position in the buffer
  bool has_ended_ = false, has_sought_ = false, lacks_line_end_ = false;
  bool reads_elements_ = false;
  enum class At : std::uint8_t { array, element, after_element, end } array_position_ = At::array;
  std::int64_t line_ = 0;
};

}  // namespace attnscope
