"""Searches for a title and downloads the first hit: python3 download.py blade runner 2049"""

import json
import os
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

URL = os.environ["SUBCAT_URL"]
KEY = os.environ["SUBCAT_KEY"]


def get(path):
    """The answer to a GET; waits when the rate limit says so."""
    request = Request(URL + path, headers={"Authorization": f"Bearer {KEY}"})
    while True:
        try:
            return urlopen(request, timeout=60)
        except HTTPError as error:
            if error.code != 429:
                detail = json.load(error)["detail"]
                sys.exit(f"{path}: {error.code} {detail}")
            time.sleep(int(error.headers["Retry-After"]))


query = urlencode({"query": " ".join(sys.argv[1:]), "limit": 1})
items = json.load(get(f"/api/subtitles/search?{query}"))["items"]
if not items:
    sys.exit("nothing found")
answer = get(f"/api/subtitles/{items[0]['id']}/download")
name = answer.headers.get_filename()
Path(name).write_bytes(answer.read())
print(name)
