// SPDX-License-Identifier: Apache-2.0
//
// Built as libiomp5.so and loaded into the worker in addition to the real runtime.

extern "C" int attnscope_second_openmp_runtime() {
  return 1;
}
