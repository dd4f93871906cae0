// SPDX-License-Identifier: Apache-2.0
//
// Files of torch.save: an input that begins as a zip archive is a complete file, any other input is
// the pickle of a file. Every byte of every tensor of an accepted file can be read.
#include "engine/checkpoint/torch_file.h"

#include "tests/fuzz/fuzz_input.h"

namespace attnscope {
namespace {

using fuzz::accepted;
using fuzz::expect;

void follow(const TensorView& view) {
  volatile unsigned sum = 0;
  for (const std::byte byte : view.bytes) sum = sum + std::to_integer<unsigned>(byte);
  for (const std::int64_t size : view.shape) expect(size >= 0, "sizes are not negative");
}

void follow_archive(std::string_view input) {
  const fuzz::MemoryFile memory(input);
  const auto file = TorchFile::open(memory.path());
  if (!accepted(file)) return;
  for (const NamedView& tensor : file->tensors()) {
    expect(tensor.view.bytes.size() <= input.size(), "a tensor is inside its file");
    follow(tensor.view);
  }
}

void follow_pickle(std::string_view input) {
  const std::vector<std::byte> record(64);
  const auto tensors = read_torch_pickle(std::as_bytes(std::span(input)));
  if (!accepted(tensors)) return;
  for (const PickledTensor& tensor : *tensors) {
    const auto view = view_in(record, tensor);
    if (!accepted(view)) return;
    follow(*view);
  }
}

}  // namespace

void fuzz::run(std::string_view input) {
  if (input.starts_with("PK")) {
    follow_archive(input);
  } else {
    follow_pickle(input);
  }
}

}  // namespace attnscope
