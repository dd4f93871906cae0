// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/emulator.h"

#include <sys/mman.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "tests/cuda_on_host/grid.h"
#include "tests/cuda_on_host/memory_watch.h"

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

Grid running_grid;

namespace {

Totals counted;
std::set<const void*> kernels;
std::set<std::tuple<const void*, std::int64_t, int, std::int64_t>> shapes;

const Collective exit_of_kernel{"the end of the kernel", nullptr};
const Collective block_barrier{"__syncthreads", nullptr};
const Collective warp_barrier{"__syncwarp", nullptr};

/// Stacks for the most threads, with a page without access below each.
std::span<std::byte> stack_of(int thread) {
  constexpr std::size_t page = 4096, bytes = 128 * 1024;
  static std::byte* const all = [] {
    void* memory = mmap(nullptr, bytes * most_threads, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    for (std::size_t i = 0; i < most_threads; ++i) {
      mprotect(static_cast<std::byte*>(memory) + i * bytes, page, PROT_NONE);
    }
    return static_cast<std::byte*>(memory);
  }();
  return {all + static_cast<std::size_t>(thread) * bytes + page, bytes - page};
}

[[nodiscard]] Fibre& fibre_of(int thread) {
  return grid().fibres[static_cast<std::size_t>(thread)];
}

void resume(int thread) {
  const int before = std::exchange(grid().thread, thread);
  if (thread != before) switch_fibre(fibre_of(before), fibre_of(thread));
}

void leave_for_host() {
  grid().on_device = false;
  switch_fibre(fibre_of(grid().thread), grid().host, true);
}

[[nodiscard]] int first_thread(const Warp& warp) {
  return static_cast<int>(&warp - grid().warps.data()) * warp_lanes;
}

void draw_order(Warp& warp) {
  const std::uint32_t drawn = grid().random.next();
  warp.first = drawn % warp_lanes;
  warp.step = drawn >> 8 | 1;
  warp.arrived = 0;
}

/// A random warp that can continue, or nullptr if all wait at the barrier or have ended.
[[nodiscard]] Warp* some_ready_warp() {
  Grid& now = grid();
  const auto count = static_cast<std::uint32_t>(now.warps.size());
  const std::uint32_t start = now.random.below(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    Warp& warp = now.warps[(start + i) % count];
    if (!warp.at_barrier && !warp.done) return &warp;
  }
  return nullptr;
}

void release_barrier() {
  Grid& now = grid();
  for (const Warp& warp : now.warps) {
    if (warp.done) {
      misuse(fmt::format("warp {} ended while others wait at __syncthreads",
                         first_thread(warp) / warp_lanes));
    }
  }
  ++now.epoch;
  for (Warp& warp : now.warps) warp.at_barrier = false;
}

/// Called when the last lane of a warp arrives: runs the collective. Returns the next warp to run,
/// or nullptr at the end of the block.
[[nodiscard]] Warp* met_by_all(Warp& warp) {
  Grid& now = grid();
  const Collective* met = warp.met[0];
  const auto* const other =
      std::ranges::find_if(warp.met, [met](const Collective* each) { return each != met; });
  if (other != warp.met.end()) {
    misuse(fmt::format("lanes of a warp diverged: lane 0 is at {}, lane {} at {}", met->name,
                       other - warp.met.begin(), (*other)->name));
  }
  const auto* const other_branch = std::ranges::find_if(
      warp.accesses, [&](std::uint32_t count) { return count != warp.accesses[0]; });
  if (met->aligned && other_branch != warp.accesses.end()) {
    misuse(fmt::format(
        "{} without __syncwarp after a branch: lane 0 accessed memory {} times, lane "
        "{} {} times",
        met->name, warp.accesses[0], other_branch - warp.accesses.begin(), *other_branch));
  }
  warp.accesses.fill(0);
  ++counted.collectives;
  Warp* next = &warp;
  if (met == &exit_of_kernel) {
    warp.done = true;
    next = some_ready_warp();
    if (next == nullptr && std::ranges::any_of(now.warps, &Warp::at_barrier)) release_barrier();
  } else if (met == &block_barrier) {
    warp.at_barrier = true;
    next = some_ready_warp();
    if (next == nullptr) {
      release_barrier();
      next = some_ready_warp();
    }
  } else {
    if (met == &warp_barrier) {
      ++warp.epoch;
    } else {
      met->act(const_cast<void* const(&)[warp_lanes]>(
          *reinterpret_cast<void*(*)[warp_lanes]>(warp.given.data())));
    }
    constexpr std::uint32_t stay_of_8 = 6;
    if (now.random.below(8) >= stay_of_8) next = some_ready_warp();
  }
  draw_order(warp);
  return next;
}

void arrive(const Collective& collective, void* given) {
  Grid& now = grid();
  const OnHost on_host;
  const int thread = now.thread;
  Warp& warp = now.warps[static_cast<std::size_t>(thread / warp_lanes)];
  const auto lane = static_cast<std::size_t>(thread % warp_lanes);
  warp.met[lane] = &collective;
  warp.given[lane] = given;
  Warp* next = &warp;
  if (++warp.arrived == warp_lanes) next = met_by_all(warp);
  if (next == nullptr) {
    leave_for_host();
  } else {
    resume(first_thread(*next) + next->turn(next->arrived));
  }
}

void run_thread() {
  Grid& now = grid();
  entered_fibre(fibre_of(now.thread));
  now.on_device = true;
  now.body(now.parameters.data());
  now.on_device = false;
  arrive(exit_of_kernel, nullptr);
  throw std::logic_error("a thread that has ended was resumed");
}

void run_block(std::uint32_t block) {
  Grid& now = grid();
  now.block = block;
  now.first_epoch_of_block = ++now.epoch;
  begin_block_in_watch();
  for (Warp& warp : now.warps) {
    warp = Warp{};
    draw_order(warp);
  }
  for (int thread = 0; thread < now.threads; ++thread) {
    fibre_of(thread).start(stack_of(thread), run_thread);
  }
  const Warp& first = *some_ready_warp();
  now.thread = first_thread(first) + first.turn(0);
  switch_fibre(now.host, fibre_of(now.thread));
  ++counted.blocks;
}

}  // namespace

Index thread_index() {
  return {static_cast<unsigned>(grid().thread)};
}
Index block_index() {
  return {grid().block};
}
Index block_size() {
  return {static_cast<unsigned>(grid().threads)};
}
Index grid_size() {
  return {grid().blocks};
}

void meet(const Collective& collective, void* given) {
  arrive(collective, given);
}
void synchronise_warp() {
  arrive(warp_barrier, nullptr);
}
void synchronise_block() {
  arrive(block_barrier, nullptr);
}

void misuse(std::string what) {
  Grid& now = grid();
  now.on_device = false;
  now.failure =
      fmt::format("kernel {}, block {}, thread {}: {}", now.name, now.block, now.thread, what);
  std::string().swap(what);
  leave_for_host();
  throw std::logic_error("a launch that has ended was resumed");
}

void set_seed(std::uint64_t seed) {
  grid().random = RandomOrder(seed);
}

Totals totals() {
  Totals all = counted;
  all.kernels = static_cast<std::int64_t>(kernels.size());
  all.shapes = static_cast<std::int64_t>(shapes.size());
  all.accesses = accesses_checked();
  return all;
}

Status run_grid(const Kernel& kernel, Body body, const void* parameters,
                std::size_t parameter_bytes, std::int64_t blocks, int threads,
                std::int64_t shared_bytes) {
  if (threads < warp_lanes || threads > most_threads || threads % warp_lanes != 0) {
    return fail("kernel {}: {} threads a block; they must be whole warps, at most {}", kernel.name,
                threads, most_threads);
  }
  if (shared_bytes > most_shared_bytes) {
    return fail("kernel {}: {} bytes of shared memory a block; the emulation has {}", kernel.name,
                shared_bytes, most_shared_bytes);
  }
  Grid& now = grid();
  now.name = kernel.name;
  now.body = body;
  now.parameters = {static_cast<const std::byte*>(parameters), parameter_bytes};
  now.blocks = static_cast<std::uint32_t>(blocks);
  now.threads = threads;
  now.shared_bytes = shared_bytes;
  now.failure.clear();
  now.warps.resize(static_cast<std::size_t>(threads / warp_lanes));
  now.fibres.resize(static_cast<std::size_t>(threads));
  now.first_epoch_of_launch = now.epoch + 1;
  begin_launch_in_watch();
  ++counted.launches;
  kernels.insert(kernel.address);
  shapes.emplace(kernel.address, blocks, threads, shared_bytes);

  std::vector<std::uint32_t> order(static_cast<std::size_t>(blocks));
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[now.random.below(static_cast<std::uint32_t>(left))]);
  }
  for (const std::uint32_t block : order) {
    run_block(block);
    if (!now.failure.empty()) return fail("{}", now.failure);
  }
  if (runtime().after_launch) runtime().after_launch(kernel.name);
  return {};
}

Runtime& runtime() {
  static Runtime all;
  return all;
}

}  // namespace attnscope::on_host
