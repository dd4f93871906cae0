# SPDX-License-Identifier: Apache-2.0
"""AttnScope from Python.

    import attnscope
    cells = attnscope.open("store.db").cells("last")            # a pandas DataFrame with units

    from attnscope import implementation, model, serve          # your own contenders

The import needs only the standard library; pandas, NumPy and torch are imported when they are first needed.
"""
import importlib

__version__ = "0.1.0"  # the same as in CMakeLists.txt

# The module of each name.
_homes = {
    "open": "._store", "Store": "._store", "StoreError": "._errors", "AttnScopeError": "._errors",
    "ProgramError": "._errors", "Figure": "._program",
    "implementation": "._contenders", "model": "._contenders", "serve": "._contenders",
}
__all__ = ["__version__", *_homes]


def __getattr__(name):
    if name not in _homes:
        raise AttributeError(f"module 'attnscope' has no attribute '{name}'")
    value = getattr(importlib.import_module(_homes[name], __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_homes})
