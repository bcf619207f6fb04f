import { createGate } from '@gateway/simulator/gate';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Two text services before a provider that takes a few requests at a time. */

const LIMIT = 4;
const REQUESTS = 12;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    services: ['edge', 'text'],
    replicas: { text: 2 },
    restarts: false,
    configuration: (origin) => `
channels:
  small: { provider: simulator, baseUrl: "${origin}", apiKey: k, maxConcurrent: ${LIMIT}, maxWaitMs: 60000 }
models:
  m: { kind: text, routes: [{ channel: small }] }
`,
  });
});
afterAll(() => gateway?.close());

/** Follows the requests that reach the provider, as many as are expected. */
const followProvider = (expected: number) => {
  const seen = { inFlight: 0, most: 0 };
  const follow = async (): Promise<void> => {
    const ends: Promise<void>[] = [];
    for (let count = 0; count < expected; count += 1) {
      const request = await gateway.simulator.nextRequest();
      seen.inFlight += 1;
      seen.most = Math.max(seen.most, seen.inFlight);
      const end = (): void => {
        seen.inFlight -= 1;
      };
      ends.push(request.closed.then(end));
    }
    await Promise.all(ends);
  };
  return { seen, done: follow() };
};

/** The requests that wait for a slot, in both text services together. */
const waiting = async (): Promise<number> => {
  let sum = 0;
  for (const name of ['text', 'text-2']) {
    const page = await (await fetch(`${gateway.stack.process(name).url}/metrics`)).text();
    sum += Number(/^gateway_upstream_waiting\{channel="small".*\} (\d+)$/m.exec(page)?.[1] ?? 0);
  }
  return sum;
};

test('replicas share the slots of a channel: the provider never has more, and all requests are answered in turn', async () => {
  const gate = createGate();
  for (let count = 0; count < LIMIT; count += 1) gateway.simulator.script({ gate: gate.opened });
  const { seen, done } = followProvider(REQUESTS);
  const replies = Array.from({ length: REQUESTS }, () =>
    gateway.fetch('/v1/responses', { json: { model: 'm', input: 'hello', store: false } }),
  );
  await waitFor(async () => seen.inFlight === LIMIT && (await waiting()) === REQUESTS - LIMIT);
  gate.open();
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual(Array(REQUESTS).fill(200));
  await done;
  expect(seen.most).toBe(LIMIT);
});
