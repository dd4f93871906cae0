// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/dense/cublaslt.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/cuda/devices.h"

namespace attnscope::cuda {

Result<CublasLt> load_cublaslt(std::initializer_list<const char*> files) {
  std::string reason;  // of the first failure
  for (const char* file : files) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      if (reason.empty()) reason = dlerror();
      continue;
    }
    // Never unloaded: CUDA libraries run code at process exit.
    CublasLt found = {};
    const char* missing = nullptr;
#define ATTNSCOPE_FIND(member, name, ...)                                         \
  found.member = reinterpret_cast<decltype(found.member)>(dlsym(library, #name)); \
  if (found.member == nullptr && missing == nullptr) missing = #name
    ATTNSCOPE_CUBLASLT_FUNCTIONS(ATTNSCOPE_FIND);
#undef ATTNSCOPE_FIND
    if (missing == nullptr) return found;
    return fail("cuBLASLt from {} has no function {}; install that of CUDA 12 or 13", file,
                missing);
  }
  return fail(
      "cuBLASLt cannot be loaded ({}); it is part of the CUDA Toolkit: add its folder to "
      "LD_LIBRARY_PATH",
      reason);
}

const Result<CublasLt>& cublaslt() {
  // The name is tried first: it selects a copy that the process has already mapped, such as
  // LibTorch's.
  // The interface used here is the same in both versions.
  static const Result<CublasLt> library = load_cublaslt({"libcublasLt.so.13",
#ifdef ATTNSCOPE_CUBLASLT_FILE
                                                         ATTNSCOPE_CUBLASLT_FILE,
#endif
                                                         "libcublasLt.so.12"});
  return library;
}

Status checked(const CublasLt& library, int status, const char* call, const char* file, int line) {
  if (status == lt::success) return {};
  return fail("cuBLASLt: {} failed at {}:{}: {} ({})", call, file, line,
              library.status_text(status), library.status_name(status));
}

namespace {

// LibTorch's limit for cuBLASLt on Hopper; algorithms that split sums need it.
constexpr std::uint64_t most_workspace_bytes = 32 << 20;

// The first algorithm of cuBLASLt's list is often not the fastest for sums as short as a head.
constexpr int most_algorithms = 8;
constexpr int timed_calls = 3;

int type_of(DType dtype) {
  if (dtype == DType::float32) return lt::real_32f;
  return dtype == DType::float16 ? lt::real_16f : lt::real_16bf;
}

/// The same product as a call per item, with a batch of its heads: a single call if all operands
/// have one stride over items and heads, otherwise one per item or per head, whichever are fewer.
/// cuBLASLt counts a batch in 32 bits, and its kernels in 16.
ProductShape in_calls(ProductShape shape) {
  constexpr std::int64_t most = 65535;
  bool together = shape.items * shape.heads <= most;
  for (const Matrix* of : {&shape.a, &shape.b, &shape.c}) {
    together = together && (shape.items == 1 || of->item == shape.heads * of->head);
  }
  if (together) {
    shape.heads *= shape.items;
    shape.items = 1;
  } else if (shape.heads <= shape.items && shape.items <= most) {
    std::swap(shape.heads, shape.items);
    for (Matrix* of : {&shape.a, &shape.b, &shape.c}) std::swap(of->head, of->item);
  }
  return shape;
}

/// Never destroyed: the driver may have ended when this process ends.
Result<void*> handle_of_device(const CublasLt& library) {
  static std::mutex mutex;
  static std::map<std::pair<const CublasLt*, int>, void*> handles;
  const Result<int> device = current_device();
  if (!device) return tl::unexpected(device.error());
  const std::lock_guard lock(mutex);
  void*& handle = handles[{&library, *device}];
  if (handle == nullptr) ATTNSCOPE_CUBLASLT(library, create(&handle));
  return handle;
}

/// Queues the product with an algorithm.
using Multiply = std::function<Status(const lt::Choice&)>;

Result<lt::Choice> fastest(const std::vector<lt::Choice>& choices, Stream stream,
                           const Multiply& multiply) {
  Result<lt::Choice> best = tl::unexpected(Error{});
  double best_ns = std::numeric_limits<double>::infinity();
  for (const lt::Choice& choice : choices) {
    const auto calls = [&](int count) {
      return device_time_ns(stream, [&] {
        Status done;
        for (int call = 0; call < count && done; ++call) done = multiply(choice);
        return done;
      });
    };
    Result<double> ns = calls(1);  // loads the kernels
    if (ns && choices.size() > 1) ns = calls(timed_calls);
    // Heuristics also list algorithms that then return an error.
    if (!ns && !best) best = tl::unexpected(ns.error());
    if (!ns || *ns >= best_ns) continue;
    best = choice;
    best_ns = *ns;
  }
  return best;
}

}  // namespace

Product::Product(const CublasLt& library, void* handle, const ProductShape& shape)
    : library_(&library), handle_(handle), shape_(in_calls(shape)) {}

Status Product::describe(const Matrix& matrix, Descriptor& layout) const {
  // cuBLASLt is column-major: a row-major matrix is the transposed one there.
  void* made = nullptr;
  ATTNSCOPE_CUBLASLT(*library_, layout_create(&made, type_of(shape_.dtype), matrix.columns,
                                              matrix.rows, matrix.row));
  layout = {made, library_->layout_destroy};
  const auto count = static_cast<std::int32_t>(shape_.heads);
  ATTNSCOPE_CUBLASLT(*library_, layout_set(made, lt::layout_batch_count, &count, sizeof count));
  ATTNSCOPE_CUBLASLT(*library_,
                     layout_set(made, lt::layout_batch_offset, &matrix.head, sizeof matrix.head));
  return {};
}

Status Product::describe() {
  void* made = nullptr;
  ATTNSCOPE_CUBLASLT(*library_, matmul_create(&made, lt::compute_32f, lt::real_32f));
  matmul_ = {made, library_->matmul_destroy};
  // C^T = op(B)^T op(A)^T: the operands are swapped, and row-major matrices are already transposed.
  const std::int32_t first = shape_.transposed_b ? lt::transposed : 0;
  const std::int32_t second = shape_.transposed_a ? lt::transposed : 0;
  ATTNSCOPE_CUBLASLT(*library_, matmul_set(made, lt::matmul_transa, &first, sizeof first));
  ATTNSCOPE_CUBLASLT(*library_, matmul_set(made, lt::matmul_transb, &second, sizeof second));
  Status s = describe(shape_.a, a_);
  if (s) s = describe(shape_.b, b_);
  if (s) s = describe(shape_.c, c_);
  return s;
}

Status Product::find_choices() {
  void* made = nullptr;
  ATTNSCOPE_CUBLASLT(*library_, preference_create(&made));
  const Descriptor preference(made, library_->preference_destroy);
  ATTNSCOPE_CUBLASLT(*library_, preference_set(made, lt::preference_workspace,
                                               &most_workspace_bytes, sizeof most_workspace_bytes));
  const auto alignment = static_cast<std::uint32_t>(shape_.alignment);
  for (int of = lt::preference_alignment_a; of <= lt::preference_alignment_d; ++of) {
    ATTNSCOPE_CUBLASLT(*library_, preference_set(made, of, &alignment, sizeof alignment));
  }
  int found = 0;
  choices_.resize(most_algorithms);
  ATTNSCOPE_CUBLASLT(*library_, choose(handle_, matmul_.get(), b_.get(), a_.get(), c_.get(),
                                       c_.get(), made, most_algorithms, choices_.data(), &found));
  choices_.resize(static_cast<std::size_t>(found));
  std::erase_if(choices_, [](const lt::Choice& choice) { return choice.state != lt::success; });
  if (choices_.empty()) {
    return fail("cuBLASLt has no algorithm for {} products of {} x {} and {} x {}", shape_.heads,
                shape_.a.rows, shape_.a.columns, shape_.b.rows, shape_.b.columns);
  }
  // None with more workspace than the first: every item of a ragged batch would need it.
  std::erase_if(choices_, [most = choices_.front().workspace_bytes](const lt::Choice& choice) {
    return choice.workspace_bytes > most;
  });
  return {};
}

Result<Product> Product::prepare(const CublasLt& library, const ProductShape& shape) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (const Matrix& of : {shape.a, shape.b, shape.c}) {
    if (std::max({of.rows, of.columns, of.row}) <= most) continue;
    return fail("cuBLASLt supports matrices of at most {} rows, columns and elements per row",
                most);
  }
  const Result<void*> handle = handle_of_device(library);
  if (!handle) return tl::unexpected(handle.error());
  Product product(library, *handle, shape);
  Status done = product.describe();
  if (done) done = product.find_choices();
  if (!done) return tl::unexpected(done.error());
  return product;
}

