// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "app/cli/command_line.h"
#include "app/cli/pattern_arguments.h"
#include "app/cli/worker_requests.h"
#include "base/text_file.h"
#include "base/written_file.h"
#include "engine/pattern/attention_pattern.h"
#include "engine/pattern/axes.h"
#include "engine/pattern/sequence_layout.h"

namespace attnscope::cli {

namespace {

struct AttendCommandArguments {
  std::string in, out, pattern, window, layout, implementation, dtype = "float32", device = "cpu";
  WorkerChoice worker;
  bool backward = false;
};

constexpr std::uintmax_t max_layout_bytes = 256 << 20;

/// Performs the checks that need no worker, and builds the request.
Result<protocol::AttendRequest> make_request(const AttendCommandArguments& arguments) {
  const auto pattern = read_pattern({.pattern = arguments.pattern, .window = arguments.window});
  if (!pattern) return tl::unexpected(pattern.error());
  const auto dtype = parse_dtype(arguments.dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  const auto device = parse_device(arguments.device);
  if (!device) return tl::unexpected(device.error());
  auto layout_text = read_text_file(arguments.layout, "layout file", max_layout_bytes);
  if (!layout_text) return tl::unexpected(layout_text.error());
  if (auto layout = parse_layout(*layout_text, arguments.layout); !layout)
    return tl::unexpected(layout.error());
  if (Status allowed = may_be_written(arguments.out); !allowed)
    return tl::unexpected(allowed.error());
  return protocol::AttendRequest{.in = std::filesystem::absolute(arguments.in).string(),
                                 .out = std::filesystem::absolute(arguments.out).string(),
                                 .pattern = pattern->pattern,
                                 .window = {pattern->window},
                                 .layout_json = std::move(*layout_text),
                                 .layout_source = arguments.layout,
                                 .implementation = arguments.implementation,
                                 .dtype = *dtype,
                                 .device = *device,
                                 .backward = arguments.backward};
}

void attend(Session& session, const AttendCommandArguments& arguments) {
  auto request = make_request(arguments);
  if (!request) return session.fail(exit_wrong_use, request.error().message);
  auto worker = start(arguments.worker);
  if (!worker) return session.fail(exit_wrong_use, worker.error().message);
  if (!is_this_machine(worker->hello())) {
    return session.fail(exit_wrong_use,
                        "attend hands its tensors over as files of this machine, and the worker is "
                        "on another; run attend there.");
  }
  request->threads = worker_cores(worker->hello());
  const auto answer = ask(*worker, *request);
  if (!answer) return session.fail(exit_wrong_use, answer.error().message);
  say("{}: {} tokens, {} heads of {}; relative error {:.2g} (bound {:.2g}){}", arguments.out,
      answer->tokens, answer->heads, answer->head_dim, answer->relative_error, answer->error_bound,
      answer->lse_written ? "" : "; this implementation gives no lse");
}

}  // namespace

void add_attend_command(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<AttendCommandArguments>();
  CLI::App* command = app.add_subcommand("attend", "Compute attention on your own tensors");
  command
      ->add_option("in", arguments->in,
                   "Tensors q, k, v of shape [tokens, heads, head_dim], float32")
      ->type_name("IN.safetensors")
      ->required();
  command->add_option("--pattern", arguments->pattern, "Attention pattern: name or JSON file")
      ->type_name("P")
      ->required();
  command
      ->add_option("--window", arguments->window, "Window: tokens attended to on each side, or inf")
      ->type_name("W");
  command
      ->add_option("--layout", arguments->layout, "Layout file (JSON): token groups of every item")
      ->type_name("LAYOUT.json")
      ->required();
  command
      ->add_option("--implementation", arguments->implementation,
                   "Implementation; 'attnscope list implementations' lists them")
      ->type_name("ID")
      ->required();
  command->add_option("--dtype", arguments->dtype, "float32, float16 or bfloat16")->type_name("D");
  command->add_option("--device", arguments->device, "cpu or cuda")->type_name("DEVICE");
  command->add_flag("--backward", arguments->backward,
                    "Also compute gradients: reads grad_o, writes grad_q, grad_k, grad_v");
  command
      ->add_option("-o,--output", arguments->out,
                   "File to write: o and lse (log-sum-exp), with --backward also the gradients")
      ->type_name("OUT.safetensors")
      ->required();
  add_worker_options(*command, arguments->worker);
  command->callback([&session, arguments] { attend(session, *arguments); });
}

}  // namespace attnscope::cli
