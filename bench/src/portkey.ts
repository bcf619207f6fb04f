import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { firstAnswer, freePort, startChild } from './children.ts';
import type { Contender } from './contender.ts';

/** Where Portkey's open-source gateway starts. */
const PROGRAM = 'build/start-server.js';

/** Starts Portkey's open-source gateway in front of an upstream that speaks OpenAI's protocol. */
export async function startPortkey(upstreamUrl: string): Promise<Contender> {
  const manifest = createRequire(import.meta.url).resolve('@portkey-ai/gateway/package.json');
  const port = await freePort();
  const startedAt = performance.now();
  const child = startChild([join(dirname(manifest), PROGRAM), `--port=${port}`, '--headless'], {});
  const baseUrl = `http://127.0.0.1:${port}`;
  await firstAnswer(baseUrl);
  return {
    name: 'portkey',
    baseUrl,
    headers: {
      authorization: 'Bearer upstream-key',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${upstreamUrl}/v1`,
    },
    processes: [{ name: 'portkey', pid: child.pid }],
    startMs: performance.now() - startedAt,
    stop: child.stop,
  };
}
