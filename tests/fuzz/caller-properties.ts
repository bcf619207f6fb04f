import { ENDPOINTS } from '@gateway/contracts/endpoints/endpoints';
import fc from 'fast-check';
import { problemsOf, sendRequest } from './check-reply.ts';
import { byteMutation, mutated, mutatedBytes, mutation } from './json-mutations.ts';
import { few, type OpenProperty, open } from './open-property.ts';
import { BATCH_LINES, FORMS, JSON_REQUESTS } from './valid-requests.ts';

const json = (value: unknown) => Buffer.from(JSON.stringify(value) ?? 'null');
const JSON_TYPE = { 'content-type': 'application/json' };

const headerValue = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'abz019 ,;=:/"\'()<>@?.-_*%~\t'), maxLength: 40 }),
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1e9',
    'wait=99999999999999999999',
    'respond-async, wait=1',
    'identity',
    'gzip',
    'bytes=0-',
    'bytes=5-1',
    '*/*;q=2',
    'Bearer',
    'Basic Og==',
  ),
);
const CALLERS_HEADERS = [
  'prefer',
  'idempotency-key',
  'content-type',
  'content-encoding',
  'accept',
  'accept-encoding',
  'authorization',
  'x-api-key',
  'x-request-id',
  'anthropic-version',
  'anthropic-beta',
  'openai-beta',
  'x-gateway-strict',
  'x-gateway-webhook',
  'x-gateway-identity',
  'last-event-id',
  'range',
  'if-none-match',
  'origin',
  'cookie',
  'x-forwarded-for',
  'forwarded',
  'traceparent',
] as const;

const formBytes = async (parts: readonly { name: string; value: string | File }[]) => {
  const form = new FormData();
  for (const { name, value } of parts) form.append(name, value);
  const whole = new Response(form);
  return { type: whole.headers.get('content-type') ?? '', bytes: Buffer.from(await whole.arrayBuffer()) };
};

/** What stands for an id in a path: escapes, other kinds' ids, far too long ones. */
const strangeId = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."abz019_-.~%$&+,;=:@!*'()"), minLength: 1, maxLength: 60 }),
  fc.constantFrom(
    '%',
    '%zz',
    '%00',
    '%2f',
    '%2e%2e',
    '%c0%af',
    '%ud800',
    'resp_',
    'job_',
    `job_${'a'.repeat(300)}`,
    'conv_1',
    '__proto__',
    'null',
    '..;',
    '%0d%0a',
  ),
);
const QUERIES = [
  'limit',
  'after',
  'before',
  'order',
  'include',
  'include[]',
  'status',
  'idempotency_key',
  'stream',
  'starting_after',
  'expires',
  'signature',
];
const query = fc.array(
  fc.tuple(
    fc.constantFrom(...QUERIES),
    fc.oneof(strangeId, fc.constantFrom('', '0', '-1', '1e3', '101', '9'.repeat(30))),
  ),
  { maxLength: 3 },
);

