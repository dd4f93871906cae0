# SPDX-License-Identifier: Apache-2.0
"""Attention as other libraries have it, for `attnscope run SWEEP.json --with NAME` (docs/python.md)."""
