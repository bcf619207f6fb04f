import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { writeError } from '@gateway/service-kit/error-response';
import { openContext, type RequestContext } from '@gateway/service-kit/request/request-context';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { openStandingReader, startFlood, takenAtStandstill } from '@gateway/testkit/start-flood';
import { waitFor } from '@gateway/testkit/wait-for';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import type { Reply } from '@gateway/upstream/replies/reply';
import { createUpstream, type Upstream } from '@gateway/upstream/upstream';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { HttpCaller } from '../caller.ts';
import { createEventStream, type EventMapper, PASS } from './event-stream.ts';
import { relayStream } from './relay-stream.ts';
import type { RelayedStream } from './relayed-stream.ts';

const MAX_FRAME_BYTES = 2 * 1024 * 1024;

/** Passes frames on until `data: last`. Others of their words trigger what else a mapper may do. */
class TestMapper implements EventMapper {
  id: string | null = null;
  failure: GatewayError | null = null;
  isWhole = false;
  rest: RelayedStream['rest'] = 'wanted';
  paused = false;
  readonly continues: (() => Promise<Reply>) | undefined;
  held: Promise<readonly string[]> | null = null;

  constructor(continues?: () => Promise<Reply>) {
    this.continues = continues;
  }

  frame({ data }: Parameters<EventMapper['frame']>[0]): typeof PASS | readonly string[] {
    const [word, value = ''] = (data === null ? '' : String(JSON.parse(data))).split('=');
    if (word === 'id') this.id = value;
    if (word === 'hide') return [];
    if (word === 'hold') {
      const holding = Promise.withResolvers<string>();
      holds.push(holding);
      this.held = holding.promise.then((frame) => [frame]);
      return [];
    }
    if (word === 'map') return [`data: "mapped ${value}"\n\n`];
    if (word === 'pause') this.paused = true;
    if (word === 'failed') this.failure = broken('reported');
    if (word === 'last') this.isWhole = true;
    if (word === 'ending') {
      this.isWhole = true;
      this.rest = 'ending';
    }
    if (word === 'marker') this.rest = 'read-off';
    if (word === 'stop') {
      this.isWhole = true;
      this.rest = 'cancelled';
    }
    return PASS;
  }

  takeHeld = (): Promise<readonly string[]> | null => {
    const { held } = this;
    this.held = null;
    return held;
  };
  end = (): readonly string[] | GatewayError => (this.isWhole || this.failure ? [] : broken('too early'));
  fail = ({ message }: GatewayError): readonly string[] => [`event: error\ndata: "${message}"\n\n`];
  keepAlive = (): string => ': alive\n\n';
  goOn = (): Promise<Reply> | null => {
    if (!this.paused || this.continues === undefined) return null;
    this.paused = false;
    return this.continues();
  };
}

/** What a stream waits for, one for each `hold`. */
let holds: PromiseWithResolvers<string>[] = [];

const broken = (message: string) => new GatewayError('upstream_failed', { message, source: 'upstream' });

interface RelayService {
  readonly url: string;
  readonly contexts: RequestContext[];
  readonly ends: (GatewayError | undefined)[];
  readonly responses: ServerResponse[];
  readonly deadline: AbortController;
  readonly ids: PromiseWithResolvers<void>[];
  close(): void;
}

let simulator: Simulator;
let upstream: Upstream;
let service: RelayService;
const settings = { keepAliveMs: 0, maySkipId: true };

const configuration = (url: string) =>
  parseConfiguration(
    `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: k, timeouts: { idleMs: 5000 } }
  drained: { provider: simulator, baseUrl: "${url}", apiKey: k, onDisconnect: drain }
models:
  one: { kind: text, routes: [{ channel: one }] }
  drained: { kind: text, routes: [{ channel: drained }] }
`,
    'gateway.yaml',
    {},
  );

const send = (model: string, signal?: AbortSignal): Promise<Reply> => {
  const resolved = upstream.resolveModel(model);
  if (resolved === null) throw new Error(`no model ${model}`);
  return upstream.send({
    candidates: upstream.candidates({ model: resolved, protocol: 'chat' }),
    request: () => ({ operation: 'chat', method: 'POST', headers: {}, body: '{"model":"m","messages":[]}' }),
    dialect: 'openai',
    work: 'free',
    streamed: true,
    ...(signal && { signal }),
  });
};

