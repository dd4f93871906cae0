#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The lines of a file of any size, read as they are needed: a few blocks of it are in memory at a
// time. Pipes are read, too, and so is what gzip has packed (gzip.h), by whatever name.
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

#include "kernels/base/gzip.h"
#include "kernels/base/result.h"

namespace attnscope {

class LineFile {
 public:
  static constexpr std::size_t longest_line = 32U << 20U;                // bytes
  static constexpr std::int64_t most_unpacked = std::int64_t{4} << 30U;  // bytes, for seek

  struct Line {
    std::string_view text;    // without its end, "\n" or "\r\n"; valid until the next call
    std::int64_t number = 0;  // from 1; 0 behind a seek
    std::int64_t begin = 0;   // byte of the file, unpacked
    bool has_end = true;      // the last line of a file may have none
  };

  /// "-" is standard input. Errors: a file that cannot be opened, a directory.
  [[nodiscard]] static Result<LineFile> open(const std::filesystem::path& file);
  /// The same for lines that are sought. A packed file is unpacked first, of at most most_unpacked
  /// bytes, into a file without a name in the folder for temporary files. `on_progress` hears how
  /// much of it is done, from 0 to 1, and ends it by false.
  [[nodiscard]] static Result<LineFile> open_to_seek(
      const std::filesystem::path& file, const std::function<bool(double)>& on_progress = {});
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  /// Nothing at the end. Errors name the file: what cannot be read, packed data that are damaged or
  /// break off, a line longer than longest_line. A byte-order mark before the first line is left
  /// out.
  [[nodiscard]] Result<std::optional<Line>> next();
  /// The next element of the JSON array that the file is, over any number of lines, as JSON has it;
  /// `number` counts elements, and so does place() from then on. Nothing after the array's end.
  /// Errors, too: no array, an array that breaks off, text after it. Read by this or by next, not
  /// by both.
  [[nodiscard]] Result<std::optional<Line>> next_element();
  /// The next line, which stays the next one; of a longer one its first longest_peek bytes. Empty
  /// at the end. Valid until the next call.
  static constexpr std::size_t longest_peek = 1U << 20U;  // bytes
  [[nodiscard]] Result<std::string_view> peek();
  /// The next line, or element, begins at this byte; lines have no numbers from here on. Errors: a
  /// pipe, a packed file that was opened by open.
  [[nodiscard]] Status seek(std::int64_t begin);

  /// As messages call it: "standard input", the path.
  [[nodiscard]] const std::string& name() const { return bytes_.name(); }
  /// "pairs.tsv, line 7"; "pairs.json, element 7" where elements are read.
  [[nodiscard]] std::string place(std::int64_t line) const;
  /// "" if a line end is the last of it, as far as can be told yet: of a pipe, once it is read. An
  /// array has an end of its own.
  [[nodiscard]] std::string doubt_of_end() const;
  /// How much is read, from 0 to 1; absent where nobody knows its size.
  [[nodiscard]] std::optional<double> progress() const;

 private:
  LineFile(int descriptor, bool is_owned, std::string name)
      : descriptor_(descriptor), is_owned_(is_owned), bytes_(descriptor, std::move(name)) {}
  [[nodiscard]] Result<bool> refill();
  [[nodiscard]] Result<char> next_letter();
  [[nodiscard]] Result<bool> find_element();
  [[nodiscard]] Result<std::size_t> size_of_element();
  void pass_mark();
  [[nodiscard]] Result<LineFile> unpacked(const std::function<bool(double)>& on_progress);

  int descriptor_;
  bool is_owned_;
  UnpackedBytes bytes_;
  std::int64_t size_ = 0;   // bytes; 0: not known
  std::int64_t taken_ = 0;  // where in the unpacked file the buffer ends
  std::string buffer_;
  std::size_t at_ = 0;  // in the buffer
  bool has_ended_ = false, is_sought_ = false, breaks_off_ = false;
  bool reads_elements_ = false;
  enum class At : std::uint8_t { array, element, behind_element, end } at_in_array_ = At::array;
  std::int64_t line_ = 0;
};

}  // namespace attnscope
