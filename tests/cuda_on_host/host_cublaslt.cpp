// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/host_cublaslt.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cuda/devices.h"
#include "kernels/plan/number_formats.h"
#include "kernels/plan/tensor.h"
#include "tests/cuda_on_host/device_memory.h"

namespace attnscope::on_host {
namespace {

namespace lt = cuda::lt;
constexpr int invalid_value = 7;   // CUBLAS_STATUS_INVALID_VALUE
constexpr int not_supported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED

struct Algorithm {
  double ns;
  std::size_t workspace_bytes;
  int state;
};
/// The algorithms in the order of CublasLtAlgorithm.
constexpr std::array<Algorithm, cublaslt_algorithms> algorithms{
    {{1500.0, cublaslt_workspace_bytes, lt::success},
     {10.0, cublaslt_workspace_bytes, lt::success},
     {10.0, cublaslt_workspace_bytes, not_supported},
     {300.0, cublaslt_workspace_bytes / 2, lt::success},
     {1.0, 2 * cublaslt_workspace_bytes, lt::success},
     {1000.0, cublaslt_workspace_bytes, lt::success}}};
constexpr std::size_t place_of_algorithm = 4;  // in lt::Algorithm, after the alignments

int live_objects = 0;
int handles_made = 0;
CublasLtProducts products{};
double device_ns = 0;  // the device's clock

struct Matmul {
  std::int32_t transposed_a = 0, transposed_b = 0;
};

struct Layout {
  DType dtype = DType::float32;
  std::int64_t rows = 0, columns = 0, leading = 0;
  std::int32_t batch = 1;
  std::int64_t offset = 0;
};

struct Preference {
  std::uint64_t workspace_bytes = 0;
  std::array<std::uint32_t, 4> alignments{256, 256, 256, 256};  // of A, B, C, D
};

template <typename T>
int make(void** object) {
  *object = new T;
  ++live_objects;
  return lt::success;
}
template <typename T>
int destroy(void* object) {
  delete static_cast<T*>(object);
  --live_objects;
  return lt::success;
}

template <typename T>
int assign(T& to, const void* value, std::size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return invalid_value;
  std::memcpy(&to, value, bytes);
  return lt::success;
}

int create_matmul(void** matmul, int compute, int scale_type) {
  if (compute != lt::compute_32f || scale_type != lt::real_32f) return not_supported;
  return make<Matmul>(matmul);
}

int set_matmul(void* matmul, int attribute, const void* value, std::size_t bytes) {
  Matmul& m = *static_cast<Matmul*>(matmul);
  if (attribute == lt::matmul_transa) return assign(m.transposed_a, value, bytes);
  if (attribute == lt::matmul_transb) return assign(m.transposed_b, value, bytes);
  return invalid_value;
}

int create_layout(void** layout, int type, std::int64_t rows, std::int64_t columns,
                  std::int64_t leading) {
  const DType dtype = type == lt::real_16f    ? DType::float16
                      : type == lt::real_16bf ? DType::bfloat16
                                              : DType::float32;
  make<Layout>(layout);
  *static_cast<Layout*>(*layout) = {
      .dtype = dtype, .rows = rows, .columns = columns, .leading = leading};
  return lt::success;
}

int set_layout(void* layout, int attribute, const void* value, std::size_t bytes) {
  Layout& l = *static_cast<Layout*>(layout);
  if (attribute == lt::layout_batch_count) return assign(l.batch, value, bytes);
  if (attribute == lt::layout_batch_offset) return assign(l.offset, value, bytes);
  return invalid_value;
}

int set_preference(void* preference, int attribute, const void* value, std::size_t bytes) {
  Preference& p = *static_cast<Preference*>(preference);
  if (attribute == lt::preference_workspace) return assign(p.workspace_bytes, value, bytes);
  const int alignment = attribute - lt::preference_alignment_a;
  if (alignment < 0 || alignment > 3) return invalid_value;
  return assign(p.alignments[static_cast<std::size_t>(alignment)], value, bytes);
}

/// Stages and tile follow from the number; the others are as of a simple algorithm.
int get_algorithm(const lt::Algorithm* algorithm, int attribute, void* value, std::size_t bytes,
                  std::size_t* written) {
  const auto number = static_cast<std::int32_t>(algorithm->data[place_of_algorithm]);
  const std::int32_t of = attribute == lt::algorithm_id       ? 60 + number
                          : attribute == lt::algorithm_tile   ? 10 * number
                          : attribute == lt::algorithm_stages ? number
                                                              : 1;
  if (bytes != sizeof of) return invalid_value;
  std::memcpy(value, &of, bytes);
  *written = bytes;
  return lt::success;
}

bool fits(const Layout& l) {
  return l.leading >= l.rows && l.rows > 0 && l.columns > 0;
}

int choose(void*, void* matmul, void* a, void* b, void* c, void* d, void* preference, int wanted,
           lt::Choice* choices, int* found) {
  const Matmul& m = *static_cast<Matmul*>(matmul);
  const Layout& la = *static_cast<Layout*>(a);
  const Layout& lb = *static_cast<Layout*>(b);
  const Layout& lc = *static_cast<Layout*>(c);
  const bool shapes =
      (m.transposed_a != 0 ? la.columns : la.rows) == lc.rows &&
      (m.transposed_b != 0 ? lb.rows : lb.columns) == lc.columns &&
      (m.transposed_a != 0 ? la.rows : la.columns) == (m.transposed_b != 0 ? lb.columns : lb.rows);
  const bool batches = la.batch == lc.batch && lb.batch == lc.batch && c == d;
  if (wanted < 1 || !shapes || !batches || !fits(la) || !fits(lb) || !fits(lc)) {
    return invalid_value;
  }
  const Preference& p = *static_cast<Preference*>(preference);
  if (p.workspace_bytes < cublaslt_workspace_bytes) return not_supported;
  *found = std::min(wanted, static_cast<int>(algorithms.size()));
  for (std::size_t n = 0; n < static_cast<std::size_t>(*found); ++n) {
    lt::Choice& choice = choices[n] = {};
    std::copy(p.alignments.begin(), p.alignments.end(), choice.algorithm.data);
    choice.algorithm.data[place_of_algorithm] = n;
    choice.workspace_bytes = algorithms[n].workspace_bytes;
    choice.state = algorithms[n].state;
  }
  return lt::success;
}

float element(const void* matrix, const Layout& l, std::int64_t batch, std::int64_t row,
              std::int64_t column, bool& written) {
  const std::int64_t index = batch * l.offset + column * l.leading + row;
  const auto* bytes = static_cast<const std::byte*>(matrix);
  written = written && is_written(bytes + index * size_of(l.dtype), size_of(l.dtype));
  return read_value(bytes, l.dtype, index);
}

int multiply(void*, void* matmul, const void* alpha, const void* a, void* a_layout, const void* b,
             void* b_layout, const void* beta, const void*, void*, void* d, void* d_layout,
             const lt::Algorithm* algorithm, void* workspace, std::size_t workspace_bytes,
             cuda::Stream) {
  const Matmul& m = *static_cast<Matmul*>(matmul);
  const Layout& la = *static_cast<Layout*>(a_layout);
  const Layout& lb = *static_cast<Layout*>(b_layout);
  const Layout& ld = *static_cast<Layout*>(d_layout);
  const std::array<const void*, 4> addresses{a, b, d, d};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (reinterpret_cast<std::uintptr_t>(addresses[i]) % algorithm->data[i] != 0) {
      return not_supported;
    }
  }
  const std::size_t number = algorithm->data[place_of_algorithm];
  const Algorithm& made = algorithms.at(number);
  if (workspace == nullptr || workspace_bytes < made.workspace_bytes || made.state != lt::success ||
      *static_cast<const float*>(beta) != 0.0F) {
    return invalid_value;
  }
  if (number == broken) return not_supported;
  std::memset(workspace, poison, workspace_bytes);
  const std::int64_t depth = m.transposed_a != 0 ? la.rows : la.columns;
  bool written = true;
  for (std::int64_t batch = 0; batch < ld.batch; ++batch) {
    for (std::int64_t column = 0; column < ld.columns; ++column) {
      for (std::int64_t row = 0; row < ld.rows; ++row) {
        float sum = 0.0F;
        for (std::int64_t i = 0; i < depth; ++i) {
          sum += element(a, la, batch, m.transposed_a != 0 ? i : row, m.transposed_a != 0 ? row : i,
                         written) *
                 element(b, lb, batch, m.transposed_b != 0 ? column : i,
                         m.transposed_b != 0 ? i : column, written);
        }
        const std::int64_t index = batch * ld.offset + column * ld.leading + row;
        auto* bytes = static_cast<std::byte*>(d);
        write_value(bytes, ld.dtype, index, sum * *static_cast<const float*>(alpha));
        set_by_host(bytes + index * size_of(ld.dtype), size_of(ld.dtype));
      }
    }
  }
  ++products.at(number);
  device_ns += made.ns;
  return written ? lt::success : invalid_value;
}

}  // namespace

