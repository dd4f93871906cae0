#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// Figures of one run: cases are timed in turn, round by round, so that shares and ratios are of the
// same minutes; each is printed with its 95 % interval (Student's t of the logarithms). A call that
// other programs held up is taken again, some times. LibTorch inside.
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

/// A number of the command line, at least 1.
[[nodiscard]] int argument(int argc, char** argv, int place, int otherwise);

/// What is timed, with what it has to do at least.
struct Case {
  std::string name;
  std::function<double()> take;  // seconds of one call
  CellWork work = {};
  std::vector<double> seconds = {};
};

/// A query and documents alike, of which one was encoded, by rows that are drawn: what rows hold
/// makes no difference to the time.
struct CachedDocuments {
  TokenIds query, one_document;
  std::int64_t tokens = 0;  // of a document
  std::int64_t count = 0;
  std::int32_t cls = 0;
  std::optional<VectorFormat> format = {};
};

class Figures {
 public:
  explicit Figures(int threads) : threads_(threads) {}

  [[nodiscard]] int threads() const { return threads_; }
  /// A row's model, of random weights.
  [[nodiscard]] std::unique_ptr<Model> model(const std::string& row, const ModelShape& shape,
                                             const std::string& implementation) const;

  /// `calls` of them a round, where one is short.
  Case& add(std::string name, const std::function<void()>& call, const CellWork& work = {},
            int calls = 1);
  /// What takes its own time.
  Case& add_timed(std::string name, std::function<double()> take);
  Case& add_cached(std::string name, const std::shared_ptr<Model>& model,
                   const CachedDocuments& documents);

  void measure(int rounds);
  void print() const;

  /// The work's rate over the best that loops of multiply-adds alone reached.
  void print_share(const char* what, const Case& of, const char* reach) const;
  /// The time that such work, all of the case's or a part, needs at least over the time it took,
  /// with what bounds it.
  void print_share_of_limit(const char* what, const CellWork& work, const Case& of,
                            const char* reach) const;
  /// The rate of reading so many bytes over that of the same round's copy, read and written.
  static void print_rate(const char* what, double bytes, const std::vector<double>& seconds,
                         const Case& copy, const char* reach);
  /// How often `slower` takes the time of `faster`, times `scale`.
  static void print_times(const char* what, const Case& faster, const Case& slower, double scale,
                          const char* reach);

 private:
  /// A limit is what was reached once.
  void see(const Ceilings& now);

  int threads_;
  Ceilings best_;
  int held_up_ = 0;
  std::vector<std::unique_ptr<Case>> cases_;
};

/// Of scoring such a batch.
[[nodiscard]] CellWork cell_work(const ModelWork& work);

}  // namespace attnscope
