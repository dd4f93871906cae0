// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/fibre.h"

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef __x86_64__
#include <ucontext.h>

#include <deque>
#endif

namespace attnscope::on_host {

#ifdef __x86_64__

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

namespace {

void prepare(Fibre& fibre, void (*entry)()) {
  // Six registers, the address to return to, and one word that leaves the stack 16-byte aligned as
  // a call would.
  auto* top = reinterpret_cast<std::uintptr_t*>(fibre.stack.data() + fibre.stack.size());
  *--top = 0;
  *--top = reinterpret_cast<std::uintptr_t>(entry);
  for (int saved = 0; saved < 6; ++saved) *--top = 0;
  fibre.stack_pointer = top;
}

void exchange(Fibre& from, Fibre& to) {
  attnscope_switch_stacks(&from.stack_pointer, to.stack_pointer);
}

}  // namespace

#else

namespace {

ucontext_t& context_of(Fibre& fibre) {
  static std::deque<ucontext_t> contexts;
  if (fibre.stack_pointer == nullptr) fibre.stack_pointer = &contexts.emplace_back();
  return *static_cast<ucontext_t*>(fibre.stack_pointer);
}

void prepare(Fibre& fibre, void (*entry)()) {
  ucontext_t& context = context_of(fibre);
  getcontext(&context);
  context.uc_stack.ss_sp = fibre.stack.data();
  context.uc_stack.ss_size = fibre.stack.size();
  context.uc_link = nullptr;
  makecontext(&context, entry, 0);
}

void exchange(Fibre& from, Fibre& to) {
  swapcontext(&context_of(from), &context_of(to));
}

}  // namespace

#endif

void Fibre::start(std::span<std::byte> memory, void (*entry)()) {
  stack = memory;
  sanitizer_data = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  // A fibre that was forgotten has left its frames' marks.
  __asan_unpoison_memory_region(stack.data(), stack.size());
#endif
  prepare(*this, entry);
}

#if defined(__SANITIZE_ADDRESS__)

namespace {

std::span<std::byte> stack_of_this_thread() {
  pthread_attr_t attributes;
  void* stack = nullptr;
  std::size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack, &bytes);
  pthread_attr_destroy(&attributes);
  return {static_cast<std::byte*>(stack), bytes};
}

}  // namespace

void switch_fibre(Fibre& from, Fibre& to, bool leaving) {
  static const std::span<std::byte> host = stack_of_this_thread();
  const std::span<std::byte> next = to.stack.empty() ? host : to.stack;
  __sanitizer_start_switch_fiber(leaving ? nullptr : &from.sanitizer_data, next.data(),
                                 next.size());
  exchange(from, to);
  entered_fibre(from);
}

void entered_fibre(Fibre& self) {
  __sanitizer_finish_switch_fiber(self.sanitizer_data, nullptr, nullptr);
}

#else

void switch_fibre(Fibre& from, Fibre& to, bool) {
  exchange(from, to);
}

void entered_fibre(Fibre&) {}

#endif

}  // namespace attnscope::on_host