/** A service that does nothing but relay: `POST /one` and `POST /drained`. */
async function startService(): Promise<RelayService> {
  const contexts: RequestContext[] = [];
  const ends: (GatewayError | undefined)[] = [];
  const responses: ServerResponse[] = [];
  const ids: PromiseWithResolvers<void>[] = [];
  const deadline = new AbortController();
  const server = createServer((request, response) => {
    const options = { requestId: 'req_1', identity: null, deadline: deadline.signal };
    const context = openContext(request, response, options);
    contexts.push(context);
    responses.push(response);
    vi.spyOn(response, 'write');
    const model = request.url?.slice(1) ?? '';
    const relay = async () => {
      const reply = await send(model, context.signal);
      const mapper = new TestMapper(() => send(model, context.signal));
      const end = await relayStream({
        reply,
        caller: new HttpCaller(response),
        context,
        stream: createEventStream({ mapper, maxFrameBytes: MAX_FRAME_BYTES }),
        headers: { 'content-type': 'text/event-stream' },
        keepAliveMs: settings.keepAliveMs,
        onId: () => {
          if (settings.maySkipId) return undefined;
          const pending = Promise.withResolvers<void>();
          ids.push(pending);
          return pending.promise;
        },
        onEnd: (failure) => ends.push(failure),
      });
      end();
    };
    relay().catch((error: unknown) => writeError(response, error, context));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${address.port}`, contexts, ends, responses, deadline, ids, close };
}

beforeAll(async () => {
  simulator = await startSimulator();
});
beforeEach(async () => {
  simulator.reset();
  holds = [];
  Object.assign(settings, { keepAliveMs: 0, maySkipId: true });
  await upstream?.destroy();
  upstream = createUpstream({ configuration: configuration(simulator.url) });
  service?.close();
  service = await startService();
});
afterAll(async () => {
  service.close();
  await upstream.destroy();
  await simulator[Symbol.asyncDispose]();
});

const frames = (...words: string[]) => words.map((word) => `data: ${JSON.stringify(word)}\n\n`).join('');
const relayed = (model = 'one', init: RequestInit = {}) =>
  fetch(`${service.url}/${model}`, { method: 'POST', ...init });

test.for(['whole', 'events', 'bytes'] as const)(
  'frames pass, change or are hidden, whether they come as %s',
  async (cuts) => {
    simulator.script({ sse: frames('a', 'hide=b', 'map=c', 'd', 'ü', 'last'), cuts });
    const reply = await relayed();
    expect(await reply.text()).toBe(frames('a', 'mapped c', 'd', 'ü', 'last'));
    expect(service.ends).toEqual([undefined]);
  },
);

test('what has arrived together is written once', async () => {
  const sse = frames(
    ...Array.from({ length: 500 }, (_, index) => (index % 2 ? `map=${index}` : `${index}`)),
    'last',
  );
  simulator.script({ sse, cuts: 'whole' });
  const reply = await relayed();
  await reply.text();
  const [response] = service.responses;
  expect(response && vi.mocked(response.write).mock.calls.length).toBeLessThan(5);
});

test.for(['events', 'bytes'] as const)(
  'what is held goes out when it is there, and everything after it then (%s)',
  async (cuts) => {
    simulator.script({ sse: frames('a', 'hold', 'b', 'last'), cuts });
    const reply = await relayed();
    const holding = await waitFor(() => holds[0]);
    expect(service.ends).toEqual([]);
    holding.resolve(frames('held'));
    expect(await reply.text()).toBe(frames('a', 'held', 'b', 'last'));
    expect(service.ends).toEqual([undefined]);
  },
);

test('an upstream that breaks while something is held breaks the stream after it', async () => {
  simulator.script({ sse: frames('a', 'hold', 'b'), cuts: 'events', cutAfter: 2 });
  const reply = await relayed();
  const holding = await waitFor(() => holds[0]);
  await (await simulator.nextRequest()).closed;
  holding.resolve(frames('held'));
  expect(await reply.text()).toMatch(/^data: "a"\n\ndata: "held"\n\nevent: error\n/);
  expect(service.ends.at(-1)?.code).toBe('upstream_failed');
});

test('what is held and cannot be made ends the stream in its error event', async () => {
  simulator.script({ sse: frames('a', 'hold', 'last'), cuts: 'events' });
  const reply = await relayed();
  const holding = await waitFor(() => holds[0]);
  holding.reject(new Error('no'));
  expect(await reply.text()).toMatch(/^data: "a"\n\nevent: error\n/);
});

test('the end of a held stream waits for what is held', async () => {
  simulator.script({ sse: `${frames('a', 'last')}data: "hold"`, cuts: 'whole' });
  const reply = await relayed();
  const holding = await waitFor(() => holds[0]);
  holding.resolve(frames('held'));
  expect(await reply.text()).toBe(frames('a', 'last', 'held'));
});

test.for([
  ['ends without a word', { sse: '', endAfter: 0 }],
  ['ends within its first frame', { sse: 'data: "unfin' }],
  ['begins with what is no event', { sse: 'data: no JSON\n\n' }],
  ['begins with a frame beyond the bound', { sse: frames('x'.repeat(MAX_FRAME_BYTES + 10)) }],
] as const)('an upstream that %s is an HTTP error: nothing has been sent', async ([, script]) => {
  simulator.script(script);
  const reply = await relayed();
  expect([reply.status, reply.headers.get('content-type')]).toEqual([502, 'application/json']);
  expect(service.ends).toMatchObject([{ code: 'upstream_failed' }]);
});

test.for([
  ['ends too early', { sse: frames('a', 'b') }, 'too early'],
  ['is cut within a frame', { sse: `${frames('a', 'b')}data: "unfin` }, 'too early'],
  [
    'is cut',
    { sse: frames('a', 'b', 'c'), cutAfter: 2, cuts: 'events' },
    'The upstream failed to answer this request.',
  ],
  ['turns to what is no event', { sse: `${frames('a', 'b')}data: no\n\n` }, 'cannot be read'],
  [
    'sends a frame beyond the bound',
    { sse: frames('a', 'b', 'x'.repeat(MAX_FRAME_BYTES + 10)) },
    'too large',
  ],
] as const)('an upstream that %s ends the stream in its error event', async ([, script, message]) => {
  for (const cuts of ['whole', 'events'] as const) {
    simulator.script({ cuts, ...script });
    const reply = await relayed();
    const sse = await reply.text();
    expect(sse.startsWith(frames('a', 'b'))).toBe(true);
    expect(sse.slice(frames('a', 'b').length)).toMatch(/^event: error\ndata: ".*"\n\n$/);
    expect(sse).toContain(message);
    expect(service.contexts.at(-1)?.failure?.code).toBe('upstream_failed');
    expect(service.ends.at(-1)?.code).toBe('upstream_failed');
  }
});

test('a failure that the upstream reports itself passes, and the request has failed', async () => {
  simulator.script({ sse: frames('a', 'failed') });
  const reply = await relayed();
  expect(await reply.text()).toBe(frames('a', 'failed'));
  expect(service.contexts[0]?.failure?.message).toBe('reported');
});

test('what breaks after the last event is no failure', async () => {
  for (const sse of [`${frames('a', 'last')}data: no\n\n`, `${frames('a', 'last')}data: "unfin`]) {
    simulator.script({ sse });
    expect(await (await relayed()).text()).toBe(frames('a', 'last'));
  }
  expect(service.ends).toEqual([undefined, undefined]);
});

test.for([
  ['comes', { cuts: 'events' }, frames('a', 'ending', 'marker')],
  ['does not come', { stallAfter: 2, cuts: 'events' }, frames('a', 'ending')],
  ['is broken off', { cutAfter: 2, cuts: 'events' }, frames('a', 'ending')],
] as const)(
  'the last event goes out when the answer is over, also where a marker behind it %s',
  async ([, script, sent]) => {
    simulator.script({ sse: frames('a', 'ending', 'marker'), ...script });
    let text = '';
    for await (const chunk of (await relayed()).body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes('ending')) expect(service.ends).toEqual([undefined]);
    }
    expect(text).toBe(sent);
  },
);

