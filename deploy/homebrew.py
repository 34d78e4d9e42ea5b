"""Prints a Homebrew formula for the sdist in dist/: `python deploy/homebrew.py URL`.

URL is the place where that sdist can be downloaded. The formula is for a tap of your own: it lets
pip install the dependencies, which Homebrew's own collection does not accept.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FORMULA = """# Written by deploy/homebrew.py. Never tried with Homebrew itself.
class Gatebell < Formula
  desc "Coding agents stop and ask a person"
  url "{url}"
  sha256 "{digest}"
  license "MIT"

  depends_on "python@3.13"

  def install
    system Formula["python@3.13"].opt_bin/"python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", buildpath
    bin.install_symlink libexec/"bin/gate", libexec/"bin/gatebell"
  end

  service do
    run [opt_bin/"gate", "up"]
    # Its output has a link that signs in, and must not be written to a file.
    log_path "/dev/null"
    error_log_path var/"log/gatebell.log"
  end

  test do
    ENV["GATE_STORE"] = testpath/"gate.db"
    assert_match "a-", shell_output("#{{bin}}/gate ask --no-wait 'Which region?'")
  end
end
"""


def build_formula(url: str, sdist: Path) -> str:
    """Return the formula for an sdist that can be downloaded at this address."""
    if not url.startswith("https://") or '"' in url:
        raise ValueError(f"expected an address that begins with https://, got {url!r}")
    return FORMULA.format(url=url, digest=hashlib.sha256(sdist.read_bytes()).hexdigest())


def main(words: list[str]) -> int:
    found = sorted((ROOT / "dist").glob("gatebell-*.tar.gz"))
    if len(words) != 1 or len(found) != 1:
        print("Run make package first, then: python deploy/homebrew.py URL", file=sys.stderr)
        return 2
    print(build_formula(words[0], found[0]), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
