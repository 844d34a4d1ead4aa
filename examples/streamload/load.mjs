// Stream Load with Node's fetch.
//
//   USER=… PASSWORD=… node load.mjs http://fe:8030 db table file.csv
//
// fetch cannot send a stream again after a redirect, nor does it know
// `Expect: 100-continue`. With redirect: 'manual' it hands the 307 over; the
// frontend reads past the first body, and the backend gets a second one.
import { createReadStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';

const [base, db, table, name] = process.argv.slice(2);
const login = Buffer.from(`${process.env.USER}:${process.env.PASSWORD}`).toString('base64');

function put(url) {
  return fetch(url, {
    method: 'PUT',
    redirect: 'manual',
    duplex: 'half', // needed for a body that is a stream
    body: Readable.toWeb(createReadStream(name)),
    headers: {
      Authorization: `Basic ${login}`,
      'Content-Length': String(statSync(name).size),
      column_separator: ',',
      format: 'csv',
    },
  });
}

let answer = await put(`${base}/api/${encodeURIComponent(db)}/${encodeURIComponent(table)}/_stream_load`);
if (answer.status === 307) answer = await put(answer.headers.get('location'));
const text = await answer.text();
console.log(text.trim());
if (!['Success', 'Publish Timeout'].includes(JSON.parse(text).Status)) {
  console.error(`HTTP ${answer.status}: not loaded`);
  process.exit(1);
}
