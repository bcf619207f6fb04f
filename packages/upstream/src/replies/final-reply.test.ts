import type { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import {
  brotliCompressSync,
  constants,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { expect, test } from 'vitest';
import { fetchAsset } from '../fetching/fetch-asset.ts';
import { startProvider, startUpstream } from '../provider-for-tests.ts';
import { MAX_BYTES, refusal, sendRequest } from '../sending/send-for-tests.ts';

const BODY = Buffer.from(JSON.stringify({ text: 'ü'.repeat(3000) }));
const JSON_TYPE = 'application/json';
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

/** What servers say of their replies, and how the bytes are packed. */
const REPLIES: readonly (readonly [
  encoding: string | null,
  type: string,
  packed: Buffer,
  unpacked: Buffer,
])[] = [
  ['gzip', JSON_TYPE, gzipSync(BODY), BODY],
  ['x-gzip', JSON_TYPE, gzipSync(BODY), BODY],
  ['GZip', JSON_TYPE, gzipSync(BODY), BODY],
  ['br', JSON_TYPE, brotliCompressSync(BODY), BODY],
  ['zstd', JSON_TYPE, zstdCompressSync(BODY), BODY],
  ['deflate', JSON_TYPE, deflateSync(BODY), BODY],
  ['deflate', JSON_TYPE, deflateRawSync(BODY), BODY],
  ['gzip, gzip', JSON_TYPE, gzipSync(gzipSync(BODY)), BODY],
  ['br, gzip', JSON_TYPE, gzipSync(brotliCompressSync(BODY)), BODY],
  ['identity, gzip', JSON_TYPE, gzipSync(BODY), BODY],
  // More, or less, than was said.
  ['gzip', JSON_TYPE, gzipSync(gzipSync(BODY)), BODY],
  [null, JSON_TYPE, gzipSync(BODY), BODY],
  ['gzip, gzip', JSON_TYPE, gzipSync(BODY), BODY],
  ['gzip', JSON_TYPE, BODY, BODY],
  ['br', JSON_TYPE, BODY, BODY],
  ['zstd', JSON_TYPE, BODY, BODY],
  ['deflate', JSON_TYPE, BODY, BODY],
  ['gzip', JSON_TYPE, Buffer.from('{}'), Buffer.from('{}')],
  ['gzip', JSON_TYPE, Buffer.concat([gzipSync('{"a"'), gzipSync(':1}')]), Buffer.from('{"a":1}')],
  ['identity', JSON_TYPE, BODY, BODY],
  ['utf-8', JSON_TYPE, BODY, BODY],
  ['br', 'image/png', brotliCompressSync(PNG), PNG],
  ['br', 'image/png', PNG, PNG],
  // A file of this type may well be one.
  [null, 'application/octet-stream', gzipSync(BODY), gzipSync(BODY)],
];

const answer =
  (encoding: string | null, type: string, bytes: Buffer, status = 200) =>
  (response: ServerResponse): void => {
    response.writeHead(status, {
      'content-type': type,
      'content-length': bytes.length,
      ...(encoding !== null && { 'content-encoding': encoding }),
    });
    response.end(bytes);
  };

test.for(REPLIES)(
  'content-encoding %s of %s: the reply arrives unpacked, and says nothing of it',
  async ([encoding, type, packed, unpacked]) => {
    const provider = await startProvider(answer(encoding, type, packed));
    const upstream = await startUpstream({ one: { origin: provider.origin } });
    const reply = await sendRequest(upstream);
    expect((await reply.bytes(MAX_BYTES)).equals(unpacked)).toBe(true);
    expect(reply.headers).not.toHaveProperty('content-encoding');
    const length = reply.headers['content-length'];
    expect(length === undefined || Number(length) === unpacked.length).toBe(true);

    const channel = upstream.configuration.channels.get('one');
    if (channel === undefined) throw new Error('no channel');
    const fetched = await fetchAsset({ url: provider.origin, channel, maxBytes: MAX_BYTES }, ({ chunks }) =>
      buffer(chunks),
    );
    expect(fetched.equals(unpacked)).toBe(true);
  },
);

test('a compressed reply that arrives byte by byte is the same', async () => {
  const packed = gzipSync(brotliCompressSync(BODY));
  const provider = await startProvider(async (response) => {
    response.writeHead(200, { 'content-type': JSON_TYPE, 'content-encoding': 'br, gzip' });
    for (const byte of packed) response.write(Buffer.of(byte));
    response.end();
  });
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  expect((await (await sendRequest(upstream)).bytes(MAX_BYTES)).equals(BODY)).toBe(true);
});

test("a compressed error is read: its code counts, and its words reach the caller's", async () => {
  const body = Buffer.from(JSON.stringify({ error: { message: 'too many stars', code: 'bad_stars' } }));
  const provider = await startProvider(answer('gzip', JSON_TYPE, gzipSync(body), 400));
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  expect(await refusal(upstream)).toMatchObject({
    code: 'upstream_rejected',
    message: expect.stringContaining('too many stars'),
  });
});

test('an event of a compressed stream arrives before the next one is sent', async () => {
  const goOn = Promise.withResolvers<void>();
  const provider = await startProvider(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
    const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH });
    gzip.pipe(response);
    gzip.write('data: {"a":1}\n\n');
    await goOn.promise;
    gzip.end('data: {"b":2}\n\n');
  });
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const reply = await sendRequest(upstream, { streamed: true });
  const events: string[] = [];
  for await (const chunk of reply.body) {
    events.push(chunk.toString());
    goOn.resolve();
  }
  expect(events).toEqual(['data: {"a":1}\n\n', 'data: {"b":2}\n\n']);
});

