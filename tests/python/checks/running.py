"""Runs checks one after the other, and says of each how it went."""

import traceback
from contextlib import contextmanager


class Running:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, what):
        """Runs the decorated function at once, as the check of this name."""

        def run(function):
            try:
                function()
            except Exception as error:
                self.failed += 1
                # Where in the check itself; the frames below it are the client's.
                line = traceback.extract_tb(error.__traceback__)[1].line
                print(f"failed  {what}: {type(error).__name__}: {error}\n        at {line}", flush=True)
            else:
                self.passed += 1
                print(f"ok      {what}", flush=True)

        return run

    def finish(self):
        """Prints the numbers. Returns the exit code."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed > 0 or self.passed == 0 else 0


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def true(fact, what):
    if not fact:
        raise AssertionError(what)


@contextmanager
def refused(kind, words=""):
    """Expects an exception of exactly this class whose text contains the words."""
    try:
        yield
    except kind as error:
        equal(type(error).__name__, kind.__name__)
        true(words in str(error), f"{words!r} is not in {str(error)!r}")
    else:
        raise AssertionError(f"{kind.__name__} was not raised")
