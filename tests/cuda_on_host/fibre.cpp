// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/fibre.h"

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace attnscope::on_host {

// Saves what a callee must preserve (System V ABI) and the stack pointer, and restores the other's.
extern "C" void attnscope_switch_stacks(void** from, void* to);
asm(R"(
.text
.type attnscope_switch_stacks, @function
attnscope_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size attnscope_switch_stacks, . - attnscope_switch_stacks
)");

void Fibre::start(std::span<std::byte> memory, void (*entry)()) {
  stack = memory;
  sanitizer_data = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  // A fibre that did not end has left the marks of its frames.
  __asan_unpoison_memory_region(stack.data(), stack.size());
#endif
  // Six registers, the address to return to, and one word that leaves the stack 16-byte aligned as
  // a call would.
  auto* top = reinterpret_cast<std::uintptr_t*>(stack.data() + stack.size());
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(entry);
  for (int saved = 0; saved < 6; ++saved) *--top = 0;
  stack_pointer = top;
}

#if defined(__SANITIZE_ADDRESS__)
void switch_fibre(Fibre& from, Fibre& to, bool leaving) {
  static const std::span<const std::byte> host = [] {
    pthread_attr_t attributes;
    void* stack = nullptr;
    std::size_t bytes = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &stack, &bytes);
    pthread_attr_destroy(&attributes);
    return std::span(static_cast<const std::byte*>(stack), bytes);
  }();
  const std::span<const std::byte> next = to.stack.empty() ? host : to.stack;
  __sanitizer_start_switch_fiber(leaving ? nullptr : &from.sanitizer_data, next.data(),
                                 next.size());
  attnscope_switch_stacks(&from.stack_pointer, to.stack_pointer);
  entered_fibre(from);
}

void entered_fibre(Fibre& self) {
  __sanitizer_finish_switch_fiber(self.sanitizer_data, nullptr, nullptr);
}
#else
void switch_fibre(Fibre& from, Fibre& to, bool) {
  attnscope_switch_stacks(&from.stack_pointer, to.stack_pointer);
}

void entered_fibre(Fibre&) {}
#endif

}  // namespace attnscope::on_host
