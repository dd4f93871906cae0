// SPDX-License-Identifier: Apache-2.0
//
// Throughput of re-rankers over word vectors and of kernel pooling alone: TKL on documents of 2000
// words online and with a cache, its scaling, KNRM and MatchPyramid at 200 words; queries of 10
// words, random weights, the papers' sizes. With a Python interpreter that has PyTorch, also the
// same models as eager-mode modules in the same rounds (run it in the repository's folder, because
// it uses the golden script).
//
//   attnscope_words_figures [ROUNDS [THREADS [PYTHON]]]
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/measure/benchmark/figures.h"
#include "engine/measure/heat_device.h"
#include "kernels/cpu/kernel_pooling.h"

namespace attnscope {
namespace {

constexpr ModelShape sizes{
    .layers = 2, .hidden = 300, .heads = 10, .feed_forward = 100, .vocabulary = 30'000};
constexpr int words_of_query = 10;

/// Random words, excluding padding and unknown words.
std::vector<std::int32_t> text(std::int64_t words, unsigned seed) {
  std::mt19937 draw(seed);
  std::uniform_int_distribution<std::int32_t> word(2, sizes.vocabulary - 1);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(words));
  for (std::int32_t& id : ids) id = word(draw);
  return ids;
}

/// A query and documents of equal length.
struct Texts {
  Texts(std::int64_t words, std::int64_t count) : query(text(words_of_query, 1)) {
    documents.reserve(static_cast<std::size_t>(count));
    batch.items.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      documents.push_back(text(words, static_cast<unsigned>(2 + i)));
    for (const std::vector<std::int32_t>& document : documents)
      batch.items.push_back({query, document});
    batch.one_query = true;
  }
  std::vector<std::int32_t> query;
  std::vector<std::vector<std::int32_t>> documents;
  PairBatch batch;
};

class WordsFigures : public Figures {
 public:
  using Figures::Figures;

  Case& scoring(const std::string& name, const std::shared_ptr<Model>& model, std::int64_t words,
                std::int64_t count, int calls = 1) {
    const auto texts = std::make_shared<const Texts>(words, count);
    return add(
        fmt::format("{}, {} of {} words", name, count, words),
        [model, texts] { static_cast<void>(needed(model->score(texts->batch))); },
        cell_work(needed(model->work(texts->batch))), calls);
  }

  /// Region scores of existing vectors of length 1.
  Case& pooling(const std::string& name, std::int64_t query_words, std::int64_t words,
                std::int64_t width, int calls);

