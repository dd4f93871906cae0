#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// What is remembered of two bytes: the last write, and the reads since as far as the next write
// must know of them. A place in time is the epoch (barriers and beginnings of blocks so far; blocks
// run one after the other, so an epoch belongs to one block) and, inside a warp, its own count of
// __syncwarp.

#include <cstdint>

namespace attnscope::on_host {

struct Granule {
  static constexpr std::uint16_t several = 0xffff;

  std::uint32_t write_epoch = 0;
  std::uint32_t write_warp_epoch = 0;
  std::uint32_t read_epoch = 0;
  std::uint32_t read_warp_epoch = 0;
  std::uint16_t writer = 0;
  std::uint16_t writer_fences = 0;  // of the writer, before the write
  std::uint16_t reader = 0;         // in read_epoch: a thread, or `several` of one warp
  std::uint16_t reader_warp = 0;    // or `several`
  bool written = false;
  bool by_atomic = false;
  bool in_flight = false;            // a copy that has not been waited for will write
  bool read_by_many_blocks = false;  // of the launch that read_epoch is in
};

}  // namespace attnscope::on_host
