// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/dense/product.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "kernels/cuda/dense/device_time.h"

namespace attnscope::cuda {
namespace {

// What LibTorch grants cuBLASLt on Hopper; algorithms that split sums want it.
constexpr std::uint64_t most_workspace_bytes = 32 << 20;

// The first of cuBLASLt's list is often not the fastest where sums are as short as a head. One call
// loads an algorithm's kernels, the next ones are timed.
constexpr int most_algorithms = 8;
constexpr int timed_calls = 3;

int type_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return lt::real_16f;
    case DType::bfloat16:
      return lt::real_16bf;
    case DType::float32:
      break;
  }
  return lt::real_32f;
}

/// The same product as a call for each item, with a batch of its heads: one call where all factors
/// have one stride for items and heads, else a call for each of whichever are fewer. cuBLASLt
/// counts a batch in 32 bits, and kernels of it in 16.
ProductShape in_calls(ProductShape shape) {
  constexpr std::int64_t most = 65535;
  bool together = shape.items * shape.heads <= most;
  for (const MatrixStrides* of : {&shape.a, &shape.b, &shape.c}) {
    together = together && (shape.items == 1 || of->item == shape.heads * of->head);
  }
  if (together) {
    shape.heads *= shape.items;
    shape.items = 1;
  } else if (shape.heads <= shape.items && shape.items <= most) {
    std::swap(shape.heads, shape.items);
    for (MatrixStrides* of : {&shape.a, &shape.b, &shape.c}) std::swap(of->head, of->item);
  }
  return shape;
}

}  // namespace

Product::Product(const CublasLt& library, void* handle, const ProductShape& shape)
    : library_(&library), handle_(handle), shape_(in_calls(shape)) {}

Status Product::describe(Descriptor& layout, std::int64_t rows, std::int64_t columns,
                         const MatrixStrides& strides) const {
  // cuBLASLt counts by columns: a row-major matrix is its transposed one there.
  void* made = nullptr;
  ATTNSCOPE_CUBLASLT(
      *library_, layout_create(&made, type_of(shape_.dtype), static_cast<std::uint64_t>(columns),
                               static_cast<std::uint64_t>(rows), strides.row));
  layout = {made, {library_->layout_destroy}};
  const auto count = static_cast<std::int32_t>(shape_.heads);
  ATTNSCOPE_CUBLASLT(*library_, layout_set(made, lt::layout_batch_count, &count, sizeof count));
  ATTNSCOPE_CUBLASLT(*library_,
                     layout_set(made, lt::layout_batch_offset, &strides.head, sizeof strides.head));
  return {};
}

Status Product::describe() {
  void* made = nullptr;
  ATTNSCOPE_CUBLASLT(*library_, matmul_create(&made, lt::compute_32f, lt::real_32f));
  matmul_ = {made, {library_->matmul_destroy}};
  // C^T = op(B)^T op(A)^T: the factors change places, and what is row-major is transposed already.
  const std::int32_t first = shape_.transposed_b ? lt::transposed : 0;
  const std::int32_t second = shape_.transposed_a ? lt::transposed : 0;
  ATTNSCOPE_CUBLASLT(*library_, matmul_set(made, lt::matmul_transa, &first, sizeof first));
  ATTNSCOPE_CUBLASLT(*library_, matmul_set(made, lt::matmul_transb, &second, sizeof second));
  const ProductShape& of = shape_;
  Status s = describe(a_, of.transposed_a ? of.k : of.m, of.transposed_a ? of.m : of.k, of.a);
  if (s) s = describe(b_, of.transposed_b ? of.n : of.k, of.transposed_b ? of.k : of.n, of.b);
  if (s) s = describe(c_, of.m, of.n, of.c);
  return s;
}