const cuda::CublasLt& host_cublaslt() {
  static const cuda::CublasLt library = {
      .create =
          [](void** handle) {
            *handle = &handles_made;
            ++handles_made;
            return lt::success;
          },
      .status_name =
          [](int status) { return status == not_supported ? "not supported" : "invalid"; },
      .status_text = [](int) { return "the product asked for what the library does not do"; },
      .matmul_create = create_matmul,
      .matmul_destroy = destroy<Matmul>,
      .matmul_set = set_matmul,
      .layout_create = create_layout,
      .layout_destroy = destroy<Layout>,
      .layout_set = set_layout,
      .preference_create = make<Preference>,
      .preference_destroy = destroy<Preference>,
      .preference_set = set_preference,
      .algorithm_get = get_algorithm,
      .choose = choose,
      .multiply = multiply};
  return library;
}

int live_cublaslt_objects() {
  return live_objects;
}
int cublaslt_handles_made() {
  return handles_made;
}
const CublasLtProducts& cublaslt_products() {
  return products;
}

}  // namespace attnscope::on_host

namespace attnscope::cuda {

Result<double> device_time_ns(Stream, const std::function<Status()>& work) {
  const double begin = on_host::device_ns;
  if (Status done = work(); !done) return tl::unexpected(done.error());
  return on_host::device_ns - begin;
}

}  // namespace attnscope::cuda