test('an upstream whose rest nobody wants is left at once', async () => {
  simulator.script({ sse: frames('a', 'stop', 'b', 'c'), stallAfter: 2 });
  const reply = await relayed();
  const received = await simulator.nextRequest();
  expect(await reply.text()).toBe(frames('a', 'stop'));
  expect(await received.closed).toBe('aborted');
});

test('an upstream that pauses goes on in another reply', async () => {
  simulator.script({ sse: frames('a', 'pause') });
  simulator.script({ sse: frames('b', 'last') });
  expect(await (await relayed()).text()).toBe(frames('a', 'pause', 'b', 'last'));
});

test('an upstream that cannot go on after a pause ends the stream in its error event', async () => {
  simulator.script({ sse: frames('a', 'pause') });
  simulator.script({ status: 500 });
  expect(await (await relayed()).text()).toMatch(/^data: "a"\n\ndata: "pause"\n\nevent: error\n/);
});

test('the caller learns an id only when it can be found again', async () => {
  settings.maySkipId = false;
  simulator.script({ sse: frames('id=7', 'b', 'last'), cuts: 'whole' });
  const replying = relayed();
  const pending = await waitFor(() => service.ids[0]);
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  expect(service.responses[0]?.headersSent).toBe(false);
  pending.resolve();
  expect(await (await replying).text()).toBe(frames('id=7', 'b', 'last'));
});

