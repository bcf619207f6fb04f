import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { ConfigurationError } from '@gateway/upstream/configuration/mistakes/configuration-error';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { byteMutation, mutated, mutatedBytes, mutation } from './json-mutations.ts';
import { few, type OpenProperty, open } from './open-property.ts';

/** Bytes on the connection itself, and files. */

const BODY = JSON.stringify({ model: 'over-chat', input: 'hello', store: false });
const ANSWER_WITHIN_MS = 20_000;

/** Sends bytes, says that there are no more, and reads until the gateway closes the connection. */
function talk(origin: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end(bytes));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    const answered = () => resolve(Buffer.concat(chunks).toString('latin1'));
    socket.setTimeout(ANSWER_WITHIN_MS, () => {
      socket.destroy();
      reject(
        new Error(
          `the connection stays open after ${JSON.stringify(Buffer.concat(chunks).toString('latin1'))}`,
        ),
      );
    });
    // A reset may come where bytes were not read any more.
    socket.once('error', answered);
    socket.once('close', answered);
  });
}

const OwnError = z.union([
  z.object({ error: z.object({ message: z.string(), type: z.string() }) }),
  z.object({ type: z.literal('error'), error: z.object({ message: z.string(), type: z.string() }) }),
]);

/** What is wrong with the first answer on a connection. None at all is right where no whole request was sent. */
function problemsOfText(text: string): string[] {
  if (text === '') return [];
  const [head = '', body = ''] = text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '').split('\r\n\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
  if (!(status >= 200 && status < 500)) return [`answers ${head}`];
  if (status < 400 || /content-length: 0\b/i.test(head)) return [];
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  const json = body.slice(0, length);
  try {
    return OwnError.safeParse(JSON.parse(json)).success ? [] : [`no error body: ${text}`];
  } catch {
    return [`no JSON: ${text}`];
  }
}

const request = (key: string): Buffer =>
  Buffer.from(
    [
      'POST /v1/responses HTTP/1.1',
      'host: gateway',
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      'connection: close',
      `content-length: ${BODY.length}`,
      '',
      BODY,
    ].join('\r\n'),
  );
const chunked = (key: string): Buffer =>
  Buffer.from(
    `POST /v1/messages HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n5\r\n{"mod\r\n6;x=y\r\nel":1}\r\n0\r\nx-trailer: 1\r\n\r\n`,
  );

const EXAMPLE = readFileSync(new URL('../../gateway.example.yaml', import.meta.url));
const ENVIRONMENT = new Proxy<Record<string, string>>({}, { get: () => 'value', has: () => true });

/** Reads a configuration; whatever it is, it is usable or its mistakes are named. */
function configurationProblems(text: string): string[] {
  try {
    parseConfiguration(text, 'gateway.yaml', ENVIRONMENT);
    return [];
  } catch (error) {
    return error instanceof ConfigurationError ? [] : [`throws ${String(error)}`];
  }
}

export const WIRE_PROPERTIES: readonly OpenProperty[] = [
  open({
    name: 'bytes of requests',
    input: fc.record({ isChunked: fc.boolean(), mutations: few(byteMutation) }),
    check: async ({ url, key }, { isChunked, mutations }) =>
      problemsOfText(await talk(url, mutatedBytes(isChunked ? chunked(key) : request(key), mutations))),
  }),
  open({
    name: 'configurations of other bytes',
    input: few(byteMutation),
    check: async (_, mutations) => configurationProblems(mutatedBytes(EXAMPLE, mutations).toString()),
  }),
  open({
    name: 'configurations of another structure',
    input: few(mutation),
    check: async (_, mutations) =>
      configurationProblems(
        stringify(mutated(parse(EXAMPLE.toString()), mutations), { aliasDuplicateObjects: false }),
      ),
  }),
];
