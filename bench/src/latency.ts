import { Agent, request } from 'undici';
import type { Target } from './compared.ts';
import { percentile } from './percentile.ts';

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * How long one request after the other takes at a moderate, steady rate. The targets take turns request by request,
 * so that each meets the machine in the same mood.
 */
export async function pacedLatency(
  targets: readonly Target[],
  { path, body, requests, perSecond }: { path: string; body: string; requests: number; perSecond: number },
): Promise<ReadonlyMap<string, Latency>> {
  const agent = new Agent({ connections: 8 });
  const times = new Map<string, number[]>(targets.map(({ name }) => [name, []]));
  const pauseMs = 1000 / perSecond;
  for (let index = 0; index < requests + WARM_UP; index += 1) {
    const next = performance.now() + pauseMs;
    for (const { name, baseUrls, headers } of targets) {
      const startedAt = performance.now();
      const reply = await request(`${baseUrls[0]}${path}`, {
        dispatcher: agent,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
      });
      await reply.body.arrayBuffer();
      if (index >= WARM_UP) times.get(name)?.push(performance.now() - startedAt);
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
  }
  await agent.close();
  return new Map(
    [...times].map(([name, list]) => [name, { p50Ms: percentile(list, 0.5), p99Ms: percentile(list, 0.99) }]),
  );
}

/** Requests that are sent first and not counted. */
const WARM_UP = 100;
