// SPDX-License-Identifier: Apache-2.0
//
// Files of torch.save: an input that begins as a zip archive is a complete file, any other input is
// the pickle of a file.
// Every byte of every tensor of an accepted file can be read.
#include "engine/checkpoint/torch_file.h"

#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::expect;
using fuzz::expect_sentence;

void follow(const TensorView& view) {
  volatile unsigned sum = 0;
  for (const std::byte byte : view.bytes) sum = sum + std::to_integer<unsigned>(byte);
  for (const std::int64_t size : view.shape) expect(size >= 0, "sizes are not negative");
}

void follow_archive(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile memory(data, size);
  const auto file = TorchFile::open(memory.path());
  if (!file) return expect_sentence(file.error().message);
  for (const NamedView& tensor : file->tensors()) {
    expect(tensor.view.bytes.size() <= size, "a tensor is inside its file");
    follow(tensor.view);
  }
}

void follow_pickle(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::byte> record(64);
  const auto tensors = read_torch_pickle(std::as_bytes(std::span(data, size)));
  if (!tensors) return expect_sentence(tensors.error().message);
  for (const PickledTensor& tensor : *tensors) {
    const auto view = view_in(record, tensor);
    if (!view) return expect_sentence(view.error().message);
    follow(*view);
  }
}

}  // namespace
}  // namespace attnscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (attnscope::fuzz::text_of(data, size).starts_with("PK")) {
    attnscope::follow_archive(data, size);
  } else {
    attnscope::follow_pickle(data, size);
  }
  return 0;
}
