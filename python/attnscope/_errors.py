# SPDX-License-Identifier: Apache-2.0
"""The errors; the text of each is a sentence with what failed, where, and how to fix it."""


class AttnScopeError(Exception):
    """The base class."""


class StoreError(AttnScopeError):
    """The database does not exist, is not AttnScope's, of another version, locked or damaged; or it lacks the run."""


class ProgramError(AttnScopeError):
    """The program attnscope was not found, or it failed with `exit_code` (2: wrong use, 3: the store)."""

    def __init__(self, sentence, exit_code=None):
        super().__init__(sentence)
        self.exit_code = exit_code
