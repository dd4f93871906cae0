// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/heat_tensors.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/attention/cuda_runtime.h"
#include "engine/measure/counting_allocator.h"

namespace attnscope::measure {
namespace {

// What LibTorch's allocator aligns its blocks to: every user's tensors start there.
constexpr std::int64_t device_step = 512;
constexpr int grad_o_tensor = 4;

/// The sum of 64-bit words (the last one filled up with zeros), each times an odd number that
/// depends on its place: one changed word always changes it. At the speed of the memory, because
/// all inputs are looked at after every contender's check.
std::uint64_t print_of(std::span<const std::byte> bytes) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  const auto words = static_cast<std::int64_t>(bytes.size() / word_bytes);
  std::uint64_t print = 0;
#pragma omp parallel for reduction(+ : print) schedule(static)
  for (std::int64_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + static_cast<std::size_t>(i) * word_bytes, word_bytes);
    print += word * (2 * static_cast<std::uint64_t>(i) + 1);
  }
  std::uint64_t last = 0;
  const std::span<const std::byte> rest =
      bytes.subspan(static_cast<std::size_t>(words) * word_bytes);
  std::ranges::copy(rest, reinterpret_cast<std::byte*>(&last));
  return print + last * (2 * static_cast<std::uint64_t>(words) + 1);
}

}  // namespace

void HeatTensors::place(int placement) {
  mirror_.reset();
  if (!is_apart()) {
    host_.reset();
    device_.memory().empty_cache_of_movable();
    host_.emplace(device_.memory(), shape_, seed_, placement);
    return;
  }
  device_.memory().empty_cache_of_movable();
  if (!host_) host_.emplace(process_memory(), shape_, seed_, /*placement=*/0);
  mirror_.emplace(device_.memory(), shape_, seed_, placement, device_step);
  for (int which = 0; which < mirror_->tensors(); ++which) {
    if (!is_output(which))
      cuda::copy_to_device(mirror_->bytes_of(which).data(), host_->bytes_of(which));
  }
  poison_outputs();
}

void HeatTensors::send_grad_o() const {
  if (!mirror_) return;
  cuda::copy_to_device(mirror_->bytes_of(grad_o_tensor).data(), host_->bytes_of(grad_o_tensor));
}

void HeatTensors::fill_grad_o() const {
  host_->fill_grad_o();
  send_grad_o();
}

void HeatTensors::fill_grad_o(std::span<const RowId> rows) const {
  host_->fill_grad_o(rows);
  send_grad_o();
}

void HeatTensors::poison_outputs() const {
  if (!mirror_) return host_->poison_outputs();
  constexpr std::byte nan{0xFF};
  for (int which = 0; which < mirror_->tensors(); ++which) {
    const std::span<std::byte> bytes = mirror_->bytes_of(which);
    if (is_output(which)) cuda::fill(bytes.data(), static_cast<std::int64_t>(bytes.size()), nan);
  }
  const std::span<std::byte> lse = std::as_writable_bytes(mirror_->lse());
  cuda::fill(lse.data(), static_cast<std::int64_t>(lse.size()), nan);
}

std::uint64_t HeatTensors::input_print() const {
  constexpr std::size_t piece = std::size_t{16} << 20;
  const PlacedTensors& tensors = on_device();
  std::vector<std::byte> fetched;
  std::uint64_t print = 0;
  for (int which = 0; which < tensors.tensors(); ++which) {
    if (is_output(which)) continue;
    const std::span<std::byte> whole = tensors.bytes_of(which);
    for (std::size_t at = 0; at < whole.size(); at += piece) {
      std::span<const std::byte> bytes = whole.subspan(at, std::min(piece, whole.size() - at));
      if (mirror_) {
        fetched.resize(bytes.size());
        cuda::copy_to_host(fetched, bytes.data());
        bytes = fetched;
      }
      print = print * 31 + print_of(bytes);
    }
  }
  return print;
}

void HeatTensors::fetch_outputs() const {
  if (!mirror_) return;
  for (int which = 0; which < mirror_->tensors(); ++which) {
    if (is_output(which))
      cuda::copy_to_host(host_->bytes_of(which), mirror_->bytes_of(which).data());
  }
}

}  // namespace attnscope::measure
