#!/usr/bin/env python3
"""Stream Load with Python's standard library.

    USER=… PASSWORD=… load.py http://fe:8030 db table file.csv

http.client does not follow redirects, which is what is wanted: the frontend is
asked with an empty body for the backend, and only that one gets the file.
"""
import base64
import http.client
import json
import os
import sys
from urllib.parse import quote, urlsplit


def put(url, headers, body, length):
    parts = urlsplit(url)
    conn = http.client.HTTPConnection(parts.hostname, parts.port, timeout=300)
    try:
        path = parts.path + ("?" + parts.query if parts.query else "")
        conn.request("PUT", path, body=body, headers={**headers, "Content-Length": str(length)})
        answer = conn.getresponse()
        return answer.status, answer.getheader("Location"), answer.read()
    finally:
        conn.close()


def main():
    base, db, table, name = sys.argv[1:5]
    login = f"{os.environ['USER']}:{os.environ['PASSWORD']}".encode()
    headers = {
        "Authorization": "Basic " + base64.b64encode(login).decode(),
        "column_separator": ",",
        "format": "csv",
    }
    url = f"{base}/api/{quote(db, safe='')}/{quote(table, safe='')}/_stream_load"
    status, location, text = put(url, headers, b"", 0)
    if status == 307:
        with open(name, "rb") as body:
            status, _, text = put(location, headers, body, os.path.getsize(name))
    reply = json.loads(text)
    print(text.decode().strip())
    if reply.get("Status") not in ("Success", "Publish Timeout"):
        sys.exit(f"HTTP {status}: not loaded")


main()
