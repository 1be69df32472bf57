# SPDX-License-Identifier: BSD-3-Clause
"""What all measurements share."""


class Missing(Exception):
    """What a bar speaks of could not be measured; the text says why."""
