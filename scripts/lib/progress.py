"""Turns Ninja's lines on standard input into one about what is built, how far it is and how long it
will take: rewritten in place on a terminal, else said every half minute. At a failure it shows the
compiler's words.

  NINJA_STATUS='[%f/%t] ' ninja 2>&1 | python3 scripts/lib/progress.py WHAT
"""
import re
import sys
import time

STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")
# A room is what stands before CMakeFiles in the name of what is built.
ROOM = re.compile(r"(?:object|library|executable|target) (?:(\S+?)/)?(?:CMakeFiles/|lib)?([^/\s]*)")


def words(seconds):
    if seconds < 50:
        return f"{max(10, round(seconds / 10) * 10)} s"
    return f"{max(1, round(seconds / 60))} min"


class Progress:
    def __init__(self, what, out, now=time.monotonic):
        self.what, self.out, self.now = what, out, now
        self.start = self.last = now()
        self.terminal = out.isatty()
        self.wide = 0
        self.first = None

    def step(self, done, total, doing):
        now = self.now()
        if self.first is None:  # Ninja counts what was built before; only what is left takes time.
            self.first = done - 1
            if not self.terminal and total > 3:
                self.say(f"Building ({self.what}): {total} steps ...")
        if now - self.last < (0.2 if self.terminal else 30):
            return
        self.last = now
        share = (done - self.first) / max(1, total - self.first)
        left = (now - self.start) * (1 - share) / share
        room = ROOM.search(doing)
        text = f"Building ({self.what}): {done} of {total}"
        if room and room[1]:
            text += f", {room[1]}"
        if now - self.start > 10:
            text += f", about {words(left)} left"
        self.say(text)

    def say(self, text):
        if self.terminal:
            self.out.write("\r" + text.ljust(self.wide))
            self.wide = len(text)
        else:
            self.out.write(text + "\n")
        self.out.flush()

    def end(self):
        if self.terminal and self.wide:
            self.out.write("\r" + " " * self.wide + "\r")
        if self.now() - self.start > 20:
            self.out.write(f"Built ({self.what}) in {words(self.now() - self.start)}.\n")
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
                progress.say("")
            failed = True
            if not line.startswith(("[", "/usr/bin/cmake -E env")):
                print(line[:400], flush=True)
    if not failed:
        progress.end()


if __name__ == "__main__":
    main()
