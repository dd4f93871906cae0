// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/dense/product.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

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

/// Owns a descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ != nullptr) destroy_(value_);
  }
  /// Where the library writes it.
  void** owned_by(int (*destroy)(void*)) {
    destroy_ = destroy;
    return &value_;
  }
  [[nodiscard]] void* get() const { return value_; }

 private:
  void* value_ = nullptr;
  int (*destroy_)(void*) = nullptr;
};

/// The batch as calls: `calls` of them, `count` matrices each.
struct Batch {
  std::int64_t calls = 1, count = 1;
  bool heads_by_call = false;  // else items by call
};

bool one_stride(const MatrixStrides& strides, std::int64_t heads) {
  return strides.item == heads * strides.head;
}

/// One call where all three factors have one stride for items and heads; else a call for each of
/// whichever are fewer. cuBLASLt counts a batch in 32 bits, and kernels of it in 16.
Batch batch_of(const ProductShape& shape) {
  constexpr std::int64_t most = 65535;
  if (shape.items == 1 && shape.heads <= most) return {1, shape.heads, false};
  const bool together = one_stride(shape.a, shape.heads) && one_stride(shape.b, shape.heads) &&
                        one_stride(shape.c, shape.heads);
  if (together && shape.items * shape.heads <= most) return {1, shape.items * shape.heads, false};
  const bool heads_by_call = shape.heads <= shape.items && shape.items <= most;
  return heads_by_call ? Batch{shape.heads, shape.items, true}
                       : Batch{shape.items, shape.heads, false};
}

Status create_layout(const CublasLt& library, Descriptor& layout, DType dtype, std::int64_t rows,
                     std::int64_t columns, const MatrixStrides& strides, const Batch& batch) {
  // cuBLASLt counts by columns: a row-major matrix is its transposed one there.
  ATTNSCOPE_CUBLASLT(library, layout_create(layout.owned_by(library.layout_destroy), type_of(dtype),
                                            static_cast<std::uint64_t>(columns),
                                            static_cast<std::uint64_t>(rows), strides.row));
  const auto count = static_cast<std::int32_t>(batch.count);
  ATTNSCOPE_CUBLASLT(library,
                     layout_set(layout.get(), lt::layout_batch_count, &count, sizeof count));
  const std::int64_t offset = batch.heads_by_call ? strides.item : strides.head;
  ATTNSCOPE_CUBLASLT(library,
                     layout_set(layout.get(), lt::layout_batch_offset, &offset, sizeof offset));
  return {};
}

}  // namespace

/// Device memory of a run.
struct Product::Operands {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* c = nullptr;
  std::byte* workspace = nullptr;
  Stream stream = nullptr;
};

struct Product::Prepared {
  const CublasLt& library;
  void* handle;
  ProductShape shape;
  Batch batch;
  Descriptor matmul{}, a{}, b{}, c{};
  std::vector<lt::Choice> choices{};   // in the order of the heuristics
  std::optional<lt::Choice> chosen{};  // since the first run

  Status describe();
  Status find_choices();
  Status choose(const Operands& operands);
  [[nodiscard]] Result<lt::Choice> fastest(const Operands& operands) const;
  [[nodiscard]] Status multiply(const lt::Choice& choice, const Operands& operands) const;
};

Status Product::Prepared::describe() {
  ATTNSCOPE_CUBLASLT(library, matmul_create(matmul.owned_by(library.matmul_destroy),
                                            lt::compute_32f, lt::real_32f));
  // C^T = op(B)^T op(A)^T: the factors change places, and what is row-major is transposed already.
  const std::int32_t first = shape.transposed_b ? lt::transposed : 0;
  const std::int32_t second = shape.transposed_a ? lt::transposed : 0;
  ATTNSCOPE_CUBLASLT(library, matmul_set(matmul.get(), lt::matmul_transa, &first, sizeof first));
  ATTNSCOPE_CUBLASLT(library, matmul_set(matmul.get(), lt::matmul_transb, &second, sizeof second));
  const auto [m, n, k] = std::array{shape.m, shape.n, shape.k};
  const auto create = [&](Descriptor& layout, std::int64_t rows, std::int64_t columns,
                          const MatrixStrides& strides) {
    return create_layout(library, layout, shape.dtype, rows, columns, strides, batch);
  };
  Status s = create(a, shape.transposed_a ? k : m, shape.transposed_a ? m : k, shape.a);
  if (s) s = create(b, shape.transposed_b ? n : k, shape.transposed_b ? k : n, shape.b);
  if (s) s = create(c, m, n, shape.c);
  return s;
}

