# SPDX-License-Identifier: Apache-2.0
"""Attention and re-rankers of other libraries, for `attnscope run SWEEP.json --with NAME` (docs/python.md)."""