Status Product::run(float alpha, const std::byte* a, const std::byte* b, std::byte* c,
                    std::byte* workspace, Stream stream) const {
  const auto multiply = [&](const lt::Choice& choice) -> Status {
    const float beta = 0.0F;
    for (std::int64_t item = 0; item < shape_.items; ++item) {
      const std::int64_t bytes = item * size_of(shape_.dtype);
      std::byte* result = c + bytes * shape_.c.item;
      ATTNSCOPE_CUBLASLT(
          *library_,
          multiply(handle_, matmul_.get(), &alpha, b + bytes * shape_.b.item, b_.get(),
                   a + bytes * shape_.a.item, a_.get(), &beta, result, c_.get(), result, c_.get(),
                   &choice.algorithm, workspace, choice.workspace_bytes, stream));
    }
    return finish_launch("a product of cuBLASLt", stream);
  };
  if (const lt::Choice* chosen = std::atomic_ref(chosen_).load()) return multiply(*chosen);

  static std::mutex mutex;  // also allows only one timing at a time
  static std::map<std::tuple<const CublasLt*, int, ProductShape>, lt::Choice> chosen_by_shape;
  const Result<int> device = current_device();
  if (!device) return tl::unexpected(device.error());
  const std::lock_guard lock(mutex);
  const std::tuple key{library_, *device, shape_};
  if (!chosen_by_shape.contains(key)) {
    const Result<lt::Choice> best = fastest(choices_, stream, multiply);
    if (!best) return tl::unexpected(best.error());
    chosen_by_shape.emplace(key, *best);
  }
  const lt::Choice& chosen = chosen_by_shape.at(key);
  std::atomic_ref(chosen_).store(&chosen);
  return multiply(chosen);
}

std::string Product::algorithm() const {
  const lt::Choice* chosen = std::atomic_ref(chosen_).load();
  std::string text;
  for (const int attribute :
       {lt::algorithm_id, lt::algorithm_tile, lt::algorithm_stages, lt::algorithm_splits}) {
    std::int32_t value = 0;
    std::size_t written = 0;
    if (chosen == nullptr || library_->algorithm_get(&chosen->algorithm, attribute, &value,
                                                     sizeof value, &written) != lt::success) {
      return "";
    }
    text += fmt::format("{}{}", text.empty() ? "" : "/", value);
  }
  return text;
}

}  // namespace attnscope::cuda
