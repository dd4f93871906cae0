#pragma once
// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/cuda_on_host.h"
