#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Figures of one run: cases are timed in turn, round by round, so that shares and ratios come from
// the same minutes; each is printed with its 95 % interval (Student's t of the logarithms). A call
// that other programs disturbed is repeated a limited number of times. Includes LibTorch.
//
//   Figures figures(threads);
//   const Case& ours = figures.add("the kernel", [&] { run(); }, {.useful_flop = 1e9});
//   const Case& other = figures.add("LibTorch's", [&] { run_other(); });
//   figures.measure(10);
//   figures.print();
//   figures.print_share("the kernel", ours, "0.5");
//   Figures::print_times("... against LibTorch's", ours, other, 1, "2x");

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/documents/document_cache.h"
#include "engine/heat/cell.h"
#include "engine/model/family.h"

namespace attnscope {

template <typename Value>
Value needed(Result<Value> value) {
  if (value) return std::move(*value);
  std::fprintf(stderr, "%s\n", value.error().message.c_str());
  std::exit(2);
}

/// A numeric command-line argument, at least 1.
[[nodiscard]] int argument(int argc, char** argv, int place, int otherwise);

/// A timed case with its minimum work.
struct Case {
  std::string name;
  std::function<double()> take;  // runs one call and returns its seconds
  CellWork work = {};
  std::vector<double> seconds = {};
};

/// A query and equal documents, of which one was encoded, with random cached rows: their values do
/// not affect the time.
struct CachedDocuments {
  TokenIds query, one_document;
  std::int64_t tokens = 0;  // tokens of a document
  std::int64_t count = 0;
  std::int32_t cls = 0;
  std::optional<VectorFormat> format = {};
};

class Figures {
 public:
  explicit Figures(int threads) : threads_(threads) {}

  [[nodiscard]] int threads() const { return threads_; }
  /// A row's model with random weights.
  [[nodiscard]] std::unique_ptr<Model> model(const std::string& row, const ModelShape& shape,
                                             const std::string& implementation) const;

  /// `calls`: calls per round, for short calls.
  Case& add(std::string name, const std::function<void()>& call, const CellWork& work = {},
            int calls = 1);
  /// A case that measures its own time.
  Case& add_timed(std::string name, std::function<double()> take);
  Case& add_cached(std::string name, const std::shared_ptr<Model>& model,
                   const CachedDocuments& documents);

  void measure(int rounds);
  void print() const;

  /// The rate of the case's work divided by the best rate of the multiply-add loops.
  void print_share(const char* what, const Case& of, const char* reach) const;
  /// The minimum time of this work, all or a part of the case's, divided by the measured time, with
  /// the resource that limits it.
  void print_share_of_limit(const char* what, const CellWork& work, const Case& of,
                            const char* reach) const;
  /// The rate of reading this many bytes divided by the rate of the same round's copy (bytes read
  /// plus written).
  static void print_rate(const char* what, double bytes, const std::vector<double>& seconds,
                         const Case& copy, const char* reach);
  /// The time of `slower` divided by that of `faster`, times `scale`.
  static void print_times(const char* what, const Case& faster, const Case& slower, double scale,
                          const char* reach);

 private:
  /// Keeps the best rates seen so far.
  void see(const Ceilings& now);

  int threads_;
  Ceilings best_;
  int held_up_ = 0;
  std::vector<std::unique_ptr<Case>> cases_;
};

/// The work of scoring such a batch.
[[nodiscard]] CellWork cell_work(const ModelWork& work);

}  // namespace attnscope
