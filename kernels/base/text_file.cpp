// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/text_file.h"

#include <fstream>
#include <iterator>
#include <system_error>

#include "kernels/base/sentences.h"

namespace attnscope {

Result<std::string> read_text_file(const std::filesystem::path& path, std::string_view kind,
                                   std::uintmax_t most_bytes) {
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
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) {
    return fail("the {} '{}' cannot be read; is it a readable file?", kind, name);
  }
  return text;
}

}  // namespace attnscope
