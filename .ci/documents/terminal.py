"""A terminal in which commands are typed: an interactive shell on a pseudo-terminal."""

import os
import re
import signal
import threading
import time

import pexpect
import psutil

# What each shell is told before the first command: an error for unset variables, and prompts that show the last status.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "--noediting", "-i"], r"set -u; PS1='<<$?>>' PS2='<<+>>'"),
    "zsh": (["zsh", "-f", "-i", "-o", "no_zle"], r"set -u; unsetopt prompt_cr prompt_sp; PS1='<<%?>>' PS2='<<+>>'"),
}
PROMPT = re.compile(rb"<<(\d+|\+)>>$")
# The maximum time for a command, also on a busy machine.
SECONDS = 600


class Terminal:
    """A shell in which each line is typed when the one before has been read."""

    def __init__(self, shell, command=(), environment=None, folder=None):
        arguments, setup = SHELLS[shell]
        self.name = shell
        self.output = ""
        program, *rest = [*command, *arguments]
        environment = {**(environment or os.environ), "TERM": "dumb", "PS1": "", "PS2": ""}
        self.child = pexpect.spawn(program, rest, env=environment, cwd=folder, echo=False, timeout=SECONDS, maxread=65536)
        self.child.delaybeforesend = None
        self.child.sendline(setup)
        # The shell may print its own prompt before it has read the settings.
        self.child.expect(rb"<<0>>$")

    def type(self, text):
        """Types a block. Returns its output and, for a command that listens on ports and does not end, the ports."""
        start = len(self.output)
        *lines, last = text.rstrip("\n").split("\n")
        for line in lines:
            self.line(line)
        ports = self.line(last, may_listen=True)
        return self.output[start:], ports

    def line(self, line, may_listen=False):
        self.child.sendline(line)
        deadline, ports = time.monotonic() + SECONDS, []
        while True:
            try:
                self.child.expect(PROMPT, timeout=1)
            except pexpect.TIMEOUT:
                before, ports = ports, self.listening() if may_listen else []
                # It may open several ports, one after another.
                if ports and ports == before:
                    return ports
                if time.monotonic() > deadline:
                    raise Failed(f"`{line}` has not ended after {SECONDS} s:\n{self.seen()}") from None
                continue
            except pexpect.EOF:
                raise Failed(f"{self.name} ended at `{line}`:\n{self.seen()}") from None
            self.keep(self.child.before)
            status = self.child.match[1]
            if status not in (b"0", b"+"):
                raise Failed(f"`{line}` ended with status {status.decode()} in {self.name}:\n{self.output[-4000:]}")
            return []

    def listening(self):
        """The ports on which the processes in this terminal listen."""
        ports = set()
        for process in psutil.Process(self.child.pid).children(recursive=True):
            try:
                connections = process.net_connections(kind="tcp")
            except psutil.Error:
                continue
            ports |= {one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN}
        return sorted(ports)

    def leave_running(self):
        """Reads what the command prints from now on, because a process that nobody reads stops."""
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self):
        while True:
            try:
                self.keep(self.child.read_nonblocking(65536, timeout=None))
            except (pexpect.EOF, OSError, ValueError):
                return

    def keep(self, data):
        self.output += data.decode(errors="replace").replace("\r\n", "\n")

    def seen(self):
        return (self.output + (self.child.buffer or b"").decode(errors="replace"))[-4000:]

    def close(self):
        """Ends the command with Ctrl-C, and then the shell with everything that it has started."""
        try:
            processes = psutil.Process(self.child.pid).children(recursive=True)
        except psutil.Error:
            processes = []
        for process in reversed(processes):
            try:
                process.send_signal(signal.SIGINT)
            except psutil.Error:
                continue
        _, running = psutil.wait_procs(processes, timeout=20)
        for process in running:
            process.kill()
        self.child.close(force=True)


class Failed(Exception):
    """What a command did instead of what its document says."""