export const CALLER_PROPERTIES: readonly OpenProperty[] = [
  open({
    name: 'JSON bodies of another structure',
    input: fc.record({ of: fc.nat(), mutations: few(mutation) }),
    check: async (gateway, { of, mutations }) => {
      const request = JSON_REQUESTS[of % JSON_REQUESTS.length] ?? { path: '', json: {} };
      const body = json(mutated(request.json, mutations));
      return problemsOf(await sendRequest(gateway, request.path, { body, headers: JSON_TYPE }));
    },
  }),
  open({
    name: 'JSON bodies of other bytes',
    input: fc.record({ of: fc.nat(), mutations: few(byteMutation) }),
    check: async (gateway, { of, mutations }) => {
      const request = JSON_REQUESTS[of % JSON_REQUESTS.length] ?? { path: '', json: {} };
      const body = mutatedBytes(json(request.json), mutations);
      return problemsOf(await sendRequest(gateway, request.path, { body, headers: JSON_TYPE }));
    },
  }),
  open({
    name: 'lines of batches',
    input: fc.record({
      of: fc.nat(),
      structure: fc.array(mutation, { maxLength: 2 }),
      bytes: fc.array(byteMutation, { maxLength: 2 }),
    }),
    check: async (gateway, { of, structure, bytes }) => {
      const line = BATCH_LINES[of % BATCH_LINES.length] ?? { path: '', json: {} };
      const body = mutatedBytes(json(mutated(line.json, structure)), bytes);
      const headers = { 'content-type': 'application/jsonl' };
      return problemsOf(await sendRequest(gateway, line.path, { body, headers }));
    },
  }),
  open({
    name: 'forms of other bytes',
    input: fc.record({ of: fc.nat(), mutations: few(byteMutation), early: fc.boolean() }),
    check: async (gateway, { of, mutations, early }) => {
      const { path, parts } = FORMS[of % FORMS.length] ?? { path: '', parts: [] };
      const { bytes, type } = await formBytes(parts);
      // The heads of the first parts are where a form is most delicate.
      const placed = early ? mutations.map((one) => ({ ...one, at: one.at % 600 })) : mutations;
      const body = mutatedBytes(bytes, placed);
      return problemsOf(await sendRequest(gateway, path, { body, headers: { 'content-type': type } }));
    },
  }),
  open({
    name: 'forms of other values',
    input: fc.record({
      of: fc.nat(),
      at: fc.nat(),
      value: fc.oneof(fc.string(), strangeId),
      repeated: fc.boolean(),
    }),
    check: async (gateway, { of, at, value, repeated }) => {
      const { path, parts } = FORMS[of % FORMS.length] ?? { path: '', parts: [] };
      const place = at % parts.length;
      const changed = parts.flatMap((part, index) => {
        if (index !== place) return [part];
        return repeated ? [part, { ...part, value }] : [{ ...part, value }];
      });
      const { bytes, type } = await formBytes(changed);
      return problemsOf(await sendRequest(gateway, path, { body: bytes, headers: { 'content-type': type } }));
    },
  }),
  open({
    name: 'headers',
    input: fc.record({
      of: fc.nat(),
      headers: fc.array(fc.tuple(fc.constantFrom(...CALLERS_HEADERS), headerValue), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
    check: async (gateway, { of, headers }) => {
      const request = JSON_REQUESTS[of % JSON_REQUESTS.length] ?? { path: '', json: {} };
      const reply = await sendRequest(gateway, request.path, {
        body: json(request.json),
        headers: { ...JSON_TYPE, ...Object.fromEntries(headers) },
      });
      const isRequestIdChanged = headers.some(([name]) => name === 'x-request-id');
      return problemsOf(
        isRequestIdChanged ? { ...reply, requestId: String(reply.headers['x-request-id']) } : reply,
      );
    },
  }),
  open({
    name: 'ids and queries',
    input: fc.record({
      of: fc.nat(),
      ids: fc.tuple(strangeId, strangeId),
      query,
      body: fc.option(fc.constantFrom('{}', '[]', 'null', '{"items":[]}', '{"metadata":{}}')),
    }),
    check: async (gateway, { of, ids, query: members, body }) => {
      const { method, path } = ENDPOINTS[of % ENDPOINTS.length] ?? { method: 'GET', path: '/' };
      let next = 0;
      const named = path.replaceAll(/\{[^}]*\}/g, () => ids[next++ % ids.length] ?? '');
      const search = members.map(([name, value]) => `${name}=${value}`).join('&');
      const bytes = method === 'POST' ? Buffer.from(body ?? '{}') : null;
      // Nobody follows a job that never is.
      return problemsOf(
        await sendRequest(gateway, search === '' ? named : `${named}?${search}`, {
          method,
          body: bytes,
          headers: bytes ? JSON_TYPE : {},
        }),
      );
    },
  }),
];
