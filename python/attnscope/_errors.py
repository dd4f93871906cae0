# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, each in one sentence that says what, where and how to mend it."""


class AttnScopeError(Exception):
    """Any of them."""


class StoreError(AttnScopeError):
    """A database that is not there, not AttnScope's, of another version, locked or damaged; a run that is not in it."""


class ProgramError(AttnScopeError):
    """The program attnscope is not there, or refused; `exit_code` is then its own (2 wrong use, 3 the store)."""

    def __init__(self, sentence, exit_code=None):
        super().__init__(sentence)
        self.exit_code = exit_code