  /// Time per document in PyTorch's eager mode, by the golden script's module: that of its fastest
  /// batch, since disturbances are unknown here.
  Case& eager(const std::string& python, const std::string& family, std::int64_t words) {
    const std::string command = fmt::format(
        "{} scripts/dev/golden/make_words_models.py --time {} {}", python, family, words);
    return add_timed(fmt::format("PyTorch's {}, a document of {} words", family, words), [command] {
      std::string stated;
      std::FILE* const output = popen(command.c_str(), "r");
      for (std::array<char, 512> line{};
           output != nullptr && std::fgets(line.data(), line.size(), output) != nullptr;)
        stated += line.data();
      constexpr std::string_view before = "(least ";
      const std::size_t at = stated.find(before);
      if (output == nullptr || pclose(output) != 0 || at == std::string::npos) {
        std::fprintf(stderr, "no time came from: %s\n", command.c_str());
        std::exit(2);
      }
      return 1e-3 * std::strtod(stated.c_str() + at + before.size(), nullptr);
    });
  }
};

/// Rows of a query and of a document, and the output for a region's sums.
struct Rows {
  Rows(std::int64_t query_words, std::int64_t words, std::int64_t width, int threads)
      : query(drawn(query_words, width)),
        tokens(drawn(words, width)),
        factor(static_cast<std::size_t>(query_words * (cpu::region_tokens + 1)), 100.0F),
        exponent(factor.size(), 0.01F),
        weights(cpu::pooling_kernels, 0.01F),
        scores(static_cast<std::size_t>(cpu::regions_of(words))),
        document{0, words} {
    call = {.pooling = {.query = {query.data(), width},
                        .query_rows = query_words,
                        .tokens = {tokens.data(), width},
                        .token_rows = words,
                        .width = width,
                        .documents = {&document, 1},
                        .query_normalised = true,
                        .tokens_normalised = true},
            .saturation = {.factor = factor, .exponent = exponent, .constant = factor},
            .kernel_weights = weights};
    workspace.resize(
        static_cast<std::size_t>(cpu::pooling_workspace_floats(call.pooling, threads)));
  }
  static std::vector<float> drawn(std::int64_t rows, std::int64_t width) {
    std::mt19937 draw(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(rows * width));
    for (std::size_t row = 0; row < values.size(); row += static_cast<std::size_t>(width)) {
      float sum = 0;
      const auto own = std::span(values).subspan(row, static_cast<std::size_t>(width));
      for (float& value : own) {
        value = normal(draw);
        sum += value * value;
      }
      for (float& value : own) value /= std::sqrt(sum);
    }
    return values;
  }
  std::vector<float> query, tokens, factor, exponent, weights, scores, workspace;
  TokenRange document;
  cpu::RegionCall call;
};

Case& WordsFigures::pooling(const std::string& name, std::int64_t query_words, std::int64_t words,
                            std::int64_t width, int calls) {
  const auto rows = std::make_shared<Rows>(query_words, words, width, threads());
  const auto pairs = static_cast<double>(query_words * words);
  const auto sums = static_cast<double>(query_words * cpu::regions_of(words));
  constexpr auto kernels = static_cast<double>(cpu::pooling_kernels);
  return add(
      fmt::format("{}, query {}, {} words", name, query_words, words),
      [rows, threads = threads()] {
        if (!cpu::region_scores(rows->call, rows->scores, threads, rows->workspace)) std::abort();
      },
      // One kernel per pair and one power per sum.
      {.useful_flop = 2 * pairs * static_cast<double>(width),
       .least_bytes = static_cast<double>(words * width) * sizeof(float),
       .exponentials = kernels * (pairs + sums)},
      calls);
}

/// A family's memory in addition to its weights: bytes per word of short and of long documents.
void print_memory(const WordsFigures& figures) {
  struct Row {
    const char *name, *implementation;
  };
  for (const Row& row : {Row{"tkl", "segment"}, Row{"tkl", "sdpa"}, Row{"tk", "segment"},
                         Row{"knrm", "kernel-pooling"}, Row{"conv-knrm", "kernel-pooling"},
                         Row{"match-pyramid", "libtorch"}}) {
    const std::unique_ptr<Model> model = figures.model(row.name, sizes, row.implementation);
    const auto bytes_a_word = [&](std::int64_t words) {
      return static_cast<double>(needed(model->predicted_peak_bytes(Texts(words, 1).batch))) /
             static_cast<double>(words);
    };
    fmt::print("{}/{}: {:.0f} bytes a word at 1,000 words, {:.0f} at 64,000\n", row.name,
               row.implementation, bytes_a_word(1000), bytes_a_word(64'000));
  }
}

int run(int rounds, int threads, const std::string& python) {
  const c10::InferenceMode no_graph;
  at::set_num_threads(threads);
  WordsFigures figures(threads);
  constexpr std::int64_t words = 2000, few_words = 200, growth = 64;
  constexpr std::int64_t few = 8, cached = 64, many = 256;
  constexpr int short_calls = 16;
  const std::shared_ptr<Model> tkl = figures.model("tkl", sizes, "segment"),
                               packed = figures.model("tkl", sizes, "sdpa"),
                               knrm = figures.model("knrm", sizes, "kernel-pooling"),
                               pyramid = figures.model("match-pyramid", sizes, "libtorch");
  const Texts texts(words, 1);
  const Case& online = figures.scoring("TKL, segment", tkl, words, few);
  const Case& windows = figures.scoring("TKL, packed windows by sdpa", packed, words, few);
  const Case& encoded = figures.add_cached(
      fmt::format("TKL, {} of {} words from a cache", cached, words), tkl,
      {.query = texts.query, .one_document = texts.documents[0], .tokens = words, .count = cached});
  const Case& begin = figures.scoring("TKL, segment", tkl, 1000, 1, short_calls);
  const Case& end = figures.scoring("TKL, segment", tkl, 1000 * growth, 1);
  std::vector<const Case*> pooled, kernels_alone;
  for (const int query : {words_of_query, 30}) {
    pooled.push_back(&figures.pooling("pooling", query, words, sizes.hidden, 100));
    kernels_alone.push_back(&figures.pooling("pooling, of 4 numbers a row", query, words, 4, 100));
  }
  const Case& pooled_begin = figures.pooling("pooling", words_of_query, 1000, sizes.hidden, 100);
  const Case& pooled_end =
      figures.pooling("pooling", words_of_query, 1000 * growth, sizes.hidden, 2);
  const Case& knrms = figures.scoring("KNRM", knrm, few_words, many);
  const Case& pyramids = figures.scoring("MatchPyramid", pyramid, few_words, few, 2);
  std::vector<const Case*> eager;
  if (!python.empty()) {
    eager = {&figures.eager(python, "tkl", words), &figures.eager(python, "knrm", few_words),
             &figures.eager(python, "match-pyramid", few_words)};
  }
  figures.measure(rounds);
  figures.print();
  figures.print_share_of_limit("TKL, 2000 words, online, segment", online.work, online, "0.5");
  figures.print_share_of_limit("... packed windows by sdpa", windows.work, windows, "(none)");
  Figures::print_times("... from a cache, a document", encoded, online,
                       static_cast<double>(cached) / few, "20x");
  Figures::print_times("... 64,000 words over 1,000 words, a word", begin, end, 1.0 / growth,
                       "0.9 to 1.1");
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    const CellWork kernels{.exponentials = pooled[i]->work.exponentials};
    figures.print_share_of_limit(pooled[i]->name.c_str(), kernels, *pooled[i], "0.4");
    figures.print_share_of_limit("... without its cosines", kernels, *kernels_alone[i], "(none)");
  }
  Figures::print_times("... 64,000 words over 1,000 words, a word", pooled_begin, pooled_end,
                       1.0 / growth, "(none)");
  if (!eager.empty()) {
    Figures::print_times("TKL, 2000 words, segment, against PyTorch's", online, *eager[0], few,
                         "2.5x");
    Figures::print_times("KNRM, 200 words, against PyTorch's", knrms, *eager[1], many, "10x");
    Figures::print_times("MatchPyramid, 200 words, against PyTorch's", pyramids, *eager[2], few,
                         "(none)");
  }
  print_memory(figures);
  return 0;
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  static_cast<void>(attnscope::measure::process_memory());
  return attnscope::run(attnscope::argument(argc, argv, 1, 10),
                        attnscope::argument(argc, argv, 2, 2), argc > 3 ? argv[3] : "");
}
