#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The readings and call counts of the fake management library, which its function `fake_nvml`
// returns.

namespace attnscope::measure {

struct FakeNvml {
  int init_error = 0, temperature_error = 0;
  unsigned celsius = 61, sm_megahertz = 1755, milliwatts = 412500;
  unsigned long long reasons = 0, power_ns = 0, heat_ns = 0;
  unsigned devices = 1;
  int energy_error = 0;
  unsigned long long millijoules = 0;
  int inits = 0, shutdowns = 0, reads = 0;
};

}  // namespace attnscope::measure