Status Product::find_choices() {
  void* made = nullptr;
  ATTNSCOPE_CUBLASLT(*library_, preference_create(&made));
  const Descriptor preference(made, {library_->preference_destroy});
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
    return fail("cuBLASLt has no algorithm for a {} x {} x {} product of {} matrices", shape_.m,
                shape_.n, shape_.k, shape_.heads);
  }
  // None with more scratch than the first: every item of a ragged batch would have to hold it.
  std::erase_if(choices_, [most = choices_.front().workspace_bytes](const lt::Choice& choice) {
    return choice.workspace_bytes > most;
  });
  return {};
}

Result<Product> Product::prepare(const CublasLt& library, void* handle, const ProductShape& shape) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (std::max({shape.m, shape.n, shape.k, shape.a.row, shape.b.row, shape.c.row}) > most) {
    return fail("cuBLASLt takes matrices of at most {} rows, columns and elements a row", most);
  }
  Product product(library, handle, shape);
  Status done = product.describe();
  if (done) done = product.find_choices();
  if (!done) return tl::unexpected(done.error());
  return product;
}

std::int64_t Product::workspace_bytes() const {
  return static_cast<std::int64_t>(choices_.front().workspace_bytes);
}

double Product::flop() const {
  return 2.0 * static_cast<double>(shape_.m) * static_cast<double>(shape_.n) *
         static_cast<double>(shape_.k) * static_cast<double>(shape_.items * shape_.heads);
}

Result<lt::Choice> Product::fastest(Stream stream, const Multiply& multiply) const {
  const lt::Choice* best = nullptr;
  double best_ns = 0.0;
  Error last{};
  for (const lt::Choice& choice : choices_) {
    const auto calls = [&](int count) {
      return device_time_ns(stream, [&] {
        Status done;
        for (int call = 0; call < count && done; ++call) done = multiply(choice);
        return done;
      });
    };
    Result<double> ns = calls(1);  // loads the kernels
    if (ns && choices_.size() > 1) ns = calls(timed_calls);
    // Heuristics also name algorithms that then decline.
    if (!ns) {
      last = ns.error();
    } else if (best == nullptr || *ns < best_ns) {
      best = &choice;
      best_ns = *ns;
    }
  }
  if (best == nullptr) return tl::unexpected(last);
  return *best;
}

/// The shape's algorithm on this device, or the fastest of those there are.
Result<lt::Choice> Product::choose(Stream stream, const Multiply& multiply) const {
  using Key = std::tuple<const CublasLt*, int, ProductShape>;
  static std::mutex mutex;  // also one timing at a time
  static std::map<Key, lt::Choice> chosen_by_shape;
  const Result<int> device = current_device();
  if (!device) return tl::unexpected(device.error());
  Key key{library_, *device, shape_};
  std::get<ProductShape>(key).alpha = 1.0F;  // nobody's time depends on it
  const std::lock_guard lock(mutex);
  const auto found = chosen_by_shape.find(key);
  if (found != chosen_by_shape.end()) return found->second;
  const Result<lt::Choice> best = fastest(stream, multiply);
  if (best) chosen_by_shape.emplace(key, *best);
  return best;
}

Status Product::run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace,
                    Stream stream) const {
  const auto multiply = [&](const lt::Choice& choice) -> Status {
    const float beta = 0.0F;
    for (std::int64_t item = 0; item < shape_.items; ++item) {
      const std::int64_t bytes = item * size_of(shape_.dtype);
      std::byte* result = c + bytes * shape_.c.item;
      ATTNSCOPE_CUBLASLT(
          *library_,
          multiply(handle_, matmul_.get(), &shape_.alpha, b + bytes * shape_.b.item, b_.get(),
                   a + bytes * shape_.a.item, a_.get(), &beta, result, c_.get(), result, c_.get(),
                   &choice.algorithm, workspace, choice.workspace_bytes, stream));
    }
    return {};
  };
  if (!chosen_) {
    const Result<lt::Choice> choice = choose(stream, multiply);
    if (!choice) return tl::unexpected(choice.error());
    chosen_ = *choice;
  }
  return multiply(*chosen_);
}

}  // namespace attnscope::cuda
