import { join } from 'node:path';
import { firstAnswer, freePort, startChild } from './children.ts';
import type { Contender } from './contender.ts';
import { REQUESTS } from './requests.ts';

/**
 * The least that two processes with these libraries can take: an edge of Express and http-proxy-middleware before a
 * service of Express, `JSON.parse` and undici. No keys, no checks, no limits, no accounting, no log.
 */
export async function startFloor(upstreamUrl: string): Promise<Contender> {
  const entry = (name: string) => join(import.meta.dirname, `floor/${name}.ts`);
  const [edgePort, servicePort] = [await freePort(), await freePort()];
  const startedAt = performance.now();
  const service = startChild([entry('service')], { PORT: String(servicePort), UPSTREAM_URL: upstreamUrl });
  const edge = startChild([entry('edge')], {
    PORT: String(edgePort),
    SERVICE_URL: `http://127.0.0.1:${servicePort}`,
  });
  const baseUrl = `http://127.0.0.1:${edgePort}`;
  const headers = { authorization: 'Bearer any' };
  const { path, body } = REQUESTS.small;
  await firstAnswer(baseUrl + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  return {
    name: 'floor',
    baseUrl,
    headers,
    processes: [
      { name: 'edge', pid: edge.pid },
      { name: 'service', pid: service.pid },
    ],
    startMs: performance.now() - startedAt,
    stop: async () => {
      await edge.stop();
      await service.stop();
    },
  };
}
