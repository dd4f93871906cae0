// SPDX-License-Identifier: Apache-2.0
//
// The subjects of this program are the kernels on the CPU.
#include "tests/kernels/products.h"
#include "tests/kernels/subject.h"

namespace attnscope::testing {

const std::vector<Subject>& subjects() {
  return cpu_subjects();
}

const ProductSubject& product_subject() {
  return cpu_product_subject();
}

}  // namespace attnscope::testing
