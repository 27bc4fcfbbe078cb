import os
import signal

from rdmalab.shell.interrupt import interrupts


def test_sigint_handler_is_installed_only_inside_the_block() -> None:
    heard: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with interrupts(lambda: heard.append("stop")):
        os.kill(os.getpid(), signal.SIGINT)
    assert heard == ["stop"]
    assert signal.getsignal(signal.SIGINT) is before
