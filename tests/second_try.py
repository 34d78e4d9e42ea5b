"""Run again, alone, what failed beside others; a fault fails twice, and what did not is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 3
"""More than so many are no accident."""


def main(cache: str) -> int:
    kept = Path(cache, "v", "cache", "lastfailed")
    failed = sorted(json.loads(kept.read_text(encoding="utf-8"))) if kept.exists() else []
    if not 0 < len(failed) <= MOST:
        return 1
    print(f"Failed beside others: {len(failed)}. Once more, alone:", flush=True)
    again = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *failed]
    if code := subprocess.run(again, check=False).returncode:
        return code
    for name in failed:
        print(f"!! PASSED ONLY ALONE, mend it: {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
