import { join } from 'node:path';
import { firstAnswer, freePort, startChild } from './children.ts';

const ENTRY = join(import.meta.dirname, '../../packages/simulator/src/main.ts');

/** The provider that all contenders call: the simulator, in a process of its own, which counts for none of them. */
export async function startUpstream(): Promise<{ url: string; stop: () => Promise<void> }> {
  const port = await freePort();
  const child = startChild([ENTRY], { SIMULATOR_PORT: String(port), NODE_ENV: 'production' });
  const url = `http://127.0.0.1:${port}`;
  await firstAnswer(`${url}/v1/models`, { headers: { authorization: 'Bearer any' } });
  return { url, stop: child.stop };
}
