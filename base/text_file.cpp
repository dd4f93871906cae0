// SPDX-License-Identifier: Apache-2.0
#include "base/text_file.h"

#include <unistd.h>

#include <array>
#include <system_error>

#include "base/open_file.h"
#include "base/sentences.h"

namespace attnscope {
namespace {

/// A file may grow while it is read; bytes beyond `most_bytes` are ignored.
bool read_all(int file, std::uintmax_t most_bytes, std::string& text) {
  constexpr std::size_t step = 65536;
  std::array<char, step> bytes{};
  while (text.size() <= most_bytes) {
    const ssize_t count =
        ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(text.size()));
    if (count <= 0) return count == 0;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<std::string> read_text_file(const std::filesystem::path& path, std::string_view kind,
                                   std::uintmax_t most_bytes, ByteOrderMark mark) {
  constexpr std::size_t longest_path = 400;
  const std::string name = in_a_sentence(path.string(), longest_path);
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return fail("there is no {} '{}'; check the path", kind, name);
  }
  if (!std::filesystem::status_known(status)) {
    return fail("the {} '{}' cannot be read: {}", kind, name, error.message());
  }
  if (!std::filesystem::is_regular_file(status)) {
    return fail("'{}' is not a file; give the path of a {}", name, kind);
  }
  if (const std::uintmax_t size = std::filesystem::file_size(path, error); size > most_bytes) {
    return fail("'{}' is larger than {} bytes and so no {}; check the path", name, most_bytes,
                kind);
  }
  std::string text;
  const auto file = OpenFile::to_read(path);
  if (!file || !read_all(file->number(), most_bytes, text)) {
    return fail("the {} '{}' cannot be read; is it a readable file?", kind, name);
  }
  // Editors on Windows begin a file with a byte-order mark, which has no meaning.
  if (mark == ByteOrderMark::left_out && text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

}  // namespace attnscope
