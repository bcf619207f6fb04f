import { Agent, request } from 'undici';
import type { Contender } from './contender.ts';
import { percentile } from './percentile.ts';
import type { Request } from './requests.ts';

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface PacedOptions extends Request {
  /** To each contender. */
  readonly requests: number;
  readonly perSecond: number;
}

/** Requests that are sent first and not counted. */
const WARM_UP = 100;

/**
 * How long one request after the other takes at a moderate, steady rate. The contenders take turns request by request,
 * so that each meets the machine in the same mood.
 */
export async function pacedLatency(
  contenders: readonly Contender[],
  { path, body, requests, perSecond }: PacedOptions,
): Promise<ReadonlyMap<string, Latency>> {
  const agent = new Agent({ connections: 8 });
  const times = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  const pauseMs = 1000 / perSecond;
  let next = performance.now();
  for (let index = 0; index < requests + WARM_UP; index += 1) {
    for (const { name, baseUrl, headers } of contenders) {
      next += pauseMs;
      const startedAt = performance.now();
      const reply = await request(baseUrl + path, {
        dispatcher: agent,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
      });
      await reply.body.arrayBuffer();
      if (index >= WARM_UP) times.get(name)?.push(performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
    }
  }
  await agent.close();
  return new Map(
    [...times].map(([name, list]) => [name, { p50Ms: percentile(list, 0.5), p99Ms: percentile(list, 0.99) }]),
  );
}
