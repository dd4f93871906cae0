"""Reads Ninja's output from standard input and prints one line of progress with the time left: rewritten in place on a
terminal, otherwise printed every half minute. If a step fails, prints the compiler's messages.

  NINJA_STATUS='[%f/%t] ' ninja 2>&1 | python3 scripts/lib/progress.py WHAT
"""
import re
import sys
import time

STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")
# The room is the part before CMakeFiles in the name of an output.
ROOM = re.compile(r"(?:object|library|executable|target) (?:(\S+?)/)?(?:CMakeFiles/|lib)?([^/\s]*)")


def in_words(seconds):
    if seconds < 50:
        return f"{max(10, round(seconds / 10) * 10)} s"
    return f"{max(1, round(seconds / 60))} min"


class Progress:
    def __init__(self, what, out, now=time.monotonic):
        self.what, self.out, self.now = what, out, now
        self.start = self.last = now()
        self.terminal = out.isatty()
        self.width = 0
        self.first = None

    def step(self, done, total, description):
        now = self.now()
        if self.first is None:  # Ninja counts steps of earlier builds, which take no time.
            self.first = done - 1
            if not self.terminal and total > 3:
                self.show(f"Building ({self.what}): {total} steps ...")
        if now - self.last < (0.2 if self.terminal else 30):
            return
        self.last = now
        fraction = (done - self.first) / max(1, total - self.first)
        left = (now - self.start) * (1 - fraction) / fraction
        room = ROOM.search(description)
        text = f"Building ({self.what}): {done} of {total}"
        if room and room[1]:
            text += f", {room[1]}"
        if now - self.start > 10:
            text += f", about {in_words(left)} left"
        self.show(text)

    def show(self, text):
        if self.terminal:
            self.out.write("\r" + text.ljust(self.width))
            self.width = len(text)
        else:
            self.out.write(text + "\n")
        self.out.flush()

    def end(self):
        if self.terminal and self.width:
            self.out.write("\r" + " " * self.width + "\r")
        if self.now() - self.start > 20:
            self.out.write(f"Built ({self.what}) in {in_words(self.now() - self.start)}.\n")
        self.out.flush()


def main():
    progress = Progress(sys.argv[1], sys.stdout)
    failed = False
    for line in sys.stdin:
        line = line.rstrip("\n")
        step = STEP.match(line)
        if step and not failed:
            progress.step(int(step[1]), int(step[2]), step[3])
        elif line.startswith("FAILED: ") or failed:
            if not failed:
                progress.show("")
            failed = True
            if not line.startswith(("[", "/usr/bin/cmake -E env")):
                print(line[:400], flush=True)
    if not failed:
        progress.end()


if __name__ == "__main__":
    main()
