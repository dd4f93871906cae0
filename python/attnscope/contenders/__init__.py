# SPDX-License-Identifier: Apache-2.0
"""Attention and re-rankers as other libraries have them, for `attnscope run SWEEP.json --with NAME` (docs/python.md)."""
