// SPDX-License-Identifier: Apache-2.0
//
// slow_pipe BYTES MICROSECONDS PROGRAM: runs the program and passes its input and output on in
// pieces of that many bytes, with a pause after each piece of output: a slow line.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

bool pass(int from, int to, std::size_t piece) {
  std::vector<char> bytes(piece);
  const ssize_t got = read(from, bytes.data(), bytes.size());
  if (got <= 0) return false;
  for (ssize_t done = 0; done < got;) {
    const ssize_t written = write(to, bytes.data() + done, static_cast<std::size_t>(got - done));
    if (written <= 0) return false;
    done += written;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::size_t piece = std::stoul(argv[1]);
  const auto rest = static_cast<useconds_t>(std::stoul(argv[2]));
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> in{}, out{};
  if (pipe(in.data()) != 0 || pipe(out.data()) != 0) return 2;
  const pid_t program = fork();
  if (program == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (const int end : {in[0], in[1], out[0], out[1]}) close(end);
    execl(argv[3], argv[3], nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  std::array<pollfd, 2> sources{{{STDIN_FILENO, POLLIN, 0}, {out[0], POLLIN, 0}}};
  while (true) {
    poll(sources.data(), sources.size(), -1);
    if (sources[0].revents != 0 && !pass(STDIN_FILENO, in[1], piece)) {
      close(in[1]);
      sources[0].fd = -1;
    }
    if (sources[1].revents != 0) {
      if (!pass(out[0], STDOUT_FILENO, piece)) break;
      if (rest > 0) usleep(rest);
    }
  }
  int status = 0;
  waitpid(program, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