test('a stream whose compression has no end is whole by its own end', async () => {
  const packed = gzipSync('data: {"a":1}\n\ndata: [DONE]\n\n');
  const provider = await startProvider(answer('gzip', 'text/event-stream', packed.subarray(0, -8)));
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const reply = await sendRequest(upstream, { streamed: true });
  expect((await reply.bytes(MAX_BYTES)).toString()).toBe('data: {"a":1}\n\ndata: [DONE]\n\n');
});

const CUT = gzipSync(BODY).subarray(0, -10);
const SPOILT = Buffer.concat([gzipSync(BODY).subarray(0, 15), Buffer.alloc(40, 0xee)]);

test.for([
  ['cut', 'free', CUT, 'upstream_failed'],
  ['spoilt', 'free', SPOILT, 'upstream_failed'],
  ['cut', 'paid', CUT, 'outcome_unknown'],
  ['spoilt', 'paid', SPOILT, 'outcome_unknown'],
] as const)('a %s compressed reply to %s work is a failure', async ([, work, bytes, code]) => {
  const provider = await startProvider(answer('gzip', JSON_TYPE, bytes));
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const failing = sendRequest(upstream, { work }).then((reply) => reply.bytes(MAX_BYTES));
  await expect(failing).rejects.toMatchObject({ code });
});

test('a small reply that unpacks to very much is paused, and ends at the bound of its reader', async () => {
  const bomb = gzipSync(gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20)));
  const provider = await startProvider(answer('gzip, gzip', JSON_TYPE, bomb));
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const before = process.memoryUsage().rss;
  const reply = await sendRequest(upstream);
  await expect(reply.bytes(MAX_BYTES)).rejects.toMatchObject({ code: 'upstream_failed' });
  expect(process.memoryUsage().rss - before).toBeLessThan(48 * 1024 * 1024);
});

