import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';

/** A response over a WebSocket falls through to other channels, and is hedged, as over HTTP; its caller learns of it. */

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first, second) => `
channels:
  one: { provider: simulator, baseUrl: "${first}", apiKey: k }
  two: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [chat] }
models:
  both: { kind: text, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  hedged:
    kind: text
    routes: [{ channel: one }, { channel: two, priority: 1 }]
    hedge: { minSamples: 3, minDelayMs: 50, maxDelayMs: 50, maxShare: 1 }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const create = (model: string) => ({ type: 'response.create', model, input: 'Hello there.', store: false });
const attemptsIn = (headers: unknown) =>
  String(Object(headers)['x-gateway-attempts']).replaceAll(/;ms=\d+/g, '');

test('a response that another channel gave names the attempts in its first event, and no other one does', async () => {
  using socket = await stack.text.webSocket();
  stack.first.script({ status: 500 });
  socket.send(create('both'));
  const [first, ...rest] = await socket.answer();
  expect(attemptsIn(first?.headers)).toBe('"one";outcome=failed;status=500, "two";outcome=ok;status=200');
  expect(rest.at(-1)).toMatchObject({ type: 'response.completed' });
  for (const event of rest) expect(event).not.toHaveProperty('headers');
  socket.send(create('both'));
  for (const event of await socket.answer()) expect(event).not.toHaveProperty('headers');
});

test('an error names the attempts that led to it', async () => {
  using socket = await stack.text.webSocket();
  stack.first.script({ status: 500 });
  stack.second.script({ status: 500 });
  socket.send(create('both'));
  const [event] = await socket.answer();
  expect(event).toMatchObject({ type: 'error', status: 502 });
  expect(attemptsIn(Object(event?.error).headers)).toBe(
    '"one";outcome=failed;status=500, "two";outcome=failed;status=500',
  );
});

test('a late response is overtaken, and its caller gets the events of one of the two', async () => {
  using socket = await stack.text.webSocket();
  for (let count = 0; count < 3; count += 1) {
    socket.send(create('hedged'));
    await socket.answer();
  }
  stack.first.reset();
  stack.first.script({ stallAfter: 2, resume: new Promise(() => undefined) });
  socket.send(create('hedged'));
  const events = await socket.answer();
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
  expect(attemptsIn(events[0]?.headers)).toBe(
    '"one";outcome=overtaken;status=200, "two";outcome=ok;status=200;hedge',
  );
  expect(await stack.first.requests[0]?.closed).toBe('aborted');
  // The rest of the one that lost went nowhere.
  socket.send({ type: 'response.steer', previous_response_id: 'resp_x', input: 'x' });
  expect(await socket.answer()).toHaveLength(1);
});
