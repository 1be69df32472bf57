# SPDX-License-Identifier: BSD-3-Clause
"""weft: collective communication between the ranks of a job."""
