import { request } from 'undici';
import { z } from 'zod';
import type { Contender } from './contender.ts';
import { percentile } from './percentile.ts';
import { chainTurn } from './requests.ts';

const TURNS = 200;
/** Turns at the beginning, and at the end, whose median is taken. */
const COMPARED = 20;

const Answer = z.object({ id: z.string(), status: z.literal('completed') });

/** What a turn takes at the beginning and at the end of a conversation that goes on by the ids of its responses. */
export async function longChain(
  { baseUrl, headers }: Contender,
  model: 'passed' | 'translated',
): Promise<{ firstMs: number; lastMs: number }> {
  const times: number[] = [];
  let previous: string | null = null;
  for (let turn = 0; turn < TURNS; turn += 1) {
    const { path, body } = chainTurn(turn, previous, model);
    const startedAt = performance.now();
    const reply = await request(baseUrl + path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    });
    previous = Answer.parse(await reply.body.json()).id;
    times.push(performance.now() - startedAt);
  }
  return {
    firstMs: percentile(times.slice(1, 1 + COMPARED), 0.5),
    lastMs: percentile(times.slice(-COMPARED), 0.5),
  };
}
