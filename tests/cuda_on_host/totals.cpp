// SPDX-License-Identifier: Apache-2.0
//
// Every program that runs kernels in the emulation prints totals at its end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/cuda_on_host/emulator.h"

namespace attnscope::on_host {
namespace {

class PrintTotals : public ::testing::Environment {
 public:
  void TearDown() override {
    const Totals all = totals();
    fmt::print(
        "on the host: {} kernels in {} launch shapes, {} launches, {} blocks, {} collectives of "
        "warps, {} accesses checked\n",
        all.kernels, all.shapes, all.launches, all.blocks, all.collectives, all.accesses);
  }
};

[[maybe_unused]] const auto* const registered =
    ::testing::AddGlobalTestEnvironment(new PrintTotals);

}  // namespace
}  // namespace attnscope::on_host
