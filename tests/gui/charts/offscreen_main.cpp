// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "app/drawing/printable.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const attnscope::charts::OffscreenApplication application;
  return RUN_ALL_TESTS();
}