Status Product::Prepared::find_choices() {
  Descriptor preference;
  ATTNSCOPE_CUBLASLT(library, preference_create(preference.owned_by(library.preference_destroy)));
  ATTNSCOPE_CUBLASLT(library, preference_set(preference.get(), lt::preference_workspace,
                                             &most_workspace_bytes, sizeof most_workspace_bytes));
  const std::pair<int, const MatrixStrides*> alignments[] = {
      {lt::preference_alignment_a, &shape.b},
      {lt::preference_alignment_b, &shape.a},
      {lt::preference_alignment_c, &shape.c},
      {lt::preference_alignment_d, &shape.c}};
  for (const auto& [attribute, strides] : alignments) {
    const auto bytes = static_cast<std::uint32_t>(strides->alignment);
    ATTNSCOPE_CUBLASLT(library, preference_set(preference.get(), attribute, &bytes, sizeof bytes));
  }
  int found = 0;
  choices.resize(most_algorithms);
  ATTNSCOPE_CUBLASLT(library, choose(handle, matmul.get(), b.get(), a.get(), c.get(), c.get(),
                                     preference.get(), most_algorithms, choices.data(), &found));
  choices.resize(static_cast<std::size_t>(found));
  std::erase_if(choices, [](const lt::Choice& choice) { return choice.state != lt::success; });
  // None with more scratch than the first: every item of a ragged batch would have to hold it.
  std::erase_if(choices, [most = choices.empty() ? 0 : choices.front().workspace_bytes](
                             const lt::Choice& choice) { return choice.workspace_bytes > most; });
  if (choices.empty()) {
    return fail("cuBLASLt has no algorithm for a {} x {} x {} product of {} matrices", shape.m,
                shape.n, shape.k, batch.count);
  }
  return {};
}

Result<lt::Choice> Product::Prepared::fastest(const Operands& operands) const {
  const lt::Choice* best = nullptr;
  double best_ns = 0.0;
  Error last{};
  for (const lt::Choice& choice : choices) {
    const auto run = [&] { return multiply(choice, operands); };
    Result<double> ns = device_time_ns(operands.stream, run);  // loads the kernels
    if (ns && choices.size() > 1) {
      ns = device_time_ns(operands.stream, [&] {
        Status done;
        for (int call = 0; call < timed_calls && done; ++call) done = run();
        return done;
      });
    }
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

/// Takes the shape's algorithm, or times those there are.
Status Product::Prepared::choose(const Operands& operands) {
  struct Key {
    const CublasLt* library;
    int device;
    ProductShape shape;
    bool operator<(const Key& other) const {
      return std::tie(library, device, shape) < std::tie(other.library, other.device, other.shape);
    }
  };
  static std::mutex mutex;  // also one timing at a time
  static std::map<Key, lt::Choice> chosen_by_shape;
  const Result<int> device = current_device();
  if (!device) return tl::unexpected(device.error());
  Key key{&library, *device, shape};
  key.shape.alpha = 1.0F;  // nobody's time depends on it
  const std::lock_guard lock(mutex);
  auto found = chosen_by_shape.find(key);
  if (found == chosen_by_shape.end()) {
    const Result<lt::Choice> best = fastest(operands);
    if (!best) return tl::unexpected(best.error());
    found = chosen_by_shape.emplace(key, *best).first;
  }
  chosen = found->second;
  return {};
}

Result<Product> Product::prepare(const CublasLt& library, void* handle, const ProductShape& shape) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (std::max({shape.m, shape.n, shape.k, shape.a.row, shape.b.row, shape.c.row}) > most) {
    return fail("cuBLASLt takes matrices of at most {} rows, columns and elements a row", most);
  }
  Product product;
  product.prepared_.reset(new Prepared{library, handle, shape, batch_of(shape)});
  if (Status status = product.prepared_->describe(); !status) return tl::unexpected(status.error());
  if (Status status = product.prepared_->find_choices(); !status) {
    return tl::unexpected(status.error());
  }
  return product;
}

Product::Product() = default;
Product::Product(Product&&) noexcept = default;
Product& Product::operator=(Product&&) noexcept = default;
Product::~Product() = default;

std::int64_t Product::workspace_bytes() const {
  return static_cast<std::int64_t>(prepared_->choices.front().workspace_bytes);
}

double Product::flop() const {
  const ProductShape& shape = prepared_->shape;
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k) * static_cast<double>(shape.items * shape.heads);
}

Status Product::Prepared::multiply(const lt::Choice& choice, const Operands& operands) const {
  const float beta = 0.0F;
  const auto offset = [this](const MatrixStrides& strides, std::int64_t call) {
    return call * (batch.heads_by_call ? strides.head : strides.item) * size_of(shape.dtype);
  };
  for (std::int64_t call = 0; call < batch.calls; ++call) {
    std::byte* result = operands.c + offset(shape.c, call);
    ATTNSCOPE_CUBLASLT(
        library, multiply(handle, matmul.get(), &shape.alpha, operands.b + offset(shape.b, call),
                          b.get(), operands.a + offset(shape.a, call), a.get(), &beta, result,
                          c.get(), result, c.get(), &choice.algorithm, operands.workspace,
                          choice.workspace_bytes, operands.stream));
  }
  return {};
}

Status Product::run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* workspace,
                    Stream stream) const {
  const Operands operands{a, b, c, workspace, stream};
  if (!prepared_->chosen) {
    if (Status status = prepared_->choose(operands); !status) return status;
  }
  return prepared_->multiply(*prepared_->chosen, operands);
}

}  // namespace attnscope::cuda
