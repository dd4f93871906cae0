#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The lines of a file of any size, read as they are needed: a few blocks of it are in memory at a
// time. Pipes are read, too.
//
//   Result<LineFile> file = LineFile::open("pairs.tsv");
//   while (auto line = file->next()) {
//     if (!*line) break;   // the end
//     use((*line)->text);
//   }

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace attnscope {

class LineFile {
 public:
  static constexpr std::size_t longest_line = 32U << 20U;  // bytes

  struct Line {
    std::string_view text;    // without its end, "\n" or "\r\n"; valid until the next call
    std::int64_t number = 0;  // from 1; 0 behind a seek
    std::int64_t begin = 0;   // byte of the file
    bool has_end = true;      // the last line of a file may have none
  };

  /// "-" is standard input. Errors: a file that cannot be opened, a directory.
  [[nodiscard]] static Result<LineFile> open(const std::filesystem::path& file);
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  /// Nothing at the end. Errors name the file: what cannot be read, a line longer than
  /// longest_line. A byte-order mark before the first line is left out.
  [[nodiscard]] Result<std::optional<Line>> next();
  /// The next line begins at this byte; lines have no numbers from here on.
  [[nodiscard]] Status seek(std::int64_t begin);

  /// As messages call it: "standard input", the path.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// "pairs.tsv, line 7"
  [[nodiscard]] std::string place(std::int64_t line) const;
  /// "" if a line end is the last of it, as far as can be told yet: of a pipe, once it is read.
  [[nodiscard]] std::string doubt_of_end() const;
  /// How much is read, from 0 to 1; absent where nobody knows its size.
  [[nodiscard]] std::optional<double> progress() const;

 private:
  LineFile() = default;
  [[nodiscard]] Result<bool> refill();

  std::string name_;
  int descriptor_ = -1;
  bool is_owned_ = false;
  std::int64_t size_ = 0;   // bytes; 0: not known
  std::int64_t taken_ = 0;  // where in the file the buffer ends
  std::string buffer_;
  std::size_t at_ = 0;  // in the buffer
  bool has_ended_ = false, is_sought_ = false, breaks_off_ = false;
  std::int64_t line_ = 0;
};

}  // namespace attnscope
