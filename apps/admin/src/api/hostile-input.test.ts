import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';
import { KeyPage, NewKeyReply } from './schemas/access.ts';

const admin = useAdmin({ env: { ADMIN_ALLOWED_HOSTS: 'admin.example.com', ADMIN_TRUST_PROXY: 'true' } });

/** A request; its body, if any, is this JSON text. */
const send = (method: string, path: string, body?: string) =>
  fetch(`${admin.url}/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });

const makeKey = async () => {
  const response = await send('POST', '/keys', '{"name":"a"}');
  return NewKeyReply.parse(await response.json()).id;
};

const Refusal = z.object({
  error: z.object({ code: z.string(), message: z.string(), path: z.string().nullable() }),
});
async function refused(method: string, path: string, body?: string) {
  const response = await send(method, path, body);
  return { status: response.status, ...Refusal.parse(await response.json()).error };
}

test.for(['http://[', 'http://', '*'])('a target that is no path is refused: %s', async (target) => {
  const socket = connect(Number(new URL(admin.url).port), '127.0.0.1');
  socket.end(`OPTIONS ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 .*application\/json.*malformed_request/s);
});

/** A request with these lines in its head; fetch sets `Host` itself. */
async function raw(target: string, ...lines: string[]) {
  const socket = connect(Number(new URL(admin.url).port), '127.0.0.1');
  socket.write([`GET ${target} HTTP/1.1`, ...lines, 'Connection: close', '', ''].join('\r\n'));
  return text(socket);
}

test.for(['/', '/console/', '/admin/v1/sign-in', '/admin/v1/keys', '/admin/jobs', '/nowhere'])(
  '%s is served under known names only; a name of anybody that leads here gets nothing',
  async (target) => {
    const bearer = `Authorization: Bearer ${TOKEN}`;
    for (const host of ['evil.example', 'admin.example.com.evil.example:80', '127.0.0.1.evil.example'])
      expect(await raw(target, `Host: ${host}`, bearer)).toMatch(/^HTTP\/1\.1 403 .*origin_not_allowed/s);
    expect(await raw(target, 'Host: admin.example.com', bearer)).not.toMatch(/origin_not_allowed/);
  },
);

test('behind a trusted proxy each client has its own count of wrong tokens, whatever it writes itself', async () => {
  const guess = async (address: string) =>
    (await raw('/admin/v1/keys', 'Host: h', 'Authorization: Bearer x', `X-Forwarded-For: ${address}`)).slice(
      9,
      12,
    );
  for (let at = 0; at < 10; at += 1) expect(await guess(`198.51.100.${at}, 203.0.113.1`)).toBe('401');
  expect(await guess('198.51.100.99, 203.0.113.1')).toBe('429');
  expect(await guess('203.0.113.2')).toBe('401');
});

test.for([
  '/audit?cursor=x',
  '/audit?cursor=1-',
  '/audit?cursor=%2B',
  '/keys?cursor=x',
  '/keys?cursor=%2B',
  '/keys?cursor=key_%20',
  '/teams?cursor=%5B',
  '/teams?cursor=-',
  '/teams?cursor=a%3A',
])('a cursor that no page gave is refused: %s', async (path) => {
  expect(await refused('GET', path)).toMatchObject({
    status: 400,
    code: 'invalid_value',
    message: "Invalid value for 'cursor': it is not the 'next' of a page.",
    path: 'cursor',
  });
});

const CONTROL = ['\u0000', '\u001b[2J', '\n', '\u007f', '\u009b2J', '\u202e', '\u2066'];

test.for([
  ['name', 'name', (text: string) => ({ name: text })],
  ['owner', 'owner', (text: string) => ({ name: 'a', owner: text })],
  ['team', 'team', (text: string) => ({ name: 'a', team: text })],
  ['a model pattern', 'models[0]', (text: string) => ({ name: 'a', models: [text] })],
  [
    "a limit's pattern",
    'limits.models',
    (text: string) => ({ name: 'a', limits: { models: { [text]: {} } } }),
  ],
  ["a label's name", 'labels', (text: string) => ({ name: 'a', labels: { [text]: 'b' } })],
  ["a label's text", 'labels.a', (text: string) => ({ name: 'a', labels: { a: text } })],
] as const)('control characters are refused in %s', async ([, path, bodyOf]) => {
  const id = await makeKey();
  for (const character of CONTROL)
    for (const [method, to] of [
      ['POST', '/keys'],
      ['PATCH', `/keys/${id}`],
    ] as const) {
      const refusal = await refused(method, to, JSON.stringify(bodyOf(`red${character}team`)));
      expect(refusal).toMatchObject({ status: 400, code: 'invalid_value', path });
      expect(refusal.message).toBe(
        `Invalid value for '${path}': it has a control character, such as a line break. Send printable text.`,
      );
    }
  expect((await refused('POST', '/teams', '{"name":"a\\u001b[2J"}')).path).toBe('name');
  expect(KeyPage.parse(await (await send('GET', '/keys')).json()).data).toHaveLength(1);
});

test.for([
  [
    'POST',
    '/keys',
    '{"name":"a","limits":{"models":{"__proto__":{"requestsPerMinute":1}}}}',
    'limits.models.__proto__',
  ],
  ['POST', '/keys', '{"name":"a","labels":{"__proto__":"b"}}', 'labels.__proto__'],
  ['POST', '/keys', '{"name":"a","budget":{"usd":1,"period":"day","__proto__":1}}', 'budget.__proto__'],
  ['POST', '/keys', '{"name":"a","__proto__":{"disabled":true}}', '__proto__'],
  ['POST', '/teams', '{"name":"a","limits":{"models":{"__proto__":null}}}', 'limits.models.__proto__'],
  ['PATCH', '/keys/ID', '{"limits":{"models":{"__proto__":null}}}', 'limits.models.__proto__'],
  ['POST', '/keys/ID/rotate', '{"__proto__":{"graceSeconds":5}}', '__proto__'],
] as const)('a member __proto__ is refused, and not left out: %s %s %s', async ([method, to, body, path]) => {
  const id = await makeKey();
  expect(await refused(method, to.replace('ID', id), body)).toMatchObject({
    status: 400,
    code: 'unknown_parameter',
    path,
  });
  expect((await refused('GET', '/keys?__proto__=1')).path).toBe('__proto__');
});
