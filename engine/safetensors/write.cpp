// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/safetensors/safetensors.h"
#include "kernels/base/number_formats.h"

namespace attnscope {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

/// The header with its length in front, padded by spaces so that the data starts at 8 bytes.
Result<std::string> header_of(const std::filesystem::path& path,
                              std::span<const NamedTensor> tensors,
                              const SafetensorsOptions& options) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!options.metadata.empty()) header["__metadata__"] = options.metadata;
  const std::size_t element = options.half ? sizeof(std::uint16_t) : sizeof(float);
  std::size_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    std::int64_t count = 1;
    for (const std::int64_t size : tensor.shape) count *= size;
    if (count != static_cast<std::int64_t>(tensor.values.size())) {
      return fail("{}: tensor '{}' of shape [{}] was given {} values", path.string(), tensor.name,
                  fmt::join(tensor.shape, ", "), tensor.values.size());
    }
    if (header.contains(tensor.name)) {
      return fail("{}: tensor '{}' was given twice", path.string(), tensor.name);
    }
    const std::size_t end = offset + element * tensor.values.size();
    header[tensor.name] = {{"dtype", options.half ? "F16" : "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string json = header.dump();
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string text;
  for (unsigned i = 0; i < 8; ++i) text += static_cast<char>((json.size() >> (8U * i)) & 0xFFU);
  return text + json;
}

/// A file beside the target that vanishes unless it is moved there.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target)
      : target_(target), name_(target.string() + ".XXXXXX") {
    descriptor_ = ::mkostemp(name_.data(), O_CLOEXEC);
    if (descriptor_ < 0) error_ = errno;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
      ::unlink(name_.c_str());
    }
  }

  void write(std::span<const std::byte> bytes) {
    while (error_ == 0 && !bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
  }

  Status move_to_target() {
    // mkostemp makes files for the owner alone; results are as readable as any other new file.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (error_ == 0 && ::fchmod(descriptor_, 0666U & ~mask) != 0) error_ = errno;
    if (error_ == 0 && ::fsync(descriptor_) != 0) error_ = errno;
    if (error_ == 0 && ::rename(name_.c_str(), target_.c_str()) != 0) error_ = errno;
    if (error_ != 0) return fail("{}: cannot be written: {}", target_.string(), reason(error_));
    ::close(descriptor_);
    descriptor_ = -1;
    return {};
  }

 private:
  std::filesystem::path target_;
  std::string name_;
  int descriptor_ = -1;
  int error_ = 0;
};

}  // namespace

Status write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                         const SafetensorsOptions& options) {
  const Result<std::string> header = header_of(path, tensors, options);
  if (!header) return tl::unexpected(header.error());
  TemporaryFile file(path);
  file.write(std::as_bytes(std::span(*header)));
  for (const NamedTensor& tensor : tensors) {
    if (!options.half) {
      file.write(std::as_bytes(tensor.values));
      continue;
    }
    std::vector<std::uint16_t> halves(tensor.values.size());
    std::ranges::transform(tensor.values, halves.begin(), float16_from_float);
    file.write(std::as_bytes(std::span(halves)));
  }
  return file.move_to_target();
}

}  // namespace attnscope
