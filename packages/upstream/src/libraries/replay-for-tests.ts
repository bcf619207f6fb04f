import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';

const Exchanges = z.array(
  z.strictObject({
    request: z.strictObject({
      method: z.string(),
      path: z.string(),
      /** The header that carries the channel's key; absent: the request carries none. */
      key: z.record(z.string(), z.string()).optional(),
      json: z.unknown().optional(),
      /** Text parts that must be there. */
      form: z.record(z.string(), z.string()).optional(),
    }),
    response: z.strictObject({
      status: z.number(),
      headers: z.record(z.string(), z.string()),
      json: z.unknown().optional(),
      base64: z.string().optional(),
    }),
  }),
);
type Exchange = z.infer<typeof Exchanges>[number];

export interface ReplayedProvider {
  readonly origin: string;
  /** The exchanges that have not happened. */
  readonly left: readonly Exchange[];
  /** What did not fit. */
  readonly complaints: readonly unknown[];
  readonly requests: readonly string[];
}

interface ReplayOptions {
  /** Between the provider and us lies something that sends early hints, and packs replies whether or not they may be packed. */
  readonly isPacked?: boolean;
}

/** A server that answers as a provider did, in the recorded order; requests for files may come in any. */
export async function replay(
  name: string,
  { isPacked = false }: ReplayOptions = {},
): Promise<ReplayedProvider> {
  const file = new URL(`exchanges/${name}.json`, import.meta.url);
  const left = Exchanges.parse(JSON.parse(await readFile(file, 'utf8')));
  const complaints: unknown[] = [];
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '' } = request;
    requests.push(`${method} ${url}`);
    const body = await buffer(request);
    const index = left.findIndex((one) => one.request.method === method && one.request.path === url);
    const [exchange] = index === -1 ? [] : left.splice(index, 1);
    try {
      if (exchange === undefined) throw new Error(`no exchange for ${method} ${url}`);
      await check(exchange.request, request, body);
    } catch (error) {
      complaints.push(error);
      response.writeHead(418, { 'content-type': 'application/json' }).end('{"error":{"message":"a teapot"}}');
      return;
    }
    const { status, headers, json, base64 } = exchange.response;
    const content = base64 === undefined ? Buffer.from(JSON.stringify(json)) : Buffer.from(base64, 'base64');
    if (isPacked) response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.writeHead(status, { ...headers, ...(isPacked && { 'content-encoding': 'gzip' }) });
    response.end(isPacked ? gzipSync(content) : content);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  return { origin: `http://127.0.0.1:${address.port}`, left, complaints, requests };
}

/** Headers under which keys travel: a request without a recorded key must carry none. */
const KEYS = ['authorization', 'xi-api-key', 'x-key', 'x-goog-api-key'];

async function check(
  recorded: Exchange['request'],
  { headers }: IncomingMessage,
  body: Buffer,
): Promise<void> {
  const keys = Object.fromEntries(KEYS.flatMap((name) => (headers[name] ? [[name, headers[name]]] : [])));
  if (recorded.key !== undefined) expect(keys).toEqual(recorded.key);
  if (recorded.json !== undefined) expect(JSON.parse(body.toString())).toEqual(recorded.json);
  if (recorded.form === undefined) return;
  const init = {
    method: 'POST',
    headers: { 'content-type': headers['content-type'] ?? '' },
    body: new Uint8Array(body),
  };
  const form = await new Request('http://localhost/', init).formData();
  for (const [name, value] of Object.entries(recorded.form)) expect(form.get(name)).toBe(value);
  expect(form.get('file')).toBeInstanceOf(File);
}