test('silence is broken between whole frames', async () => {
  settings.keepAliveMs = 5;
  const resume = Promise.withResolvers<void>();
  simulator.script({ sse: frames('a', 'last'), stallAfter: 1, resume: resume.promise });
  const reply = await relayed();
  let seen = '';
  for await (const chunk of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    seen += chunk;
    if (seen.includes(': alive')) resume.resolve();
  }
  expect(seen.replaceAll(': alive\n\n', '')).toBe(frames('a', 'last'));
});

test.for([
  ['one', 'aborted'],
  ['drained', 'complete'],
] as const)('a caller who leaves: where the channel is %s the upstream is %s', async ([model, how]) => {
  const resume = Promise.withResolvers<void>();
  simulator.script({ sse: frames('a', 'b', 'last'), stallAfter: 1, resume: resume.promise });
  const leaving = new AbortController();
  const reply = await relayed(model, { signal: leaving.signal });
  const received = await simulator.nextRequest();
  await reply.body?.getReader().read();
  leaving.abort();
  await waitFor(() => service.contexts[0]?.signal.aborted);
  if (how === 'complete') resume.resolve();
  expect(await received.closed).toBe(how);
  await waitFor(() => service.ends.length === 1);
  expect(service.ends).toEqual([undefined]);
  expect(service.contexts[0]?.failure).toBe(undefined);
});

test.for(['one', 'drained'])(
  'at the drain deadline a stream of channel %s ends and the upstream is left',
  async (model) => {
    simulator.script({ sse: frames('a', 'b', 'last'), stallAfter: 1 });
    const reply = await relayed(model);
    const received = await simulator.nextRequest();
    const reading = reply.text();
    await waitFor(() => service.responses[0]?.headersSent);
    service.deadline.abort(new Error('drain deadline'));
    expect(await reading).toMatch(/^data: "a"\n\nevent: error\ndata: "The gateway is shutting down/);
    expect(await received.closed).toBe('aborted');
    expect(service.ends).toMatchObject([{ code: 'shutting_down' }]);
  },
);

test('a caller who reads nothing pauses the upstream, and gets everything when it goes on', async () => {
  const piece = frames('x'.repeat(64 * 1024));
  const count = 1600;
  const tail = frames('last');
  await using flood = await startFlood({ contentType: 'text/event-stream', piece, count, tail });
  upstream.replace(configuration(flood.url));
  const reader = await openStandingReader({ url: `${service.url}/one`, headers: {}, body: {} });
  const bound = 32 * 1024 * 1024;
  expect(await takenAtStandstill(flood, bound)).toBeLessThan(bound);
  const { bytes, end } = await reader.readAll();
  expect(bytes).toBe(count * piece.length + tail.length);
  expect(end.endsWith(tail)).toBe(true);
});
