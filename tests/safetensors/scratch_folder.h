#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A folder of one test's own, removed with everything in it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace attnscope::tests {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "attnscope-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder: " + name);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A safetensors file of this header text (its true length in front) and `data_bytes` zero bytes.
inline std::string safetensors_text(std::string_view header, std::size_t data_bytes) {
  std::string text;
  for (unsigned i = 0; i < 8; ++i) text += static_cast<char>((header.size() >> (8U * i)) & 0xFFU);
  return text + std::string(header) + std::string(data_bytes, '\0');
}

}  // namespace attnscope::tests
