// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/asynchronous_copies.h"

#include <cstddef>
#include <cstring>
#include <deque>
#include <vector>

#include "tests/cuda_on_host/grid.h"
#include "tests/cuda_on_host/memory_watch.h"

namespace attnscope::on_host {

namespace {

struct Copy {
  void* shared;
  const void* global;
  int bytes;
  bool valid;
};

struct CopiesOfThread {
  std::deque<std::vector<Copy>> groups;  // committed, the oldest first
  std::vector<Copy> open;
};

std::vector<CopiesOfThread>& copies() {
  static std::vector<CopiesOfThread> of_threads(most_threads);
  return of_threads;
}

CopiesOfThread& mine() {
  return copies()[static_cast<std::size_t>(grid().thread)];
}

void carry_out(const Copy& copy) {
  const auto bytes = static_cast<std::size_t>(copy.bytes);
  if (copy.valid) {
    std::memcpy(copy.shared, copy.global, bytes);
  } else {
    std::memset(copy.shared, 0, bytes);
  }
}

}  // namespace

void start_copy(void* shared, const void* global, int bytes, bool valid) {
  const OnHost on_host;
  const Copy copy{shared, global, bytes, valid};
  check_copy(shared, global, bytes, valid);
  if (grid().late_copies) {
    std::memset(shared, poison, static_cast<std::size_t>(bytes));
  } else {
    carry_out(copy);
  }
  mine().open.push_back(copy);
}

void commit_copies() {
  const OnHost on_host;
  CopiesOfThread& own = mine();
  own.groups.push_back(std::move(own.open));
  own.open.clear();
}

void wait_for_copies(int pending) {
  const OnHost on_host;
  CopiesOfThread& own = mine();
  while (own.groups.size() > static_cast<std::size_t>(pending)) {
    for (const Copy& copy : own.groups.front()) {
      if (grid().late_copies) carry_out(copy);
      copy_arrived(copy.shared, copy.bytes);
    }
    own.groups.pop_front();
  }
}

void forget_copies() {
  for (CopiesOfThread& own : copies()) {
    own.groups.clear();
    own.open.clear();
  }
}

}  // namespace attnscope::on_host
