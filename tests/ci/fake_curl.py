"""A fake curl for tests, which implements the part of GitLab's API that the job in docs/ci.md uses. It needs no
network.

FAKE_GITLAB is the path of a file that contains the notes of the merge request.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

NOTES = Path(os.environ["FAKE_GITLAB"])
ME = {"id": 7}


def main() -> None:
    print("fake curl:", *sys.argv[1:], file=sys.stderr)
    arguments = sys.argv[1:]
    assert f"PRIVATE-TOKEN: {os.environ['ASCT_TOKEN']}" in arguments and "--fail" in arguments
    [url] = [one for one in arguments if one.startswith("https://")]
    method = arguments[arguments.index("--request") + 1] if "--request" in arguments else "GET"
    notes = json.loads(NOTES.read_text())
    if url.endswith("/user"):
        print(json.dumps(ME))
    elif method == "GET":
        print(json.dumps(notes))
    else:
        body = Path(arguments[arguments.index("--data-urlencode") + 1].removeprefix("body@")).read_text()
        if method == "POST":
            notes.append({"id": 50 + len(notes), "author": ME, "body": body})
        else:
            [changed] = [one for one in notes if url.endswith(f"/{one['id']}")]
            changed["body"] = body
        NOTES.write_text(json.dumps(notes))


if __name__ == "__main__":
    main()
