import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from './start-simulator.ts';

const respond = (simulator: Simulator, input: string, stream = false) =>
  fetch(`${simulator.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', input, stream }),
  });

const eventNames = (text: string): string[] =>
  [...text.matchAll(/^event: (.*)$/gm)].map(([, name = '']) => name);

test('events are written in bursts of the given size, and all of them', async () => {
  await using simulator = await startSimulator();
  const whole = await (await respond(simulator, '[[simulate tokens=20]]', true)).text();
  const response = await respond(simulator, '[[simulate tokens=20 burst=8 pace=5]]', true);
  const chunks: string[] = [];
  for await (const chunk of response.body ?? []) chunks.push(Buffer.from(chunk).toString());
  // The network may join bursts.
  const sizes = chunks.slice(0, -1).map((chunk) => eventNames(chunk).length % 8);
  expect(sizes).toEqual(sizes.map(() => 0));
  expect(eventNames(chunks.join(''))).toEqual(eventNames(whole));
});

test('every request is scripted by its own content, and notified when its reply is over', async () => {
  const served: unknown[] = [];
  await using simulator = await startSimulator({
    behave: ({ body }) => (body.includes('refuse') ? { status: 503 } : { text: 'yes' }),
    onServed: ({ status, used, isComplete }) => served.push([status, used?.outputTokens, isComplete]),
  });
  expect(await (await respond(simulator, 'answer')).text()).toContain('"yes"');
  expect((await respond(simulator, 'refuse')).status).toBe(503);
  simulator.script({ status: 500 });
  expect((await respond(simulator, 'answer')).status).toBe(500);
  expect(served).toEqual([
    [200, 1, true],
    [503, undefined, true],
    [500, undefined, true],
  ]);
});

test('a provider that goes away comes back on its port, with what it knew', async () => {
  await using simulator = await startSimulator();
  expect((await respond(simulator, 'hello')).status).toBe(200);
  await simulator.refuse();
  await expect(respond(simulator, 'hello')).rejects.toThrow();
  await simulator.accept();
  expect((await respond(simulator, 'hello')).status).toBe(200);
  expect(Object.values(simulator.ledger())).toMatchObject([{ requests: 2 }]);
});
