import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

test('the process reports its port, serves, and ends quickly on SIGTERM with a stream open', async () => {
  const child = fork(new URL('./main.ts', import.meta.url), { env: { SIMULATOR_PORT: '0' } });
  const [message] = await once(child, 'message');
  expect(message).toEqual({ type: 'ready', port: expect.any(Number) });
  const url = `http://127.0.0.1:${message.port}`;
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const stalled = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', input: '[[simulate stall-after=1]]', stream: true }),
  });
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
  await expect(stalled.text()).rejects.toThrow();
});

test('an invalid port stops the process with a reason', async () => {
  const child = fork(new URL('./main.ts', import.meta.url), {
    env: { SIMULATOR_PORT: 'many' },
    silent: true,
  });
  const [[reason], [code]] = await Promise.all([once(child.stderr ?? child, 'data'), once(child, 'exit')]);
  expect(String(reason)).toContain('SIMULATOR_PORT is "many"');
  expect(code).toBe(1);
});
