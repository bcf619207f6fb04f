import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort } from '@gateway/testkit/free-port';
import { expect, onTestFinished, test } from 'vitest';
import { configuredPort, createPortChooser, type PortChoice } from './ports.ts';

async function takenPort(): Promise<number> {
  const port = await freePort();
  const occupant = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void occupant.close());
  await once(occupant, 'listening');
  return port;
}

function chooser(env: Record<string, string> = {}, choice: PortChoice = 'fixed') {
  const reports: string[] = [];
  return { reports, ...createPortChooser({ choice, env, report: (line) => reports.push(line) }) };
}

test('a usual port of our own that is taken is replaced by a free one, with a report', async () => {
  const fallback = await takenPort();
  const { internal, reported, reports } = chooser();
  const port = await internal({ variable: 'TEXT_PORT', fallback });
  expect(port).not.toBe(fallback);
  expect(port).toBeGreaterThan(0);
  const { IMAGE_PORT } = await reported([{ port: { variable: 'IMAGE_PORT', fallback } }, { port: null }]);
  expect(reports).toEqual([
    `Port ${fallback} is taken; using ${port} instead. Set TEXT_PORT to choose another one.`,
    `Port ${fallback} is taken; using ${IMAGE_PORT} instead. Set IMAGE_PORT to choose another one.`,
  ]);
});

test('a port that was set, and the one for callers, stay as they are', async () => {
  const taken = await takenPort();
  const set = chooser({ TEXT_PORT: String(taken) });
  expect(await set.internal({ variable: 'TEXT_PORT', fallback: 8081 })).toBe(taken);
  expect(await set.public({ variable: 'PORT', fallback: taken })).toBe(taken);
  expect(set.reports).toEqual([]);
});

test('a usual port that is free is taken', async () => {
  const fallback = await freePort();
  const { internal, reports } = chooser();
  expect(await internal({ variable: 'TEXT_PORT', fallback })).toBe(fallback);
  expect(reports).toEqual([]);
});

test('0 is any free port, and stacks side by side have only those', async () => {
  expect(await chooser({ PORT: '0' }).public({ variable: 'PORT', fallback: 8080 })).toBeGreaterThan(0);
  const free = chooser({ PORT: '8080' }, 'free');
  expect(await free.public({ variable: 'PORT', fallback: 8080 })).not.toBe(8080);
  expect(await free.reported([{ port: { variable: 'TEXT_PORT', fallback: 8081 } }])).toEqual({
    TEXT_PORT: 0,
  });
});

test.for(['80 80', '-1', '65536', '8e3', 'http'])('%s is no port, and the variable is named', (text) => {
  expect(() => configuredPort({ variable: 'TEXT_PORT', fallback: 8081 }, { TEXT_PORT: text })).toThrow(
    'TEXT_PORT must be a port number from 0 to 65535.',
  );
});
