import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import type OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/**
 * Background responses of a model whose provider knows none, as the official client uses them, in one process and in several.
 * One worker generates one response at a time, so that a second one waits.
 */

const configuration = (origin: string): string => `
channels:
  messages: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [messages] }
models:
  claude-sonnet-5-5: { kind: text, routes: [{ channel: messages }] }
`;

type Event = OpenAI.Responses.ResponseStreamEvent;
const question = { model: 'claude-sonnet-5-5', input: 'What is up?', background: true } as const;
const never = new Promise<void>(() => undefined);
/** Another worker takes a job over at the latest when its worker has been silent for half a minute. */
const TAKEOVER = { timeoutMs: 90_000 };

const WAYS = [
  { mode: 'one', worker: 'workers', service: 'gateway', serving: ['gateway'] },
  { mode: 'each', worker: 'text-worker', service: 'text', serving: ['edge', 'text', 'text-2'] },
] as const;

async function collect(events: AsyncIterable<Event>): Promise<Event[]> {
  const collected: Event[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

describe.for(WAYS)('processes: $mode', ({ mode, worker, service, serving }) => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({
      mode,
      configuration,
      env: { TEXT_WORKER_CONCURRENCY: '1' },
      ...(mode === 'each' && {
        services: ['edge', 'text', 'text-worker'],
        replicas: { text: 2 },
      }),
    });
  });
  afterAll(() => gateway?.close());
  beforeEach(() => gateway.simulator.reset());

  const isReady = (process: string) =>
    fetch(`${gateway.stack.process(process).url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );

  const ended = (id: string, options = {}) =>
    waitFor(async () => {
      const shown = await gateway.openai.responses.retrieve(id);
      return shown.status !== 'queued' && shown.status !== 'in_progress' && shown;
    }, options);

  const stream = async (): Promise<AsyncIterable<Event> & { controller: AbortController }> =>
    gateway.openai.responses.create({ ...question, stream: true });

  test('it is polled, then continued, in the background too', async () => {
    const made = await gateway.openai.responses.create(question);
    expect(made).toMatchObject({ status: 'queued', background: true });
    const done = await ended(made.id);
    expect(done).toMatchObject({ id: made.id, status: 'completed' });
    const [item] = done.output;
    expect(item).toMatchObject({ type: 'message', content: [{ type: 'output_text' }] });
    const next = { ...question, input: 'And then?', previous_response_id: made.id };
    await ended((await gateway.openai.responses.create(next)).id);
    const sent = gateway.simulator.requests.at(-1)?.text();
    for (const words of ['What is up?', 'And then?']) expect(sent).toContain(words);
  });

  test('its stream is left and resumed without a gap or a repeat, and read again after the end', async () => {
    const gate = createGate();
    gateway.simulator.script('/v1/messages', { stallAfter: 4, resume: gate.opened });
    const first: Event[] = [];
    const begun = await stream();
    for await (const event of begun) {
      first.push(event);
      if (event.type === 'response.output_text.delta') break;
    }
    const [created] = first;
    const id = created?.type === 'response.created' ? created.response.id : '';
    const starting_after = first.at(-1)?.sequence_number ?? 0;
    const resumed = await gateway.openai.responses.retrieve(id, { stream: true, starting_after });
    gate.open();
    const rest = await collect(resumed);
    const numbers = [...first, ...rest].map(({ sequence_number }) => sequence_number);
    expect(numbers).toEqual(numbers.map((_, index) => index));
    expect(rest.at(-1)?.type).toBe('response.completed');
    const again = await gateway.openai.responses.retrieve(id, { stream: true });
    expect(await collect(again)).toEqual([...first, ...rest]);
    // The client's own helper replays everything and leaves out what the caller has.
    const helper = gateway.openai.responses.stream({ response_id: id, starting_after });
    expect((await helper.finalResponse()).status).toBe('completed');
  });

  test('it is cancelled before it begins, while it runs, and after', async () => {
    gateway.simulator.script('/v1/messages', { gate: never });
    const [running, waiting] = [
      await gateway.openai.responses.create(question),
      await gateway.openai.responses.create(question),
    ];
    const request = await gateway.simulator.nextRequest();
    for (const { id } of [waiting, running, running, waiting]) {
      expect(await gateway.openai.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
    }
    expect(await request.closed).toBe('aborted');
    const next = await gateway.openai.responses.create(question);
    const done = await ended(next.id);
    expect(done.status).toBe('completed');
    expect(gateway.simulator.requests).toHaveLength(2);
    const { status, output, usage } = done;
    expect(await gateway.openai.responses.cancel(next.id)).toMatchObject({ status, output, usage });
    for (const { id } of [running, waiting]) {
      expect(await gateway.openai.responses.retrieve(id)).toMatchObject({ status: 'cancelled' });
    }
  });

  test('it continues when the service that accepted it is killed', async () => {
    const gate = createGate();
    gateway.simulator.script('/v1/messages', { gate: gate.opened });
    const { id } = await gateway.openai.responses.create(question);
    await gateway.simulator.nextRequest();
    const { ended: gone } = gateway.stack.process(service);
    gateway.stack.process(service).kill('SIGKILL');
    await gone;
    gate.open();
    expect((await waitFor(() => ended(id))).status).toBe('completed');
    expect(gateway.simulator.requests).toHaveLength(1);
  });

  test('Redis is restarted while it is generated: nothing is lost, and its stream continues', async () => {
    const gate = createGate();
    gateway.simulator.script('/v1/messages', { stallAfter: 4, resume: gate.opened });
    const events: Event[] = [];
    let redis: { readonly pid: number | undefined } | null = null;
    for await (const event of await stream()) {
      events.push(event);
      if (event.type !== 'response.output_text.delta' || redis !== null) continue;
      redis = gateway.stack.process('redis');
      const { pid } = redis;
      gateway.stack.process('redis').kill('SIGKILL');
      await waitFor(() => gateway.stack.process('redis').pid !== pid);
      gate.open();
    }
    expect(events.at(-1)?.type).toBe('response.completed');
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    for (const name of serving) await waitFor(() => isReady(name));
  });

  test(
    'a worker is killed: what it had begun fails with its reason, what it had not begun is generated',
    async () => {
      gateway.simulator.script('/v1/messages', { gate: never });
      const begun = await gateway.openai.responses.create(question);
      const request = await gateway.simulator.nextRequest();
      const waiting = await gateway.openai.responses.create(question);
      gateway.stack.process(worker).kill('SIGKILL');
      expect(await request.closed).toBe('aborted');
      expect((await ended(waiting.id, TAKEOVER)).status).toBe('completed');
      const failed = await ended(begun.id, TAKEOVER);
      expect(failed).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
      expect(failed.error?.message).toMatch(/not repeated/);
      expect(gateway.simulator.requests).toHaveLength(2);
    },
    2 * TAKEOVER.timeoutMs,
  );
});
