import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, onTestFinished, test } from 'vitest';
import { json, startProvider } from '../provider-for-tests.ts';
import { redisForTest } from './slots-for-tests.ts';

const SENDER = fileURLToPath(new URL('../../fixtures/send-forever.ts', import.meta.url));
const LIMIT = 6;

/** A provider that counts what is in flight there, and by which process; it answers while `answers` is true. */
const countingProvider = async () => {
  const open = new Map<ServerResponse, string>();
  const counts = { most: 0, answered: 0, answers: true };
  const provider = await startProvider((response, { headers }) => {
    open.set(response, String(headers['x-client-request-id']));
    response.once('close', () => open.delete(response));
    counts.most = Math.max(counts.most, open.size);
    if (counts.answers) setImmediate(() => answer(response));
  });
  const answer = (response: ServerResponse): void => {
    // It has ended for the provider before the other side can know.
    open.delete(response);
    counts.answered += 1;
    json(response, {});
  };
  const inFlightOf = ({ pid }: ChildProcess): number =>
    [...open.values()].filter((sender) => sender === String(pid)).length;
  const answerAll = (): void => {
    counts.answers = true;
    for (const response of [...open.keys()]) answer(response);
  };
  return { provider, counts, open, inFlightOf, answer, answerAll };
};

test('two processes never have more requests at the provider than the limit, and one takes over the slots of one that was killed', async () => {
  const redis = await redisForTest();
  const { provider, counts, open, inFlightOf, answer, answerAll } = await countingProvider();
  const senderWith = (callers: number): ChildProcess => {
    const child = spawn(process.execPath, [SENDER, redis.url, provider.origin, `${LIMIT}`, `${callers}`], {
      stdio: 'inherit',
    });
    onTestFinished(async () => {
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'))
        await once(child, 'exit');
    });
    return child;
  };
  const killed = senderWith(2 * LIMIT);
  const survivor = senderWith(2 * LIMIT);
  await waitFor(() => counts.answered > 500);

  counts.answers = false;
  await waitFor(() => {
    if (open.size < LIMIT) return false;
    if (inFlightOf(killed) > 0 && inFlightOf(survivor) > 0) return true;
    // One process has all slots, perhaps because the other has only just started: it gets its turn.
    for (const response of [...open.keys()]) answer(response);
    return false;
  });
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  await waitFor(() => inFlightOf(survivor) === LIMIT);

  const before = counts.answered;
  answerAll();
  await waitFor(() => counts.answered > before + 500);
  expect(counts.most).toBe(LIMIT);
});