test('a compressed reply waits for a reader who stands still', async () => {
  const packed = gzipSync(Buffer.alloc(16 * 1024 * 1024, 0x20));
  const provider = await startProvider(answer('gzip', 'audio/pcm', packed));
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const reply = await sendRequest(upstream);
  let sizeBytes = 0;
  const ended = Promise.withResolvers<void>();
  let stands = true;
  reply.consume({
    onChunk: (chunk) => {
      sizeBytes += chunk.length;
      return !stands;
    },
    onEnd: ended.resolve,
    onError: ended.reject,
  });
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  expect(sizeBytes).toBeLessThan(1024 * 1024);
  stands = false;
  reply.resume();
  await ended.promise;
  expect(sizeBytes).toBe(16 * 1024 * 1024);
});

const INTERIM = {
  continue: 'HTTP/1.1 100 Continue\r\n\r\n',
  processing: 'HTTP/1.1 102 Processing\r\n\r\n',
  hints: 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n',
};
const { continue: goOn, processing, hints } = INTERIM;

/** Writes to a connection, so that its other end reads this piece alone: it is in this process, and has its turn meanwhile. */
async function writeAlone(response: ServerResponse, piece: string): Promise<void> {
  await new Promise<void>((done) => response.socket?.write(piece, () => done()));
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
}

test.for([
  ['100', [goOn]],
  ['102', [processing]],
  ['103', [hints]],
  ['several in a row', [goOn, goOn, processing, hints, processing]],
  ['several at once', [goOn + goOn + processing + goOn + hints]],
  ['one in pieces', [goOn.slice(0, 1), goOn.slice(1, 11), goOn.slice(11, 23), goOn.slice(23)]],
  [
    'several in pieces',
    [goOn + hints.slice(0, 30), hints.slice(30) + processing.slice(0, 8), processing.slice(8)],
  ],
] as const)('interim answers before the reply: %s', async ([, heads]) => {
  for (const work of ['free', 'paid'] as const) {
    const provider = await startProvider(async (response) => {
      for (const head of heads) await writeAlone(response, head);
      answer(null, JSON_TYPE, BODY)(response);
    });
    const second = await startProvider();
    const upstream = await startUpstream({
      one: { origin: provider.origin },
      two: { origin: second.origin },
    });
    for (const _ of [1, 2]) {
      const reply = await sendRequest(upstream, { work });
      expect((await reply.bytes(MAX_BYTES)).equals(BODY)).toBe(true);
      expect(reply.attempts).toMatchObject([{ channel: 'one', outcome: 'ok', status: 200 }]);
    }
    expect(second.requests).toEqual([]);
  }
});

test('a piece of a body that begins as an interim answer does is the body', async () => {
  const pieces = ['a', goOn, hints.repeat(2), 'b', 'H', goOn.slice(1)];
  const body = pieces.join('');
  const provider = await startProvider(async (response) => {
    const head = `HTTP/1.1 200 OK\r\ncontent-type: audio/pcm\r\ncontent-length: ${body.length}\r\n\r\n`;
    for (const piece of [head, ...pieces]) await writeAlone(response, piece);
  });
  const upstream = await startUpstream({ one: { origin: provider.origin } });
  const reply = await sendRequest(upstream);
  expect((await reply.bytes(MAX_BYTES)).toString()).toBe(body);
});

test('interim answers are no output: the time limit of the first output goes on', async () => {
  const provider = await startProvider((response) => response.socket?.write(processing));
  const upstream = await startUpstream({
    one: { origin: provider.origin, settings: 'timeouts: { firstOutputMs: 50 }' },
  });
  expect(await refusal(upstream)).toMatchObject({ code: 'upstream_timeout' });
});

test.for(['', 'Upgrade: h2c\r\nConnection: Upgrade\r\n'])(
  'a server that switches protocols unasked has failed (%j)',
  async (headers) => {
    const provider = await startProvider((response) =>
      response.socket?.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`),
    );
    const upstream = await startUpstream({ one: { origin: provider.origin } });
    expect(await refusal(upstream)).toMatchObject({ code: 'upstream_failed' });
  },
);
