#!/usr/bin/env python3
"""Stream Load with the requests package.

    USER=… PASSWORD=… load_requests.py http://fe:8030 db table file.csv

requests drops the login when it follows a redirect to another host, so the
redirect is followed by hand. The file goes to both: the frontend reads past it.
"""
import os
import sys
from urllib.parse import quote

import requests


def main():
    base, db, table, name = sys.argv[1:5]
    # As bytes: requests would encode the text as Latin-1.
    login = (os.environ["USER"].encode(), os.environ["PASSWORD"].encode())
    headers = {"column_separator": ",", "format": "csv"}
    url = f"{base}/api/{quote(db, safe='')}/{quote(table, safe='')}/_stream_load"
    for _ in range(3):
        with open(name, "rb") as body:
            answer = requests.put(url, data=body, auth=login, headers=headers, allow_redirects=False, timeout=300)
        if answer.status_code != 307:
            break
        url = answer.headers["Location"]
    print(answer.text.strip())
    if answer.json().get("Status") not in ("Success", "Publish Timeout"):
        sys.exit(f"HTTP {answer.status_code}: not loaded")


main()
